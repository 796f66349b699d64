//! A good split of many calls: insertion, then improvement.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::model::{CarModel, HallSet, Micros, Start};
use crate::model::HallCall;

/// The difference of two sums of waits.
type Change = i64;

/// How many times per call a plan is improved at most. It ends by itself, because every step lowers
/// the sum; this bounds the time.
const STEPS_PER_CALL: usize = 8;

/// How many runs of a car the divisions of the calls of two cars may take in one answer: about
/// 1 ms, which only banks with many calls for each car come to.
const RUNS: usize = 1 << 13;

/// A car with its calls.
struct Route<'a, const WORDS: usize> {
    start: &'a Start<WORDS>,
    calls: HallSet<WORDS>,
    wait: Micros,
    /// By call: what the car saves without it if it has it, or what it costs in addition.
    marginal: Vec<Change>,
    /// How often the calls have changed.
    version: u32,
}

struct Search<'a, const WORDS: usize> {
    model: &'a CarModel,
    calls: &'a [HallCall],
    routes: Vec<Route<'a, WORDS>>,
    /// By call.
    holders: Vec<Option<usize>>,
    /// By pair of cars: their versions when no exchange between them helped.
    exhausted: BTreeMap<(usize, usize), (u32, u32)>,
    /// By pair of cars: their versions when they shared their calls in the best way.
    divided: BTreeMap<(usize, usize), (u32, u32)>,
    /// How many of [`RUNS`] are left.
    runs: usize,
}

/// Two cars, and the calls of the first and the second.
struct Division {
    cars: [usize; 2],
    calls: [Vec<usize>; 2],
}

pub(super) fn split<const WORDS: usize>(
    model: &CarModel,
    starts: &[Start<WORDS>],
    calls: &[HallCall],
) -> Vec<usize> {
    let routes = starts.iter().map(|start| Route {
        start,
        calls: HallSet::default(),
        wait: 0,
        marginal: vec![0; calls.len()],
        version: 0,
    });
    let mut search = Search {
        model,
        calls,
        routes: routes.collect(),
        holders: vec![None; calls.len()],
        exhausted: BTreeMap::new(),
        divided: BTreeMap::new(),
        runs: RUNS,
    };
    search.place();
    search.improve();
    search.holders.into_iter().map(Option::unwrap_or_default).collect()
}

