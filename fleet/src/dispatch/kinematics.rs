//! How long a car takes: jerk-limited motion and the door.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Building, Floor, FloorCount};

use super::predict::{Micros, micros};

/// What [`Kinematics::travel`] answers at most, and for settings that describe no motion at all.
const LONGEST_TRAVEL: Duration = Duration::from_hours(1);

/// The motion of a car and its door. The first four numbers are finite and above zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kinematics {
    /// From one floor to the next, in metres, unless a [`Building`] says how high each one is.
    pub floor_height: f64,
    /// The highest speed, in m/s.
    pub rated_speed: f64,
    /// The highest acceleration and deceleration, in m/s².
    pub acceleration: f64,
    /// The highest rate at which the acceleration changes, in m/s³.
    pub jerk: f64,
    pub door_opening: Duration,
    pub door_closing: Duration,
    /// How long the door stays open after the last passenger passed it.
    pub dwell: Duration,
    /// How long one passenger takes to board or to get off.
    pub transfer: Duration,
}

/// The motion of the simulator's cars.
impl Default for Kinematics {
    fn default() -> Self {
        Self {
            floor_height: 3.0,
            rated_speed: 1.6,
            acceleration: 1.0,
            jerk: 1.6,
            door_opening: Duration::from_millis(1_500),
            door_closing: Duration::from_millis(1_500),
            dwell: Duration::from_secs(3),
            transfer: Duration::from_secs(1),
        }
    }
}

impl Kinematics {
    /// From rest to rest over this many equal floors, to the microsecond; at most an hour.
    #[must_use]
    pub fn travel(&self, floors: u8) -> Duration {
        self.flight(f64::from(floors) * self.floor_height)
    }

    /// The longest time from rest to rest over this many adjacent storeys, one or more, where floors
    /// have these heights, in millimetres and ascending. If there are fewer, it is over as many of
    /// the tallest one.
    #[must_use]
    pub fn longest_flight(&self, heights: &[u32], storeys: u8) -> Duration {
        let longest = |storeys: usize| {
            let ways = heights.windows(storeys + 1).map(|way| way[storeys].abs_diff(way[0]));
            ways.max()
        };
        let way = longest(storeys.into());
        let way = way.or_else(|| Some(longest(1)?.saturating_mul(storeys.into())));
        self.flight(metres(way.unwrap_or_default()))
    }

    /// A building of equal storeys, to the millimetre.
    #[must_use]
    pub fn building(&self, floors: FloorCount) -> Building {
        Building::uniform(floors, Building::millimetres(self.floor_height))
    }

    /// From rest to rest over this way, to the microsecond; at most an hour.
    #[must_use]
    pub fn flight(&self, metres: f64) -> Duration {
        if metres == 0.0 { Duration::ZERO } else { duration(self.rest_to_rest(metres)) }
    }

    /// Seconds from rest to rest over `metres`, along the S-curve with the shortest time.
    fn rest_to_rest(&self, metres: f64) -> f64 {
        let (speed, acceleration, jerk) = (self.rated_speed, self.acceleration, self.jerk);
        let ramp = acceleration / jerk;

        // The acceleration peaks below its limit: four equal stretches of full jerk.
        let up_to_speed = |top: f64| {
            if top <= acceleration * ramp {
                2.0 * (top / jerk).sqrt()
            } else {
                top / acceleration + ramp
            }
        };
        if metres >= speed * up_to_speed(speed) {
            return metres / speed + up_to_speed(speed);
        }
        if metres <= 2.0 * acceleration * ramp * ramp {
            return 4.0 * (metres / (2.0 * jerk)).cbrt();
        }
        let top = acceleration / 2.0 * ((ramp * ramp + 4.0 * metres / acceleration).sqrt() - ramp);
        2.0 * (top / acceleration + ramp)
    }
}

