//! The machine, as the tests of one process share it.

use std::fs;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

/// Where the processors idle less than this part of the time, another building would starve the
/// simulated panels of those that there are, and a panel that is starved counts as silent.
const ROOM: f64 = 0.15;

/// How long a building waits for room: what uses the machine may be none of the tests.
const ROOM_LIMIT: Duration = Duration::from_secs(20);

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

/// Waits until the machine has [`ROOM`] for another building. They come one at a time, so that each
/// sees the load of those before it.
pub(super) fn wait_for_room() {
    static ENTRANCE: Mutex<()> = Mutex::new(());
    let _entrance = ENTRANCE.lock().unwrap_or_else(PoisonError::into_inner);
    let start = Instant::now();
    while start.elapsed() < ROOM_LIMIT && idle_part() < ROOM {}
}

/// The part of a moment in which the processors had nothing to do.
fn idle_part() -> f64 {
    let (idle_before, all_before) = ticks();
    thread::sleep(Duration::from_millis(250));
    let (idle, all) = ticks();
    (idle - idle_before) / (all - all_before)
}

/// What the processors have spent idle, and in all.
fn ticks() -> (f64, f64) {
    let stat = fs::read_to_string("/proc/stat").expect("figures of the processors");
    let all = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<f64> = all.filter_map(|count| count.parse().ok()).collect();
    (ticks[3], ticks[..8].iter().sum())
}
