//! Which car serves which hall call (F17, F6).
//!
//! ```text
//!   CarSituation, one a car          HallDemand, one a lit hall call
//!   (view, car calls)                (how long it waited, who has it)
//!            │                                  │
//!            └───────────────┬──────────────────┘
//!                            ▼
//!              Dispatcher::plan ── CollectiveCost, for example
//!                            │
//!             keep what stands, place what is open,
//!             move what another car serves better        search.rs
//!                            │ "what would it cost if …?"
//!                            ▼
//!              Predictor: drives the car through its
//!              stops under collective control            predict.rs, stops.rs
//!                            │ "how long from here to there?"
//!                            ▼
//!              Kinematics: jerk-limited motion, door     kinematics.rs
//!                            │
//!                            ▼
//!              Assignments: hall call → car
//! ```
//! [`Strategy`] names the strategies that a node can be configured for. [`Planner`], the default,
//! also weighs riding, expects passengers and destinations, and parks idle cars. [`Predictor`]
//! states the rules of collective control that a car follows.
//!
//! Except for the [`Planner`], which learns, everything here is a pure function of its arguments:
//! the same cars and calls, in any order, give the same assignments. Car calls belong to their car
//! (F6).

mod collective_cost;
mod destinations;
mod kinematics;
mod nearest_car;
pub mod one_shot;
mod planner;
mod predict;
mod program;
mod schedule;
mod search;
mod stops;
mod strategy;
mod time_to_idle;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Direction, Floor};

pub use crate::model::CarPlan;
use crate::model::{CarPhase, CarView, FloorSet, HallCall, NodeId, Timestamp};

pub use collective_cost::CollectiveCost;
pub use destinations::Destinations;
pub use kinematics::Kinematics;
pub use nearest_car::NearestCar;
pub use planner::Planner;
pub use predict::Predictor;
pub use program::ProgramHealth;
pub use schedule::{Parking, Schedule, ScheduleError, WeekTime};
pub(crate) use stops::StopSet;
pub use stops::collective_stop;
pub use strategy::{Strategy, UnknownStrategy};
pub use time_to_idle::TimeToIdle;

/// A car and its car calls, as the master sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarSituation {
    pub car: NodeId,
    pub view: CarView,
    /// The floors at which its passengers want to get off.
    pub car_calls: BTreeSet<Floor>,
}

impl CarSituation {
    /// Where it is at rest with its door closed, or is about to be.
    pub(crate) fn resting_place(&self) -> Option<Floor> {
        match self.view.phase {
            CarPhase::Moving { stop_at, .. } => Some(stop_at),
            CarPhase::Idle => self.view.floor,
            CarPhase::Homing | CarPhase::Opening | CarPhase::Open | CarPhase::Closing => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HallDemand {
    pub call: HallCall,
    pub waited: Duration,
    /// The car that it has now, or `None`. One that is gone or out of service does not count (F6).
    pub assigned: Option<NodeId>,
    /// The floors, one or more, of which its passengers want one; none if any car will do. See
    /// [`Destinations`].
    pub wanted: FloorSet,
}

impl HallDemand {
    /// Whether a car stops at the landing, and where the passengers want to go.
    #[must_use]
    pub fn suits(&self, view: &CarView) -> bool {
        let all_suit = self.wanted == FloorSet::default();
        view.reaches(self.call) && (all_suit || !self.wanted.is_within(&view.locked_out))
    }
}

pub type Assignments = BTreeMap<HallCall, NodeId>;

#[derive(Debug, Clone, Copy)]
pub struct Bank<'a> {
    pub now: Timestamp,
    pub cars: &'a [CarSituation],
    pub demand: &'a [HallDemand],
    /// Where cars were told to wait by the plan before: they keep it if others are no better.
    pub parked: &'a BTreeMap<NodeId, Floor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub assignments: Assignments,
    pub cars: BTreeMap<NodeId, CarPlan>,
}

impl From<Assignments> for Plan {
    fn from(assignments: Assignments) -> Self {
        Self { assignments, cars: BTreeMap::new() }
    }
}

/// A strategy that assigns hall calls to cars (F17).
///
/// Under any strategy, each call of `demand` is assigned if some car [can
/// serve](Predictor::can_serve) it, and [suits](HallDemand::suits) it, and only to such a car (O7).
/// The result does not depend on the order of the slices, and feeding it back as
/// [`HallDemand::assigned`] does not change it.
///
/// A destination call stays with the car that its passenger was told, as long as that one can serve
/// it. The [`Planner`] knows where its passenger gets off; the other strategies take it as a call
/// of its landing and direction.
pub trait Dispatcher: std::fmt::Debug {
    /// Plans for the whole bank, in place of the plan before: a call absent from it has no car.
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments;

    /// As [`assign`](Self::assign), also with what cars do besides: by default nothing.
    fn plan(&mut self, bank: &Bank<'_>) -> Plan {
        self.assign(bank.cars, bank.demand).into()
    }

    /// How it does, if it is a program of the operator's own.
    fn health(&self) -> Option<&ProgramHealth> {
        None
    }
}

/// From this load on, in per cent of the rated load, a car has no room, unless configured otherwise.
pub(crate) const BYPASS_LOAD: u8 = 80;

/// Longer waits weigh no more than this.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// The cars that can serve, ordered by name, each once.
fn able_cars(cars: &[CarSituation]) -> Vec<&CarSituation> {
    let mut cars: Vec<_> = cars.iter().filter(|car| Predictor::can_serve(&car.view)).collect();
    cars.sort_unstable_by_key(|car| &car.car);
    cars.dedup_by_key(|car| &car.car);
    cars
}

/// The calls in order, each once: if a call is listed twice, the longer wait counts.
fn distinct_calls(demand: &[HallDemand]) -> Vec<&HallDemand> {
    let mut demand: Vec<_> = demand.iter().collect();
    demand.sort_unstable_by(|one, other| other.cmp(one));
    demand.dedup_by_key(|demand| demand.call);
    demand.reverse();
    demand
}

/// The car that a call has, if it can take the call there.
fn present(cars: &[&CarSituation], demand: &HallDemand) -> Option<usize> {
    cars.iter()
        .position(|car| Some(&car.car) == demand.assigned.as_ref() && demand.suits(&car.view))
}

fn side(direction: Direction) -> usize {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}

#[cfg(test)]
pub(crate) mod tests;
