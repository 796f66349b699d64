//! The machine, as the tests of one process share it.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// One that failed says nothing of the next.
static MACHINE: RwLock<()> = RwLock::new(());

/// A test's leave to run, for as long as it is held.
#[derive(Debug)]
#[must_use]
pub enum Machine {
    /// Beside other tests that share the machine.
    Shared(RwLockReadGuard<'static, ()>),
    /// Alone.
    Alone(RwLockWriteGuard<'static, ()>),
}

impl Machine {
    /// For tests that mostly wait: until no test has the machine for itself.
    pub fn shared() -> Self {
        Self::Shared(MACHINE.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// For tests that measure, or load the machine: until no other runs.
    pub fn alone() -> Self {
        Self::Alone(MACHINE.write().unwrap_or_else(PoisonError::into_inner))
    }
}
