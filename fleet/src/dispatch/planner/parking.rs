//! Where idle cars wait for the next call.

use std::collections::BTreeMap;

use elevator_driver::{Direction, Floor};

use super::floor;
use super::model::{Model, Start};
use super::search::Route;
use super::traffic::Traffic;
use crate::dispatch::CarSituation;
use crate::model::NodeId;

/// The nearest car answers a call with the probability `1 − TAKEN`, the next one with `TAKEN` times
/// that, and so on: it may have left for another call by then.
const TAKEN: f64 = 0.3;

/// Seconds that the expected answer has to gain before a car moves.
const LEAST_GAIN: f64 = 0.1;

/// In banks beyond this, 20 idle cars and 100 floors, idle cars stay where they are.
const MOST_WORK: usize = 4_000_000;

/// Passes over the idle cars; two or three settle it.
const PASSES: usize = 4;

/// The place of each idle car, `None` of the others. What a car shows lags behind what it was told,
/// so the places of the plan before count: otherwise cars that are alike would change places.
pub(super) fn places(
    model: &Model,
    traffic: &Traffic,
    (cars, parked): (&[&CarSituation], &BTreeMap<NodeId, Floor>),
    starts: &[Start],
    routes: &[Route],
) -> Vec<Option<Floor>> {
    let place = |car: usize| {
        let resting_place = cars[car].resting_place()?;
        let told = parked.get(&cars[car].car).copied();
        Some(usize::from(told.unwrap_or(resting_place).index()))
    };
    let idle = |car: usize| routes[car].calls.is_empty() && starts[car].is_empty();
    let idle: Vec<_> = (0..cars.len())
        .filter(|&car| idle(car))
        .filter_map(|car| Some((car, place(car)?)))
        .collect();
    // When and where each car is free.
    let mut free: Vec<_> = routes.iter().map(|route| (route.free, route.end)).collect();
    for &(car, at) in &idle {
        free[car] = (0.0, at);
    }
    let mut order = Vec::with_capacity(free.len());
    let work = idle.len() * cars.len() * model.floors() * model.floors();
    let passes = if work > MOST_WORK { 0 } else { PASSES };
    for _ in 0..passes {
        let mut settled = true;
        for &(car, present) in &idle {
            let before = free[car].1;
            let mut best = (f64::INFINITY, before);
            for at in (0..model.floors()).filter(|&at| !is_locked_out(cars[car], at)) {
                free[car].1 = at;
                let gain = if at == present { 0.0 } else { LEAST_GAIN };
                let cost = answer(model, traffic, &free, &mut order) + gain;
                if cost < best.0 {
                    best = (cost, at);
                }
            }
            free[car].1 = best.1;
            settled &= best.1 == before;
        }
        if settled {
            break;
        }
    }
    let mut places = vec![None; cars.len()];
    for (car, _) in idle {
        places[car] = floor(free[car].1);
    }
    places
}

/// Seconds until a car is at the next call, on average.
fn answer(model: &Model, traffic: &Traffic, free: &[(f64, usize)], order: &mut Vec<f64>) -> f64 {
    let (mut sum, mut all) = (0.0, 0.0);
    for floor in 0..model.floors() {
        let rate = traffic.rate(floor, Direction::Up) + traffic.rate(floor, Direction::Down);
        order.clear();
        order.extend(free.iter().map(|&(free, at)| free + model.travel(at, floor)));
        order.sort_unstable_by(f64::total_cmp);
        let mut probability = 1.0 - TAKEN;
        for time in &*order {
            sum += rate * probability * time;
            probability *= TAKEN;
        }
        all += rate;
    }
    sum / all
}

fn is_locked_out(car: &CarSituation, at: usize) -> bool {
    floor(at).is_none_or(|floor| car.view.locked_out.contains(floor))
}
