//! Which car serves which hall call (F17, F6).
//!
//! ```text
//!   CarSituation, one a car          HallDemand, one a lit hall call
//!   (view, car calls)                (how long it waited, who has it)
//!            │                                  │
//!            └───────────────┬──────────────────┘
//!                            ▼
//!              Dispatcher::assign ── CollectiveCost, the strategy
//!                            │
//!             keep what stands, place what is open,
//!             move what another car serves better        plan.rs
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
//!
//! Read [`Dispatcher`] and its arguments here, then [`CollectiveCost`], then [`Predictor`], which
//! states the rules of collective control that a car follows, and [`Kinematics`] last.
//!
//! [`Planner`] is the other strategy: it also weighs riding, expects passengers and destinations, and
//! parks idle cars. The traffic bench in `peer/` uses it; nodes use [`CollectiveCost`].
//!
//! Everything else here is a pure function of its arguments: the same cars and calls, in any order,
//! give the same assignments. Car calls are never assigned: they belong to their car (F6).

mod collective_cost;
mod kinematics;
pub mod one_shot;
mod plan;
mod planner;
mod predict;
mod stops;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Direction, Floor};

use crate::model::{CarView, HallCall, NodeId, Timestamp};

pub use collective_cost::CollectiveCost;
pub use kinematics::Kinematics;
pub use planner::Planner;
pub use predict::{Prediction, Predictor};
pub use stops::collective_stop;

/// A car and its car calls, as the master sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarSituation {
    /// The car's name, unique in the fleet.
    pub car: NodeId,
    /// The car's position and activity.
    pub view: CarView,
    /// The floors at which its passengers want to get off.
    pub car_calls: BTreeSet<Floor>,
}

/// An open hall call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HallDemand {
    /// Which call.
    pub call: HallCall,
    /// How long its passenger has waited.
    pub waited: Duration,
    /// The car to which it is assigned now, or `None`. A car that is gone or out of service does
    /// not count (F6).
    pub assigned: Option<NodeId>,
}

/// The car of each hall call.
pub type Assignments = BTreeMap<HallCall, NodeId>;

/// What is known of a car beyond its [`CarView`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CarDetail {
    /// The height above the lowest floor, in metres.
    pub metres: f64,
    /// The speed in m/s, whatever the direction.
    pub speed: f64,
    /// Until the door is open, begins to close, or is closed: whichever comes next.
    pub door_left: Duration,
}

/// The inputs of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Bank<'a> {
    /// When this is so.
    pub now: Timestamp,
    /// The cars of the group.
    pub cars: &'a [CarSituation],
    /// Details of those cars that have some. Without them, the times since the last floor and
    /// since the last change of the door count.
    pub details: &'a BTreeMap<NodeId, CarDetail>,
    /// The open hall calls.
    pub demand: &'a [HallDemand],
}

/// The assignments, and what each car does besides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The car of each hall call.
    pub assignments: Assignments,
    /// What cars do besides; a car that is absent from it does nothing.
    pub cars: BTreeMap<NodeId, CarPlan>,
}

/// What a car does besides serving its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CarPlan {
    /// The direction in which a car without passengers begins; `None` if it has no choice.
    pub direction: Option<Direction>,
    /// Where it waits if it has no call; `None` if it stays.
    pub park: Option<Floor>,
}

/// A strategy that assigns hall calls to cars (F17).
///
/// Under any strategy, each call of `demand` is assigned if some car [can
/// serve](Predictor::can_serve) it, and only to such a car (O7). The result does not depend on the
/// order of the slices, and feeding it back as [`HallDemand::assigned`] does not change it.
pub trait Dispatcher: std::fmt::Debug {
    /// Plans for the whole bank. The result replaces the previous plan: a call that is absent from
    /// it has no car.
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments;

    /// As [`assign`](Self::assign), also with what cars do besides: nothing, unless the strategy
    /// says more.
    fn plan(&mut self, bank: &Bank<'_>) -> Plan {
        Plan { assignments: self.assign(bank.cars, bank.demand), cars: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests;