/// The times from rest to rest between the floors of a building.
#[derive(Debug, Clone)]
pub(super) struct TravelTimes {
    /// In millimetres, by floor.
    heights: Vec<u32>,
    /// By floor, and floor: from rest to rest.
    times: Vec<Micros>,
    /// By floor, and floor: half the time over twice the way. A car that starts at the one is about
    /// so long under way when it passes the other, unless it brakes by then.
    halves: Vec<Micros>,
}

impl TravelTimes {
    pub(super) fn new(kinematics: &Kinematics, building: &Building) -> Self {
        let heights = building.heights();
        // Equal storeys have few distances.
        let mut known = BTreeMap::new();
        let mut time =
            |way: u32| *known.entry(way).or_insert_with(|| micros(kinematics.flight(metres(way))));
        let pairs = heights.iter().flat_map(|from| heights.iter().map(|to| from.abs_diff(*to)));
        let (times, halves) = pairs.map(|way| (time(way), time(way.saturating_mul(2)) / 2)).unzip();
        Self { heights, times, halves }
    }

    /// From one floor to another, in millimetres.
    pub(super) fn way(&self, from: usize, to: usize) -> u32 {
        self.heights[from].abs_diff(self.heights[to])
    }

    /// By floor, and floor.
    pub(super) fn table(&self) -> &[Micros] {
        &self.times
    }

    pub(super) fn between(&self, from: Floor, to: Floor) -> Micros {
        self.times[self.pair(self.place(from), self.place(to))]
    }

    /// A floor that the building does not have counts as the top one.
    fn place(&self, floor: Floor) -> usize {
        usize::from(floor.index()).min(self.heights.len() - 1)
    }

    fn pair(&self, one: usize, other: usize) -> usize {
        one * self.heights.len() + other
    }

    /// How long a moving car still takes to come to rest at `stop`.
    ///
    /// The last floor it passed (or left) is `last`, and it has been moving for `elapsed`. Where
    /// this fits more than one start in the shaft, the answer is for the slowest.
    pub(super) fn remaining(&self, last: Floor, stop: Floor, elapsed: Micros) -> Micros {
        let (last, stop) = (self.place(last), self.place(stop));
        let (behind, next) = match last.cmp(&stop) {
            Ordering::Less => (last, last + 1),
            Ordering::Greater => (self.heights.len() - 1 - last, last - 1),
            Ordering::Equal => return 0,
        };
        let start = |back: usize| if last < stop { last - back } else { last + back };
        let whole = |from: usize| self.times[self.pair(from, stop)];
        // The time at which a floor is passed: the way there is much like half of a trip twice as
        // long, as is that from there to rest.
        let passing = |from: usize, floor: usize| {
            if self.way(from, floor) <= self.way(floor, stop) {
                self.halves[self.pair(from, floor)]
            } else {
                whole(from).saturating_sub(self.halves[self.pair(floor, stop)])
            }
        };
        // The farthest start from which it has passed its last floor by now.
        let (mut back, mut too_far) = (0, behind + 1);
        while too_far - back > 1 {
            let middle = back.midpoint(too_far);
            if passing(start(middle), last) <= elapsed {
                back = middle;
            } else {
                too_far = middle;
            }
        }
        let (from, whole) = (start(back), whole(start(back)));
        let at_the_last_floor = whole.saturating_sub(passing(from, last));
        let at_the_next_floor = whole.saturating_sub(passing(from, next));
        whole.saturating_sub(elapsed).max(at_the_next_floor).min(at_the_last_floor)
    }
}

fn metres(millimetres: u32) -> f64 {
    f64::from(millimetres) / 1_000.0
}

/// To the microsecond, so that the last bit of a root makes no difference between machines.
fn duration(seconds: f64) -> Duration {
    let seconds = (seconds * 1e6).round() / 1e6;
    Duration::try_from_secs_f64(seconds).map_or(LONGEST_TRAVEL, |time| time.min(LONGEST_TRAVEL))
}

#[cfg(test)]
mod tests {
    use elevator_driver::Landing;

    use super::*;

    fn assert_seconds(actual: Duration, expected: f64) {
        let actual = actual.as_secs_f64();
        assert!((actual - expected).abs() < 2e-6, "{actual} s instead of {expected} s");
    }

