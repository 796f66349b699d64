//! What happened in 15 minutes.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Direction;
use elevator_fleet::model::{Call, HallCall, NodeId};
use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use super::millis;

/// The most cars that a quarter has; further ones don't count.
const CARS: usize = 64;

/// What a node has seen in 15 minutes: at most four histograms, 254 floors and [`CARS`] cars.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Quarter {
    /// By [`Kind`].
    pub(crate) times: [Histogram; 4],
    /// Calls by floor, car calls by the one they name: hall calls up and down, destination and car
    /// calls.
    pub(crate) floors: BTreeMap<u8, [u32; 4]>,
    /// For how long a car was in each [`CarState`], in milliseconds.
    pub(crate) cars: BTreeMap<NodeId, [u32; 3]>,
    /// For how long the node has watched, in milliseconds.
    pub(crate) watched: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Hall,
    /// The wait for a destination call, until the passenger could enter.
    Destination,
    /// The wait for a car call: from the press until the door opens at the floor.
    Car,
    /// From the press of a destination call until the door opens at the destination.
    Journey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarState {
    /// Hall calls may be assigned to it.
    InService,
    /// Somebody has taken it out of the group, by a key, by a command or by a fire recall.
    Reserved,
    /// It can't serve: it hung, its door is blocked, its node is not heard…
    Down,
}

impl Quarter {
    pub(crate) fn record_call(&mut self, call: &Call, waited: Duration) {
        let (kind, column, floor) = match call {
            Call::Hall(HallCall { floor, to: Some(_), .. }) => (Kind::Destination, 2, floor),
            Call::Hall(HallCall { floor, direction: Direction::Up, .. }) => (Kind::Hall, 0, floor),
            Call::Hall(HallCall { floor, direction: Direction::Down, .. }) => {
                (Kind::Hall, 1, floor)
            }
            Call::Car { floor, .. } => (Kind::Car, 3, floor),
        };
        self.times[kind as usize].record(waited);
        let mut one = [0; 4];
        one[column] = 1;
        add(self.floors.entry(floor.index()).or_default(), one);
    }

    pub(crate) fn record_journey(&mut self, time: Duration) {
        self.times[Kind::Journey as usize].record(time);
    }

    pub(crate) fn record_car(&mut self, car: &NodeId, state: CarState, time: Duration) {
        let mut times = [0; 3];
        times[state as usize] = millis(time);
        self.add_car(car, times);
    }

    fn add_car(&mut self, car: &NodeId, times: [u32; 3]) {
        if self.cars.len() < CARS || self.cars.contains_key(car) {
            add(self.cars.entry(car.clone()).or_default(), times);
        }
    }

    pub(crate) fn record_watch(&mut self, time: Duration) {
        self.watched = self.watched.saturating_add(millis(time));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (times, more) in self.times.iter_mut().zip(&other.times) {
            times.add(more);
        }
        for (floor, more) in &other.floors {
            add(self.floors.entry(*floor).or_default(), *more);
        }
        for (car, more) in &other.cars {
            self.add_car(car, *more);
        }
        self.watched = self.watched.saturating_add(other.watched);
    }

    pub(crate) fn landings(&self) -> Histogram {
        let [hall, destination, ..] = &self.times;
        let mut both = hall.clone();
        both.add(destination);
        both
    }
}

fn add<const N: usize>(sums: &mut [u32; N], more: [u32; N]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.saturating_add(more);
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::Floor;

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
            busy.record_call(&Call::ride(&car("car-1".to_owned()), floor), waited);
            busy.record_call(&Call::Hall(HallCall::new(floor, Direction::Down)), waited);
        }
        for index in 0..8 {
            let car = car(format!("car-{index}"));
            busy.record_car(&car, CarState::InService, Duration::from_mins(15));
        }
        assert!(size(&busy) < 1_000, "{} bytes", size(&busy));

        let bins = (0..BINS).map(|bin| (bin, u32::MAX)).collect();
        let fullest = Histogram { bins, sum: u64::MAX, longest: u32::MAX };
        let mut largest = Quarter {
            times: [(); 4].map(|()| fullest.clone()),
            floors: (0..=254).map(|floor| (floor, [u32::MAX; 4])).collect(),
            cars: BTreeMap::new(),
            watched: u32::MAX,
        };
        for index in 0..2 * CARS {
            largest.add_car(&car(format!("car-{index:012}")), [u32::MAX; 3]);
        }
        assert_eq!(largest.cars.len(), CARS);
        assert!(size(&largest) < 12_500, "{} bytes", size(&largest));
    }
}
