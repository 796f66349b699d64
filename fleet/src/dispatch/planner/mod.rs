//! The planner: waiting and riding of all passengers, with the cars driven through expected stops.
//!
//! ```text
//!   Bank ──▶ Traffic     how many come, and where to: learned from loads and car calls
//!              │
//!              ▼
//!            Search      insertion by regret, then moves and swaps of calls between cars,
//!              │         or the best of all distributions of a few calls: search.rs, beside here
//!              │ "what would it cost if …?"
//!              ▼
//!            Drive       one car through its calls: waits, riders, likely stops
//!              │
//!              ▼
//!            parking     idle cars to where the next call is answered soonest
//! ```
//!
//! What a car with its calls costs is in `docs/DISPATCH.md`. Riding weighs more while destinations
//! are known, because only then does the choice of the car decide who has to stop for whom. All
//! arithmetic is on `f64` with operations that IEEE 754 rounds exactly, so a plan does not depend
//! on the machine.

mod drive;
mod model;
mod parking;
mod search;
mod traffic;

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Building, Floor};

use self::drive::{Crowds, Scene};
use self::model::{Call, Model, Start};
use self::search::Drives;
use self::traffic::Traffic;
use super::search::Search;
use super::{
    Assignments, Bank, CarPlan, CarSituation, CollectiveCost, Dispatcher, HallDemand, Kinematics,
    LONGEST_WAIT, Plan, able_cars, distinct_calls, present,
};
use crate::model::{HallCall, NodeId, Timestamp};

/// What counts how much. Found by trying on seeds 1 and 2 of the traffic suite, with destinations
/// also on 101 to 104.
#[derive(Debug, Clone, Copy)]
struct Weights {
    /// Of a squared second of waiting: 1 / s.
    square: f64,
    /// Of a second in the car.
    riding: f64,
    /// Of a second until a car is free.
    busy: f64,
    /// Seconds for each passenger who finds no room.
    left_behind: f64,
    /// Seconds that another car has to gain before a call moves to it.
    inertia: f64,
}

impl Weights {
    /// Behind each call there may be more passengers, who go anywhere.
    const BUTTONS: Self =
        Self { square: 0.02, riding: 0.2, busy: 0.3, left_behind: 40.0, inertia: 1.0 };

    /// Destinations are known, and who rides where is a choice that each stop is a part of. A car
    /// that is busy delays those who come meanwhile, this many in a second for each car.
    fn with_destinations(arrivals: f64) -> Self {
        Self { square: 0.01, riding: 2.0, busy: 64.0 * arrivals, ..Self::BUTTONS }
    }
}

/// Assigns hall calls, turns and parks cars for the least waiting and riding (F17). It learns how
/// many passengers arrive and where they go, and forgets that within minutes. Given the same banks
/// at the same times, it makes the same plans.
#[derive(Debug, Clone)]
pub struct Planner {
    model: Model,
    traffic: Traffic,
    /// For banks that are too large.
    simple: CollectiveCost,
    now: Timestamp,
    /// To which cars calls moved from others, and when, if that was less than [`HOLD`] ago.
    moved: BTreeMap<HallCall, (NodeId, Timestamp)>,
}

impl Planner {
    /// Creates a planner for a bank of equal cars, each of which holds `capacity` passengers, at
    /// least one, and passes hall calls by from `bypass_load` per cent of its rated load on.
    #[must_use]
    pub fn new(
        kinematics: Kinematics,
        building: &Building,
        capacity: f64,
        bypass_load: u8,
    ) -> Self {
        Self {
            model: Model::new(kinematics, building, capacity.max(1.0), bypass_load),
            traffic: Traffic::new(building.landings().len()),
            simple: CollectiveCost::new(kinematics, building),
            now: Timestamp::START,
            moved: BTreeMap::new(),
        }
    }

    fn weights(&self, calls: &[Call], cars: usize) -> Weights {
        if calls.iter().any(|call| call.to.is_some()) {
            Weights::with_destinations(self.traffic.arrivals() / count_as(cars.max(1)))
        } else {
            Weights::BUTTONS
        }
    }
}

