//! The brain's vocabulary: what every other module speaks in.

pub(crate) mod bounds;
mod call;
mod counters;
mod floor_set;
mod hang;
mod identity;
mod leg;
mod mesh_times;
mod mode;
mod name;
mod named;
mod order;
mod record;
mod term;
mod time;
mod unit;
mod view;

pub use call::{Call, HallCall};
pub use counters::{Counters, Wear};
pub use floor_set::{FloorSet, Shut};
pub use hang::{HangCause, HangEvidence};
pub use identity::{BuildingHash, Hello, NodeState, Nonce, Protocol, UnknownProtocol};
pub use leg::{FlightRecord, Leg, LegEnd};
pub use mesh_times::MeshTimes;
pub use mode::{Mode, UnknownMode};
pub use name::{FleetName, NameError, NodeId};
pub(crate) use named::named;
pub(crate) use order::MOST_SEQUENCE;
pub use order::{Dot, Order};
pub use record::{Record, RecordState, Service};
pub use term::Term;
pub use time::Timestamp;
pub use unit::{Mac, MacError, Role};
pub use view::{Availability, CarPhase, CarPlan, CarView, Reason, Unavailable, UnknownReason};
