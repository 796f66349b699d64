//! The classic nearest-car rule: each call goes to the car with the greatest figure of suitability.

use elevator_driver::{Direction, Floor, FloorCount};

use super::{Assignments, CarSituation, Dispatcher, HallDemand, able_cars, distinct_calls};
use crate::model::{CarPhase, HallCall};

/// Assigns each hall call to the most suitable car (F17), one call at a time.
///
/// With `n` the number of floors less one and `d` the distance in floors from where the car is, or
/// can stop first, to the call, the figure of suitability is
///
/// - `n + 2 − d` for a car that comes towards the call and goes in its direction,
/// - `n + 1 − d` for one that comes towards it and goes the other way, or has no direction,
/// - 1 for one that goes away from it.
///
/// Of equal cars the one that has the call keeps it, else the first by name gets it. The rule knows
/// no stops on the way, no door and no load.
///
/// Source: G. C. Barney, S. M. dos Santos, *Elevator Traffic Analysis, Design and Control*, 1985.
#[derive(Debug, Clone)]
pub struct NearestCar {
    top: Floor,
}

impl NearestCar {
    #[must_use]
    pub fn new(floors: FloorCount) -> Self {
        Self { top: floors.top() }
    }

    fn suitability(&self, car: &CarSituation, call: HallCall) -> Option<u16> {
        let (at, heading) = if let CarPhase::Moving { direction, next_stop, .. } = car.view.phase {
            (next_stop, Some(direction))
        } else {
            (car.view.floor?, car.view.direction)
        };
        let towards =
            |direction: Direction| call.floor == at || call.floor.is_beyond(at, direction);
        let bonus = match heading {
            Some(direction) if !towards(direction) => return Some(1),
            Some(direction) if direction == call.direction => 2,
            Some(_) | None => 1,
        };
        let whole = u16::from(self.top.index()) + bonus;
        Some(whole.saturating_sub(u16::from(at.distance(call.floor))))
    }
}

impl Dispatcher for NearestCar {
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        let cars = able_cars(cars);
        let best = |demand: &&HallDemand| {
            let call = demand.call;
            let car = cars
                .iter()
                .filter(|car| demand.suits(&car.view))
                .filter_map(|car| {
                    let is_present = demand.assigned.as_ref() == Some(&car.car);
                    let was_told = is_present && call.to.is_some();
                    Some(((was_told, self.suitability(car, call)?, is_present), car))
                })
                // The first of equal ones, by name.
                .rev()
                .max_by_key(|(rank, _)| *rank)?
                .1;
            Some((call, car.car.clone()))
        };
        distinct_calls(demand).iter().filter_map(best).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use Direction::{Down, Up};

    use super::*;
    use crate::dispatch::tests::{call, car, floors, fresh, idle_at, moving};

    #[test]
    fn the_rule_ranks_cars_as_in_its_source() {
        let passing = moving(2, 9, 3, Duration::from_secs(3));
        let cars = [
            // Towards the call and its way: 11 + 2 − 2.
            car("with", passing, &[9]),
            // Without a direction: 11 + 1 − 1, no more than it.
            car("idle", idle_at(6), &[]),
            // Away from it: 1.
            car("away", moving(6, 9, 7, Duration::from_secs(3)), &[9]),
        ];
        let mut rule = NearestCar::new(floors(12));
        let figures = cars.iter().map(|car| rule.suitability(car, call(5, Up)));
        assert!(figures.eq([Some(11), Some(11), Some(1)]));
        // Towards the call, and the other way.
        assert_eq!(rule.suitability(&cars[0], call(5, Down)), Some(10));
        let assigned = rule.assign(&cars, &[fresh(call(5, Down))]);
        assert_eq!(assigned[&call(5, Down)], cars[1].car);
    }
}
