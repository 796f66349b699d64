//! The machine, as the tests of one process share it.

use std::fs;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

/// Where the processors are idle for less of the time, another building would starve the simulated
/// panels of the present ones, and a starved panel counts as silent.
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
    let start = Instant::now();
    let _entrance = ENTRANCE.lock().unwrap_or_else(PoisonError::into_inner);
    while start.elapsed() < ROOM_LIMIT && idle_part() < ROOM {}
}

/// The part of a moment in which the processors had nothing to do. A machine that does not say has
/// room.
fn idle_part() -> f64 {
    let before = ticks();
    thread::sleep(Duration::from_millis(250));
    let (Some((idle_before, all_before)), Some((idle, all))) = (before, ticks()) else {
        return 1.0;
    };
    if all > all_before { (idle - idle_before) / (all - all_before) } else { 1.0 }
}

/// What the processors have spent idle or waiting for a disk, and in all.
fn ticks() -> Option<(f64, f64)> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let all = stat.lines().next()?.split_whitespace().skip(1);
    let ticks: Vec<f64> = all.filter_map(|count| count.parse().ok()).collect();
    Some((ticks.get(3)? + ticks.get(4)?, ticks.get(..8)?.iter().sum()))
}
