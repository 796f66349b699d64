//! The machine, as the tests of one process share it.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Held by each test that runs. A test that fails poisons it, which says nothing about the next.
static MACHINE: RwLock<()> = RwLock::new(());

/// A test's leave to run, for as long as it is held.
#[derive(Debug)]
#[must_use]
pub enum Machine {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

impl Machine {
    /// Beside other tests that share it: for those that wait more than they work.
    pub fn shared() -> Self {
        Self::Shared(MACHINE.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Beside none of them: for tests that measure, or that need all of the machine.
    pub fn alone() -> Self {
        Self::Alone(MACHINE.write().unwrap_or_else(PoisonError::into_inner))
    }
}
