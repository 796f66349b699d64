//! How long the motor has been driven without progress (F9, H5).

use std::time::Duration;

use elevator_driver::Floor;

use crate::model::Timestamp;

/// Driven time, which is the evidence for a hang.
///
/// An interruption clears it, because what the car did meanwhile is unknown, but only
/// [`FREE_INTERRUPTIONS`](Self::FREE_INTERRUPTIONS) times in a row: a controller that stalls
/// repeatedly must not hide a stuck motor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::car) struct DrivenTime {
    counted: Duration,
    /// When the current stretch of driving began.
    stretch: Option<Timestamp>,
    interruptions: u8,
}

impl DrivenTime {
    const FREE_INTERRUPTIONS: u8 = 3;

    pub(in crate::car) fn observe(&mut self, driven: bool, now: Timestamp) {
        if driven {
            self.stretch.get_or_insert(now);
        } else if let Some(begun) = self.stretch.take() {
            self.counted += now.since(begun);
        }
    }

    pub(in crate::car) fn total(&self, now: Timestamp) -> Duration {
        let stretch = self.stretch.map(|begun| now.since(begun));
        self.counted + stretch.unwrap_or_default()
    }

    /// When it reaches `limit` if the motor stays driven; `None` while it is not driven.
    pub(in crate::car) fn deadline(&self, limit: Duration) -> Option<Timestamp> {
        Some(self.stretch? + limit.saturating_sub(self.counted))
    }

    pub(in crate::car) fn clear(&mut self, now: Timestamp) {
        *self = Self { stretch: self.stretch.map(|_| now), ..Self::default() };
    }

    /// The controller, the panel or the line was away, or the stop switch was pulled. The last
    /// `unwatched` was not observed and does not count.
    pub(in crate::car) fn interrupt(&mut self, unwatched: Duration, now: Timestamp) {
        if let Some(begun) = self.stretch.take() {
            self.counted += now.since(begun).saturating_sub(unwatched);
        }
        if self.counted.is_zero() {
            return;
        }
        if self.interruptions < Self::FREE_INTERRUPTIONS {
            self.interruptions += 1;
            self.counted = Duration::ZERO;
        }
    }
}

/// Driven time since the last new floor in the commanded direction, over all retries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::car) struct Progress {
    pub(in crate::car) driven: DrivenTime,
    floor: Option<Floor>,
    /// Whether the car has left it since.
    away: bool,
}

impl Progress {
    pub(in crate::car) fn observe_floor(&mut self, floor: Option<Floor>) {
        self.away |= floor.is_none();
    }

    /// The sensor of a target floor is active. It counts once, however long a car is stuck there.
    pub(in crate::car) fn reach(&mut self, floor: Floor, now: Timestamp) {
        if self.floor != Some(floor) {
            self.arrive(floor, now);
        }
    }

    /// The car is at rest here, or about to be. It counts unless it has been here all the time.
    pub(in crate::car) fn rest(&mut self, floor: Floor, now: Timestamp) {
        if self.away || self.floor != Some(floor) {
            self.arrive(floor, now);
        }
    }

    pub(in crate::car) fn arrive(&mut self, floor: Floor, now: Timestamp) {
        self.driven.clear(now);
        self.floor = Some(floor);
        self.away = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::floor;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::START + Duration::from_secs(seconds)
    }

    /// H1, H5
    #[test]
    fn a_floor_at_which_the_car_comes_to_rest_counts_unless_it_never_left() {
        let mut progress = Progress::default();
        progress.arrive(floor(1), at(0));
        progress.driven.observe(true, at(1));
        progress.rest(floor(1), at(4));
        assert_eq!(progress.driven.total(at(4)), Duration::from_secs(3));
        progress.observe_floor(None);
        progress.rest(floor(1), at(5));
        assert_eq!(progress.driven.total(at(5)), Duration::ZERO);
        progress.rest(floor(0), at(7));
        assert_eq!(progress.driven.total(at(7)), Duration::ZERO);
    }

    /// H1, H5
    #[test]
    fn interruptions_clear_the_evidence_only_a_few_times_in_a_row() {
        let mut progress = Progress::default();
        for second in 0..20 {
            progress.driven.interrupt(Duration::ZERO, at(second));
        }
        // Those cleared nothing, and are not counted.
        for round in 1..6 {
            progress.driven.observe(true, at(100 * round));
            progress.driven.interrupt(Duration::ZERO, at(100 * round + 3));
        }
        assert_eq!(progress.driven.total(at(900)), Duration::from_secs(6));
        progress.arrive(floor(2), at(900));
        progress.driven.observe(true, at(901));
        progress.driven.interrupt(Duration::ZERO, at(902));
        assert_eq!(progress.driven.total(at(950)), Duration::ZERO);
    }
}
