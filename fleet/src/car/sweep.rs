//! Where to go next: collective control as pure functions.
//!
//! A car continues in its direction while there is a stop ahead. On the way it stops for car calls
//! and for hall calls in its direction; it turns at the farthest hall call against its direction.

use std::collections::BTreeSet;

use elevator_driver::{Direction, Floor};

use crate::model::HallCall;
use crate::seeded::{SeededBug, is_seeded};

/// The calls that a car serves on its sweep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Sweep {
    pub(super) car_calls: BTreeSet<Floor>,
    pub(super) hall: BTreeSet<HallCall>,
}

impl Sweep {
    /// The direction to announce at `floor` to waiting passengers, for a car that arrived in
    /// direction `travel` (or may turn either way) and last went in direction `older`.
    pub(super) fn announce(
        &self,
        floor: Floor,
        travel: Option<Direction>,
        older: Direction,
    ) -> Option<Direction> {
        let travel = travel.or_else(|| self.nearest_car_call(floor, older));
        let first = travel.unwrap_or(older);
        if travel.is_some() && self.has_ahead(floor, first) {
            return Some(first);
        }
        [first, first.opposite()]
            .into_iter()
            .find(|direction| self.has_hall(floor, *direction))
            .or_else(|| Some(self.departure(floor, travel, older)?.0))
    }

    /// Whether a car that announces `announced` has to open at `floor`.
    pub(super) fn opens_at(&self, floor: Floor, announced: Option<Direction>) -> bool {
        self.car_calls.contains(&floor) || announced.is_some_and(|d| self.has_hall(floor, d))
    }

    /// Where a car at rest at `floor` goes: on in its direction while there is a stop ahead, else
    /// to the nearest stop, of two equally near the one in direction `older`. A car without a
    /// direction first takes its passengers where they want to go (S3).
    pub(super) fn departure(
        &self,
        floor: Floor,
        direction: Option<Direction>,
        older: Direction,
    ) -> Option<(Direction, Floor)> {
        let chosen = direction
            .or_else(|| self.nearest_car_call(floor, older))
            .filter(|d| self.has_ahead(floor, *d) && !is_seeded(SeededBug::TurnsToNearestStop))
            .or_else(|| self.nearest(floor, older))?;
        let stop_at = self.pick(chosen, |stop| stop.is_beyond(floor, chosen))?;
        Some((chosen, stop_at))
    }

    /// The next stop in `direction` at `from` or beyond: the nearest car call or hall call in that
    /// direction, else the farthest hall call against it.
    pub(super) fn target(&self, from: Floor, direction: Direction) -> Option<Floor> {
        self.pick(direction, |floor| floor == from || floor.is_beyond(from, direction))
    }

    fn pick(&self, direction: Direction, eligible: impl Fn(Floor) -> bool) -> Option<Floor> {
        let with = self.halls(direction).chain(self.car_calls.iter().copied());
        let against = self.halls(direction.opposite());
        let nearest = extreme(with.filter(|f| eligible(*f)), direction.opposite());
        nearest.or_else(|| extreme(against.filter(|f| eligible(*f)), direction))
    }

    fn has_ahead(&self, floor: Floor, direction: Direction) -> bool {
        self.floors().any(|stop| stop.is_beyond(floor, direction))
    }

    fn has_hall(&self, floor: Floor, direction: Direction) -> bool {
        self.hall.contains(&HallCall::new(floor, direction))
    }

    fn nearest(&self, floor: Floor, older: Direction) -> Option<Direction> {
        nearest(self.floors(), floor, older)
    }

    /// The direction to the nearest car call elsewhere. A car whose direction is unknown, because
    /// its panel or its node is new, must not carry its passengers the wrong way (S3).
    fn nearest_car_call(&self, floor: Floor, older: Direction) -> Option<Direction> {
        nearest(self.car_calls.iter().copied(), floor, older)
    }

    fn floors(&self) -> impl Iterator<Item = Floor> {
        let halls = self.hall.iter().map(|call| call.floor);
        self.car_calls.iter().copied().chain(halls)
    }

    fn halls(&self, direction: Direction) -> impl Iterator<Item = Floor> {
        self.hall.iter().filter(move |call| call.direction == direction).map(|call| call.floor)
    }
}

/// The direction from `floor` to the nearest of these stops elsewhere.
fn nearest(
    stops: impl Iterator<Item = Floor>,
    floor: Floor,
    older: Direction,
) -> Option<Direction> {
    stops
        .filter_map(|stop| Some((floor.distance(stop), floor.direction_to(stop)?)))
        .min_by_key(|(distance, direction)| (*distance, *direction != older))
        .map(|(_, direction)| direction)
}

/// The floor farthest in `direction`.
fn extreme(floors: impl Iterator<Item = Floor>, direction: Direction) -> Option<Floor> {
    match direction {
        Direction::Up => floors.max(),
        Direction::Down => floors.min(),
    }
}
