//! The best split of few calls, by enumeration.

use super::model::{CarModel, HallSet, Micros, Start};
use crate::model::HallCall;

/// How many runs of a car an answer may take: 1 to 2 ms.
const RUNS: usize = 1 << 14;

/// How many divisions of a set of calls in two an answer may take: 1 ms.
const DIVISIONS: usize = 600_000;

/// A set of calls, a bit a call; the highest bit is the first call.
type Set = usize;

/// Whether [`split`] takes a few milliseconds at most: 13 calls and 2 cars, 12 and 3, 10 and 12.
pub(super) fn is_affordable(calls: usize, cars: usize) -> bool {
    if cars == 1 {
        return true;
    }
    let Ok(power) = u32::try_from(calls) else {
        return false;
    };
    let runs = 2_usize.checked_pow(power).and_then(|sets| sets.checked_mul(cars));
    // The first car takes the rest, and the last one divides the whole only.
    let between = cars.saturating_sub(2);
    let divisions = 3_usize.checked_pow(power).and_then(|all| all.checked_mul(between));
    runs.is_some_and(|runs| runs <= RUNS) && divisions.is_some_and(|number| number <= DIVISIONS)
}

/// The car of each call, so that the sum of the waits is as low as it can be.
///
/// Every car is run with every set of calls. Then the best way to share a set among the last cars
/// is found from the best ways to share its subsets among one car less. Where two ways are equal,
/// the earlier car gets the earlier call.
pub(super) fn split<const WORDS: usize>(
    model: &CarModel,
    starts: &[Start<WORDS>],
    calls: &[HallCall],
) -> Vec<usize> {
    let (last, others) = match starts.split_last() {
        Some((last, others)) if !others.is_empty() => (last, others),
        // There is one way only.
        Some(_) | None => return vec![0; calls.len()],
    };
    let sets = hall_sets(calls);
    let all: Set = sets.len() - 1;
    let mut best = waits(model, last, &sets);
    // By car but the last: the calls it takes of those that it shares with the cars behind it.
    let mut shares = vec![Vec::new(); others.len()];
    for (car, start) in others.iter().enumerate().rev() {
        let own = waits(model, start, &sets);
        // What the first car shares with the others is everything.
        let whole = if car == 0 { all..=all } else { 0..=all };
        let mut joint = vec![0; sets.len()];
        shares[car] = vec![0; sets.len()];
        for set in whole {
            (shares[car][set], joint[set]) = best_share(set, &own, &best);
        }
        best = joint;
    }
    let mut cars = vec![others.len(); calls.len()];
    let mut rest = all;
    for (car, shares) in shares.iter().enumerate() {
        let share = shares[rest];
        for (call, holder) in cars.iter_mut().enumerate() {
            if share & bit(call, calls.len()) != 0 {
                *holder = car;
            }
        }
        rest ^= share;
    }
    cars
}

/// The subset to take oneself, if the rest costs `others`, and the cost of both.
fn best_share(set: Set, own: &[Micros], others: &[Micros]) -> (Set, Micros) {
    let mut best = (set, own[set] + others[0]);
    let mut subset = set;
    while subset != 0 {
        subset = (subset - 1) & set;
        let cost = own[subset] + others[set ^ subset];
        if cost < best.1 {
            best = (subset, cost);
        }
    }
    best
}

fn waits<const WORDS: usize>(
    model: &CarModel,
    start: &Start<WORDS>,
    sets: &[HallSet<WORDS>],
) -> Vec<Micros> {
    sets.iter().map(|set| model.wait(start, *set)).collect()
}

/// All sets of these calls, by their bits.
fn hall_sets<const WORDS: usize>(calls: &[HallCall]) -> Vec<HallSet<WORDS>> {
    let mut sets = vec![HallSet::default()];
    // From the last call, which has the lowest bit.
    for call in calls.iter().rev() {
        let with: Vec<_> = sets.iter().map(|set| set.with(*call)).collect();
        sets.extend(with);
    }
    sets
}

fn bit(call: usize, calls: usize) -> Set {
    1 << (calls - 1 - call)
}
