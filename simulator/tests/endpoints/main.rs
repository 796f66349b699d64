//! The simulated elevator in real time, over its real sockets and terminals.
//!
//! One program, so that its tests, which mostly wait, run at the same time.
#![cfg(feature = "endpoints")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod control;
mod elevator_server;
mod panel_line;
mod program;
mod serial_panel;
