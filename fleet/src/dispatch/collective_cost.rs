//! The strategy: the least cost of waiting, predicted car by car.

use std::collections::{BTreeMap, BTreeSet};

use elevator_driver::{Building, Button};

use super::predict::{Micros, seconds};
use super::search::{Costs, Search};
use super::stops::StopSet;
use super::{
    Assignments, CarSituation, Dispatcher, HallDemand, Kinematics, LONGEST_WAIT, Predictor,
    able_cars, distinct_calls, present, side,
};
use crate::model::HallCall;

/// How much longer a call could wait for the gain of moving it to another car, in seconds.
const HYSTERESIS: f64 = 1.0;

/// Assigns each hall call to the car that minimizes the cost for the bank (F17).
///
/// The cost of a plan is a sum of squares: over the hall calls, of the whole waiting time until the
/// door opens; over the car calls, of the time until the passenger gets off. So one long wait
/// weighs more than two of half its length.
///
/// A plan keeps the present assignments that are still possible, places the other calls, beginning
/// with the one that would lose most with its second-best car, and moves single calls as long as
/// that lowers the cost. A call that already has a car moves only if that gains more than another
/// second of waiting would cost; a call for which its car is already stopping never moves, and
/// neither does a destination call.
#[derive(Debug, Clone)]
pub struct CollectiveCost {
    predictor: Predictor,
}

impl CollectiveCost {
    #[must_use]
    pub fn new(kinematics: Kinematics, building: &Building) -> Self {
        Self { predictor: Predictor::new(kinematics, building) }
    }
}

impl Dispatcher for CollectiveCost {
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        let cars = able_cars(cars);
        let mut waits = Waits::new(&self.predictor, &cars, &distinct_calls(demand));
        let groups = waits.groups.len();
        let mut search = Search::new(&mut waits, cars.len(), groups);
        search.insert();
        search.improve(false, 0);
        let holders = search.into_holders();
        waits.assignments(&holders)
    }
}

/// Calls of one landing and direction that the same cars reach, and that stay with the same car or
/// are free to move. They are one stop, so trips of one landing take no more work than one of them.
struct Group {
    landing: HallCall,
    calls: Vec<HallCall>,
    reached: Vec<bool>,
    present: Option<usize>,
    /// Whether its present car is already stopping for it, or its passengers were told that car.
    is_fixed: bool,
    waited: f64,
    /// Seconds until the holder's door opens.
    predicted: f64,
}

struct Held {
    groups: BTreeSet<usize>,
    stops: StopSet,
}

/// How long everybody waits; cars and calls are ordered by name, to resolve ties.
struct Waits<'a> {
    predictor: &'a Predictor,
    cars: &'a [&'a CarSituation],
    groups: Vec<Group>,
    /// How long somebody has waited at a landing, in seconds, by direction and floor.
    waited: [[f64; 256]; 2],
}

impl<'a> Waits<'a> {
    /// The present assignments count if their cars are among `cars`, which all can serve.
    fn new(predictor: &'a Predictor, cars: &'a [&'a CarSituation], demand: &[&HallDemand]) -> Self {
        let mut groups: BTreeMap<_, Group> = BTreeMap::new();
        let mut longest = [[0.0; 256]; 2];
        for demand in demand {
            let (call, present) = (demand.call, present(cars, demand));
            let reached: Vec<_> = cars.iter().map(|car| demand.suits(&car.view)).collect();
            let is_fixed = present.is_some_and(|car| {
                let (view, car_calls) = (&cars[car].view, StopSet::of(cars[car]));
                call.to.is_some() || predictor.is_committed(view, car_calls, call)
            });
            let waited = demand.waited.min(LONGEST_WAIT).as_secs_f64();
            let landing = HallCall::new(call.floor, call.direction);
            let at_landing: &mut f64 =
                &mut longest[side(call.direction)][usize::from(call.floor.index())];
            *at_landing = at_landing.max(waited);
            let key = (landing, present, is_fixed, reached.clone());
            let group = groups.entry(key).or_insert(Group {
                landing,
                calls: Vec::new(),
                reached,
                present,
                is_fixed,
                waited,
                predicted: 0.0,
            });
            group.calls.push(call);
            group.waited = group.waited.max(waited);
        }
        Self { predictor, cars, groups: groups.into_values().collect(), waited: longest }
    }

    fn assignments(&self, holders: &[Option<usize>]) -> Assignments {
        let held = self.groups.iter().zip(holders);
        let held = held.filter_map(|(group, holder)| Some((group, self.cars[(*holder)?])));
        held.flat_map(|(group, car)| group.calls.iter().map(|call| (*call, car.car.clone())))
            .collect()
    }
}

impl Costs for Waits<'_> {
    type Calls = Held;

