//! How long a car takes: jerk-limited motion and the door.

use std::time::Duration;

use super::predict::Micros;

/// What [`Kinematics::travel`] answers at most, and for settings that describe no motion at all.
const LONGEST_TRAVEL: Duration = Duration::from_hours(1);

/// The motion of a car and its door. The first four numbers are finite and above zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kinematics {
    /// From one floor to the next, in metres.
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
    /// From rest to rest over this many floors, to the microsecond; at most an hour.
    #[must_use]
    pub fn travel(&self, floors: u8) -> Duration {
        if floors == 0 {
            return Duration::ZERO;
        }
        duration(self.rest_to_rest(f64::from(floors) * self.floor_height))
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

/// How long a moving car still takes to come to rest, by the times from rest to rest.
///
/// The last floor it passed (or left) is `floors` before the one at which it stops, it has been
/// moving for `elapsed`, and it started at most `longest` floors before that stop. Where this fits
/// more than one place in the shaft, the answer is for the slowest.
pub(super) fn remaining_flight(
    travel: impl Fn(u8) -> Micros,
    floors: u8,
    longest: u8,
    elapsed: Micros,
) -> Micros {
    // On a trip of `trip` floors, the time at which the floor `passed` floors after its start is
    // passed: the way there is much like half of a trip twice as long, as is that from there to
    // rest.
    let passing = |trip: u8, passed: u8| {
        let left = trip.saturating_sub(passed);
        if passed <= left {
            travel(passed.saturating_mul(2)) / 2
        } else {
            travel(trip).saturating_sub(travel(left.saturating_mul(2)) / 2)
        }
    };
    if floors == 0 {
        return 0;
    }
    // The longest trip that has passed the floor `floors` before its end by now.
    let (mut trip, mut too_long) = (floors, longest.max(floors).saturating_add(1));
    while too_long - trip > 1 {
        let middle = trip.midpoint(too_long);
        if passing(middle, middle - floors) <= elapsed {
            trip = middle;
        } else {
            too_long = middle;
        }
    }
    let passed = trip - floors;
    let whole = travel(trip);
    let at_the_last_floor = whole.saturating_sub(passing(trip, passed));
    let at_the_next_floor = whole.saturating_sub(passing(trip, passed + 1));
    whole.saturating_sub(elapsed).max(at_the_next_floor).min(at_the_last_floor)
}

/// To the microsecond, so that the last bit of a root makes no difference between machines.
fn duration(seconds: f64) -> Duration {
    let seconds = (seconds * 1e6).round() / 1e6;
    Duration::try_from_secs_f64(seconds).map_or(LONGEST_TRAVEL, |time| time.min(LONGEST_TRAVEL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::predict::micros;

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

    fn remaining(floors: u8, longest: u8, elapsed: Duration) -> Duration {
        let travel = |trip| micros(Kinematics::default().travel(trip));
        Duration::from_micros(remaining_flight(travel, floors, longest, micros(elapsed)))
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
                let left = remaining(floors, 50, elapsed);
                assert!(left <= car.travel(floors));
                assert!(left >= car.travel(2 * (floors - 1)) / 2);
            }
        }
        assert_eq!(remaining(0, 9, Duration::from_secs(4)), Duration::ZERO);
    }
}
