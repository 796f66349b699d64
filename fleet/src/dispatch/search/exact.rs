//! The best of all distributions of a few calls over the cars.

use super::{Costs, Search};

impl<C: Costs> Search<'_, C> {
    /// Gives these calls, which may move, to these cars at the least cost of all.
    ///
    /// What a car's calls cost does not depend on the other cars. So the least cost of some cars
    /// with a set of calls is that of all these cars but the last with a part of the set, and of
    /// the last car with the rest. Of equal distributions the last car gets the last calls.
    pub(in crate::dispatch) fn distribute(&mut self, cars: &[usize], calls: &[usize]) {
        let sets = 1_usize << calls.len();
        // By set of calls.
        let mut least = Vec::new();
        // By car and set: which of the calls it has.
        let mut parts: Vec<Vec<usize>> = Vec::with_capacity(cars.len());
        for (number, &car) in cars.iter().enumerate() {
            let costs = self.set_costs(car, calls);
            if number == 0 {
                least = costs;
                parts.push((0..sets).collect());
                continue;
            }
            // What the last car shares with the others is everything.
            let first = if number + 1 == cars.len() { sets - 1 } else { 0 };
            let (mut part, mut all) = (vec![0; sets], vec![f64::INFINITY; sets]);
            for set in first..sets {
                (part[set], all[set]) = best_part(set, &costs, &least);
            }
            least = all;
            parts.push(part);
        }
        let mut left = sets - 1;
        for (&car, part) in cars.iter().zip(&parts).rev() {
            let its = part[left];
            left &= !its;
            let Self { costs, routes, holders } = self;
            for (_, &call) in calls.iter().enumerate().filter(|&(bit, _)| its & (1 << bit) != 0) {
                holders[call] = Some(car);
                costs.add(&mut routes[car].calls, call);
            }
            routes[car].cost = costs.cost(car, &routes[car].calls);
            costs.settle(car, &routes[car].calls);
        }
    }

    /// What each set of these calls costs a car, besides the calls that stay with it.
    fn set_costs(&mut self, car: usize, calls: &[usize]) -> Vec<f64> {
        let Self { costs, routes, holders } = self;
        let its = &mut routes[car].calls;
        for &call in calls.iter().filter(|&&call| holders[call] == Some(car)) {
            costs.remove(its, call);
        }
        let mut all = vec![f64::INFINITY; 1 << calls.len()];
        let mut set = 0_usize;
        for step in 0..all.len() {
            // Each set differs from the one before in a single call (Gray code).
            let next = step ^ (step >> 1);
            if next != set {
                let call = calls[number_of(next ^ set)];
                if next & !set != 0 {
                    costs.add(its, call);
                } else {
                    costs.remove(its, call);
                }
                set = next;
            }
            let present = calls.iter().enumerate().filter(|&(bit, _)| set & (1 << bit) != 0);
            if present.clone().all(|(_, &call)| costs.reaches(car, call)) {
                let moves = present.map(|(_, &call)| match costs.present(call) {
                    Some(present) if present != car => costs.inertia(call, present, car),
                    Some(_) | None => 0.0,
                });
                let moves = moves.sum::<f64>();
                all[set] = costs.cost(car, its) + moves;
            }
        }
        for (bit, &call) in calls.iter().enumerate() {
            if set & (1 << bit) != 0 {
                costs.remove(its, call);
            }
        }
        all
    }
}

/// The part of a set to take oneself, if the rest costs the others `least`, and the cost of both.
fn best_part(set: usize, own: &[f64], least: &[f64]) -> (usize, f64) {
    let mut best = (set, least[0] + own[set]);
    let mut part = set;
    while part != 0 {
        part = (part - 1) & set;
        let cost = least[set & !part] + own[part];
        if cost < best.1 {
            best = (part, cost);
        }
    }
    best
}

fn number_of(set: usize) -> usize {
    set.trailing_zeros().try_into().unwrap_or(usize::MAX)
}
