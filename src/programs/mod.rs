//! What programs may ask for, whether over HTTP or MQTT: calls, sessions of robots, and why these are
//! refused.

mod placed;
mod problem;
mod session;

pub(crate) use placed::{PlacedCall, PlacedState, Way, check_id, chosen_or_random, id_reused};
pub(crate) use problem::Problem;
pub(crate) use session::{OpenSession, floor, no_car, not_open, other_owner, owner};
