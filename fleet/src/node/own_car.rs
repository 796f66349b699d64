//! What every node knows of this node's car because this node has set it, and no operator: where its
//! key switch stands, whether a firefighter has it by the key, and why it hung.

use std::time::Duration;

use elevator_driver::KeySwitch;

use super::Node;
use crate::car::{Car, FireKey, HangEvidence};
use crate::directives::{DirectiveError, Directives, Setting, Words};
use crate::model::{NodeId, Timestamp};

/// How long the key stands in a position before every node knows. Contacts bounce for less, and a switch
/// passes the positions between two others in less.
const SETTLED: Duration = Duration::from_millis(200);

/// What the directives say of this node's car.
#[derive(Debug)]
pub(super) struct OwnCar {
    name: NodeId,
    /// Where the key switch stands.
    key: KeySwitch,
    /// Where the panel says that it stands, and since when.
    seen: Option<(KeySwitch, Timestamp)>,
    /// What that key means at *fire recall*.
    fire_key: FireKey,
    is_hung: bool,
}

/// What the key switch of a car at *fire recall* means, as its node has last seen it.
pub(super) fn fire_key(directives: &Directives, car: &NodeId) -> FireKey {
    if directives.has_firefighter(car) { FireKey::Drives } else { FireKey::Recalls }
}

impl OwnCar {
    pub(super) fn new(name: NodeId) -> Self {
        Self {
            name,
            key: KeySwitch::Normal,
            seen: None,
            fire_key: FireKey::Recalls,
            is_hung: false,
        }
    }

    pub(super) fn refresh(&mut self, directives: &Directives) {
        self.key = directives.key_switch(&self.name);
        self.fire_key = fire_key(directives, &self.name);
        self.is_hung = directives.is_hung(&self.name);
    }

    /// Where the key switch stands now, if the panel says it. Returns what other nodes do not know yet,
    /// once it has settled.
    fn turned(&mut self, key: Option<KeySwitch>, now: Timestamp) -> Option<KeySwitch> {
        self.seen = key.map(|key| match self.seen {
            Some((seen, since)) if seen == key => (key, since),
            Some(_) | None => (key, now),
        });
        let (key, since) = self.seen.filter(|(key, _)| *key != self.key)?;
        // A turn to *recall all* recalls the fleet, even if a spring takes the key back at once.
        (key == KeySwitch::RecallAll || now.since(since) >= SETTLED).then_some(key)
    }
}

impl Node {
    /// Lets every node know where the key switch of this node's car stands. And keeps, on every disk,
    /// whether a firefighter has the car by its key: after a restart it waits on the floor where it was
    /// left, and does not drive off.
    ///
    /// A turn to *recall all* is a command to the fleet: the key turned back does not end it, as only an
    /// operator does, and nor does a restart of the node with the key still there begin it again.
    pub(super) fn keep_keys(&mut self, now: Timestamp) {
        let own = self.hello.node.clone();
        let by = Words::entered("key switch", &own);
        let fire_key = self.cabin.fire_key();
        if fire_key != self.services.commands.own.fire_key {
            let has_firefighter = fire_key == FireKey::Drives;
            self.set_own(Setting::Firefighter(own.clone(), has_firefighter), (&own).into(), now);
        }
        if let Some(key) = self.services.commands.own.turned(self.cabin.key_switch(), now) {
            self.set_own(Setting::KeySwitch(own, key), by.clone(), now);
            // Where there is no room to keep that it was turned, it counts as turned again all the time.
            let is_kept = self.services.commands.own.key == key;
            if key == KeySwitch::RecallAll && (is_kept || !self.directives().is_fire_recalled()) {
                self.set_own(self.directives().next_recall(self.hello.nonce), by, now);
            }
        }
    }

    /// This node's car hung: the others can show why.
    pub(super) fn broadcast_hang(&mut self, evidence: &HangEvidence, now: Timestamp) {
        let node = self.hello.node.clone();
        self.set_own(Setting::Hang(node.clone(), Some(*evidence)), (&node).into(), now);
    }

    /// This node runs, so a hang of its car that others know of is over.
    pub(super) fn withdraw_hang(&mut self, now: Timestamp) {
        if self.services.commands.own.is_hung && !self.cabin.car().is_some_and(Car::is_hung) {
            let node = self.hello.node.clone();
            self.set_own(Setting::Hang(node.clone(), None), (&node).into(), now);
        }
    }

    fn set_own(&mut self, setting: Setting, by: Words, now: Timestamp) {
        match self.set_directive(setting, by, now) {
            // Without room others don't hear of it: the car obeys its key, and the latch has the
            // evidence.
            Ok(())
            | Err(DirectiveError::NoRecall | DirectiveError::Full | DirectiveError::Spent) => {}
        }
    }
}
