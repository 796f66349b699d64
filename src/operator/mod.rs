//! The operator's socket: how programs on the same machine ask a running node and tell it orders.
//!
//! ```text
//!   liftmesh status ──▶ Client ──▶ node.sock ──▶ serve ── Request ──▶ the node's loop
//!                              ◀── JSON lines ◀──      ◀─── Reply ───
//!                                                      ◀──── Event ──── (broadcast)
//! ```
//!
//! `node.sock` lies in the data directory, for the node's user alone; where the disk takes none, in a
//! directory that stands in for it. A second socket may be configured, on which a group may read
//! status and events. A request is one JSON object
//! on a line ([`QueryLine`](protocol::QueryLine)), so is each reply ([`ReplyLine`](protocol::ReplyLine)). What a node says in them is the brain's
//! own [`Status`](elevator_fleet::node::Status) and [`Report`](elevator_fleet::node::Report).

mod client;
mod event;
mod latched;
mod protocol;
mod reading;
mod server;
mod socket;
mod stand_in;
pub(crate) mod words;

pub use client::{Client, ClientError, Notice, Watch};
pub use event::Event;
pub(crate) use latched::LatchedNode;
pub use protocol::ErrorCode;
pub(crate) use reading::{ReadingError, ReadingSettings};
pub(crate) use server::{EVENTS, Query, REQUESTS, Reply, Request, serve};
pub(crate) use socket::{BindError, Claim, OperatorSocket};

#[cfg(test)]
pub(crate) mod tests;
