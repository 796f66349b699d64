//! The window of a peer's beacons that were received, by sequence number.

use std::time::Duration;

use crate::model::Timestamp;
use crate::seeded::{SeededBug, is_seeded};

/// How far a sequence number may jump, in addition to what a node can send since the last beacon.
/// Without a limit, one forged beacon would make all of the peer's own beacons count as old.
const WINDOW: u64 = 1024;

/// The most beacons that a node sends in a millisecond.
const BEACONS_PER_MILLISECOND: u64 = 1;

/// If this many beacons in a row, over at least this time, are in order among themselves but do not
/// fit the latest one, that one was a forgery, or from before this machine was suspended. The last of
/// those that are behind it has to be [fresh](Window::mark).
const RUN: (u8, Duration) = (4, Duration::from_millis(60));

/// The assessment of a beacon's sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The highest so far.
    Latest,
    /// Lower than another one received.
    Reordered {
        /// It was not received before, as far as is remembered.
        first: bool,
    },
    /// Higher than the node can have reached.
    Impossible,
}

/// Consecutive beacons that do not fit the latest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Run {
    count: u8,
    since: Timestamp,
    sequence: u64,
}

impl Run {
    /// Counts one more; `true` if the run is long enough to be believed.
    fn goes_on(&mut self, sequence: u64, now: Timestamp) -> bool {
        let in_order = self.count > 0 && sequence > self.sequence;
        *self = Self {
            count: if in_order { self.count.saturating_add(1) } else { 1 },
            since: if in_order { self.since } else { now },
            sequence,
        };
        let (count, time) = RUN;
        self.count >= count && now.since(self.since) >= time
    }
}

/// The beacons of one incarnation of a peer.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    /// The highest one received.
    sequence: u64,
    /// The beacons before it that were received; the lowest bit is the highest one's.
    heard: u64,
    /// When the highest one was received; `None` before the first.
    counted_at: Option<Timestamp>,
    /// The next fresh one counts, whatever its number.
    recounts: bool,
    behind: Run,
    ahead: Run,
    /// When the latest beacon of this node was sent that any of them has echoed.
    echoed: Option<Timestamp>,
}

impl Window {
    /// The highest sequence number received.
    pub(super) fn latest(&self) -> u64 {
        self.sequence
    }

    /// When the highest one was received, if this is the one after it.
    pub(super) fn comes_next(&self, sequence: u64) -> Option<Timestamp> {
        self.counted_at.filter(|_| sequence == self.sequence.saturating_add(1))
    }

    /// Records a beacon that echoes one which this node has sent at that time, or none. One that is
    /// older than the window counts as received.
    ///
    /// A beacon is fresh if it echoes a later one of this node than any before. What was recorded and
    /// is sent again is not: so only a fresh one takes the place of a later number, and of numbers
    /// that no echo has confirmed.
    pub(super) fn mark(
        &mut self,
        sequence: u64,
        echoed: Option<Timestamp>,
        now: Timestamp,
    ) -> Order {
        let is_fresh = echoed > self.echoed || is_seeded(SeededBug::ReplayAccepted);
        let is_first_proof = is_fresh && self.echoed.is_none();
        self.echoed = self.echoed.max(echoed);
        let Some(counted_at) = self.counted_at else {
            return self.count_from(sequence, now);
        };
        if is_first_proof || (is_fresh && self.recounts) {
            return self.count_from(sequence, now);
        }
        if sequence > self.sequence {
            let window = || {
                let passed = u64::try_from(now.since(counted_at).as_millis()).unwrap_or(u64::MAX);
                WINDOW.saturating_add(passed.saturating_mul(BEACONS_PER_MILLISECOND))
            };
            let ahead = sequence - self.sequence;
            if ahead > WINDOW && ahead > window() {
                if self.ahead.goes_on(sequence, now) {
                    return self.count_from(sequence, now);
                }
                return Order::Impossible;
            }
            let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
            self.heard = self.heard.checked_shl(ahead).unwrap_or(0) | 1;
            (self.sequence, self.counted_at) = (sequence, Some(now));
            (self.behind, self.ahead) = (Run::default(), Run::default());
            return Order::Latest;
        }
        let behind = u32::try_from(self.sequence - sequence).unwrap_or(u32::MAX);
        let bit = 1_u64.checked_shl(behind).unwrap_or(0);
        let first = bit != 0 && self.heard & bit == 0;
        self.heard |= bit;
        if self.behind.goes_on(sequence, now) && is_fresh {
            return self.count_from(sequence, now);
        }
        Order::Reordered { first }
    }