    fn none(&self, car: usize) -> Held {
        Held { groups: BTreeSet::new(), stops: StopSet::of(self.cars[car]) }
    }

    fn add(&self, held: &mut Held, group: usize) {
        held.groups.insert(group);
        held.stops = held.stops.with(self.groups[group].landing);
    }

    fn remove(&self, held: &mut Held, group: usize) {
        held.groups.remove(&group);
        let landing = self.groups[group].landing;
        if held.groups.iter().all(|&other| self.groups[other].landing != landing) {
            held.stops = held.stops.without(landing);
        }
    }

    /// Nothing is known of how long riders have waited.
    fn cost(&mut self, car: usize, held: &Held) -> f64 {
        let mut cost = 0.0;
        self.predictor.visit(&self.cars[car].view, held.stops, |button, after| {
            let waited = match button {
                Button::Hall(floor, way) | Button::RearHall(floor, way) => {
                    self.waited[side(way)][usize::from(floor.index())]
                }
                Button::Car(_) | Button::RearCar(_) => 0.0,
            };
            cost += square(waited + seconds(after));
        });
        cost
    }

    fn settle(&mut self, car: usize, held: &Held) {
        let mut predicted: BTreeMap<HallCall, Micros> = BTreeMap::new();
        self.predictor.visit(&self.cars[car].view, held.stops, |button, after| {
            if let Button::Hall(floor, direction) = button {
                predicted.insert(HallCall::new(floor, direction), after);
            }
        });
        for &group in &held.groups {
            let group = &mut self.groups[group];
            group.predicted = predicted.get(&group.landing).map_or(0.0, |after| seconds(*after));
        }
    }

    fn present(&self, group: usize) -> Option<usize> {
        self.groups[group].present
    }

    fn reaches(&self, car: usize, group: usize) -> bool {
        self.groups[group].reached[car]
    }

    fn is_fixed(&self, group: usize) -> bool {
        self.groups[group].is_fixed
    }

    fn urgency(&self, group: usize) -> f64 {
        self.groups[group].waited
    }

    /// The cost of a little more waiting for a group with its present car.
    fn inertia(&self, group: usize, from: usize, _to: usize) -> f64 {
        let Group { present, waited, predicted, .. } = self.groups[group];
        if present != Some(from) {
            return 0.0;
        }
        square(waited + predicted + HYSTERESIS) - square(waited + predicted)
    }
}

fn square(time: f64) -> f64 {
    time * time
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use elevator_driver::{Floor, FloorCount};

    use super::*;
    use crate::dispatch::tests::{car, idle_at};
    use crate::model::FloorSet;

    /// N1: trips of one landing take no more work than one of them, whichever cars they have.
    #[test]
    fn trips_of_a_landing_are_one_stop() {
        let floors = FloorCount::new(40).expect("floors");
        let predictor =
            Predictor::new(Kinematics::default(), &Kinematics::default().building(floors));
        let cars: Vec<CarSituation> =
            (0..8_u8).map(|number| car(&format!("c{number}"), idle_at(number * 4), &[])).collect();
        let trips = |from: Floor| floors.floors().filter_map(move |to| HallCall::to(from, to));
        for assigned in [None, Some(cars[0].car.clone())] {
            let demand = |call: HallCall| HallDemand {
                call,
                waited: Duration::ZERO,
                assigned: assigned.clone(),
                wanted: FloorSet::default(),
            };
            let demand: Vec<HallDemand> = floors.floors().flat_map(trips).map(demand).collect();
            let cars: Vec<&CarSituation> = cars.iter().collect();
            let waits = Waits::new(&predictor, &cars, &distinct_calls(&demand));
            assert_eq!(waits.groups.len(), 78);
            let assignments = CollectiveCost { predictor: predictor.clone() }
                .assign(&cars.iter().map(|car| (*car).clone()).collect::<Vec<_>>(), &demand);
            assert_eq!(assignments.len(), demand.len());
        }
    }
}
