//! What every node knows of this node's car because this node has set it, and no operator: where its
//! key switch stands, whether a firefighter has it by the key, and why it hung.

use elevator_driver::KeySwitch;

use super::Node;
use crate::car::{Car, FireKey, HangEvidence};
use crate::directives::{
    DirectiveError, Directives, Key, OFF, ON, Value, firefighter_key, hang_key, hang_value,
    key_switch_key,
};
use crate::model::{NodeId, Timestamp};

/// What the directives say of this node's car.
#[derive(Debug)]
pub(super) struct OwnCar {
    name: NodeId,
    /// Where the key switch stands.
    key: KeySwitch,
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
        Self { name, key: KeySwitch::Normal, fire_key: FireKey::Recalls, is_hung: false }
    }

    pub(super) fn refresh(&mut self, directives: &Directives) {
        self.key = directives.key_switch(&self.name);
        self.fire_key = fire_key(directives, &self.name);
        self.is_hung = directives.is_hung(&self.name);
    }

    /// Where the key switch stands, as every node knows.
    pub(super) fn key(&self) -> KeySwitch {
        self.key
    }

    /// The key of the directive that says why the car hung, if there is one.
    pub(super) fn hang(&self) -> Option<Key> {
        self.is_hung.then(|| hang_key(&self.name))
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
        const BY: &str = "key switch";
        let fire_key = self.cabin.fire_key();
        if fire_key != self.commands.own.fire_key {
            let value = match fire_key {
                FireKey::Drives => ON,
                FireKey::Recalls => OFF,
            };
            self.set_own(firefighter_key(&self.hello.node), value, BY, now);
        }
        let known = self.commands.own.key;
        if let Some(key) = self.cabin.key_switch().filter(|key| *key != known) {
            self.set_own(key_switch_key(&self.hello.node), &key.to_string(), BY, now);
            // Where there is no room to keep that it was turned, it counts as turned again all the time.
            let is_kept = self.commands.own.key == key;
            if key == KeySwitch::RecallAll && (is_kept || !self.commands.is_fire_recalled()) {
                let (key, value) = self.directives().next_recall(self.hello.nonce);
                self.set_own(key, value.as_str(), BY, now);
            }
        }
    }

    /// This node's car hung: the others can show why.
    pub(super) fn broadcast_hang(&mut self, evidence: &HangEvidence, now: Timestamp) {
        let node = self.hello.node.clone();
        self.set_own(hang_key(&node), &hang_value(evidence), node.as_str(), now);
    }

    /// This node runs, so a hang of its car that others know of is over.
    pub(super) fn withdraw_hang(&mut self, now: Timestamp) {
        if self.commands.own.is_hung && !self.cabin.car().is_some_and(Car::is_hung) {
            let node = self.hello.node.clone();
            self.set_own(hang_key(&node), OFF, node.as_str(), now);
        }
    }

    fn set_own(&mut self, key: Key, value: &str, by: &str, now: Timestamp) {
        let value = Value::new(value).unwrap_or_else(|error| unreachable!("{error}"));
        match self.set_directive(key, value, by, now) {
            // Without room others don't hear of it: the car obeys its key, and the latch has the evidence.
            Ok(()) | Err(DirectiveError::Full | DirectiveError::Spent) => {}
        }
    }
}