    /// The peer has shaken hands: its next fresh beacon counts, whatever its number.
    pub(super) fn recount(&mut self) {
        self.recounts = true;
    }

    fn count_from(&mut self, sequence: u64, now: Timestamp) -> Order {
        (self.sequence, self.heard, self.counted_at) = (sequence, 1, Some(now));
        (self.behind, self.ahead) = (Run::default(), Run::default());
        self.recounts = false;
        Order::Latest
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
        let firsts = sequences.map(|at| match window.mark(at, None, Timestamp::START) {
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

    /// One forged datagram must not make all of the peer's own beacons count as old.
    #[test]
    fn a_beacon_that_no_node_can_have_reached_is_not_taken_in() {
        let mut window = Window::default();
        let mut now = Timestamp::START;
        let mut sequence = 40_000_000;
        // However long it has run: the first one that is heard counts.
        assert_eq!(window.mark(sequence, None, now), Order::Latest);
        for forged in [u64::MAX, sequence + 100_000, u64::MAX - 1] {
            now = now + Duration::from_millis(25);
            assert_eq!(window.mark(forged, None, now), Order::Impossible);
            sequence += 1;
            assert_eq!(window.mark(sequence, None, now), Order::Latest);
        }
        // This node was suspended for an hour, and its clock with it, or not.
        for ahead in 1..4 {
            now = now + Duration::from_millis(25);
            let order = window.mark(sequence + 3_600 * 40 + ahead, None, now);
            assert_eq!(order, Order::Impossible);
        }
        now = now + Duration::from_millis(25);
        sequence += 3_600 * 40 + 4;
        assert_eq!(window.mark(sequence, None, now), Order::Latest);
        now = now + Duration::from_hours(1);
        assert_eq!(window.mark(sequence + 3_600 * 40, None, now), Order::Latest);
    }

    /// A forged beacon within the window, or one that arrives first, delays the view briefly.
    #[test]
    fn a_peer_that_goes_on_below_its_latest_beacon_has_not_sent_that_one() {
        let mut window = Window::default();
        let mut now = Timestamp::START;
        assert_eq!(window.mark(u64::MAX, Some(now), now), Order::Latest);
        let mut marks = Vec::new();
        for sequence in 100..110 {
            now = now + Duration::from_millis(25);
            marks.push(window.mark(sequence, Some(now), now));
        }
        let held_up = marks.iter().take_while(|mark| **mark != Order::Latest);
        assert_eq!(held_up.count(), 3);
        assert!(marks[3..].iter().all(|mark| *mark == Order::Latest));
    }

    /// Reordering must not look like that.
    #[test]
    fn a_burst_of_late_beacons_is_overtaken() {
        let mut window = Window::default();
        let now = Timestamp::START;
        window.mark(40, Some(now), now);
        for sequence in 10..30 {
            let order = window.mark(sequence, Some(now), now + Duration::from_millis(sequence));
            assert!(matches!(order, Order::Reordered { .. }), "{sequence}");
        }
        assert_eq!(window.mark(41, Some(now), now + Duration::from_millis(30)), Order::Latest);
    }

    /// Somebody sends a peer's beacons again, half a minute late and without end: it does not matter
    /// whether one of them is heard first, and whether there was a handshake.
    #[test]
    fn beacons_that_are_sent_again_late_keep_no_peer_out() {
        const LAG: u64 = 1_200;
        const PERIOD: Duration = Duration::from_millis(25);
        for late_first in [true, false] {
            let mut window = Window::default();
            let mut now = Timestamp::START + Duration::from_mins(1);
            for sequence in 5_000..5_400 {
                if sequence == 5_200 {
                    window.recount();
                }
                now = now + PERIOD;
                let echoed = (sequence > 5_002).then_some(now);
                let mut heard = [(sequence, echoed), (sequence - LAG, None)];
                if late_first {
                    heard.reverse();
                }
                // What a late one echoes was sent too long ago to be known.
                for (heard, echoed) in heard {
                    let order = window.mark(heard, echoed, now);
                    let expected = if heard == sequence {
                        Order::Latest
                    } else {
                        Order::Reordered { first: false }
                    };
                    if sequence > 5_003 {
                        assert_eq!(order, expected, "{heard}, {late_first}");
                    }
                }
            }
        }
    }
}
