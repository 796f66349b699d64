//! The best of all distributions of a few calls over the cars.

use super::Search;

/// The most calls, whether they may move or not: so a plan that is fed back, when fewer may move,
/// is searched in the same way.
const MOST_CALLS: usize = 6;

/// How many drives it may take: each car is driven through each subset of the calls.
const MOST_DRIVES: usize = 512;

impl Search<'_> {
    /// Gives the calls that may move to the cars at the least cost of all, if they are few; `false`
    /// if they are too many.
    ///
    /// What a car's calls cost does not depend on the other cars. So the least cost of some cars
    /// with a set of calls is that of all these cars but the last with a part of the set, and of the
    /// last car with the rest.
    pub(super) fn distribute(&mut self) -> bool {
        let movable: Vec<usize> = self.movable().into_iter().map(|(call, _)| call).collect();
        let calls = self.holders.len();
        if calls > MOST_CALLS || self.starts.len() << calls > MOST_DRIVES {
            return false;
        }
        let sets = 1_usize << movable.len();
        // By set of calls.
        let mut least = vec![f64::INFINITY; sets];
        least[0] = 0.0;
        // By car and set: which of the calls it has.
        let mut parts = Vec::with_capacity(self.starts.len());
        for car in 0..self.starts.len() {
            let costs = self.costs(car, &movable);
            let best = |set: usize| {
                let cost = |its: &usize| least[set & !its] + costs[*its];
                let its = subsets(set).min_by(|one, other| cost(one).total_cmp(&cost(other)));
                its.map_or((0, f64::INFINITY), |its| (its, cost(&its)))
            };
            let (part, all): (Vec<usize>, Vec<f64>) = (0..sets).map(best).unzip();
            least = all;
            parts.push(part);
        }
        let mut left = sets - 1;
        for (car, part) in parts.iter().enumerate().rev() {
            let its = part[left];
            left &= !its;
            let calls = movable.iter().enumerate();
            for (_, &call) in calls.filter(|&(number, _)| its & (1 << number) != 0) {
                self.holders[call] = Some(car);
                self.tables[car].add(&self.scene.calls[call], call);
            }
            let table = &self.tables[car];
            self.outcomes[car] = self.scene.drive(&self.starts[car], table, &mut self.guests);
        }
        true
    }

    /// What each set of these calls costs a car, besides the calls that stay with it. The car is
    /// left without any of them.
    fn costs(&mut self, car: usize, movable: &[usize]) -> Vec<f64> {
        let calls = self.scene.calls;
        for &call in movable.iter().filter(|&&call| self.holders[call] == Some(car)) {
            self.tables[car].remove(&calls[call], call);
        }
        let mut costs = vec![f64::INFINITY; 1 << movable.len()];
        let mut set = 0_usize;
        for step in 0..costs.len() {
            // Each set differs from the one before in a single call (Gray code).
            let next = step ^ (step >> 1);
            if next != set {
                let call = movable[number_of(next ^ set)];
                if next & !set != 0 {
                    self.tables[car].add(&calls[call], call);
                } else {
                    self.tables[car].remove(&calls[call], call);
                }
                set = next;
            }
            let its = movable.iter().enumerate().filter(|&(number, _)| set & (1 << number) != 0);
            if its.clone().all(|(_, &call)| (self.reaches)(car, call)) {
                let table = &self.tables[car];
                let cost = self.scene.drive(&self.starts[car], table, &mut self.guests).cost;
                let moves = its.map(|(_, &call)| match calls[call].present {
                    Some(present) if present != car => self.inertia(call, present, car),
                    Some(_) | None => 0.0,
                });
                costs[set] = cost + moves.sum::<f64>();
            }
        }
        for (number, &call) in movable.iter().enumerate() {
            if set & (1 << number) != 0 {
                self.tables[car].remove(&calls[call], call);
            }
        }
        costs
    }
}

