//! Which calls a plan is made for where there are very many.
//!
//! A building of 254 floors has 506 hall buttons and 64,262 trips. No bank serves thousands of trips
//! at a time, but a faulty member can invent them, and a plan for all of them would come too late.
//! So of each landing and direction two trips stand for the others: the one that has waited longest
//! of those that have a car, and of those that have none. The others without a car follow the latter.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::dispatch::{Assignments, HallDemand};
use crate::model::{HallCall, NodeId};

/// Up to so many calls a plan is made for all.
const MOST_PLANNED: usize = 1_024;

/// The calls to plan, and whether others are left out.
pub(super) fn planned(demand: Vec<HallDemand>) -> (Vec<HallDemand>, bool) {
    if demand.len() <= MOST_PLANNED {
        return (demand, false);
    }
    let (trips, mut planned): (Vec<_>, Vec<_>) =
        demand.into_iter().partition(|demand| demand.call.to.is_some());
    let mut first: BTreeMap<(HallCall, bool), HallDemand> = BTreeMap::new();
    for trip in trips {
        let rank = |trip: &HallDemand| (trip.waited, Reverse(trip.call));
        let key = (trip.call.landing(), trip.assigned.is_some());
        if first.get(&key).is_none_or(|kept| rank(&trip) > rank(kept)) {
            first.insert(key, trip);
        }
    }
    planned.extend(first.into_values());
    (planned, true)
}

/// The cars of the trips that stand for others, by landing and direction; of two trips that of the
/// one that had no car before.
pub(super) fn leaders(
    plan: &Assignments,
    has_car: impl Fn(HallCall) -> bool,
) -> BTreeMap<HallCall, NodeId> {
    let trips = || plan.iter().filter(|(call, _)| call.to.is_some());
    let old = trips().filter(|(call, _)| has_car(**call));
    let new = trips().filter(|(call, _)| !has_car(**call));
    old.chain(new).map(|(call, car)| (call.landing(), car.clone())).collect()
}
