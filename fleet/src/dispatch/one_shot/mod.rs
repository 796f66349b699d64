//! Assigns every hall call of a bank at once, from a snapshot, by the course's car model.
//!
//! The pure part of `liftmesh assign`, which answers as `hall_request_assigner` of TTK4145 does.
//! With the [`Planner`](super::Planner) it shares the search, and the best distribution of few
//! calls.
//!
//! The objective is the sum of the waits of all hall calls, from now until a car stops for the
//! call. Car calls are not assigned and their waits do not count, but a car stops for its own. The
//! same snapshot has the same answer on every computer.
//!
//! ```
//! use elevator_driver::Direction;
//! use elevator_fleet::dispatch::one_shot::{Bank, Behaviour, Car, Clearing, Rules};
//!
//! let car = |behaviour, floor, direction, calls: [bool; 4]| Car {
//!     behaviour,
//!     floor,
//!     direction,
//!     car_calls: calls.to_vec(),
//! };
//! let cars = [
//!     car(Behaviour::Moving, 2, Some(Direction::Up), [false, false, true, true]),
//!     car(Behaviour::Idle, 0, None, [false; 4]),
//! ];
//! // Up from 1, and down from 3.
//! let calls = [[false, false], [true, false], [false, false], [false, true]];
//! let bank = Bank::new(&calls, &cars)?;
//! let plan = bank.assign(&Rules::default());
//! let cars: Vec<usize> = plan.iter().map(|(_, car)| *car).collect();
//! assert_eq!(cars, [1, 0]);
//! # Ok::<(), elevator_fleet::dispatch::one_shot::BankError>(())
//! ```

mod model;

use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount};

use self::model::{CarModel, Snapshot, Start};
use super::search::Search;
use crate::model::HallCall;

/// The longest [`Rules::travel`] and [`Rules::door_open`], so that sums of waits can't overflow.
pub const LONGEST: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// From one floor to the next; up to [`LONGEST`].
    pub travel: Duration,
    /// From a stop until the car may leave; up to [`LONGEST`].
    pub door_open: Duration,
    pub clearing: Clearing,
}

impl Default for Rules {
    /// 2.5 s, 3 s and [`Clearing::InDirection`], as the course's program has them.
    fn default() -> Self {
        Self {
            travel: Duration::from_millis(2_500),
            door_open: Duration::from_secs(3),
            clearing: Clearing::InDirection,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clearing {
    /// All calls at the floor: everyone boards whatever the direction.
    All,
    /// The car call, and the hall call in the car's direction. If there is none, and nothing to do
    /// beyond the floor, the one in the other direction.
    InDirection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Idle,
    /// It has left its floor, and is half-way to the next one in its direction.
    Moving,
    /// It stands with its door open, and half of the time has passed.
    DoorOpen,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Car {
    pub behaviour: Behaviour,
    /// The floor where it stands, or which it left last; from 0.
    pub floor: i64,
    /// Where it goes, or went last. A moving car without a direction arrives where it is.
    pub direction: Option<Direction>,
    /// By floor: whether a passenger wants to get off there.
    pub car_calls: Vec<bool>,
}

/// A snapshot of cars and hall calls that fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bank {
    floors: usize,
    /// From the bottom, up before down.
    calls: Vec<HallCall>,
    cars: Vec<Car>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BankError {
    #[error("there are no cars")]
    NoCars,
    #[error("{0} floors, but there must be 1 to {max}", max = FloorCount::MAX)]
    Floors(usize),
    #[error("car {car}: {problem}")]
    Car { car: usize, problem: CarProblem },
}

/// Why a car is impossible in its shaft, by the names of the JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CarProblem {
    #[error("floor is {floor}, but must be 0 to {}: hallRequests has {floors} floors", floors - 1)]
    Floor { floor: i64, floors: usize },
    #[error("cabRequests has {found} floors, but hallRequests has {floors}")]
    CarCalls { found: usize, floors: usize },
    #[error(
        "behaviour is moving and direction is {direction}, but floor {floor} is the last one that way"
    )]
    Leaves { floor: i64, direction: Direction },
}

impl Bank {
    /// Checks a snapshot. `hall_calls` has for each floor whether its calls up and down are lit.
    ///
    /// A call that has no button, such as down from the bottom, is served like any other.
    ///
    /// # Errors
    /// [`BankError`] for the first thing that is wrong.
    pub fn new(hall_calls: &[[bool; 2]], cars: &[Car]) -> Result<Self, BankError> {
        let floors = hall_calls.len();
        if !(1..=usize::from(FloorCount::MAX)).contains(&floors) {
            return Err(BankError::Floors(floors));
        }
        if cars.is_empty() {
            return Err(BankError::NoCars);
        }
        for (number, car) in cars.iter().enumerate() {
            car.check(floors).map_err(|problem| BankError::Car { car: number, problem })?;
        }
        let calls = (0..FloorCount::MAX).zip(hall_calls).flat_map(|(index, lit)| {
            let call = move |direction| {
                let floor = Floor::try_from(index).ok()?;
                Some(HallCall::new(floor, direction))
            };
            let of = |(lit, direction): (bool, _)| lit.then(|| call(direction)).flatten();
            [(lit[0], Direction::Up), (lit[1], Direction::Down)].map(of).into_iter().flatten()
        });
        Ok(Self { floors, calls: calls.collect(), cars: cars.to_vec() })
    }

