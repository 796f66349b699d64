//! What happened in 15 minutes.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Direction;
use elevator_fleet::model::{Call, NodeId};
use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use super::millis;
use super::tally::{CarState, Kind};

/// The most cars that a quarter has; further ones don't count.
const CARS: usize = 64;

/// What a node has seen of the fleet in 15 minutes. Its size is bounded: by the bins of four
/// histograms, 254 floors and [`CARS`] cars.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Quarter {
    /// Waits for hall calls.
    pub(crate) hall: Histogram,
    /// Waits for destination calls, until the passenger could enter.
    pub(crate) destination: Histogram,
    /// Waits for car calls: from the press until the door opens at the floor.
    pub(crate) car: Histogram,
    /// Journeys of destination calls: from the press until the door opens at the destination.
    pub(crate) journeys: Histogram,
    /// Calls by the floor of the button; of car calls, by the floor that they name. Floors without calls
    /// are left out.
    pub(crate) floors: BTreeMap<u8, FloorCalls>,
    pub(crate) cars: BTreeMap<NodeId, CarTime>,
    /// For how long the node has watched, in milliseconds.
    pub(crate) watched: u32,
}

/// The calls of a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct FloorCalls {
    pub(crate) up: u32,
    pub(crate) down: u32,
    pub(crate) destination: u32,
    pub(crate) car: u32,
}

/// For how long a car was in which state, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CarTime {
    pub(crate) in_service: u32,
    pub(crate) reserved: u32,
    pub(crate) down: u32,
}

impl Quarter {
    pub(crate) fn record_call(&mut self, kind: Kind, call: &Call, waited: Duration) {
        let waits = match kind {
            Kind::Hall => &mut self.hall,
            Kind::Destination => &mut self.destination,
            Kind::Car => &mut self.car,
        };
        waits.record(waited);
        let (floor, direction) = match call {
            Call::Hall(hall) => (hall.floor, hall.direction),
            Call::Car { floor, .. } => (*floor, Direction::Up),
        };
        let calls = self.floors.entry(floor.index()).or_default();
        let count = match (kind, direction) {
            (Kind::Hall, Direction::Up) => &mut calls.up,
            (Kind::Hall, Direction::Down) => &mut calls.down,
            (Kind::Destination, _) => &mut calls.destination,
            (Kind::Car, _) => &mut calls.car,
        };
        *count = count.saturating_add(1);
    }

    pub(crate) fn record_car(&mut self, car: &NodeId, state: CarState, time: Duration) {
        if self.cars.len() >= CARS && !self.cars.contains_key(car) {
            return;
        }
        let times = self.cars.entry(car.clone()).or_default();
        let sum = match state {
            CarState::InService => &mut times.in_service,
            CarState::Reserved => &mut times.reserved,
            CarState::Down => &mut times.down,
        };
        *sum = sum.saturating_add(millis(time));
    }

    pub(crate) fn record_watch(&mut self, time: Duration) {
        self.watched = self.watched.saturating_add(millis(time));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.hall.add(&other.hall);
        self.destination.add(&other.destination);
        self.car.add(&other.car);
        self.journeys.add(&other.journeys);
        for (floor, more) in &other.floors {
            self.floors.entry(*floor).or_default().add(*more);
        }
        for (car, more) in &other.cars {
            if self.cars.len() < CARS || self.cars.contains_key(car) {
                self.cars.entry(car.clone()).or_default().add(*more);
            }
        }
        self.watched = self.watched.saturating_add(other.watched);
    }

    /// Waits at landings: for hall calls and destination calls.
    pub(crate) fn landings(&self) -> Histogram {
        let mut both = self.hall.clone();
        both.add(&self.destination);
        both
    }
}

impl FloorCalls {
    pub(crate) fn add(&mut self, other: Self) {
        self.up = self.up.saturating_add(other.up);
        self.down = self.down.saturating_add(other.down);
        self.destination = self.destination.saturating_add(other.destination);
        self.car = self.car.saturating_add(other.car);
    }

    pub(crate) fn sum(self) -> u64 {
        [self.up, self.down, self.destination, self.car].into_iter().map(u64::from).sum()
    }
}

impl CarTime {
    fn add(&mut self, other: Self) {
        self.in_service = self.in_service.saturating_add(other.in_service);
        self.reserved = self.reserved.saturating_add(other.reserved);
        self.down = self.down.saturating_add(other.down);
    }

    /// For how long the car was watched, in milliseconds.
    pub(crate) fn watched(self) -> u64 {
        [self.in_service, self.reserved, self.down].into_iter().map(u64::from).sum()
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::Floor;
    use elevator_fleet::model::HallCall;

    use super::*;
    use crate::statistics::BINS;

    /// What docs/API.md says of the space that the statistics take in the journal.
    #[test]
    fn a_quarter_is_small_and_bounded() {
        let size = |quarter: &Quarter| postcard::to_stdvec(quarter).expect("encoded").len();
        let car = |name: String| NodeId::new(&name).expect("a name");
        let mut busy = Quarter::default();
        for call in 0..400_u64 {
            let floor = Floor::try_from(u8::try_from(call % 20).expect("small")).expect("a floor");
            let waited = Duration::from_millis(call * call * 2 / 3);
            let car = car("car-1".to_owned());
            busy.record_call(Kind::Car, &Call::Car { car, floor }, waited);
            let hall = Call::Hall(HallCall::new(floor, Direction::Down));
            busy.record_call(Kind::Hall, &hall, waited);
        }
        for index in 0..8 {
            let car = car(format!("car-{index}"));
            busy.record_car(&car, CarState::InService, Duration::from_mins(15));
        }
        assert!(size(&busy) < 1_000, "{} bytes", size(&busy));

        let bins = (0..BINS).map(|bin| (bin, u32::MAX)).collect();
        let fullest = Histogram { bins, sum: u64::MAX, longest: u32::MAX };
        let calls =
            FloorCalls { up: u32::MAX, down: u32::MAX, destination: u32::MAX, car: u32::MAX };
        let time = CarTime { in_service: u32::MAX, reserved: u32::MAX, down: u32::MAX };
        let largest = Quarter {
            hall: fullest.clone(),
            destination: fullest.clone(),
            car: fullest.clone(),
            journeys: fullest,
            floors: (0..=254).map(|floor| (floor, calls)).collect(),
            cars: (0..CARS).map(|index| (car(format!("car-{index:012}")), time)).collect(),
            watched: u32::MAX,
        };
        assert!(size(&largest) < 12_500, "{} bytes", size(&largest));
    }
}
