//! How well a peer's beacons arrive: the share that gets lost, and the shortest round trip.
//!
//! Both come from what beacons say anyway. Sequence numbers alone are not enough for the loss, as
//! they count beacons to single nodes too, which the others never get: a missing number counts as a
//! lost beacon only where the announced period has passed without one. So periodic beacons are what
//! is measured.

use std::collections::VecDeque;
use std::time::Duration;

use crate::model::Timestamp;

/// The figures are about this many parts of [`PART`], the current one included.
const PARTS: usize = 6;

const PART: Duration = Duration::from_secs(10);

/// What was received of one incarnation of a peer in the last minute.
#[derive(Debug, Clone, Default)]
pub(super) struct Reception {
    last: Option<Last>,
    /// The oldest first, none of them older than [`PARTS`] times [`PART`].
    parts: VecDeque<Part>,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    sequence: u64,
    at: Timestamp,
    /// How many later ones to this node alone have arrived.
    single: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Part {
    began: Timestamp,
    received: u64,
    lost: u64,
    round_trip: Option<Duration>,
}

impl Reception {
    /// A later beacon to everybody than any before. `period` is what the one before has announced.
    pub(super) fn note_latest(&mut self, sequence: u64, period: Duration, now: Timestamp) {
        let before = self.last.replace(Last { sequence, at: now, single: 0 });
        let lost = before.map_or(0, |last| {
            let missing = sequence.saturating_sub(last.sequence).saturating_sub(1 + last.single);
            // As a rule nothing is missing, and nothing has to be divided.
            match missing {
                0 => 0,
                _ => missing.min(periods(now.since(last.at), period).saturating_sub(1)),
            }
        });
        let part = self.part(now);
        part.received += 1;
        part.lost += lost;
    }

    /// A later beacon than any before, to this node alone.
    pub(super) fn note_single(&mut self) {
        if let Some(last) = &mut self.last {
            last.single += 1;
        }
    }

    /// A beacon that others have overtaken, and that is not known to have arrived before: it was late
    /// and not lost.
    pub(super) fn note_late(&mut self) {
        if let Some(part) = self.parts.iter_mut().rev().find(|part| part.lost > 0) {
            part.lost -= 1;
            part.received += 1;
        }
    }

    /// A beacon of this node was echoed this long after it was sent.
    pub(super) fn note_echo(&mut self, after: Duration, now: Timestamp) {
        let part = self.part(now);
        part.round_trip = Some(part.round_trip.map_or(after, |shortest| shortest.min(after)));
    }

    /// The share of beacons that got lost in the last minute.
    pub(super) fn loss(&self, now: Timestamp) -> Option<f64> {
        let (received, lost) = self.recent(now).fold((0_u64, 0_u64), |(received, lost), part| {
            (received + part.received, lost + part.lost)
        });
        let sent = received + lost;
        if sent == 0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "they are counted for a minute")]
        let share = lost as f64 / sent as f64;
        Some(share)
    }

    /// The shortest time between a beacon and its echo in the last minute.
    pub(super) fn round_trip(&self, now: Timestamp) -> Option<Duration> {
        self.recent(now).filter_map(|part| part.round_trip).min()
    }

    fn recent(&self, now: Timestamp) -> impl Iterator<Item = &Part> {
        let count = u32::try_from(PARTS).unwrap_or(u32::MAX);
        self.parts.iter().filter(move |part| now.since(part.began) < PART * count)
    }

    fn part(&mut self, now: Timestamp) -> &mut Part {
        let is_over = self.parts.back().is_none_or(|part| now.since(part.began) >= PART);
        if is_over {
            if self.parts.len() == PARTS {
                self.parts.pop_front();
            }
            self.parts.push_back(Part { began: now, ..Part::default() });
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last]
    }
}

/// How many periods a time is, rounded: beacons arrive up to half a period early or late.
fn periods(time: Duration, period: Duration) -> u64 {
    let (time, period) = (time.as_micros(), period.as_micros().max(1));
    u64::try_from((2 * time + period) / (2 * period)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(25);

    /// A peer with this share of its beacons lost, which sends some of them to other nodes.
    fn lossy(share: f64, seconds: u64) -> (Reception, Timestamp) {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut reception, mut sequence) = (Reception::default(), 0);
        let mut sent_at = Timestamp::START;
        for _ in 0..seconds * 40 {
            sent_at = sent_at + PERIOD;
            // An answer to another node, now and then.
            sequence += 1 + u64::from(random.u8(0..10) == 0);
            let late = Duration::from_micros(random.u64(0..14_000));
            if random.f64() >= share {
                reception.note_latest(sequence, PERIOD, sent_at + late);
            }
        }
        (reception, sent_at)
    }

    /// What is over does not count after a minute.
    #[test]
    fn only_the_last_minute_counts() {
        let (mut reception, mut now) = lossy(0.4, 30);
        let mut sequence = 1_000_000;
        reception.note_echo(Duration::from_millis(1), now);
        for _ in 0..70 * 40 {
            now = now + PERIOD;
            sequence += 1;
            reception.note_latest(sequence, PERIOD, now);
            reception.note_echo(Duration::from_millis(9), now);
        }
        assert_eq!(reception.loss(now), Some(0.0));
        assert_eq!(reception.round_trip(now), Some(Duration::from_millis(9)));
        assert!(reception.parts.len() <= PARTS);
        let later = now + Duration::from_mins(2);
        assert_eq!((reception.loss(later), reception.round_trip(later)), (None, None));
    }

    #[test]
    fn what_arrives_late_or_at_this_node_alone_is_not_lost() {
        let mut reception = Reception::default();
        let at = |periods| Timestamp::START + PERIOD * periods;
        reception.note_latest(1, PERIOD, at(1));
        // 2 is overtaken, 4 was for this node, 5 for another one.
        reception.note_latest(3, PERIOD, at(3));
        assert_eq!(reception.loss(at(3)), Some(1.0 / 3.0));
        reception.note_late();
        assert_eq!(reception.loss(at(3)), Some(0.0));
        reception.note_single();
        reception.note_latest(6, PERIOD, at(4));
        assert_eq!(reception.loss(at(4)), Some(0.0));
        // After a gap in the numbers alone, as after a restart of the count, nothing is known.
        reception.note_latest(2, PERIOD, at(9));
        assert_eq!(reception.loss(at(9)), Some(0.0));
    }
}
