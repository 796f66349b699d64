//! Where a moving car is between two floor sensors, as far as the kinematics say.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Building, Direction, Floor};
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
    /// Of the floors above the lowest, in metres.
    heights: Vec<f64>,
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
        Self { kinematics, heights: Vec::new(), begun: BTreeMap::new() }
    }

    /// Takes note of a look at the fleet, `now` by any clock that does not jump. A flight that is new
    /// here is taken to have begun at the last floor that the car has passed.
    pub fn update(&mut self, status: &Status, now: Duration) {
        self.heights = metres(&status.building);
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
                self.flight([from, floor, stop_at], direction, view.elapsed)
            }
        }
    }

    fn flight(
        &self,
        [from, floor, to]: [Floor; 3],
        direction: Direction,
        elapsed: Duration,
    ) -> Motion {
        let at = f64::from(floor.index());
        let height = |floor: Floor| self.heights.get(usize::from(floor.index())).copied();
        let way = |one, other| Some((height(other)? - height(one)?).abs());
        let has_begun = from == floor || floor.is_beyond(from, direction);
        let next = match direction {
            Direction::Up => floor.index().checked_add(1),
            Direction::Down => floor.index().checked_sub(1),
        };
        let next = next.and_then(|index| Floor::try_from(index).ok());
        let storey = next.and_then(|next| way(floor, next));
        // The stop was moved behind the car, or the car has just arrived there.
        let is_under_way = has_begun && to.is_beyond(floor, direction);
        let (Some(trip), Some(passed), Some(storey)) =
            (way(from, to), way(from, floor), storey.filter(|_| is_under_way))
        else {
            return Motion { position: Some(at), speed: 0.0 };
        };
        let ramp = Ramp::new(&self.kinematics);
        let remaining = self.kinematics.flight(trip).saturating_sub(elapsed).as_secs_f64();
        let elapsed = elapsed.as_secs_f64();
        let covered = ramp.distance(elapsed).min(trip - ramp.distance(remaining));
        let beyond = (covered - passed) / storey;
        let shown = beyond.clamp(0.0, 1.0 - SHORT_OF);
        // It does not move on where it is known not to be yet.
        let speed = if beyond > shown { 0.0 } else { ramp.speed(elapsed.min(remaining)) / storey };
        let sign = match direction {
            Direction::Up => 1.0,
            Direction::Down => -1.0,
        };
        Motion { position: Some(at + sign * shown), speed: sign * speed }
    }
}

fn metres(building: &Building) -> Vec<f64> {
    building.heights().into_iter().map(|height| f64::from(height) / 1000.0).collect()
}

/// The run-up from rest to rated speed, with an even acceleration that covers the same distance in the
/// same time as the S-curve.
struct Ramp {
    /// In metres a second.
    speed: f64,
    /// In seconds.
    time: f64,
}

impl Ramp {
    fn new(kinematics: &Kinematics) -> Self {
        let Kinematics { rated_speed, acceleration, jerk, .. } = *kinematics;
        Self { speed: rated_speed, time: rated_speed / acceleration + acceleration / jerk }
    }

    /// The metres covered this long after the start, or still to be covered this long before the stop.
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
    use elevator_driver::{FloorCount, Landing};

    use super::*;
    use crate::tests::floor;

    fn travel(floors: u8) -> Duration {
        Kinematics::default().travel(floors)
    }

    fn motion(floors: [u8; 3], direction: Direction, elapsed: Duration) -> Motion {
        let building = Building::from(FloorCount::new(8).unwrap());
        motion_in(&building, floors, direction, elapsed)
    }

    fn motion_in(
        building: &Building,
        floors: [u8; 3],
        direction: Direction,
        elapsed: Duration,
    ) -> Motion {
        let flights = Flights { heights: metres(building), ..Flights::new(Kinematics::default()) };
        flights.flight(floors.map(floor), direction, elapsed)
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

    #[test]
    fn storeys_have_their_heights() {
        let landing = |(index, height): (usize, u32)| Landing::new(&index.to_string(), height);
        let heights = [0, 3_000, 15_000, 18_000].into_iter().enumerate().map(landing).collect();
        let building = Building::new(heights, Vec::new()).unwrap();
        let half = Kinematics::default().flight(18.0) / 2;
        let middle = motion_in(&building, [0, 1, 3], Direction::Up, half);
        assert!((middle.position.unwrap() - 1.5).abs() < 0.01, "{middle:?}");
        let rated = Kinematics::default().rated_speed / 12.0;
        assert!((middle.speed - rated).abs() < 1e-9, "{middle:?}");
    }
}
