//! What loads the machine, or needs it alone: many nodes, attacks, starvation. One test at a time.
#![cfg(feature = "simulator")]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "all of this is test code, which prints what it has measured"
)]

mod attacks;
mod crowd;
mod hold_up;
mod peak;
mod stranger;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by the test that runs.
static MACHINE: Mutex<()> = Mutex::new(());

/// The machine, for one test. A test that failed says nothing of the next.
fn machine() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}