impl<const WORDS: usize> Search<'_, WORDS> {
    /// Gives each call to the car that it costs least, beginning with the call that would lose most
    /// with its second-best car.
    fn place(&mut self) {
        for car in 0..self.routes.len() {
            self.update(car, |holder| holder.is_none());
        }
        while let Some((call, car)) = self.most_urgent() {
            let calls = self.routes[car].calls.with(self.calls[call]);
            self.holders[call] = Some(car);
            self.set(car, calls);
            self.update(car, |holder| holder.is_none());
        }
        for car in 0..self.routes.len() {
            self.update(car, |_| true);
        }
    }

    /// Moves a call to another car, the best move first, or else exchanges two calls of two cars, or
    /// else divides the calls of two cars anew, while that lowers the sum.
    fn improve(&mut self) {
        for _ in 0..STEPS_PER_CALL * self.calls.len() {
            if let Some((call, car)) = self.best_move() {
                self.move_to(call, car);
            } else if let Some((one, other)) = self.find_exchange() {
                let (first, second) = (self.holders[one], self.holders[other]);
                if let (Some(first), Some(second)) = (first, second) {
                    self.exchange((one, first), (other, second));
                }
            } else if let Some(division) = self.find_division() {
                self.divide(&division);
            } else {
                return;
            }
        }
    }

    fn most_urgent(&self) -> Option<(usize, usize)> {
        let open = (0..self.calls.len()).filter(|&call| self.holders[call].is_none());
        open.filter_map(|call| {
            let costs = self.routes.iter().map(|route| route.marginal[call]).enumerate();
            let (best, cost) = costs.clone().min_by_key(|&(_, cost)| cost)?;
            let others = costs.filter(|&(car, _)| car != best).map(|(_, cost)| cost);
            let regret = others.min().map_or(0, |next| next - cost);
            Some((call, best, regret))
        })
        .max_by_key(|&(call, _, regret)| (regret, Reverse(call)))
        .map(|(call, best, _)| (call, best))
    }

    fn best_move(&self) -> Option<(usize, usize)> {
        let mut best = None;
        let mut best_gain = 0;
        for (call, holder) in self.holders.iter().enumerate() {
            let Some(holder) = *holder else {
                continue;
            };
            let saved = self.routes[holder].marginal[call];
            for (car, route) in self.routes.iter().enumerate() {
                let gain = saved - route.marginal[call];
                if car != holder && gain > best_gain {
                    best_gain = gain;
                    best = Some((call, car));
                }
            }
        }
        best
    }

    fn move_to(&mut self, call: usize, car: usize) {
        let hall = self.calls[call];
        if let Some(former) = self.holders[call].replace(car) {
            let calls = self.routes[former].calls.without(hall);
            self.set(former, calls);
            self.update(former, |_| true);
        }
        let calls = self.routes[car].calls.with(hall);
        self.set(car, calls);
        self.update(car, |_| true);
    }

    /// Two calls of two cars whose exchange lowers the sum.
    fn find_exchange(&mut self) -> Option<(usize, usize)> {
        let busy: BTreeSet<_> = self.holders.iter().copied().flatten().collect();
        for &first in &busy {
            for &second in busy.range(first + 1..) {
                let versions = (self.routes[first].version, self.routes[second].version);
                if self.exhausted.get(&(first, second)) == Some(&versions) {
                    continue;
                }
                if let Some(found) = self.find_exchange_between(first, second) {
                    return Some(found);
                }
                self.exhausted.insert((first, second), versions);
            }
        }
        None
    }

    fn find_exchange_between(&self, first: usize, second: usize) -> Option<(usize, usize)> {
        let of = |car| (0..self.calls.len()).filter(move |&call| self.holders[call] == Some(car));
        let (one_route, other_route) = (&self.routes[first], &self.routes[second]);
        let now = one_route.wait + other_route.wait;
        for one in of(first) {
            let rest = one_route.calls.without(self.calls[one]);
            for other in of(second) {
                let wait = self.model.wait(one_route.start, rest.with(self.calls[other]));
                if wait >= now {
                    continue;
                }
                let calls = other_route.calls.without(self.calls[other]).with(self.calls[one]);
                if wait + self.model.wait(other_route.start, calls) < now {
                    return Some((one, other));
                }
            }
        }
        None
    }

    fn exchange(&mut self, one: (usize, usize), other: (usize, usize)) {
        for ((call, car), (gained, _)) in [(one, other), (other, one)] {
            self.holders[gained] = Some(car);
            let calls = self.routes[car].calls.without(self.calls[call]);
            self.set(car, calls.with(self.calls[gained]));
        }
        for (_, car) in [one, other] {
            self.update(car, |_| true);
        }
    }

    /// Two cars that can share their calls in a better way, and the best way.
    fn find_division(&mut self) -> Option<Division> {
        let busy: BTreeSet<_> = self.holders.iter().copied().flatten().collect();
        for &first in &busy {
            for &second in busy.range(first + 1..) {
                let versions = (self.routes[first].version, self.routes[second].version);
                if self.divided.get(&(first, second)) == Some(&versions) {
                    continue;
                }
                if let Some(found) = self.best_division([first, second]) {
                    return Some(found);
                }
                self.divided.insert((first, second), versions);
            }
        }
        None
    }

    /// The best way to share the calls of two cars, if it is better than theirs.
    fn best_division(&mut self, cars: [usize; 2]) -> Option<Division> {
        let held = |holder: &Option<usize>| holder.is_some_and(|holder| cars.contains(&holder));
        let shared = self.holders.iter().enumerate().filter(|(_, holder)| held(holder));
        let shared: Vec<_> = shared.map(|(call, _)| call).collect();
        // Up to three calls are covered by moves and exchanges.
        let power = u32::try_from(shared.len()).ok().filter(|calls| *calls > 3)?;
        let ways = 2_usize.checked_pow(power)?;
        self.runs = self.runs.checked_sub(2 * ways)?;
        let [first, second] = cars.map(|car| &self.routes[car]);
        let mut best = first.wait + second.wait;
        let mut found = None;
        for way in 0..ways {
            let mut sets = [HallSet::default(); 2];
            for (bit, &call) in shared.iter().enumerate() {
                let set = &mut sets[way >> bit & 1];
                *set = set.with(self.calls[call]);
            }
            let wait = self.model.wait(first.start, sets[0]);
            if wait < best {
                let wait = wait + self.model.wait(second.start, sets[1]);
                if wait < best {
                    best = wait;
                    found = Some(way);
                }
            }
        }
        let way = found?;
        let (second, first) =
            shared.into_iter().enumerate().partition::<Vec<_>, _>(|(bit, _)| way >> bit & 1 == 1);
        let calls = [first, second].map(|calls| calls.into_iter().map(|(_, call)| call).collect());
        Some(Division { cars, calls })
    }

    fn divide(&mut self, division: &Division) {
        for (&car, calls) in division.cars.iter().zip(&division.calls) {
            let mut set = HallSet::default();
            for &call in calls {
                set = set.with(self.calls[call]);
                self.holders[call] = Some(car);
            }
            self.set(car, set);
        }
        for car in division.cars {
            self.update(car, |_| true);
        }
    }

    fn set(&mut self, car: usize, calls: HallSet<WORDS>) {
        let route = &mut self.routes[car];
        route.calls = calls;
        route.wait = self.model.wait(route.start, calls);
        route.version += 1;
    }

    /// Computes the marginal costs of a car anew, for the calls whose holder is `of_interest`.
    fn update(&mut self, car: usize, of_interest: impl Fn(Option<usize>) -> bool) {
        let route = &mut self.routes[car];
        for (call, (&hall, &holder)) in self.calls.iter().zip(&self.holders).enumerate() {
            if !of_interest(holder) {
                continue;
            }
            let wait = |calls| self.model.wait(route.start, calls);
            route.marginal[call] = if holder == Some(car) {
                change(wait(route.calls.without(hall)), route.wait)
            } else {
                change(route.wait, wait(route.calls.with(hall)))
            };
        }
    }
}

fn change(from: Micros, to: Micros) -> Change {
    to.cast_signed() - from.cast_signed()
}
