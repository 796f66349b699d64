//! Where a moving car is between two floor sensors, as far as the kinematics say.

use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{CarPhase, CarView};

/// How near the estimate comes to a floor whose sensor has not responded yet.
const SHORT_OF: f64 = 0.02;

/// An estimated position and speed, in floors and floors a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Motion {
    pub(super) position: Option<f64>,
    /// Negative downwards.
    pub(super) speed: f64,
}

impl Motion {
    pub(super) const UNKNOWN: Self = Self { position: None, speed: 0.0 };
}

/// Where a car is, and how fast. A car that is late by the kinematics is taken to wait just short of
/// the next floor: the estimate never passes a sensor that has not responded.
pub(super) fn motion(view: &CarView, floors: FloorCount, kinematics: &Kinematics) -> Motion {
    let Some(floor) = view.floor else {
        return Motion::UNKNOWN;
    };
    match view.phase {
        CarPhase::Homing => Motion::UNKNOWN,
        CarPhase::Idle | CarPhase::Opening | CarPhase::Open | CarPhase::Closing => {
            Motion { position: Some(f64::from(floor.index())), speed: 0.0 }
        }
        CarPhase::Moving { direction, stop_at, .. } => {
            let passed = Passed { floor, stop_at, direction };
            passed.motion(view.elapsed.as_secs_f64(), floors, kinematics)
        }
    }
}

/// The last floor that a moving car has passed or left.
struct Passed {
    floor: Floor,
    stop_at: Floor,
    direction: Direction,
}

impl Passed {
    fn motion(&self, elapsed: f64, floors: FloorCount, kinematics: &Kinematics) -> Motion {
        let floor = f64::from(self.floor.index());
        let (left, longest, sign) = match self.direction {
            Direction::Up => {
                let left = self.stop_at.index().checked_sub(self.floor.index());
                (left, self.stop_at.index(), 1.0)
            }
            Direction::Down => {
                let left = self.floor.index().checked_sub(self.stop_at.index());
                (left, floors.top().index().saturating_sub(self.stop_at.index()), -1.0)
            }
        };
        // The stop was moved behind the car, or is where it has just arrived.
        let Some(left) = left.filter(|left| *left > 0) else {
            return Motion { position: Some(floor), speed: 0.0 };
        };
        let elapsed_time = std::time::Duration::try_from_secs_f64(elapsed).unwrap_or_default();
        let remaining = kinematics.remaining_flight(left, longest, elapsed_time).as_secs_f64();
        let ramp = Ramp::new(kinematics);
        let beyond_floor = f64::from(left) - ramp.distance(remaining);
        let beyond_start = ramp.distance(elapsed);
        let beyond = beyond_floor.min(beyond_start);
        let clamped = beyond.clamp(0.0, 1.0 - SHORT_OF);
        let is_late = beyond > clamped;
        let speed = if is_late { 0.0 } else { ramp.speed(elapsed.min(remaining)) };
        Motion { position: Some(floor + sign * clamped), speed: sign * speed }
    }
}

/// The run-up from rest to rated speed, with an even acceleration that covers the same distance in the
/// same time as the S-curve.
struct Ramp {
    /// In floors a second.
    speed: f64,
    /// In seconds.
    time: f64,
}

impl Ramp {
    fn new(kinematics: &Kinematics) -> Self {
        let Kinematics { floor_height, rated_speed, acceleration, jerk, .. } = *kinematics;
        Self {
            speed: rated_speed / floor_height,
            time: rated_speed / acceleration + acceleration / jerk,
        }
    }

    /// The floors covered this long after the start, or still to be covered this long before the stop.
    fn distance(&self, time: f64) -> f64 {
        if time < self.time {
            self.speed * time * time / (2.0 * self.time)
        } else {
            self.speed * (time - self.time / 2.0)
        }
    }

    fn speed(&self, time: f64) -> f64 {
        self.speed * (time / self.time).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use elevator_fleet::model::{Availability, FloorSet};

    use super::*;

    fn floor(index: u8) -> Floor {
        Floor::try_from(index).unwrap()
    }

    fn moving(at: u8, direction: Direction, stop_at: u8, elapsed: f64) -> CarView {
        let stop_at = floor(stop_at);
        CarView {
            availability: Availability::InService,
            floor: Some(floor(at)),
            phase: CarPhase::Moving { direction, stop_at, next_stop: stop_at },
            elapsed: Duration::from_secs_f64(elapsed),
            direction: Some(direction),
            load: None,
            locked_out: FloorSet::default(),
        }
    }

    #[test]
    fn a_flight_over_one_floor_starts_and_ends_at_rest() {
        let (kinematics, floors) = (Kinematics::default(), FloorCount::new(6).unwrap());
        let travel = kinematics.travel(1).as_secs_f64();
        let mut before = 2.0;
        for step in 0..=20 {
            let elapsed = travel * f64::from(step) / 20.0;
            let Motion { position, speed } =
                motion(&moving(2, Direction::Up, 3, elapsed), floors, &kinematics);
            let position = position.unwrap();
            assert!((before..3.0).contains(&position), "{elapsed} s: {position} after {before}");
            assert!((0.0..=0.6).contains(&speed), "{elapsed} s: {speed}");
            before = position;
        }
        assert!(before > 2.95, "{before}");
        let middle = motion(&moving(2, Direction::Up, 3, travel / 2.0), floors, &kinematics);
        let middle = middle.position.unwrap();
        assert!((middle - 2.5).abs() < 0.2, "{middle}");
    }

    #[test]
    fn a_late_car_waits_short_of_the_floor_and_down_is_negative() {
        let (kinematics, floors) = (Kinematics::default(), FloorCount::new(6).unwrap());
        let late = motion(&moving(4, Direction::Down, 1, 60.0), floors, &kinematics);
        assert_eq!(late, Motion { position: Some(3.0 + SHORT_OF), speed: 0.0 });
        let cruising = motion(&moving(4, Direction::Down, 1, 3.0), floors, &kinematics);
        assert!(cruising.speed < 0.0, "{cruising:?}");
        assert!(cruising.position.unwrap() < 4.0, "{cruising:?}");
    }
}
