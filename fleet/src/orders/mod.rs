//! Orders: never lost, at worst served twice.
//!
//! ```text
//!   press ──▶ OrderStore ──▶ Record ──▶ the other nodes' stores, and every node's disk
//!                 │
//!                 ▼
//!              Promise: who holds the order, who has it on disk ──▶ may the lamp be lit?
//! ```
//!
//! Read [`OrderStore`] first: a replicated set whose memory is bounded by the calls that can exist.
//! `Promise` is the lamp rule.

mod promise;
mod store;

pub(crate) use promise::{Holding, Promise};
pub(crate) use store::{Journal, Merged, is_elsewhere};
pub use store::{OrderStore, Record, RecordState, Service};
