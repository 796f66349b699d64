//! The search for the car of each call, whatever a strategy counts as cost.

mod exact;

use std::collections::BTreeSet;

/// Changes per call at most: this bounds the time, as does [`MOST_DRIVES`].
const CHANGES_PER_CALL: usize = 8;

/// How often the costs of a car are asked for at most by moves. A move takes two for each call, so
/// these are 200 moves of 500 calls; the next plan goes on from there.
const MOST_DRIVES: usize = 200_000;

/// With more calls than this, no two of them are swapped: that takes the square of their number.
const MOST_TO_SWAP: usize = 32;

/// How many swaps of two calls are tried before each change: those that promise most.
const MOST_SWAPS: usize = 16;

/// A gain that is less is the rounding's.
const LEAST_GAIN: f64 = 1e-6;

/// What a strategy knows of its cars and calls; both are numbers here.
pub(super) trait Costs {
    type Calls;

    fn none(&self, car: usize) -> Self::Calls;

    fn add(&self, calls: &mut Self::Calls, call: usize);

    fn remove(&self, calls: &mut Self::Calls, call: usize);

    /// What these calls cost the bank if this car has them.
    fn cost(&mut self, car: usize, calls: &Self::Calls) -> f64;

    fn settle(&mut self, _car: usize, _calls: &Self::Calls) {}

    /// The car of a call before this plan.
    fn present(&self, _call: usize) -> Option<usize> {
        None
    }

    fn reaches(&self, _car: usize, _call: usize) -> bool {
        true
    }

    fn is_fixed(&self, _call: usize) -> bool {
        false
    }

    /// Whether a call would stay with its car if this plan were the present one.
    fn will_be_fixed(&self, _call: usize, _holder: usize) -> bool {
        false
    }

    /// Of calls that would lose the same with their second-best cars, the most urgent comes first.
    fn urgency(&self, _call: usize) -> f64 {
        0.0
    }

    /// What keeps a call with the car that it had before.
    fn inertia(&self, _call: usize, _from: usize, _to: usize) -> f64 {
        0.0
    }
}

struct Route<T> {
    calls: T,
    cost: f64,
    /// By call: what it costs this car, or would cost in addition.
    marginal: Vec<f64>,
}

pub(super) struct Search<'a, C: Costs> {
    costs: &'a mut C,
    routes: Vec<Route<C::Calls>>,
    /// By call: its car in this plan.
    holders: Vec<Option<usize>>,
}

type Pair = ((usize, usize), (usize, usize));

impl<'a, C: Costs> Search<'a, C> {
    /// Begins with the present assignments.
    pub(super) fn new(costs: &'a mut C, cars: usize, calls: usize) -> Self {
        let holders: Vec<_> = (0..calls).map(|call| costs.present(call)).collect();
        let mut routes = Vec::with_capacity(cars);
        for car in 0..cars {
            let mut its = costs.none(car);
            for call in (0..calls).filter(|&call| holders[call] == Some(car)) {
                costs.add(&mut its, call);
            }
            let cost = costs.cost(car, &its);
            costs.settle(car, &its);
            routes.push(Route { calls: its, cost, marginal: vec![0.0; calls] });
        }
        Self { costs, routes, holders }
    }

    /// Gives each call without a car to the cheapest, beginning with the greatest regret.
    pub(super) fn insert(&mut self) {
        for car in 0..self.routes.len() {
            self.update(car);
        }
        while let Some((call, car)) = self.most_urgent() {
            self.give(call, car);
        }
    }

    fn most_urgent(&self) -> Option<(usize, usize)> {
        let mut most: Option<([f64; 2], usize, usize)> = None;
        let open = (0..self.holders.len()).filter(|&call| self.holders[call].is_none());
        for call in open {
            let (mut best, mut second) = (None, f64::INFINITY);
            for car in (0..self.routes.len()).filter(|&car| self.costs.reaches(car, call)) {
                let cost = self.routes[car].marginal[call];
                match best {
                    Some((least, _)) if cost >= least => second = second.min(cost),
                    Some((least, _)) => {
                        second = least;
                        best = Some((cost, car));
                    }
                    None => best = Some((cost, car)),
                }
            }
            let Some((least, car)) = best else { continue };
            let rank = [second - least, self.costs.urgency(call)];
            if most.is_none_or(|(other, _, _)| rank > other) {
                most = Some((rank, call, car));
            }
        }
        most.map(|(_, call, car)| (call, car))
    }

    /// Moves single calls, and where that gains nothing, `swaps` two, or else divides the calls of
    /// two cars anew as long as that takes no more than this many `drives`, while it lowers the
    /// cost.
    pub(super) fn improve(&mut self, swaps: bool, mut drives: usize) {
        let mut divided = BTreeSet::new();
        let calls = self.holders.len();
        for _ in 0..(CHANGES_PER_CALL * calls).min(MOST_DRIVES / (2 * calls).max(1)) {
            if let Some((call, car)) = self.best_move() {
                self.give(call, car);
            } else if let Some(((one, its), (other, others))) =
                swaps.then(|| self.best_swap()).flatten()
            {
                self.give(one, others);
                self.give(other, its);
            } else if !self.divide(&mut divided, &mut drives) {
                return;
            }
        }
    }

    pub(super) fn movable(&self) -> Vec<(usize, usize)> {
        let holders = self.holders.iter().enumerate();
        let held = holders.filter_map(|(call, &car)| Some((call, car?)));
        held.filter(|&(call, _)| !self.costs.is_fixed(call)).collect()
    }

