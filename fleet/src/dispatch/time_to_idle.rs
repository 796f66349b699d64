//! The rule of the course TTK4145: each new call goes to the car that would be idle soonest with
//! it.

use elevator_driver::Building;

use super::stops::StopSet;
use super::{
    Assignments, CarSituation, Dispatcher, HallDemand, Kinematics, Predictor, able_cars,
    distinct_calls, present,
};

/// Assigns each new hall call to the car with the least time until it is idle again, if it also
/// serves that call (F17). The call that has waited longest comes first. A call stays with its car
/// as long as that one can serve it; of equal cars the first by name gets it.
#[derive(Debug, Clone)]
pub struct TimeToIdle {
    predictor: Predictor,
}

impl TimeToIdle {
    #[must_use]
    pub fn new(kinematics: Kinematics, building: &Building) -> Self {
        Self { predictor: Predictor::new(kinematics, building) }
    }
}

impl Dispatcher for TimeToIdle {
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        let cars = able_cars(cars);
        let mut stops: Vec<StopSet> = cars.iter().map(|car| StopSet::of(car)).collect();
        let reaches = |car: usize, demand: &HallDemand| demand.suits(&cars[car].view);
        let mut assignments = Assignments::new();
        let mut open = Vec::new();
        for demand in distinct_calls(demand) {
            if let Some(car) = present(&cars, demand) {
                stops[car] = stops[car].with(demand.call);
                assignments.insert(demand.call, cars[car].car.clone());
            } else {
                open.push(demand);
            }
        }
        open.sort_by_key(|demand| std::cmp::Reverse(demand.waited));
        for demand in open {
            let able = (0..cars.len()).filter(|&car| reaches(car, demand));
            let best = able.min_by_key(|&car| {
                let with = stops[car].with(demand.call);
                self.predictor.visit(&cars[car].view, with, |_, _| {})
            });
            if let Some(car) = best {
                stops[car] = stops[car].with(demand.call);
                assignments.insert(demand.call, cars[car].car.clone());
            }
        }
        assignments
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::Direction::{Down, Up};

    use super::*;
    use crate::dispatch::tests::{building, call, car, demand, fresh, idle_at, node};

    fn rule() -> TimeToIdle {
        TimeToIdle::new(Kinematics::default(), &building(12))
    }

    /// The nearer car has passengers for the far end, after whom it would come back.
    #[test]
    fn the_car_that_is_idle_sooner_gets_the_call() {
        let cars = [car("busy", idle_at(4), &[11]), car("idle", idle_at(0), &[])];
        let calls = [fresh(call(3, Down))];
        let assignments = rule().assign(&cars, &calls);
        assert_eq!(assignments, Assignments::from([(calls[0].call, node("idle"))]));
    }

    /// The time until all is done, not until the call is served: `CollectiveCost` differs here.
    #[test]
    fn the_calls_that_a_car_has_count() {
        let cars = [car("a", idle_at(5), &[]), car("b", idle_at(0), &[])];
        let held = demand(call(11, Down), 9, Some("a"));
        let calls = [held, fresh(call(6, Up))];
        let assignments = rule().assign(&cars, &calls);
        let expected = [(calls[0].call, node("a")), (calls[1].call, node("b"))];
        assert_eq!(assignments, Assignments::from(expected));
    }

    #[test]
    fn a_call_stays_with_its_car() {
        let cars = [car("a", idle_at(0), &[]), car("b", idle_at(11), &[])];
        let calls = [demand(call(10, Down), 5, Some("a"))];
        assert_eq!(rule().assign(&cars, &calls)[&calls[0].call], node("a"));
    }
}
