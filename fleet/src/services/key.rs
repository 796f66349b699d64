//! What every node knows of this node's car because this node has set it, and no operator: where
//! its key switch stands, whether a firefighter has it by the key, and why it hung.

use std::time::Duration;

use elevator_driver::KeySwitch;

use super::Bank;
use crate::car::{Car, FireKey};
use crate::model::{NodeId, Timestamp};
use crate::settings::{Setting, Settings};

/// How long the key stands in a position before every node knows: contacts bounce for less.
const SETTLED: Duration = Duration::from_millis(200);

/// What the panel of this node's car says of its key switch.
#[derive(Debug, Default)]
pub(crate) struct KeyWatch {
    /// Where it says that the key stands, and since when.
    seen: Option<(KeySwitch, Timestamp)>,
}

/// What the key switch of a car at *fire recall* means, as its node has last seen it.
pub(crate) fn fire_key(settings: &Settings, car: &NodeId) -> FireKey {
    if settings.has_firefighter(car) { FireKey::Drives } else { FireKey::Recalls }
}

impl KeyWatch {
    /// What every node is to know: where the key stands and, on every disk, whether a firefighter
    /// has the car by it, so that it waits after a restart, and does not drive off.
    pub(crate) fn review(&mut self, bank: &Bank<'_>) -> Vec<Setting> {
        let own = bank.own.node.clone();
        let known = bank.settings().key_switch(&own);
        let key = bank.cabin.fire_key();
        let firefighter = (key != fire_key(bank.settings(), &own))
            .then(|| Setting::Firefighter(own.clone(), key == FireKey::Drives));
        let turned = self.turned(known, bank.cabin.key_switch(), bank.now);
        firefighter.into_iter().chain(turned.map(|key| Setting::KeySwitch(own, key))).collect()
    }

    /// Where the key switch stands now. Returns what others do not know yet, once it has settled.
    fn turned(
        &mut self,
        known: KeySwitch,
        key: Option<KeySwitch>,
        now: Timestamp,
    ) -> Option<KeySwitch> {
        self.seen = key.map(|key| match self.seen {
            Some((seen, since)) if seen == key => (key, since),
            Some(_) | None => (key, now),
        });
        let (key, since) = self.seen.filter(|(key, _)| *key != known)?;
        // A turn to *recall all* recalls the fleet, even if a spring takes the key back at once.
        (key == KeySwitch::RecallAll || now.since(since) >= SETTLED).then_some(key)
    }
}

/// What recalls the fleet after this turn of the key was set. The key turned back does not end it,
/// as only an operator does, nor does a restart with the key still there begin it again.
pub(crate) fn recall_by_key(bank: &Bank<'_>, turned: &Setting) -> Option<Setting> {
    // If the turn could not be kept for lack of room, it counts as turned again all the time.
    let is_kept = bank.settings().key_switch(&bank.own.node) == KeySwitch::RecallAll;
    let is_turned = matches!(turned, Setting::KeySwitch(_, KeySwitch::RecallAll));
    let recalls = is_turned && (is_kept || !bank.settings().is_fire_recalled());
    recalls.then(|| bank.settings().next_recall(bank.own.nonce))
}

/// A node that runs ends what others know of a hang of its car.
pub(crate) fn end_of_hang(bank: &Bank<'_>) -> Option<Setting> {
    let is_over =
        bank.settings().is_hung(&bank.own.node) && !bank.cabin.car().is_some_and(Car::is_hung);
    is_over.then(|| Setting::Hang(bank.own.node.clone(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contact bounces, a switch passes positions, a spring takes the key back; a node was off.
    #[test]
    fn a_turn_of_the_key_is_a_command_once_it_stands() {
        let (mut watch, mut now, mut known) =
            (KeyWatch::default(), Timestamp::START, KeySwitch::Normal);
        for (key, millis, expected) in [
            (Some(KeySwitch::Attendant), 50, None),
            (Some(KeySwitch::Independent), 1_000, Some(KeySwitch::Independent)),
            (Some(KeySwitch::Normal), 50, None),
            (Some(KeySwitch::Independent), 1_000, None),
            (Some(KeySwitch::RecallAll), 1, Some(KeySwitch::RecallAll)),
            (Some(KeySwitch::Normal), 50, None),
            (None, 1_000, None),
            (Some(KeySwitch::Normal), 1_000, Some(KeySwitch::Normal)),
        ] {
            let mut turned = None;
            for _ in 0..millis {
                now = now + Duration::from_millis(1);
                turned = turned.or(watch.turned(known, key, now));
            }
            known = turned.unwrap_or(known);
            assert_eq!(turned, expected, "{key:?} for {millis} ms");
        }
    }
}