fn search(drives: &mut Drives<'_>, cars: usize, calls: usize) -> Vec<Option<usize>> {
    let mut search = Search::new(drives, cars, calls);
    search.insert();
    if calls <= MOST_EXACT && cars << calls <= MOST_DRIVES {
        let movable: Vec<_> = search.movable().into_iter().map(|(call, _)| call).collect();
        search.distribute(&(0..cars).collect::<Vec<_>>(), &movable);
    } else {
        search.improve(true, 0);
    }
    search.into_holders()
}

impl Dispatcher for Planner {
    /// As [`plan`](Self::plan), at the time of the last plan.
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        let bank = Bank { now: self.now, cars, demand, parked: &BTreeMap::new() };
        self.plan(&bank).assignments
    }

    fn plan(&mut self, bank: &Bank<'_>) -> Plan {
        let cars = able_cars(bank.cars);
        self.traffic.observe(bank.now.since(self.now), &cars, &self.model);
        self.now = bank.now;
        self.moved.retain(|_, (_, at)| bank.now.since(*at) < HOLD);

        let demand = distinct_calls(bank.demand);
        let calls: Vec<_> = demand
            .iter()
            .map(|demand| Call {
                floor: usize::from(demand.call.floor.index()),
                direction: demand.call.direction,
                waited: demand.waited.min(LONGEST_WAIT).as_secs_f64(),
                present: present(&cars, demand),
                to: demand.call.to,
                is_held: demand.assigned.is_some()
                    && (demand.call.to.is_some()
                        || self.moved.get(&demand.call).map(|(car, _)| car)
                            == demand.assigned.as_ref()),
            })
            .collect();

        let has_choice = |call: &&Call| call.to.is_none() || call.present.is_none();
        if cars.len() * calls.len() * calls.iter().filter(has_choice).count() > MOST_WORK {
            let assignments = self.simple.assign(bank.cars, bank.demand);
            return Plan { assignments, ..Plan::default() };
        }
        let starts: Vec<Start> = cars.iter().map(|car| self.model.start(car)).collect();
        let reaches = |car: usize, call: usize| demand[call].suits(&cars[car].view);
        let crowds = Crowds::new(&self.model, &self.traffic, &calls);
        let weights = self.weights(&calls, cars.len());
        let scene = Scene { model: &self.model, crowds: &crowds, calls: &calls, weights };
        let guests = vec![0.0; self.model.floors()];
        let mut drives = Drives { scene, starts: &starts, reaches: &reaches, guests };
        let holders = search(&mut drives, cars.len(), calls.len());
        let routes: Vec<_> = (0..cars.len()).map(|car| drives.route(car, &holders)).collect();
        let parks =
            parking::places(&self.model, &self.traffic, (&cars, bank.parked), &starts, &routes);
        let mut plan = Plan::default();
        for (number, car) in cars.iter().enumerate() {
            let route = &routes[number];
            for &call in &route.calls {
                if calls[call].present.is_some_and(|present| present != number) {
                    self.moved.insert(demand[call].call, (car.car.clone(), bank.now));
                }
                plan.assignments.insert(demand[call].call, car.car.clone());
            }
            let direction = route.turn.filter(|_| starts[number].may_turn());
            plan.cars.insert(car.car.clone(), CarPlan { direction, park: parks[number] });
        }
        plan
    }
}

/// The work grows with the cars and with the square of the calls; destination calls that have a car
/// count once. Beyond this, which is more than 8 cars with all calls of 60 floors, a plan would
/// come too late, and calls are only assigned.
const MOST_WORK: usize = 120_000;

/// The most calls whose best distribution is found, whether they may move or not: so a plan that is
/// fed back, when fewer may move, is searched in the same way.
const MOST_EXACT: usize = 6;

/// How many drives that may take: each car is driven through each subset of the calls.
const MOST_DRIVES: usize = 512;

/// A call that has moved to another car stays there this long, if that car can serve it. Without
/// it, calls return as soon as a car's position is known a little better.
const HOLD: Duration = Duration::from_secs(1);

/// Of cars or floors, of which a bank has a few hundred at most.
fn count_as(number: usize) -> f64 {
    u32::try_from(number).map_or(0.0, f64::from)
}

fn floor(index: usize) -> Option<Floor> {
    Floor::try_from(u8::try_from(index).ok()?).ok()
}

#[cfg(test)]
mod tests;