    /// The index of the car of every hall call, from the bottom, up before down.
    #[must_use]
    pub fn assign(&self, rules: &Rules) -> Vec<(HallCall, usize)> {
        let is_few = is_affordable(self.calls.len(), self.cars.len());
        let holders = self.search(&mut self.snapshot(rules), is_few);
        self.calls.iter().copied().zip(holders).collect()
    }

    fn snapshot(&self, rules: &Rules) -> Snapshot<'_> {
        let starts = self.cars.iter().map(Start::of).collect();
        Snapshot { model: CarModel::new(rules), starts, calls: &self.calls }
    }

    fn search(&self, snapshot: &mut Snapshot<'_>, is_few: bool) -> Vec<usize> {
        let mut search = Search::new(snapshot, self.cars.len(), self.calls.len());
        if is_few {
            let [cars, calls] = [self.cars.len(), self.calls.len()]
                .map(|count| (0..count).rev().collect::<Vec<_>>());
            search.distribute(&cars, &calls);
        } else {
            search.insert();
            search.improve(true, DRIVES);
        }
        search.into_holders().into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// How many runs of a car an answer may take: 1 to 2 ms.
const RUNS: usize = 1 << 14;

/// How many divisions of a set of calls in two an answer may take: 1 ms.
const DIVISIONS: usize = 600_000;

/// How many runs of a car the divisions of the calls of two cars may take in one answer: about
/// 1 ms, which only banks with many calls for each car come to.
const DRIVES: usize = 1 << 13;

/// Whether the best distribution takes milliseconds: of 13 calls and 2 cars, 12 and 3, 10 and 12.
fn is_affordable(calls: usize, cars: usize) -> bool {
    let Ok(power) = u32::try_from(calls) else { return false };
    let runs = 2_usize.checked_pow(power).and_then(|sets| sets.checked_mul(cars));
    // The first car takes the rest, and the last one divides the whole only.
    let between = cars.saturating_sub(2);
    let divisions = 3_usize.checked_pow(power).and_then(|all| all.checked_mul(between));
    runs.is_some_and(|runs| runs <= RUNS) && divisions.is_some_and(|number| number <= DIVISIONS)
}

impl Car {
    fn check(&self, floors: usize) -> Result<(), CarProblem> {
        let last = i64::try_from(floors).unwrap_or(i64::MAX) - 1;
        let floor = self.floor;
        if !(0..=last).contains(&floor) {
            return Err(CarProblem::Floor { floor, floors });
        }
        if self.car_calls.len() != floors {
            return Err(CarProblem::CarCalls { found: self.car_calls.len(), floors });
        }
        match (self.behaviour, self.direction) {
            (Behaviour::Moving, Some(direction)) => {
                let end = match direction {
                    Direction::Up => last,
                    Direction::Down => 0,
                };
                if floor == end { Err(CarProblem::Leaves { floor, direction }) } else { Ok(()) }
            }
            (Behaviour::Moving, None) | (Behaviour::Idle | Behaviour::DoorOpen, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
