//! The control interface: what passengers, surroundings and faults do, as lines of text on a Unix
//! socket.
//!
//! ```text
//!   press hall 3 up     ─▶  ok
//!   press hall 9 up     ─▶  error: a shaft of 4 floors has no button "hall 9 up": …
//!   state               ─▶  {"name":"A","position":3.0,…}
//!   watch               ─▶  the same, now and at each change (at most 20 a second)
//! ```
//!
//! Every command is answered by one line, in order; `help` by several, of which the last is `ok`.
//! `Command` is the language, [`ControlClient`] speaks it for tests and demos.

mod client;
mod command;
pub(crate) mod socket;

pub use client::{ControlClient, ControlError, StateWatch};
pub(crate) use command::{Command, CommandError, HELP};
