//! A plan under construction: the car of each call, and the cost of changing it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Button, Direction};

use super::predict::micros;
use super::stops::StopSet;
use super::{Assignments, CarSituation, HallDemand, Predictor};
use crate::model::HallCall;

/// Square microseconds; a call's weight before it is squared is in microseconds.
type Cost = i128;

/// How much longer a call could wait for the gain of moving it to another car.
const HYSTERESIS: Duration = Duration::from_secs(1);

/// Longer waits weigh no more than this.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// How many moves [`PlanBuilder::improve`] makes per call at most. It ends by itself, because every
/// move lowers the cost; this bounds the time. 98 calls and 20 cars take about 10 moves after a
/// fresh placement, and about 130 if all calls were with one car.
const MOVES_PER_CALL: usize = 8;

/// How often [`PlanBuilder::improve`] drives cars through their stops at most, but for the last
/// move. A move takes two for each landing and direction with calls, so this is 200 moves of 500
/// such, and more of fewer; the next plan goes on from there.
const MOST_DRIVES: usize = 200_000;

/// A car with its calls in this plan.
struct Route<'a> {
    car: &'a CarSituation,
    car_calls: StopSet,
    stops: StopSet,
    /// By call: what serving it costs this car, or would cost in addition.
    marginal: Vec<Cost>,
}

/// A call with its car in this plan.
struct Waiting<'a> {
    demand: &'a HallDemand,
    /// Microseconds, at most [`LONGEST_WAIT`].
    waited: Cost,
    holder: Option<usize>,
    /// Its car before.
    present: Option<usize>,
    /// Whether its present car is already stopping for it, or its passenger was told that car.
    committed: bool,
    /// Microseconds until the holder's door opens.
    predicted: Cost,
}

/// Cars and calls by index, both ordered by name, so that ties are resolved independently of the
/// order of the input.
pub(super) struct PlanBuilder<'a> {
    predictor: &'a Predictor,
    routes: Vec<Route<'a>>,
    calls: Vec<Waiting<'a>>,
    /// How long somebody has waited at a landing, by direction and floor.
    waited: [[Cost; 256]; 2],
    /// How often a car was driven through its stops.
    drives: usize,
}

