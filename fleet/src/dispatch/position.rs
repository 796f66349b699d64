//! Where a car is between two floors, as far as its view tells.

use std::time::Duration;

use super::{CarDetail, Kinematics};
use crate::model::{CarPhase, CarView};

impl CarDetail {
    /// Estimates the position and the speed of a moving car that has shown its present floor for
    /// `shown`, at most. `None` for a car whose position is its floor: it does not move, or has reached
    /// the sensor of its stop.
    ///
    /// The car is taken to move as `kinematics` says. Whatever its node claims, the answer lies
    /// between its floor and its stop, its speed is at most the rated one, and it can still stop at
    /// [`next_stop`](CarPhase::Moving::next_stop).
    #[must_use]
    pub fn estimate(view: &CarView, shown: Duration, kinematics: &Kinematics) -> Option<Self> {
        let CarPhase::Moving { direction, stop_at, next_stop } = view.phase else {
            return None;
        };
        let floor = view.floor?;
        let height = kinematics.floor_height;
        let way = |to: elevator_driver::Floor| match floor.direction_to(to) {
            Some(towards) if towards == direction => f64::from(floor.distance(to)) * height,
            Some(_) | None => 0.0,
        };
        let (to_stop, to_next) = (way(stop_at), way(next_stop));
        if to_stop <= 0.0 {
            return None;
        }
        let moving = view.elapsed.as_secs_f64();
        let shown = shown.as_secs_f64();
        let (covered, speed) = if shown >= moving {
            // It started here.
            trip(to_stop, moving, kinematics)
        } else {
            let (_, speed) = ramp(moving, kinematics);
            pass(to_stop, shown, speed, kinematics)
        };
        // What it may still decide tells more than the clock.
        let (covered, speed) = if next_stop == stop_at {
            (covered, speed)
        } else {
            let speed = speed.min(speed_before(to_next, kinematics));
            let braking = speed * speed / (2.0 * kinematics.acceleration);
            (covered.min(to_next - braking), speed)
        };
        let covered = covered.clamp(0.0, to_stop);
        let base = f64::from(floor.index()) * height;
        let metres = match direction {
            elevator_driver::Direction::Up => base + covered,
            elevator_driver::Direction::Down => base - covered,
        };
        Some(Self { metres, speed, door_left: Duration::ZERO })
    }
}

/// Metres and m/s after so many seconds from rest, on a way that never ends.
fn ramp(seconds: f64, kinematics: &Kinematics) -> (f64, f64) {
    let Kinematics { rated_speed, acceleration, jerk, .. } = *kinematics;
    // The rounding at both ends of the ramp costs half of its own length.
    let seconds = (seconds - acceleration / jerk / 2.0).max(0.0);
    let up_to_speed = rated_speed / acceleration;
    if seconds < up_to_speed {
        (acceleration * seconds * seconds / 2.0, acceleration * seconds)
    } else {
        (rated_speed * (seconds - up_to_speed / 2.0), rated_speed)
    }
}

/// Metres and m/s after so many seconds of a trip from rest to rest: its second half mirrors the
/// first.
fn trip(metres: f64, seconds: f64, kinematics: &Kinematics) -> (f64, f64) {
    let Kinematics { rated_speed, acceleration, jerk, .. } = *kinematics;
    let smoothing = acceleration / jerk;
    let whole = if metres * acceleration >= rated_speed * rated_speed {
        metres / rated_speed + rated_speed / acceleration + smoothing
    } else {
        2.0 * (metres / acceleration).sqrt() + smoothing
    };
    if seconds <= whole / 2.0 {
        let (covered, speed) = ramp(seconds, kinematics);
        (covered.min(metres), speed)
    } else {
        let (left, speed) = ramp((whole - seconds).max(0.0), kinematics);
        ((metres - left).max(0.0), speed)
    }
}

/// Metres and m/s of a car that passed a floor at this speed so many seconds ago, with its stop
/// `metres` beyond it.
fn pass(metres: f64, seconds: f64, speed: f64, kinematics: &Kinematics) -> (f64, f64) {
    let acceleration = kinematics.acceleration;
    let braking = speed * speed / (2.0 * acceleration);
    let cruise = (metres - braking).max(0.0);
    let covered = speed * seconds;
    if covered <= cruise {
        return (covered, speed);
    }
    let braked = if speed > 0.0 { (seconds - cruise / speed).max(0.0) } else { 0.0 };
    let speed = (speed - acceleration * braked).max(0.0);
    (metres - speed * speed / (2.0 * acceleration), speed)
}

/// The highest speed from which a car can stop within so many metres.
fn speed_before(metres: f64, kinematics: &Kinematics) -> f64 {
    (2.0 * kinematics.acceleration * metres.max(0.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::tests::{idle_at, moving};

    #[test]
    fn a_car_at_rest_is_at_its_floor() {
        // At the sensor of its stop it is all but at rest.
        let mut stops = moving(3, 4, 4, Duration::from_secs(4));
        stops.floor = Some(crate::dispatch::tests::floor(4));
        for view in [idle_at(3), stops] {
            let nowhere = CarDetail::estimate(&view, Duration::ZERO, &Kinematics::default());
            assert_eq!(nowhere, None);
        }
    }

    /// Metres and m/s as computed by hand, and how far off the estimate may be.
    #[test]
    fn a_moving_car_is_where_its_times_say() {
        let seconds = Duration::from_secs;
        let halfway = Kinematics::default().travel(4) / 2;
        for (what, view, shown, metres, speed, off) in [
            ("it sets out", moving(2, 6, 3, Duration::from_millis(800)), 9.0, 6.25, 0.3, 0.3),
            ("in the middle", moving(2, 6, 5, halfway), 99.0, 12.0, 1.6, 0.1),
            ("passing a second ago", moving(4, 11, 6, seconds(20)), 1.0, 13.6, 1.6, 1e-9),
            ("at rest at its stop", moving(4, 5, 5, seconds(20)), 60.0, 15.0, 0.0, 1e-9),
        ] {
            let shown = Duration::from_secs_f64(shown);
            let found = CarDetail::estimate(&view, shown, &Kinematics::default()).expect(what);
            assert!((found.metres - metres).abs() < off, "{what}: {found:?}");
            assert!((found.speed - speed).abs() < off, "{what}: {found:?}");
        }
    }

    proptest! {
        /// Claims of a faulty node lead to a place in the shaft, and to no speed that no car has.
        #[test]
        fn whatever_a_node_claims_the_car_is_between_its_floor_and_its_stop(
            at in 0..40u8,
            legs in (1..20u8, 0..40u8),
            moving_for in any::<u64>(),
            shown in any::<u64>(),
        ) {
            let (trip, next) = legs;
            let view = moving(at, at + trip, next.max(1), Duration::from_millis(moving_for));
            let kinematics = Kinematics::default();
            let shown = Duration::from_millis(shown);
            let detail = CarDetail::estimate(&view, shown, &kinematics).expect("it moves");
            let (from, to) = (f64::from(at) * 3.0, f64::from(at + trip) * 3.0);
            prop_assert!(detail.metres >= from - 1e-9 && detail.metres <= to + 1e-9, "{detail:?}");
            prop_assert!(detail.speed >= 0.0 && detail.speed <= kinematics.rated_speed + 1e-9);
        }
    }
}
