//! What loads the machine, or needs it alone: many nodes, attacks, starvation. Attacks, which mostly
//! wait, share it with each other; every other test has it for itself.
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

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Held by the tests that run. One that failed says nothing of the next.
static MACHINE: RwLock<()> = RwLock::new(());

/// The machine, for one test.
fn machine() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// The machine, together with others that share it.
fn shared_machine() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}