impl<'a> PlanBuilder<'a> {
    /// Starts with the present assignments, if their cars are among `cars`, which all can serve.
    pub(super) fn new(
        predictor: &'a Predictor,
        cars: Vec<&'a CarSituation>,
        demand: &[&'a HallDemand],
    ) -> Self {
        let mut routes: Vec<_> = cars
            .into_iter()
            .map(|car| {
                let car_calls = StopSet::of_car_calls(car.car_calls.iter().copied());
                Route { car, car_calls, stops: car_calls, marginal: vec![0; demand.len()] }
            })
            .collect();
        let mut longest = [[0; 256]; 2];
        let mut calls = Vec::with_capacity(demand.len());
        for &demand in demand {
            let call = demand.call;
            let present = demand
                .assigned
                .as_ref()
                .and_then(|car| routes.iter().position(|route| route.car.car == *car))
                .filter(|&car| routes[car].reaches(call));
            let mut committed = false;
            if let Some(route) = present.and_then(|car| routes.get_mut(car)) {
                route.stops = route.stops.with(call);
                committed = call.to.is_some()
                    || predictor.is_committed(&route.car.view, route.car_calls, call);
            }
            let waited = Cost::from(micros(demand.waited.min(LONGEST_WAIT)));
            let longest: &mut Cost =
                &mut longest[side(call.direction)][usize::from(call.floor.index())];
            *longest = waited.max(*longest);
            calls.push(Waiting {
                demand,
                waited,
                holder: present,
                present,
                committed,
                predicted: 0,
            });
        }
        let mut plan = Self { predictor, routes, calls, waited: longest, drives: 0 };
        for car in 0..plan.routes.len() {
            plan.update_marginal_costs(car);
        }
        plan
    }

    /// Places each call without a car where it costs least, beginning with the call that would lose
    /// most with its second-best car.
    pub(super) fn place(&mut self) {
        while let Some((call, car)) = self.most_urgent() {
            self.hand_over(call, car);
        }
    }

    /// Moves one call at a time to another car, the best move first, while that lowers the cost.
    pub(super) fn improve(&mut self) {
        let most = self.drives.saturating_add(MOST_DRIVES);
        for _ in 0..MOVES_PER_CALL * self.calls.len() {
            if self.drives >= most {
                return;
            }
            let Some((call, car)) = self.best_move() else {
                return;
            };
            self.hand_over(call, car);
        }
    }

    pub(super) fn into_assignments(self) -> Assignments {
        self.calls
            .iter()
            .filter_map(|waiting| {
                let route = self.routes.get(waiting.holder?)?;
                Some((waiting.demand.call, route.car.car.clone()))
            })
            .collect()
    }

    /// The call to place next and its best car, or `None` if no unplaced call can be reached by any
    /// car.
    fn most_urgent(&self) -> Option<(usize, usize)> {
        let open = self.calls.iter().enumerate();
        let open = open.filter(|(_, waiting)| waiting.holder.is_none());
        open.filter_map(|(call, waiting)| {
            let cost = |car: usize| self.routes[car].marginal[call];
            let able = |car: &usize| self.routes[*car].reaches(waiting.demand.call);
            let cars = (0..self.routes.len()).filter(able);
            let best = cars.clone().min_by_key(|&car| cost(car))?;
            let others = cars.filter(|&car| car != best);
            let regret = others.map(cost).min().map_or(0, |next| next - cost(best));
            Some((call, best, (regret, waiting.waited)))
        })
        .max_by_key(|&(call, _, urgency)| (urgency, Reverse(call)))
        .map(|(call, best, _)| (call, best))
    }

    /// The move that lowers the cost most, or `None` if none lowers it by enough.
    fn best_move(&self) -> Option<(usize, usize)> {
        let mut best = None;
        let mut best_gain = 0;
        for (call, waiting) in self.calls.iter().enumerate() {
            let Some(holder) = waiting.holder.filter(|_| !waiting.committed) else {
                continue;
            };
            let burden = self.routes[holder].marginal[call];
            for (car, route) in self.routes.iter().enumerate() {
                let gain = burden - route.marginal[call] - waiting.inertia();
                let able = car != holder && route.reaches(waiting.demand.call);
                if able && gain > best_gain {
                    best_gain = gain;
                    best = Some((call, car));
                }
            }
        }
        best
    }

    fn hand_over(&mut self, call: usize, car: usize) {
        let waiting = &mut self.calls[call];
        let hall = waiting.demand.call;
        let former = waiting.holder.replace(car);
        if let Some(former) = former {
            self.routes[former].stops = self.stops_without(former, call);
            self.update_marginal_costs(former);
        }
        let stops = self.routes[car].stops.with(hall);
        if stops == self.routes[car].stops {
            self.join(call, car);
        } else {
            self.routes[car].stops = stops;
            self.update_marginal_costs(car);
        }
    }

    /// A car gets a call for a landing and direction where it stops already: each of its calls there
    /// costs nothing beside the others, and for those elsewhere nothing has changed.
    fn join(&mut self, call: usize, car: usize) {
        let landing = self.calls[call].demand.call.landing();
        for (other, waiting) in self.calls.iter().enumerate() {
            if waiting.demand.call.landing() == landing {
                self.routes[car].marginal[other] = 0;
            }
        }
        let with_it = self.calls.iter().enumerate().find(|(other, waiting)| {
            let is_there = waiting.demand.call.landing() == landing;
            *other != call && is_there && waiting.holder == Some(car)
        });
        if let Some(predicted) = with_it.map(|(_, waiting)| waiting.predicted) {
            self.calls[call].predicted = predicted;
        }
    }

    /// Recomputes the marginal cost of each call for this car.
    fn update_marginal_costs(&mut self, car: usize) {
        let stops = self.routes[car].stops;
        let view = &self.routes[car].car.view;
        let mut predicted = BTreeMap::new();
        self.predictor.visit(view, stops, |button, after| {
            if let Button::Hall(floor, direction) = button {
                predicted.insert(HallCall::new(floor, direction), Cost::from(after));
            }
        });
        let whole = self.cost(car, stops);
        // All calls of a landing and direction are one stop.
        let mut held: BTreeMap<HallCall, usize> = BTreeMap::new();
        for waiting in self.calls.iter().filter(|waiting| waiting.holder == Some(car)) {
            *held.entry(waiting.demand.call.landing()).or_default() += 1;
        }
        let mut with: BTreeMap<HallCall, Cost> = BTreeMap::new();
        let mut without: BTreeMap<HallCall, Cost> = BTreeMap::new();
        let mut marginal = Vec::with_capacity(self.calls.len());
        for waiting in &self.calls {
            let landing = waiting.demand.call.landing();
            let is_held = waiting.holder == Some(car);
            marginal.push(if is_held && held.get(&landing).is_some_and(|count| *count > 1) {
                0
            } else if is_held {
                let lose = || whole - self.cost(car, stops.without(landing));
                *without.entry(landing).or_insert_with(lose)
            } else {
                let gain = || self.cost(car, stops.with(landing)) - whole;
                *with.entry(landing).or_insert_with(gain)
            });
        }
        self.drives += with.len() + without.len();
        self.routes[car].marginal = marginal;
        for waiting in self.calls.iter_mut().filter(|waiting| waiting.holder == Some(car)) {
            if let Some(after) = predicted.get(&waiting.demand.call.landing()) {
                waiting.predicted = *after;
            }
        }
    }

    /// The stops of a car that loses a call: others that it has may be from the same landing.
    fn stops_without(&self, car: usize, call: usize) -> StopSet {
        let landing = self.calls[call].demand.call.landing();
        let remains = self.calls.iter().enumerate().any(|(other, waiting)| {
            other != call && waiting.holder == Some(car) && waiting.demand.call.landing() == landing
        });
        let stops = self.routes[car].stops;
        if remains { stops } else { stops.without(landing) }
    }

    /// The cost for all who wait for or ride in this car, if these are its stops.
    fn cost(&self, car: usize, stops: StopSet) -> Cost {
        let mut cost = 0;
        let view = &self.routes[car].car.view;
        self.predictor.visit(view, stops, |button, after| {
            cost += square(self.waited(button) + Cost::from(after));
        });
        cost
    }

    /// How long somebody has waited for what a button stands for; nothing is known of riders.
    fn waited(&self, button: Button) -> Cost {
        match button {
            Button::Hall(floor, direction) => {
                self.waited[side(direction)][usize::from(floor.index())]
            }
            Button::Car(_) => 0,
        }
    }
}

impl Route<'_> {
    fn reaches(&self, call: HallCall) -> bool {
        self.car.view.reaches(call)
    }
}

