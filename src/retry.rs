//! Trying again what somebody else is in the way of for a moment.

use std::thread;
use std::time::{Duration, Instant};

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Tries again while the outcome is one that passes, for `limit` at most; returns the last one.
pub(crate) fn while_it_passes<T>(
    limit: Duration,
    mut attempt: impl FnMut() -> T,
    passes: impl Fn(&T) -> bool,
) -> T {
    let started = Instant::now();
    loop {
        let outcome = attempt();
        if !passes(&outcome) || started.elapsed() >= limit {
            return outcome;
        }
        thread::sleep(PAUSE);
    }
}
