//! The brain's vocabulary: what every other module speaks in.

pub(crate) mod bounds;
mod call;
mod floor_set;
mod mode;
mod name;
mod order;
mod term;
mod time;
mod unit;
mod view;

pub use call::{Call, HallCall};
pub use floor_set::FloorSet;
pub use mode::{Mode, UnknownMode};
pub use name::{FleetName, NameError, NodeId};
pub(crate) use order::MOST_SEQUENCE;
pub use order::{Dot, JournalId, Order};
pub use term::Term;
pub use time::Timestamp;
pub use unit::{Mac, MacError, Role};
pub use view::{Availability, CarPhase, CarView, Reason, Unavailable};
