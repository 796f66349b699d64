//! What loads the machine, or needs it alone: many nodes, strangers, starvation. Each test has it
//! for itself.
#![cfg(feature = "simulator")]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "all of this is test code, which prints what it has measured"
)]

mod crowd;
mod hold_up;
mod mqtt;
mod stranger;
