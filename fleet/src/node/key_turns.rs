//! Which turns of the panel's key switch go on record: each that a hand makes, and not the chatter of
//! a contact.
//!
//! ```text
//!   panel ──▶ the key stands elsewhere than on record, for SETTLED ──▶ KeyTurn
//! ```
//!
//! It has no timer: it is asked with each input, and at each beacon of the node.

use std::collections::VecDeque;
use std::time::Duration;

use elevator_driver::KeySwitch;

use super::{Action, Node};
use crate::car::Car;
use crate::model::{Mode, Timestamp};

/// How long the key stands in a position before that goes on record. Contacts bounce for less, and a
/// switch passes the positions between two others in less.
const SETTLED: Duration = Duration::from_millis(200);

/// The most turns that go on record within [`PERIOD`]. A loose contact that is slower than
/// [`SETTLED`] would otherwise push what operators have done out of the audit log, which has room for
/// 10,000 records, in a day.
const MOST: usize = 60;

const PERIOD: Duration = Duration::from_hours(1);

/// How many more turns to *recall all* go on record within it: the key may be loose and the fleet be
/// recalled.
const MOST_RECALLS: usize = 10;

/// The key switch at the panel of a node was turned, and what came of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyTurn {
    /// Where it stood, as far as is on record.
    pub from: KeySwitch,
    /// Where it stands.
    pub to: KeySwitch,
    /// The mode that the node's car has since; `None` without a car. A command that is more restrictive
    /// than the key comes first.
    pub mode: Option<Mode>,
}

/// What is on record of the key switch, and what is about to be.
#[derive(Debug)]
pub(super) struct KeyTurns {
    recorded: KeySwitch,
    /// Where the panel says that it stands, and since when.
    seen: Option<(KeySwitch, Timestamp)>,
    /// When the latest turns went on record, [`MOST`] and [`MOST_RECALLS`] of them.
    latest: VecDeque<Timestamp>,
}

impl KeyTurns {
    pub(super) fn new(recorded: KeySwitch) -> Self {
        Self { recorded, seen: None, latest: VecDeque::new() }
    }

    /// Where the key stands now, if the panel says it. Returns its positions before and now, if that is
    /// to go on record.
    fn note(&mut self, key: Option<KeySwitch>, now: Timestamp) -> Option<(KeySwitch, KeySwitch)> {
        let Some(key) = key else {
            self.seen = None;
            return None;
        };
        let since = match self.seen {
            Some((seen, since)) if seen == key => since,
            Some(_) | None => now,
        };
        self.seen = Some((key, since));
        // A turn to *recall all* has recalled the fleet, even if a spring takes the key back at once.
        let settled = if key == KeySwitch::RecallAll { Duration::ZERO } else { SETTLED };
        if key == self.recorded || now.since(since) < settled || !self.has_room(key, now) {
            return None;
        }
        self.latest.push_back(now);
        Some((std::mem::replace(&mut self.recorded, key), key))
    }

    fn has_room(&mut self, key: KeySwitch, now: Timestamp) -> bool {
        while self.latest.front().is_some_and(|at| now.since(*at) >= PERIOD) {
            self.latest.pop_front();
        }
        let more = if key == KeySwitch::RecallAll { MOST_RECALLS } else { 0 };
        self.latest.len() < MOST + more
    }
}

impl Node {
    /// The same, with where the key stood when that was last recorded: it tells a turn that was made while
    /// the node was off from a key that is where it was. Without a record, what the disk has of the key in
    /// the directives counts.
    #[must_use]
    pub fn with_recorded_key(mut self, recorded: Option<KeySwitch>) -> Self {
        if let Some(key) = recorded {
            self.key_turns = KeyTurns::new(key);
        }
        self
    }