    fn best_move(&self) -> Option<(usize, usize)> {
        let (mut best, mut most) = (None, LEAST_GAIN);
        for (call, holder) in self.movable() {
            for car in (0..self.routes.len()).filter(|&car| car != holder) {
                let saved = self.routes[holder].marginal[call] - self.routes[car].marginal[call];
                let gain = saved - self.costs.inertia(call, holder, car);
                if gain > most && self.costs.reaches(car, call) {
                    (best, most) = (Some((call, car)), gain);
                }
            }
        }
        best
    }

    /// The two calls whose cars are best exchanged. Only a few swaps are
    /// tried. After this plan fewer calls may move, so other swaps would be tried next time: those
    /// are tried now as well.
    fn best_swap(&mut self) -> Option<Pair> {
        let mut movable = self.movable();
        self.best_swap_of(&movable).or_else(|| {
            let count = movable.len();
            movable.retain(|&(call, holder)| !self.costs.will_be_fixed(call, holder));
            if movable.len() < count { self.best_swap_of(&movable) } else { None }
        })
    }

    /// The best swap of two of these calls, of those that promise most.
    fn best_swap_of(&mut self, movable: &[(usize, usize)]) -> Option<Pair> {
        if movable.len() > MOST_TO_SWAP {
            return None;
        }
        let mut promising: Vec<(f64, Pair)> = Vec::with_capacity(movable.len() * movable.len() / 2);
        let marginal = |car: usize, call: usize| self.routes[car].marginal[call];
        for (number, &(one, its)) in movable.iter().enumerate() {
            for &(other, others) in &movable[..number] {
                let reaches = |car, call| self.costs.reaches(car, call);
                if its == others || !reaches(others, one) || !reaches(its, other) {
                    continue;
                }
                // As if each car had both calls or neither: what the two mean to each other is
                // missing. So is the inertia, which depends on the plan before.
                let promise = marginal(its, one) - marginal(its, other) + marginal(others, other)
                    - marginal(others, one);
                promising.push((promise, ((one, its), (other, others))));
            }
        }
        if promising.len() > MOST_SWAPS {
            promising.select_nth_unstable_by(MOST_SWAPS, |one, other| {
                other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
            });
            promising.truncate(MOST_SWAPS);
        }
        let (mut best, mut most) = (None, LEAST_GAIN);
        for (_, ((one, its), (other, others))) in promising {
            let gain = self.gain_of_swap(its, one, other) + self.gain_of_swap(others, other, one)
                - self.costs.inertia(one, its, others)
                - self.costs.inertia(other, others, its);
            if gain > most {
                (best, most) = (Some(((one, its), (other, others))), gain);
            }
        }
        best
    }

    /// What a car gains by another call in place of one of its own.
    fn gain_of_swap(&mut self, car: usize, own: usize, other: usize) -> f64 {
        let Self { costs, routes, .. } = self;
        let route = &mut routes[car];
        costs.remove(&mut route.calls, own);
        costs.add(&mut route.calls, other);
        let cost = costs.cost(car, &route.calls);
        costs.remove(&mut route.calls, other);
        costs.add(&mut route.calls, own);
        route.cost - cost
    }

    /// Divides the calls of two cars in the best way; `false` if no pair gains that is not `divided`.
    fn divide(
        &mut self,
        divided: &mut BTreeSet<([usize; 2], Vec<usize>)>,
        drives: &mut usize,
    ) -> bool {
        let cars = 0..self.routes.len();
        for pair in cars.clone().flat_map(|one| (0..one).map(move |other| [one, other])) {
            let calls = self.movable().into_iter().rev().filter(|(_, car)| pair.contains(car));
            let calls: Vec<_> = calls.map(|(call, _)| call).collect();
            let ways = u32::try_from(calls.len()).ok().and_then(|power| 4_usize.checked_pow(power));
            // Moves and swaps have tried up to three.
            let left = ways.filter(|_| calls.len() > 3).and_then(|ways| drives.checked_sub(ways));
            let Some(left) = left else { continue };
            if divided.insert((pair, calls.clone())) {
                *drives = left;
                let [one, other] = pair;
                let before = self.routes[one].cost + self.routes[other].cost;
                self.distribute(&pair, &calls);
                if self.routes[one].cost + self.routes[other].cost < before - LEAST_GAIN {
                    self.update(one);
                    self.update(other);
                    return true;
                }
            }
        }
        false
    }

    fn give(&mut self, call: usize, car: usize) {
        let former = self.holders[call].replace(car);
        if let Some(former) = former {
            self.costs.remove(&mut self.routes[former].calls, call);
        }
        self.costs.add(&mut self.routes[car].calls, call);
        for car in former.into_iter().chain([car]) {
            self.routes[car].cost = self.costs.cost(car, &self.routes[car].calls);
            self.costs.settle(car, &self.routes[car].calls);
            self.update(car);
        }
    }

    fn update(&mut self, car: usize) {
        let Self { costs, routes, holders } = self;
        let Route { calls, cost: whole, marginal } = &mut routes[car];
        for call in 0..holders.len() {
            if costs.is_fixed(call) {
                continue;
            }
            if holders[call] == Some(car) {
                costs.remove(calls, call);
                marginal[call] = *whole - costs.cost(car, calls);
                costs.add(calls, call);
            } else {
                costs.add(calls, call);
                marginal[call] = costs.cost(car, calls) - *whole;
                costs.remove(calls, call);
            }
        }
    }

    /// By call: its car.
    pub(super) fn into_holders(self) -> Vec<Option<usize>> {
        self.holders
    }
}
