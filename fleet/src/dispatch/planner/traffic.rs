//! How many passengers arrive where, and where they go.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Direction;

use super::model::Model;
use crate::dispatch::{CarSituation, side};
use crate::model::NodeId;

/// What was seen weighs about a third as much after this many seconds.
const FORGETTING: f64 = 600.0;

/// The rate is that of `PRIOR_PASSENGERS` more in `PRIOR_TIME` more seconds than seen.
const PRIOR_PASSENGERS: f64 = 0.3;
const PRIOR_TIME: f64 = 60.0;

/// Car calls to each floor that count as seen beforehand.
const PRIOR_TRIPS: f64 = 1.0;

/// A load that grows by less, in passengers, is the scale's.
const SCALE_NOISE: f64 = 0.3;

#[derive(Debug, Clone)]
pub(super) struct Traffic {
    window: f64,
    boarded: [Vec<f64>; 2],
    /// Car calls, by the direction of the car and floor.
    trips: [Vec<f64>; 2],
    /// Each car at the last observation: its load in passengers, and its car calls.
    last: BTreeMap<NodeId, (f64, Vec<bool>)>,
}

impl Traffic {
    pub(super) fn new(floors: usize) -> Self {
        let none = || [vec![0.0; floors], vec![0.0; floors]];
        Self { window: 0.0, boarded: none(), trips: none(), last: BTreeMap::new() }
    }

    /// Learns from the cars as they are `later` than at the last observation.
    pub(super) fn observe(&mut self, later: Duration, cars: &[&CarSituation], model: &Model) {
        let later = later.as_secs_f64();
        self.window = (self.window + later).min(FORGETTING);
        let keep = 1.0 / (1.0 + later / FORGETTING);
        for count in self.boarded.iter_mut().chain(&mut self.trips).flatten() {
            *count *= keep;
        }
        self.last.retain(|name, _| cars.iter().any(|car| car.car == *name));
        for car in cars {
            let now = (model.riders(car), model.wants(car));
            let Some(then) = self.last.insert(car.car.clone(), now.clone()) else { continue };
            let (Some(direction), Some(floor)) = (car.view.direction, car.view.floor) else {
                continue;
            };
            let gained = now.0 - then.0;
            if gained > SCALE_NOISE {
                self.boarded[side(direction)][usize::from(floor.index())] += gained.round();
            }
            for (trips, (now, then)) in
                self.trips[side(direction)].iter_mut().zip(now.1.iter().zip(&then.1))
            {
                if *now && !then {
                    *trips += 1.0;
                }
            }
        }
    }

    /// Passengers per second who press this button.
    pub(super) fn rate(&self, floor: usize, direction: Direction) -> f64 {
        let boarded = self.boarded[side(direction)][floor];
        let end = match direction {
            Direction::Up => self.boarded[0].len() - 1,
            Direction::Down => 0,
        };
        if floor == end {
            return 0.0;
        }
        (boarded + PRIOR_PASSENGERS) / (self.window.max(1.0) + PRIOR_TIME)
    }

    /// By floor: seconds from there to the next passenger, on average.
    pub(super) fn away(&self, model: &Model) -> Vec<f64> {
        let floors = 0..model.floors();
        let rates: Vec<_> = floors
            .clone()
            .map(|at| self.rate(at, Direction::Up) + self.rate(at, Direction::Down))
            .collect();
        let all: f64 = rates.iter().sum();
        let from = |at: usize| {
            let times = rates.iter().zip(floors.clone());
            times.map(|(rate, to)| rate * model.travel(at, to)).sum::<f64>() / all
        };
        floors.clone().map(from).collect()
    }

    pub(super) fn arrivals(&self) -> f64 {
        self.boarded.iter().flatten().sum::<f64>() / (self.window.max(1.0) + PRIOR_TIME)
    }

    /// Which share of those who board at `floor` gets off at each floor.
    pub(super) fn spread(&self, floor: usize, direction: Direction, shares: &mut [f64]) {
        let trips = &self.trips[side(direction)];
        let ahead = match direction {
            Direction::Up => floor + 1..trips.len(),
            Direction::Down => 0..floor,
        };
        let all: f64 = trips[ahead.clone()].iter().map(|trips| trips + PRIOR_TRIPS).sum();
        for floor in ahead {
            shares[floor] = (trips[floor] + PRIOR_TRIPS) / all;
        }
    }
}
