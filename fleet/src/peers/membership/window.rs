//! The window of a peer's beacons that were received, by sequence number.

use crate::model::Timestamp;
use crate::model::bounds::JUMP;
use crate::seeded::{SeededBug, is_seeded};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Latest,
    /// Lower than another one received.
    Reordered {
        /// It was not received before, as far as is remembered.
        first: bool,
    },
    /// Too far above the highest so far.
    Impossible,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    sequence: u64,
    /// The beacons before it that were received; the lowest bit is the highest one's.
    heard: u64,
    /// When the highest one was received; `None` before the first.
    counted_at: Option<Timestamp>,
}

impl Window {
    pub(super) fn latest(&self) -> u64 {
        self.sequence
    }

    /// When the highest one was received, if this is the one after it.
    pub(super) fn comes_next(&self, sequence: u64) -> Option<Timestamp> {
        self.counted_at.filter(|_| sequence == self.sequence.saturating_add(1))
    }

    /// Records a beacon. One that is older than the window counts as received.
    pub(super) fn mark(&mut self, sequence: u64, now: Timestamp) -> Order {
        if self.counted_at.is_none() {
            (self.sequence, self.heard, self.counted_at) = (sequence, 1, Some(now));
            return Order::Latest;
        }
        if sequence > self.sequence {
            let ahead = sequence - self.sequence;
            if ahead > JUMP {
                return Order::Impossible;
            }
            let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
            self.heard = self.heard.checked_shl(ahead).unwrap_or(0) | 1;
            (self.sequence, self.counted_at) = (sequence, Some(now));
            return Order::Latest;
        }
        let behind = u32::try_from(self.sequence - sequence).unwrap_or(u32::MAX);
        let bit = 1_u64.checked_shl(behind).unwrap_or(0);
        let first = bit != 0 && self.heard & bit == 0;
        self.heard |= bit;
        Order::Reordered { first: first || is_seeded(SeededBug::ReplayAccepted) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piggybacked message is taken in once, in whatever order the beacons arrive.
    #[test]
    fn of_each_beacon_it_is_known_whether_it_was_heard_before() {
        let mut window = Window::default();
        let sequences = [1, 3, 2, 2, 3, 1, 70, 6, 7, 7, 69, 200, 135, 137];
        let firsts = sequences.map(|at| match window.mark(at, Timestamp::START) {
            Order::Latest => true,
            Order::Reordered { first } => first,
            Order::Impossible => panic!("{at}"),
        });
        let expected = [
            true, true, true, false, false, false, true, false, true, false, true, true, false,
            true,
        ];
        assert_eq!(firsts, expected, "6 and 135 are too old to tell");
    }

    /// One impossible number must not make all of the peer's further beacons count as old.
    #[test]
    fn a_sequence_does_not_jump_too_far() {
        let mut window = Window::default();
        let mut mark = |sequence| window.mark(sequence, Timestamp::START);
        assert_eq!(mark(40_000_000), Order::Latest, "it may have run for long");
        assert_eq!(mark(u64::MAX), Order::Impossible);
        assert_eq!(mark(40_000_001), Order::Latest);
        assert_eq!(mark(40_000_001 + JUMP), Order::Latest, "one of the two was suspended");
    }
}
