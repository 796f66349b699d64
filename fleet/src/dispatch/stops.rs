//! The stops of a car, and the rules by which collective control picks the next one.

use std::collections::BTreeSet;

use elevator_driver::{Button, Direction, Floor};

use super::CarSituation;
use crate::model::{CarPhase, CarView, FloorSet, HallCall};

/// The next stop of a car under collective control, and the direction for which its door opens
/// there; `None` if it has no call, if its position is unknown, or if it is moving and all its
/// calls lie behind it. With the door open or moving, the answer is for a car at rest at this
/// floor.
#[must_use]
pub fn collective_stop(
    view: &CarView,
    car_calls: &BTreeSet<Floor>,
    hall: &BTreeSet<HallCall>,
) -> Option<(Floor, Direction)> {
    let stops = StopSet::of_car_calls(car_calls.iter().copied());
    let stops = hall.iter().fold(stops, |stops, &call| stops.with(call));
    match view.phase {
        CarPhase::Moving { direction, next_stop, .. } => {
            let stop = stops.first_from(next_stop, direction)?;
            Some((stop, stops.heading(stop, direction)))
        }
        CarPhase::Idle | CarPhase::Opening | CarPhase::Open | CarPhase::Closing => {
            stops.next(view.floor?, view.direction)
        }
        CarPhase::Homing => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StopSet {
    up: FloorSet,
    down: FloorSet,
    car_calls: FloorSet,
}

impl StopSet {
    pub(super) fn of(car: &CarSituation) -> Self {
        Self::of_car_calls(car.car_calls.iter().copied())
    }

    pub(crate) fn of_car_calls(car_calls: impl IntoIterator<Item = Floor>) -> Self {
        let mut stops = Self::default();
        for floor in car_calls {
            stops.car_calls.insert(floor);
        }
        stops
    }

    pub(crate) fn with(mut self, call: HallCall) -> Self {
        self.hall_mut(call.direction).insert(call.floor);
        self
    }

    pub(super) fn without(mut self, call: HallCall) -> Self {
        self.hall_mut(call.direction).remove(call.floor);
        self
    }

    pub(super) fn serve(&mut self, button: Button) -> bool {
        match button {
            Button::Hall(floor, direction) | Button::RearHall(floor, direction) => {
                self.hall_mut(direction).remove(floor)
            }
            Button::Car(floor) | Button::RearCar(floor) => self.car_calls.remove(floor),
        }
    }

    pub(super) fn any_hall(&self) -> bool {
        self.up.union(&self.down) != FloorSet::default()
    }

    /// Whether a door that opens at this floor for this direction serves anything.
    pub(crate) fn any_at(&self, floor: Floor, direction: Direction) -> bool {
        self.car_calls.contains(floor) || self.hall(direction).contains(floor)
    }

    pub(crate) fn car_calls(&self) -> &FloorSet {
        &self.car_calls
    }

    pub(crate) fn any_beyond(&self, floor: Floor, direction: Direction) -> bool {
        self.all().nearest_beyond(floor, direction).is_some()
    }

    /// The next stop of a car at rest, and the direction for which its door opens there.
    pub(super) fn next(
        &self,
        at: Floor,
        direction: Option<Direction>,
    ) -> Option<(Floor, Direction)> {
        let direction = direction.unwrap_or_else(|| self.direction_of_choice(at));
        let stop = [direction, direction.opposite()]
            .into_iter()
            .find_map(|way| Some((self.first_from(at, way)?, way)));
        let (stop, way) = stop?;
        Some((stop, self.heading(stop, way)))
    }

    /// The first stop at `floor` or beyond it: the nearest call that way, or else where it turns.
    pub(crate) fn first_from(&self, floor: Floor, direction: Direction) -> Option<Floor> {
        if self.any_at(floor, direction) {
            return Some(floor);
        }
        let opposite = self.hall(direction.opposite());
        self.first_beyond(floor, direction).or_else(|| opposite.contains(floor).then_some(floor))
    }

    pub(crate) fn first_beyond(&self, floor: Floor, direction: Direction) -> Option<Floor> {
        let along = self.car_calls.union(self.hall(direction));
        let opposite = self.hall(direction.opposite());
        along
            .nearest_beyond(floor, direction)
            .or_else(|| opposite.farthest_beyond(floor, direction))
    }

    /// The direction of a car that may go either way: towards its nearest car call (S3), or else
    /// for a call where it is, or else towards the nearest one; up if there is a choice.
    pub(super) fn direction_of_choice(&self, at: Floor) -> Direction {
        if let Some(direction) = self.nearest_car_call(at, Direction::Up) {
            return direction;
        }
        if self.up.contains(at) {
            return Direction::Up;
        }
        if self.down.contains(at) {
            return Direction::Down;
        }
        self.nearest(at, Direction::Up).unwrap_or(Direction::Up)
    }

    /// The way to the nearest call elsewhere; of two equally near `first`.
    pub(crate) fn nearest(&self, at: Floor, first: Direction) -> Option<Direction> {
        nearest(&self.all(), at, first)
    }

    /// The way to the nearest car call elsewhere. A car whose direction is unknown, because its
    /// panel or its node is new, must not carry its passengers the wrong way (S3).
    pub(crate) fn nearest_car_call(&self, at: Floor, first: Direction) -> Option<Direction> {
        nearest(&self.car_calls, at, first)
    }

    /// The direction for which the door opens at a stop that was reached going `way`.
    fn heading(&self, stop: Floor, way: Direction) -> Direction {
        let goes_on = self.hall(way).contains(stop) || self.any_beyond(stop, way);
        if !goes_on && self.hall(way.opposite()).contains(stop) { way.opposite() } else { way }
    }

    fn all(&self) -> FloorSet {
        self.car_calls.union(&self.up).union(&self.down)
    }

    pub(crate) fn hall(&self, direction: Direction) -> &FloorSet {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    fn hall_mut(&mut self, direction: Direction) -> &mut FloorSet {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

fn nearest(stops: &FloorSet, at: Floor, first: Direction) -> Option<Direction> {
    let ways = [first, first.opposite()].into_iter();
    let near = ways.filter_map(|way| Some((at.distance(stops.nearest_beyond(at, way)?), way)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, way)| way)
}
