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
//! Everything here is a pure function of its arguments: the same cars and calls, in whatever
//! order they are listed, give the same assignments. Car calls are never assigned: they belong to
//! their car (F6).

mod collective_cost;
mod kinematics;
mod plan;
mod predict;
mod stops;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::Floor;

use crate::model::{CarView, HallCall, NodeId};

pub use collective_cost::CollectiveCost;
pub use kinematics::Kinematics;
pub use predict::{Prediction, Predictor};

/// A car and its car calls, as the master sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarSituation {
    /// Which car; no two of a fleet have the same name.
    pub car: NodeId,
    /// Where it is and what it is doing.
    pub view: CarView,
    /// Where its passengers want to get off.
    pub car_calls: BTreeSet<Floor>,
}

/// A hall call that waits to be served.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HallDemand {
    /// Which call.
    pub call: HallCall,
    /// How long its passenger has been waiting.
    pub waited: Duration,
    /// The car that has it at present, or `None` while nobody does. A car that is gone or out of
    /// service counts as nobody (F6).
    pub assigned: Option<NodeId>,
}

/// Who is to serve each hall call.
pub type Assignments = BTreeMap<HallCall, NodeId>;

/// A strategy of assigning hall calls to cars (F17).
///
/// Whatever the strategy, every call of `demand` is assigned as long as one car
/// [can serve](Predictor::can_serve), only to a car that can, and otherwise to none (O7). The
/// result doesn't depend on the order of the slices, and feeding it back as
/// [`HallDemand::assigned`] changes nothing.
pub trait Dispatcher: std::fmt::Debug {
    /// Plans for the whole bank. Takes effect as a whole: a call that is absent from the result
    /// has no car.
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments;
}

#[cfg(test)]
mod tests;
