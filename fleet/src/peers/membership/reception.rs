//! How well a peer's beacons arrive: the share that gets lost, and the shortest round trip.
//!
//! Both come from what beacons say anyway. Sequence numbers alone are not enough for the loss, as
//! they count beacons to single nodes too: a missing number counts as a lost beacon only where the
//! announced period has passed without one.

use std::time::Duration;

use crate::model::Timestamp;

/// The figures are about the last minute: the current half, and the one before.
const HALF: Duration = Duration::from_secs(30);

/// What was received of one incarnation of a peer in the last minute.
#[derive(Debug, Clone, Default)]
pub(super) struct Reception {
    /// The latest beacon to everybody, and when it arrived.
    last: Option<(u64, Timestamp)>,
    /// How many later ones to this node alone have arrived.
    single: u64,
    before: Part,
    current: Part,
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
        let before = self.last.replace((sequence, now));
        let received = 1 + std::mem::take(&mut self.single);
        let lost = before.map_or(0, |(last, at)| match sequence.saturating_sub(last + received) {
            // As a rule nothing is missing, and nothing has to be divided.
            0 => 0,
            missing => missing.min(periods(now.since(at), period).saturating_sub(1)),
        });
        let part = self.part(now);
        part.received += 1;
        part.lost += lost;
    }

    /// A later beacon than any before, to this node alone.
    pub(super) fn note_single(&mut self) {
        self.single += 1;
    }

    /// A beacon that others have overtaken: it was late and not lost.
    pub(super) fn note_late(&mut self) {
        let mut parts = [&mut self.current, &mut self.before].into_iter();
        if let Some(part) = parts.find(|part| part.lost > 0) {
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
        let parts = [&self.before, &self.current].into_iter();
        parts.filter(move |part| now.since(part.began) < HALF * 2)
    }

    fn part(&mut self, now: Timestamp) -> &mut Part {
        if now.since(self.current.began) >= HALF {
            self.before =
                std::mem::replace(&mut self.current, Part { began: now, ..Part::default() });
        }
        &mut self.current
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

    /// What is over does not count after a minute.
    #[test]
    fn only_the_last_minute_counts() {
        let (mut reception, mut now) = (Reception::default(), Timestamp::START);
        reception.note_echo(Duration::from_millis(1), now);
        for sequence in 0..100 * 40 {
            now = now + PERIOD;
            // Every other one of the first half minute gets lost.
            if sequence % 2 == 0 || sequence > 30 * 40 {
                reception.note_latest(sequence, PERIOD, now);
                reception.note_echo(Duration::from_millis(9), now);
            }
            if sequence == 30 * 40 {
                assert_eq!(reception.loss(now).map(|loss| (loss * 10.0).round()), Some(5.0));
                assert_eq!(reception.round_trip(now), Some(Duration::from_millis(1)));
            }
        }
        assert_eq!(reception.loss(now), Some(0.0));
        assert_eq!(reception.round_trip(now), Some(Duration::from_millis(9)));
        let later = now + Duration::from_mins(2);
        assert_eq!((reception.loss(later), reception.round_trip(later)), (None, None));
    }

    #[test]
    fn what_arrives_late_or_at_another_node_is_not_lost() {
        let mut reception = Reception::default();
        let at = |periods| Timestamp::START + PERIOD * periods;
        reception.note_latest(1, PERIOD, at(1));
        // 2 is overtaken; 4 and 5 were for other nodes.
        reception.note_latest(3, PERIOD, at(3));
        assert_eq!(reception.loss(at(3)), Some(1.0 / 3.0));
        reception.note_late();
        assert_eq!(reception.loss(at(3)), Some(0.0));
        reception.note_latest(6, PERIOD, at(4));
        assert_eq!(reception.loss(at(4)), Some(0.0));
        // After a gap in the numbers alone, as after a restart of the count, nothing is known.
        reception.note_latest(2, PERIOD, at(9));
        assert_eq!(reception.loss(at(9)), Some(0.0));
    }
}