    /// Has a turn of the key recorded that was not yet.
    pub(super) fn record_key(&mut self, now: Timestamp) {
        if let Some((from, to)) = self.key_turns.note(self.cabin.key_switch(), now) {
            let mode = self.cabin.car().map(Car::mode);
            self.actions.push_back(Action::Audit(KeyTurn { from, to, mode }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(25);

    /// What goes on record while the panel says this for a time, looked at in steps.
    fn during(
        turns: &mut KeyTurns,
        now: &mut Timestamp,
        key: KeySwitch,
        time: Duration,
    ) -> Vec<(KeySwitch, KeySwitch)> {
        let end = *now + time;
        let mut recorded = Vec::new();
        while *now < end {
            recorded.extend(turns.note(Some(key), *now));
            *now = *now + STEP;
        }
        recorded
    }

    #[test]
    fn a_turn_is_on_record_once_the_key_stands() {
        let (mut turns, mut now) = (KeyTurns::new(KeySwitch::Normal), Timestamp::START);
        let mut stands = |key, time| during(&mut turns, &mut now, key, time);
        assert_eq!(stands(KeySwitch::Normal, SETTLED * 9), []);
        assert_eq!(stands(KeySwitch::Attendant, STEP * 2), [], "the switch passes it");
        let turned = (KeySwitch::Normal, KeySwitch::Independent);
        assert_eq!(stands(KeySwitch::Independent, SETTLED * 9), [turned]);
        assert_eq!(stands(KeySwitch::Normal, SETTLED / 2), [], "it is turned back");
        assert_eq!(stands(KeySwitch::Independent, SETTLED * 9), []);
    }

    #[test]
    fn a_panel_that_is_away_turns_no_key() {
        let (mut turns, mut now) = (KeyTurns::new(KeySwitch::Independent), Timestamp::START);
        assert_eq!(during(&mut turns, &mut now, KeySwitch::Normal, SETTLED), []);
        assert_eq!(turns.note(None, now), None);
        now = now + SETTLED;
        assert_eq!(turns.note(Some(KeySwitch::Normal), now), None, "it has only just said so");
        now = now + SETTLED;
        let turned = Some((KeySwitch::Independent, KeySwitch::Normal));
        assert_eq!(turns.note(Some(KeySwitch::Normal), now), turned);
    }

    #[test]
    fn a_key_that_springs_back_from_recall_all_is_on_record() {
        let (mut turns, mut now) = (KeyTurns::new(KeySwitch::Normal), Timestamp::START);
        let mut stands = |key, time| during(&mut turns, &mut now, key, time);
        let recalled = (KeySwitch::Normal, KeySwitch::RecallAll);
        // However often the contact bounces.
        assert_eq!(stands(KeySwitch::RecallAll, STEP), [recalled]);
        assert_eq!(stands(KeySwitch::Normal, STEP), []);
        assert_eq!(stands(KeySwitch::RecallAll, STEP), []);
        let back = (KeySwitch::RecallAll, KeySwitch::Normal);
        assert_eq!(stands(KeySwitch::Normal, SETTLED * 2), [back]);
    }

    /// However long it chatters, and however slowly. Where it ends is on record.
    #[test]
    fn a_chattering_key_makes_few_records() {
        let (mut turns, mut now) = (KeyTurns::new(KeySwitch::Normal), Timestamp::START);
        let mut stands = |key, time| during(&mut turns, &mut now, key, time);
        let chatters = |stands: &mut dyn FnMut(KeySwitch, Duration) -> Vec<_>, time: Duration| {
            let mut recorded = 0;
            for _ in 0..500 {
                recorded += stands(KeySwitch::OutOfService, time).len();
                recorded += stands(KeySwitch::Normal, time).len();
            }
            recorded
        };
        assert_eq!(chatters(&mut stands, SETTLED / 2), 0);
        assert_eq!(chatters(&mut stands, SETTLED * 2), MOST);
        let recalled = (KeySwitch::Normal, KeySwitch::RecallAll);
        assert_eq!(stands(KeySwitch::RecallAll, STEP), [recalled]);
        let end = (KeySwitch::RecallAll, KeySwitch::OutOfService);
        assert_eq!(stands(KeySwitch::OutOfService, PERIOD), [end]);
    }
}