    // v = 2, a = 1, j = 1: never at full acceleration below 2 m, nor at full speed below 6 m.
    fn round_numbers(floor_height: f64) -> Kinematics {
        Kinematics {
            floor_height,
            rated_speed: 2.0,
            acceleration: 1.0,
            jerk: 1.0,
            ..Kinematics::default()
        }
    }

    /// In a shaft of 51 floors, towards the top.
    fn remaining(floors: u8, elapsed: Duration) -> Duration {
        let car = Kinematics::default();
        let times = TravelTimes::new(&car, &car.building(FloorCount::new(51).unwrap()));
        let floor = |index| Floor::try_from(index).unwrap();
        let left = times.remaining(floor(50 - floors), floor(50), micros(elapsed));
        Duration::from_micros(left)
    }

    #[test]
    fn trips_take_as_long_as_computed_by_hand() {
        for (floor_height, rated_speed, floors, seconds) in [
            // 2 s + 1 s up to speed over 3 m, the same down, and 2 m/s between.
            (6.0, 2.0, 1, 6.0),
            (10.0, 2.0, 1, 8.0),
            (10.0, 2.0, 3, 18.0),
            // Never at rated speed: peak speed v with v² + v = 3.75, v = 1.5; then 2 (1.5 + 1).
            (3.75, 2.0, 1, 5.0),
            // Never at full acceleration: four stretches of T with 2 j T³ = d.
            (2.0, 2.0, 1, 4.0),
            (0.25, 2.0, 1, 2.0),
            // A slow car: 2 √(0.25 / 1) = 1 s up to speed.
            (1.0, 0.25, 1, 5.0),
            (1.0, 0.25, 0, 0.0),
        ] {
            let car = Kinematics { rated_speed, ..round_numbers(floor_height) };
            assert_seconds(car.travel(floors), seconds);
        }
    }

    #[test]
    fn the_remaining_flight_lies_between_that_of_the_last_floor_and_that_of_the_next() {
        let car = Kinematics::default();
        for floors in 1..20 {
            for tenths in 0..900 {
                let elapsed = Duration::from_millis(100 * tenths);
                let left = remaining(floors, elapsed);
                assert!(left <= car.travel(floors));
                assert!(left >= car.travel(2 * (floors - 1)) / 2);
            }
        }
        assert_eq!(remaining(0, Duration::from_secs(4)), Duration::ZERO);
    }

    /// Storeys of 2, 6, 10 and 2 m, up and down.
    #[test]
    fn flights_take_the_heights_of_their_storeys() {
        let car = round_numbers(1.0);
        let floor = |index| Floor::try_from(index).unwrap();
        let landing = |height: u32| Landing::new(&height.to_string(), height * 1_000);
        let building = Building::new([0, 2, 8, 18, 20].map(landing).into(), Vec::new()).unwrap();
        let times = TravelTimes::new(&car, &building);
        for (from, to, seconds) in [(0, 1, 4.0), (1, 2, 6.0), (2, 3, 8.0), (1, 3, 11.0)] {
            for (from, to) in [(from, to), (to, from)] {
                let time = times.between(floor(from), floor(to));
                assert_seconds(Duration::from_micros(time), seconds);
            }
        }
        let left = |last, stop, elapsed: u64| {
            times.remaining(floor(last), floor(stop), elapsed * 1_000_000) / 1_000_000
        };
        // It has just left its floor, or has come from 2 m before it, 18 m from its stop.
        assert_eq!([left(1, 3, 0), left(1, 3, 3), left(3, 1, 3)], [11, 9, 9]);
        // From floor 0 it is at rated speed at floor 2, 8 m up, after 5.5 s.
        assert_eq!(left(2, 3, 6), 6);
        let heights = building.heights();
        assert_seconds(car.longest_flight(&heights, 1), 8.0);
        assert_seconds(car.longest_flight(&heights, 2), 11.0);
        assert_seconds(car.longest_flight(&heights[..2], 2), 5.123_106);
    }
}