/// The subsets of a set, the set itself first.
fn subsets(set: usize) -> impl Iterator<Item = usize> {
    let next = move |&its: &usize| (its != 0).then(|| (its - 1) & set);
    std::iter::successors(Some(set), next)
}

/// The number of the only element of a set.
fn number_of(set: usize) -> usize {
    set.trailing_zeros().try_into().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use elevator_driver::Direction;
    use fastrand::Rng;

    use super::*;
    use crate::dispatch::Kinematics;
    use crate::dispatch::planner::Weights;
    use crate::dispatch::planner::drive::{CallTable, Crowds};
    use crate::dispatch::planner::model::{Call, Model, Start};
    use crate::dispatch::planner::traffic::Traffic;
    use crate::dispatch::tests::{car, floors, idle_at};

    const FLOORS: u8 = 12;
    const CARS: usize = 3;
    const CALLS: u32 = 4;

    /// The least cost of all distributions, each driven through.
    fn least(search: &Search<'_>) -> f64 {
        let calls = search.scene.calls;
        let mut guests = vec![0.0; usize::from(FLOORS)];
        let mut cost = |distribution: usize| {
            let mut tables =
                vec![CallTable::new(usize::from(FLOORS), calls.len()); search.starts.len()];
            let (mut rest, mut moves) = (distribution, 0.0);
            for (number, call) in calls.iter().enumerate() {
                let holder = rest % CARS;
                rest /= CARS;
                tables[holder].add(call, number);
                if let Some(present) = call.present.filter(|&present| present != holder) {
                    moves += search.inertia(number, present, holder);
                }
            }
            let cars = search.starts.iter().zip(&tables);
            let drives = cars.map(|(start, table)| search.scene.drive(start, table, &mut guests));
            moves + drives.map(|outcome| outcome.cost).sum::<f64>()
        };
        (0..CARS.pow(CALLS)).map(&mut cost).fold(f64::INFINITY, f64::min)
    }

    fn found(search: &Search<'_>) -> f64 {
        let drives = search.outcomes.iter().map(|outcome| outcome.cost).sum::<f64>();
        let moves = search.scene.calls.iter().enumerate().map(|(number, call)| {
            let (present, holder) = (call.present, search.holders[number].expect("it has a car"));
            let moved = present.filter(|&present| present != holder);
            moved.map_or(0.0, |present| search.inertia(number, present, holder))
        });
        drives + moves.sum::<f64>()
    }

    /// F17
    #[test]
    fn no_distribution_of_a_few_calls_costs_less() {
        let model = Model::new(Kinematics::default(), floors(FLOORS), 10.0);
        let traffic = Traffic::new(usize::from(FLOORS));
        for seed in 0..100 {
            let mut random = Rng::with_seed(seed);
            let starts: [Start; CARS] = std::array::from_fn(|_| {
                model.start(&car("a", idle_at(random.u8(0..FLOORS)), &[]), None)
            });
            let mut calls: Vec<Call> = Vec::new();
            while calls.len() < 4 {
                let call = Call {
                    floor: random.usize(1..usize::from(FLOORS) - 1),
                    direction: Direction::BOTH[random.usize(0..2)],
                    waited: random.f64() * 60.0,
                    to: None,
                    present: random.bool().then(|| random.usize(0..CARS)),
                    is_held: false,
                };
                let landing = |call: &Call| (call.floor, call.direction);
                if calls.iter().all(|other| landing(other) != landing(&call)) {
                    calls.push(call);
                }
            }
            let crowds = Crowds::new(&model, &traffic, &calls);
            let mut search =
                Search::new(&model, &crowds, &starts, &calls, Weights::BUTTONS, &|_, _| true);
            search.insert();
            assert!(search.distribute());
            let (found, least) = (found(&search), least(&search));
            assert!(found < least + 1e-9, "seed {seed}: {found}, {least}");
        }
    }
}
