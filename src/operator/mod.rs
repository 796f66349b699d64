//! The operator's socket, by which programs on the same machine query a running node and give it
//! orders.
//!
//! ```text
//!   liftmesh status ──▶ Client ──▶ node.sock ──▶ serve ── Request ──▶ the node's loop
//!                              ◀── JSON lines ◀──      ◀─── Reply ───
//!                                                      ◀──── Event ──── (broadcast)
//! ```
//!
//! `node.sock` is in the data directory, for the node's user only; if the disk can't hold it, it is
//! in a substitute directory. A second socket may be configured, on which a group may read status
//! and events. Each request is a JSON object on one line ([`QueryLine`](protocol::QueryLine)), and
//! so is each reply ([`ReplyLine`](protocol::ReplyLine)). They contain the brain's own
//! [`Status`](elevator_fleet::node::Status) and [`Report`](elevator_fleet::node::Report).

mod client;
mod event;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod latched;
mod node_loop;
mod protocol;
mod reading;
mod server;
mod socket;
mod stand_in;
pub(crate) mod words;

pub use client::{Client, ClientError, Notice, Watch};
pub use event::Event;
pub(crate) use latched::LatchedNode;
pub(crate) use node_loop::{NodeLoop, Refused};
pub use protocol::{ErrorCode, Recall};
pub(crate) use reading::{ReadingError, ReadingSettings};
pub(crate) use server::{
    Command, EVENTS, FaultInjection, Query, REQUESTS, Reply, Request, SessionChange, TokenError,
    serve,
};
pub(crate) use socket::{BindError, Claim, OperatorSocket};

#[cfg(test)]
pub(crate) mod tests;