impl Waiting<'_> {
    /// What a move has to gain: nothing, or for a call with its present car the cost of a little
    /// more waiting.
    fn inertia(&self) -> Cost {
        if self.holder != self.present {
            return 0;
        }
        let wait = self.waited + self.predicted;
        square(wait + Cost::from(micros(HYSTERESIS))) - square(wait)
    }
}

fn side(direction: Direction) -> usize {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}

fn square(time: Cost) -> Cost {
    time.saturating_mul(time)
}

#[cfg(test)]
mod tests {
    use elevator_driver::{Floor, FloorCount};

    use super::*;
    use crate::dispatch::Kinematics;
    use crate::dispatch::tests::{car, idle_at};

    /// N1: trips of one landing cost no more drives than one of them, whichever cars they have.
    #[test]
    fn a_plan_for_many_trips_takes_bounded_work() {
        let floors = FloorCount::new(40).expect("floors");
        let predictor = Predictor::new(Kinematics::default(), floors);
        let cars: Vec<CarSituation> =
            (0..8_u8).map(|number| car(&format!("c{number}"), idle_at(number * 4), &[])).collect();
        let trips = |from: Floor| floors.floors().filter_map(move |to| HallCall::to(from, to));
        for assigned in [None, Some(cars[0].car.clone())] {
            let demand = |call: HallCall| HallDemand {
                call,
                waited: Duration::ZERO,
                assigned: assigned.clone(),
            };
            let demand: Vec<HallDemand> = floors.floors().flat_map(trips).map(demand).collect();
            let demand: Vec<&HallDemand> = demand.iter().collect();
            let mut plan = PlanBuilder::new(&predictor, cars.iter().collect(), &demand);
            plan.place();
            // An update for each car, and for each of the 78 landings and directions.
            assert!(plan.drives <= 78 * (cars.len() + 78), "{}", plan.drives);
            plan.improve();
            assert!(plan.drives <= 78 * (cars.len() + 78 + 2) + MOST_DRIVES, "{}", plan.drives);
            assert_eq!(plan.into_assignments().len(), demand.len());
        }
    }
}
