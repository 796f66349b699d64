//! The learned flight times of this car, leg by leg.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use elevator_driver::{Floor, FloorCount};

use crate::model::{FlightRecord, Leg, LegEnd};

/// The times of all legs; at most [`MOST_LEGS`] are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::car) struct FlightTimes {
    legs: BTreeMap<Leg, Samples>,
    /// The floors whose sensor was silent when they were last passed.
    silent: BTreeSet<Floor>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Samples {
    last: VecDeque<u16>,
    /// Samples since the leg was last stored.
    unkept: usize,
}

const MOST_LEGS: usize = 4096;

/// How many samples of a leg are kept: enough to ignore one outlier.
const WINDOW: usize = 32;

/// How many samples are needed before they are used in place of the nominal time.
const ENOUGH: usize = 5;

const KEEP_EVERY: usize = 32;

/// The least margin above the longest time; it covers the polling of the line.
const SLACK: Duration = Duration::from_millis(50);

impl FlightTimes {
    /// How long the motor may be driven after leaving the sensor of `from` before the car is
    /// overdue, if it stops at `stop_at`. `nominal` is the time from rest to rest over one floor.
    pub(in crate::car) fn limit(
        &self,
        from: Floor,
        start: LegEnd,
        stop_at: Floor,
        floors: FloorCount,
        nominal: Duration,
    ) -> Duration {
        let leg = self.next_leg(from, start, stop_at, floors);
        let learned = self.legs.get(&leg).and_then(Samples::limit);
        learned.unwrap_or_else(|| {
            let floors = u32::from(leg.from.distance(leg.to)).max(1);
            nominal.saturating_mul(floors) * 3 / 2
        })
    }

    /// The current leg: to the next floor with a working sensor, or to the stop.
    fn next_leg(&self, from: Floor, start: LegEnd, stop_at: Floor, floors: FloorCount) -> Leg {
        let Some(direction) = from.direction_to(stop_at) else {
            let (to, end) = (from, LegEnd::Rest);
            return Leg { from, to, start, end };
        };
        let mut to = from;
        while let Some(next) = floors.next(to, direction).filter(|_| to != stop_at) {
            to = next;
            if !self.silent.contains(&to) {
                break;
            }
        }
        let end = if to == stop_at { LegEnd::Rest } else { LegEnd::Passing };
        Leg { from, to, start, end }
    }

    /// Learns the duration of a leg; returns a record to store, if it is time for that.
    pub(in crate::car) fn learn(&mut self, leg: Leg, took: Duration) -> Option<FlightRecord> {
        self.note_silent(leg);
        if self.legs.len() >= MOST_LEGS && !self.legs.contains_key(&leg) {
            return None;
        }
        let samples = self.legs.entry(leg).or_default();
        samples.add(took);
        samples
            .is_worth_keeping()
            .then(|| FlightRecord { leg, samples: samples.last.iter().copied().collect() })
    }

    /// Restores what an earlier process has learned. Implausible values are ignored.
    pub(in crate::car) fn restore(&mut self, records: &[FlightRecord], floors: FloorCount) {
        let sound = records.iter().filter(|record| {
            let Leg { from, to, .. } = record.leg;
            floors.contains(from) && floors.contains(to)
        });
        for record in sound.take(MOST_LEGS) {
            let skipped = record.samples.len().saturating_sub(WINDOW);
            let last = record.samples.iter().skip(skipped).copied().collect();
            self.legs.insert(record.leg, Samples { last, unkept: 0 });
        }
    }

    pub(super) fn sensor_seen(&mut self, floor: Floor) {
        self.silent.remove(&floor);
    }

    /// The floors inside the leg were passed without a signal of their sensors.
    fn note_silent(&mut self, leg: Leg) {
        let (low, high) = (leg.from.min(leg.to).index(), leg.from.max(leg.to).index());
        let between = (low.saturating_add(1)..high).filter_map(|index| Floor::try_from(index).ok());
        self.silent.extend(between);
    }
}

