//! The best of all distributions of a few calls over the cars.

use super::search::Search;

/// The most calls that are distributed.
const MOST_CALLS: usize = 8;

/// How many drives it may take: each car is driven through each subset of the calls.
const MOST_DRIVES: usize = 512;

impl Search<'_> {
    /// Gives the calls that may move to the cars at the least cost of all, if there are few enough;
    /// `false` if there are too many.
    ///
    /// What a car's calls cost does not depend on the other cars. So the least cost of the first
    /// cars with a subset of the calls is that of one car fewer with a part of the subset, plus the
    /// last car's cost of the rest.
    pub(super) fn distribute_exactly(&mut self) -> bool {
        let movable = self.movable();
        let subsets = 1_usize << movable.len().min(MOST_CALLS);
        if movable.len() > MOST_CALLS || subsets * self.cars() > MOST_DRIVES {
            return false;
        }
        // By subset: the least cost with the cars so far, and which of its calls the last one has.
        let mut least = vec![f64::INFINITY; subsets];
        least[0] = 0.0;
        let mut parts: Vec<Vec<usize>> = Vec::with_capacity(self.cars());
        for car in 0..self.cars() {
            let costs = self.costs_of_subsets(car, &movable);
            let (mut next, mut part) = (vec![f64::INFINITY; subsets], vec![0; subsets]);
            for set in 0..subsets {
                let mut its = set;
                loop {
                    let cost = least[set & !its] + costs[its];
                    if cost < next[set] {
                        (next[set], part[set]) = (cost, its);
                    }
                    if its == 0 {
                        break;
                    }
                    its = (its - 1) & set;
                }
            }
            least = next;
            parts.push(part);
        }
        let mut left = subsets - 1;
        for (car, part) in parts.iter().enumerate().rev() {
            let its = part[left];
            left &= !its;
            for (number, &(call, holder)) in movable.iter().enumerate() {
                if its & (1 << number) != 0 && holder != car {
                    self.hold(call, car);
                }
            }
        }
        self.drive_all();
        true
    }

    /// What each subset of these calls costs a car besides the calls that stay with it.
    fn costs_of_subsets(&mut self, car: usize, movable: &[(usize, usize)]) -> Vec<f64> {
        let subsets = 1_usize << movable.len();
        let mut costs = vec![f64::INFINITY; subsets];
        for &(call, holder) in movable {
            self.set(call, car, false);
            debug_assert!(holder < self.cars());
        }
        let bit = |set: usize, number: usize| set & (1 << number) != 0;
        let mut before = 0;
        for step in 0..subsets {
            // In this order each subset differs from the one before in a single call.
            let set = step ^ (step >> 1);
            let calls = movable.iter().enumerate();
            for (number, &(call, _)) in calls.clone() {
                if bit(set, number) != bit(before, number) {
                    self.set(call, car, bit(set, number));
                }
            }
            before = set;
            let mut its = calls.filter(|&(number, _)| bit(set, number)).map(|(_, call)| *call);
            if its.clone().all(|(call, _)| self.reaches(call, car)) {
                let moved = its.map(|(call, _)| self.reluctance(call, car)).sum::<f64>();
                costs[set] = self.cost(car) + moved;
            }
        }
        for &(call, holder) in movable {
            self.set(call, car, holder == car);
        }
        costs
    }
}
