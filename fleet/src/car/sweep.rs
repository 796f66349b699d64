//! Where to go next: collective control as pure functions.
//!
//! A car continues in its direction while there is a stop ahead. On the way it stops for car calls
//! and for hall calls in its direction; it turns at the farthest hall call against its direction.

use elevator_driver::{Direction, Floor};

use crate::dispatch::StopSet;
use crate::seeded::{SeededBug, is_seeded};

impl StopSet {
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
        if travel.is_some() && self.any_beyond(floor, first) {
            return Some(first);
        }
        [first, first.opposite()]
            .into_iter()
            .find(|direction| self.hall(*direction).contains(floor))
            .or_else(|| Some(self.departure(floor, travel, older)?.0))
    }

    /// Whether a car that announces `announced` has to open at `floor`.
    pub(super) fn opens_at(&self, floor: Floor, announced: Option<Direction>) -> bool {
        self.car_calls().contains(floor) || announced.is_some_and(|way| self.any_at(floor, way))
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
            .filter(|way| self.any_beyond(floor, *way) && !is_seeded(SeededBug::TurnsToNearestStop))
            .or_else(|| self.nearest(floor, older))?;
        Some((chosen, self.first_beyond(floor, chosen)?))
    }
}