impl Samples {
    fn add(&mut self, took: Duration) {
        let hundredths = took.as_millis().div_ceil(10);
        self.last.push_back(u16::try_from(hundredths).unwrap_or(u16::MAX));
        if self.last.len() > WINDOW {
            self.last.pop_front();
        }
        self.unkept += 1;
    }

    /// The longest sample plus half the spread, which is small for a drive that is always equally
    /// fast. In a full window the extremes do not count, so that one delayed flight is forgotten.
    fn limit(&self) -> Option<Duration> {
        if self.last.len() < ENOUGH {
            return None;
        }
        let mut sorted: Vec<u16> = self.last.iter().copied().collect();
        sorted.sort_unstable();
        let rank = usize::from(self.last.len() == WINDOW);
        let (shortest, longest) = (sorted.get(rank)?, sorted.iter().rev().nth(rank)?);
        let margin = ((longest - shortest) / 2).max(longest / 20);
        let hundredths = u64::from(*longest) + u64::from(margin);
        Some(Duration::from_millis(hundredths * 10) + SLACK)
    }

    fn is_worth_keeping(&mut self) -> bool {
        let worth = self.last.len() == ENOUGH || self.unkept >= KEEP_EVERY;
        if worth {
            self.unkept = 0;
        }
        worth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::floor;

    const NOMINAL: Duration = Duration::from_secs(4);

    fn floors() -> FloorCount {
        FloorCount::new(10).expect("a shaft")
    }

    fn leg_to(from: u8, to: u8, end: LegEnd) -> Leg {
        Leg { from: floor(from), to: floor(to), start: LegEnd::Rest, end }
    }

    fn limit(times: &FlightTimes, from: u8, stop_at: u8) -> Duration {
        times.limit(floor(from), LegEnd::Rest, floor(stop_at), floors(), NOMINAL)
    }

    #[test]
    fn nominal_time_holds_until_enough_is_learned() {
        let mut times = FlightTimes::default();
        assert_eq!(limit(&times, 1, 2), Duration::from_secs(6));
        for _ in 0..ENOUGH {
            times.learn(leg_to(1, 2, LegEnd::Rest), Duration::from_secs(2));
        }
        assert_eq!(limit(&times, 1, 2), Duration::from_millis(2_150));
        assert_eq!(limit(&times, 2, 1), Duration::from_secs(6), "the other way");
        // One outlier is forgotten once the window is full.
        times.learn(leg_to(1, 2, LegEnd::Rest), Duration::from_mins(1));
        for _ in 1..WINDOW {
            times.learn(leg_to(1, 2, LegEnd::Rest), Duration::from_secs(2));
        }
        assert_eq!(limit(&times, 1, 2), Duration::from_millis(2_150));
    }

    #[test]
    fn a_floor_that_is_passed_in_silence_is_not_expected_again() {
        let mut times = FlightTimes::default();
        let passing = leg_to(1, 3, LegEnd::Passing);
        for _ in 0..ENOUGH {
            times.learn(passing, Duration::from_secs(5));
        }
        assert_eq!(limit(&times, 1, 4), Duration::from_millis(5_300));
        assert_eq!(limit(&times, 1, 2), Duration::from_secs(6), "it may stop there");
        times.sensor_seen(floor(2));
        assert_eq!(limit(&times, 1, 4), Duration::from_secs(6));
    }

    #[test]
    fn what_is_learned_survives_a_restart_and_nonsense_does_not() {
        let mut times = FlightTimes::default();
        let kept: Vec<FlightRecord> = (0..WINDOW)
            .filter_map(|_| times.learn(leg_to(1, 2, LegEnd::Rest), Duration::from_secs(2)))
            .collect();
        assert_eq!(kept.len(), 1, "not every flight is written");
        let mut restored = FlightTimes::default();
        let nonsense = FlightRecord { leg: leg_to(1, 77, LegEnd::Rest), samples: vec![1; 500] };
        restored.restore(&[kept[0].clone(), nonsense], floors());
        assert_eq!(limit(&restored, 1, 2), limit(&times, 1, 2));
        assert_eq!(restored.legs.len(), 1);
    }
}
