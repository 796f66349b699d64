//! The simulated elevator in real time, over its real sockets and terminals.
//!
//! One program, so that its tests, which mostly wait, run at the same time.
#![cfg(feature = "endpoints")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::time::{Duration, Instant};

mod control;
mod elevator_server;
mod panel_line;
mod program;

/// Longer than anything in these tests takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// Asks again and again until the answer is there. Each question waits for the simulator's thread.
fn wait_for<T>(mut answer: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = answer() {
            return found;
        }
        assert!(started.elapsed() < LIMIT, "it never happened");
    }
}
