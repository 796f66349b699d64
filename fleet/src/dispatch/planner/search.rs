//! The search for the car of each call.

mod exact;

use elevator_driver::Direction;

use super::Weights;
use super::drive::{CallTable, Crowds, Outcome, Scene};
use super::model::{Call, Model, Start};
use super::part::{Part, Parts};

/// Moves and swaps per call at most. The search ends by itself, because each lowers the cost; this
/// bounds the time.
const CHANGES_PER_CALL: usize = 8;

/// With more calls than this, no two of them are swapped: that takes the square of their number.
const MOST_TO_SWAP: usize = 32;

/// How many exchanges of two calls are tried before each change: those that promise most.
const MOST_EXCHANGES: usize = 16;

/// A gain that is less is the rounding's, in seconds.
const LEAST_GAIN: f64 = 1e-6;

/// A car's part of the plan.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) calls: Vec<usize>,
    /// The direction to begin with, if it has calls.
    pub(super) turn: Option<Direction>,
    /// Seconds until it is free.
    pub(super) free: f64,
    /// Where it is then.
    pub(super) end: usize,
}

/// A plan under construction.
pub(super) struct Search<'a> {
    scene: Scene<'a>,
    starts: &'a [Start],
    reaches: &'a dyn Fn(usize, usize) -> bool,
    tables: Vec<CallTable>,
    outcomes: Vec<Outcome>,
    /// By call: its car in this plan.
    holders: Vec<Option<usize>>,
    /// By car and call: what the call costs this car, or would cost in addition.
    marginal: Vec<Vec<f64>>,
    /// Room for a drive.
    guests: Vec<f64>,
}

/// Two calls of different cars, each with its car.
type Pair = ((usize, usize), (usize, usize));

impl<'a> Search<'a> {
    /// Begins with the present assignments.
    pub(super) fn new(
        model: &'a Model,
        crowds: &'a Crowds,
        starts: &'a [Start],
        calls: &'a [Call],
        weights: Weights,
        reaches: &'a dyn Fn(usize, usize) -> bool,
    ) -> Self {
        let scene = Scene { model, crowds, calls, weights };
        let mut guests = vec![0.0; model.floors()];
        let mut tables = vec![CallTable::new(model.floors(), calls.len()); starts.len()];
        for (index, call) in calls.iter().enumerate() {
            if let Some(car) = call.present {
                tables[car].add(call, index);
            }
        }
        let cars = starts.iter().zip(&tables);
        let outcomes = cars.map(|(start, table)| scene.drive(start, table, &mut guests)).collect();
        let mut search = Self {
            scene,
            starts,
            reaches,
            outcomes,
            tables,
            holders: calls.iter().map(|call| call.present).collect(),
            marginal: vec![vec![0.0; calls.len()]; starts.len()],
            guests,
        };
        for car in 0..starts.len() {
            search.update(car);
        }
        search
    }

    /// Gives each call without a car to the one that it costs least, beginning with the call that
    /// would lose most with the second-best.
    pub(super) fn insert(&mut self) {
        while let Some((call, car)) = self.most_urgent() {
            self.give(call, car);
        }
    }

