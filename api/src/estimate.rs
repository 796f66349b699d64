//! Where a moving car is between two floor sensors, as far as the kinematics say.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Direction, Floor};
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{CarPhase, CarView, NodeId};
use elevator_fleet::node::Status;

use super::views;

/// How near the estimate comes to a floor whose sensor has not responded yet.
const SHORT_OF: f64 = 0.02;

/// How far apart two looks may place the beginning of the same flight.
const SAME_FLIGHT: Duration = Duration::from_millis(400);

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

/// The flights under way: what a car says of itself does not tell where its flight began.
#[derive(Debug)]
pub struct Flights {
    kinematics: Kinematics,
    begun: BTreeMap<NodeId, Flight>,
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    /// By the clock of the one that looks.
    at: Duration,
    from: Floor,
}

impl Flights {
    /// No flight is known yet; cars move by these kinematics.
    #[must_use]
    pub fn new(kinematics: Kinematics) -> Self {
        Self { kinematics, begun: BTreeMap::new() }
    }

    /// Takes note of a look at the fleet, `now` by any clock that does not jump. A flight that is new
    /// here is taken to have begun at the last floor that the car has passed.
    pub fn update(&mut self, status: &Status, now: Duration) {
        let known = std::mem::take(&mut self.begun);
        let moving =
            views(status).filter(|(_, view)| matches!(view.phase, CarPhase::Moving { .. }));
        let flights = moving.filter_map(|(node, view)| {
            let at = now.saturating_sub(view.elapsed);
            let same = known.get(node).filter(|flight| flight.at.abs_diff(at) <= SAME_FLIGHT);
            let flight = same.copied().or_else(|| Some(Flight { at, from: view.floor? }))?;
            Some((node.clone(), flight))
        });
        self.begun = flights.collect();
    }

    /// Where a car is, and how fast. A car that is late by the kinematics is taken to wait just short
    /// of the next floor: the estimate never passes a sensor that has not responded.
    pub(super) fn motion(&self, node: &NodeId, view: &CarView) -> Motion {
        let Some(floor) = view.floor else {
            return Motion::UNKNOWN;
        };
        match view.phase {
            CarPhase::Homing => Motion::UNKNOWN,
            CarPhase::Idle | CarPhase::Opening | CarPhase::Open | CarPhase::Closing => {
                Motion { position: Some(f64::from(floor.index())), speed: 0.0 }
            }
            CarPhase::Moving { direction, stop_at, .. } => {
                let from = self.begun.get(node).map_or(floor, |flight| flight.from);
                let floors = [from, floor, stop_at].map(|floor| i16::from(floor.index()));
                self.flight(floors, direction, view.elapsed)
            }
        }
    }

    fn flight(
        &self,
        [from, floor, to]: [i16; 3],
        direction: Direction,
        elapsed: Duration,
    ) -> Motion {
        let sign = match direction {
            Direction::Up => 1,
            Direction::Down => -1,
        };
        let (trip, passed) = ((to - from) * sign, (floor - from) * sign);
        // The stop was moved behind the car, or the car has just arrived there.
        let Some(floors) = u8::try_from(trip).ok().filter(|_| passed < trip && passed >= 0) else {
            return Motion { position: Some(f64::from(floor)), speed: 0.0 };
        };
        let ramp = Ramp::new(&self.kinematics);
        let remaining = self.kinematics.travel(floors).saturating_sub(elapsed).as_secs_f64();
        let elapsed = elapsed.as_secs_f64();
        let covered = ramp.distance(elapsed).min(f64::from(trip) - ramp.distance(remaining));
        let beyond = covered - f64::from(passed);
        let shown = beyond.clamp(0.0, 1.0 - SHORT_OF);
        // It does not move on where it is known not to be yet.
        let speed = if beyond > shown { 0.0 } else { ramp.speed(elapsed.min(remaining)) };
        let sign = f64::from(sign);
        Motion { position: Some(f64::from(floor) + sign * shown), speed: sign * speed }
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
    use super::*;

    fn travel(floors: u8) -> Duration {
        Kinematics::default().travel(floors)
    }

    fn motion(floors: [i16; 3], direction: Direction, elapsed: Duration) -> Motion {
        Flights::new(Kinematics::default()).flight(floors, direction, elapsed)
    }

    #[test]
    fn a_flight_over_one_floor_starts_and_ends_at_rest() {
        let mut before = 2.0;
        for step in 0..=20 {
            let elapsed = travel(1) * step / 20;
            let Motion { position, speed } = motion([2, 2, 3], Direction::Up, elapsed);
            let position = position.unwrap();
            assert!((before..3.0).contains(&position), "{elapsed:?}: {position} after {before}");
            assert!((0.0..=0.6).contains(&speed), "{elapsed:?}: {speed}");
            before = position;
        }
        assert!(before > 2.95, "{before}");
        let middle = motion([2, 2, 3], Direction::Up, travel(1) / 2).position.unwrap();
        assert!((middle - 2.5).abs() < 0.1, "{middle}");
    }

    #[test]
    fn a_longer_flight_runs_at_rated_speed_and_waits_short_of_a_silent_sensor() {
        let half = travel(4) / 2;
        let middle = motion([5, 4, 1], Direction::Down, half);
        // By the kinematics it is at floor 3, whose sensor has not responded.
        assert_eq!(middle.position, Some(3.0 + SHORT_OF));
        let later = motion([5, 3, 1], Direction::Down, half + Duration::from_millis(100));
        let Kinematics { rated_speed, floor_height, .. } = Kinematics::default();
        let rated = rated_speed / floor_height;
        assert!((later.speed + rated).abs() < 1e-9, "{later:?}");
        let expected = 3.0 - rated * 0.1;
        assert!((later.position.unwrap() - expected).abs() < 0.05, "{later:?}");
        let late = motion([4, 4, 1], Direction::Down, Duration::from_mins(1));
        assert_eq!(late, Motion { position: Some(3.0 + SHORT_OF), speed: 0.0 });
    }
}
