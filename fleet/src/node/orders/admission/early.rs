//! What peers said of this node's own car, and this node can't judge yet.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{Call, JournalId, NodeId, Timestamp};
use crate::orders::Record;

/// How long a node listens before it believes what others say of its own car. Its peers send their
/// stores within some tens of milliseconds of the start, and stores are equal soon after (O7).
pub(super) const EARLY: Duration = Duration::from_secs(1);

/// How soon a service is judged again that this node would believe if it knew that the call stays
/// open.
const AGAIN: Duration = Duration::from_millis(500);

/// How many records wait at most. Peers repeat those that are not kept.
const MOST: usize = 256;

/// Services by this node's own car that wait for their judgement.
#[derive(Debug, Clone, Default)]
pub(super) struct Early {
    records: BTreeMap<(JournalId, Call), (NodeId, Record)>,
    not_before: Timestamp,
}

impl Early {
    /// A peer reports a service that this node would believe if the call stayed open.
    pub(super) fn keep_unconfirmed(&mut self, peer: &NodeId, record: &Record, now: Timestamp) {
        self.keep(peer, record);
        // Those that wait already don't wait longer for this one.
        if self.not_before <= now {
            self.not_before = now + AGAIN;
        }
    }

    /// A peer reports a service too early to be judged. The latest press of a journal and call
    /// counts, as in the store.
    pub(super) fn keep(&mut self, peer: &NodeId, record: &Record) {
        let key = (record.dot.journal, record.call.clone());
        let is_newer = self
            .records
            .get(&key)
            .map_or(self.records.len() < MOST, |(_, kept)| kept.dot < record.dot);
        if is_newer {
            self.records.insert(key, (peer.clone(), record.clone()));
        }
    }

    /// The records to judge now, by the peer that sent them, if this node has listened for long
    /// enough.
    pub(super) fn take(
        &mut self,
        attentive_since: Timestamp,
        now: Timestamp,
    ) -> BTreeMap<NodeId, Vec<Record>> {
        let mut taken: BTreeMap<NodeId, Vec<Record>> = BTreeMap::new();
        if now >= self.not_before.max(attentive_since + EARLY) {
            for (peer, record) in std::mem::take(&mut self.records).into_values() {
                taken.entry(peer).or_default().push(record);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::{Direction, Floor};

    use super::*;
    use crate::election::testing::name;
    use crate::model::{Dot, HallCall};
    use crate::orders::RecordState;

    #[test]
    fn what_came_early_is_judged_together_for_each_peer() {
        let mut early = Early::default();
        for (peer, journal) in [(2, 1), (2, 2), (3, 3)] {
            let record = Record {
                dot: Dot { journal: JournalId(journal), sequence: 1 },
                origin: name(9),
                call: Call::Hall(HallCall::new(Floor::BOTTOM, Direction::Up)),
                state: RecordState::Served(None),
            };
            early.keep(&name(peer), &record);
        }
        let start = Timestamp::START;
        assert!(early.take(start, start + EARLY / 2).is_empty());
        let taken: Vec<_> = early.take(start, start + EARLY).into_iter().collect();
        let counts = taken.iter().map(|(peer, records)| (peer.clone(), records.len()));
        assert!(counts.eq([(name(2), 2), (name(3), 1)]));
        assert!(early.take(start, start + EARLY).is_empty());
    }

    #[test]
    fn what_is_not_confirmed_is_judged_again_a_little_later() {
        let mut early = Early::default();
        let record = Record {
            dot: Dot { journal: JournalId(1), sequence: 1 },
            origin: name(9),
            call: Call::Hall(HallCall::new(Floor::BOTTOM, Direction::Up)),
            state: RecordState::Served(None),
        };
        let (start, now) = (Timestamp::START, Timestamp::START + EARLY * 3);
        early.keep_unconfirmed(&name(2), &record, now);
        assert!(early.take(start, now).is_empty());
        early.keep_unconfirmed(&name(3), &record, now + AGAIN / 2);
        assert_eq!(early.take(start, now + AGAIN).len(), 1, "the second does not delay the first");
        assert!(early.take(start, now + AGAIN * 2).is_empty());
    }
}