    fn most_urgent(&self) -> Option<(usize, usize)> {
        let mut most: Option<(f64, usize, usize)> = None;
        let open = (0..self.holders.len()).filter(|&call| self.holders[call].is_none());
        for call in open {
            let (mut best, mut second) = (None, f64::INFINITY);
            for car in (0..self.starts.len()).filter(|&car| (self.reaches)(car, call)) {
                let cost = self.marginal[car][call];
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
            let regret = second - least;
            if most.is_none_or(|(other, _, _)| regret > other) {
                most = Some((regret, call, car));
            }
        }
        most.map(|(_, call, car)| (call, car))
    }

    /// Makes the best of a few calls. Of many, moves single ones, and where that gains nothing,
    /// swaps two, while it lowers the cost. A call for which its car already stops stays.
    pub(super) fn improve(&mut self, parts: &Parts) {
        if !parts.has(Part::Improvement) || parts.has(Part::Exact) && self.distribute() {
            return;
        }
        let exchanges = parts.has(Part::Exchanges);
        for _ in 0..CHANGES_PER_CALL * self.holders.len() {
            if let Some((call, car)) = self.best_move() {
                self.give(call, car);
            } else if let Some(((one, its), (other, others))) =
                exchanges.then(|| self.best_swap(parts)).flatten()
            {
                self.give(one, others);
                self.give(other, its);
            } else {
                return;
            }
        }
    }

    /// The calls that may move, with their cars.
    fn movable(&self) -> Vec<(usize, usize)> {
        let holders = self.holders.iter().enumerate();
        let held = holders.filter_map(|(call, &car)| Some((call, car?)));
        held.filter(|&(call, _)| !self.is_fixed(call)).collect()
    }

    /// Whether a call stays with its present car.
    fn is_fixed(&self, call: usize) -> bool {
        let call = &self.scene.calls[call];
        call.present.is_some_and(|car| call.is_held || self.starts[car].stops_for(call))
    }

    fn best_move(&self) -> Option<(usize, usize)> {
        let (mut best, mut most) = (None, LEAST_GAIN);
        for (call, holder) in self.movable() {
            for car in (0..self.starts.len()).filter(|&car| car != holder) {
                let saved = self.marginal[holder][call] - self.marginal[car][call];
                let gain = saved - self.inertia(call, holder, car);
                if gain > most && (self.reaches)(car, call) {
                    (best, most) = (Some((call, car)), gain);
                }
            }
        }
        best
    }

    /// Whether a call would stay with its car if this plan were the present one.
    fn will_be_fixed(&self, call: usize, holder: usize, parts: &Parts) -> bool {
        let Call { present, to, .. } = self.scene.calls[call];
        let has_moved = present.is_some_and(|present| present != holder);
        to.is_some()
            || has_moved && parts.has(Part::Hold)
            || self.starts[holder].stops_for(&self.scene.calls[call])
    }

    /// The two calls whose cars are best exchanged. Once this plan is fed back, fewer calls may move,
    /// which changes the few exchanges that are tried. So those are tried now as well.
    fn best_swap(&mut self, parts: &Parts) -> Option<Pair> {
        let mut movable = self.movable();
        self.best_swap_of(&movable).or_else(|| {
            let count = movable.len();
            movable.retain(|&(call, holder)| !self.will_be_fixed(call, holder, parts));
            if movable.len() < count { self.best_swap_of(&movable) } else { None }
        })
    }

    /// The best exchange of two of these calls, of those that promise most.
    fn best_swap_of(&mut self, movable: &[(usize, usize)]) -> Option<Pair> {
        if movable.len() > MOST_TO_SWAP {
            return None;
        }
        let mut promising: Vec<(f64, Pair)> = Vec::with_capacity(movable.len() * movable.len() / 2);
        for (number, &(one, its)) in movable.iter().enumerate() {
            for &(other, others) in &movable[..number] {
                if its == others || !(self.reaches)(others, one) || !(self.reaches)(its, other) {
                    continue;
                }
                // As if each car had both calls or neither: what the two mean to each other is
                // missing. So is the inertia, which depends on the plan before.
                let promise = self.marginal[its][one] - self.marginal[its][other]
                    + self.marginal[others][other]
                    - self.marginal[others][one];
                promising.push((promise, ((one, its), (other, others))));
            }
        }
        if promising.len() > MOST_EXCHANGES {
            promising.select_nth_unstable_by(MOST_EXCHANGES, |one, other| {
                other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
            });
            promising.truncate(MOST_EXCHANGES);
        }
        let (mut best, mut most) = (None, LEAST_GAIN);
        for (_, ((one, its), (other, others))) in promising {
            let gain = self.gain_of_exchange(its, one, other)
                + self.gain_of_exchange(others, other, one)
                - self.inertia(one, its, others)
                - self.inertia(other, others, its);
            if gain > most {
                (best, most) = (Some(((one, its), (other, others))), gain);
            }
        }
        best
    }

    /// What a car gains by another call in place of one of its own.
    fn gain_of_exchange(&mut self, car: usize, own: usize, other: usize) -> f64 {
        let calls = self.scene.calls;
        let table = &mut self.tables[car];
        table.remove(&calls[own], own);
        table.add(&calls[other], other);
        let cost = self.scene.drive(&self.starts[car], table, &mut self.guests).cost;
        table.remove(&calls[other], other);
        table.add(&calls[own], own);
        self.outcomes[car].cost - cost
    }

    /// What keeps a call with the car that it had before.
    fn inertia(&self, call: usize, from: usize, to: usize) -> f64 {
        let Call { present, waited, .. } = self.scene.calls[call];
        // What another second of waiting costs, which grows with the wait.
        let second = self.scene.weights.inertia * (1.0 + 2.0 * self.scene.weights.square * waited);
        match present {
            Some(present) if present == from => second,
            Some(present) if present == to => -second,
            Some(_) | None => 0.0,
        }
    }

    fn give(&mut self, call: usize, car: usize) {
        let calls = self.scene.calls;
        let former = self.holders[call].replace(car);
        if let Some(former) = former {
            self.tables[former].remove(&calls[call], call);
        }
        self.tables[car].add(&calls[call], call);
        for car in former.into_iter().chain([car]) {
            let table = &self.tables[car];
            self.outcomes[car] = self.scene.drive(&self.starts[car], table, &mut self.guests);
            self.update(car);
        }
    }

    /// Recomputes what each call costs this car.
    fn update(&mut self, car: usize) {
        let scene = self.scene;
        let whole = self.outcomes[car].cost;
        for (index, call) in scene.calls.iter().enumerate() {
            if self.is_fixed(index) {
                continue;
            }
            let has = self.holders[index] == Some(car);
            let table = &mut self.tables[car];
            if has {
                table.remove(call, index);
            } else {
                table.add(call, index);
            }
            let other = scene.drive(&self.starts[car], table, &mut self.guests).cost;
            if has {
                table.add(call, index);
            } else {
                table.remove(call, index);
            }
            self.marginal[car][index] = if has { whole - other } else { other - whole };
        }
    }

    pub(super) fn into_routes(self) -> Vec<Route> {
        let route = |(car, outcome): (usize, &Outcome)| {
            let calls = self.holders.iter().enumerate();
            let calls: Vec<_> =
                calls.filter(|&(_, &holder)| holder == Some(car)).map(|(call, _)| call).collect();
            let turn = (!calls.is_empty()).then_some(outcome.first);
            Route { calls, turn, free: outcome.free, end: outcome.end }
        };
        self.outcomes.iter().enumerate().map(route).collect()
    }
}
