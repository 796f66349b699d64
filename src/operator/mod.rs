//! The way to the node's loop, and the Unix sockets on which operators reach it.
//!
//! ```text
//!   liftmesh status ──▶ node.sock ──▶ http ── Request ──▶ the node's loop
//!                                          ◀── Event ─── (broadcast)
//! ```
//!
//! `node.sock` is in the data directory, for the node's user only; if the disk can't hold it, it is
//! in a substitute directory. A second socket may be configured, on which a group may read. HTTP is
//! served on both, as over TCP; MQTT asks the loop in the same way.

mod event;
mod node_loop;
mod reading;
mod request;
mod socket;
mod stand_in;
pub(crate) mod words;

pub use event::Event;
pub(crate) use event::LatchedNode;
pub(crate) use node_loop::{NodeLoop, called};
pub(crate) use reading::{ReadingError, ReadingSettings};
pub(crate) use request::{
    Author, EVENTS, FaultInjection, NodeRequest, REQUESTS, Request, SessionChange, TokenError,
};
pub(crate) use socket::{BindError, Claim, OperatorSocket, SOCKET, check_listener};
pub(crate) use stand_in::stand_ins;

#[cfg(test)]
pub(crate) mod tests;
