//! What real processes do when they are killed, suspended, starved and brought back: no order is
//! lost, and the living have one master.
//!
//! Every test keeps the books of its building: an account of every order by what its panels show.
//! They print what they measure (`--nocapture` shows it). Longer campaigns: see `campaign`.
#![cfg(feature = "simulator")]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "all of this is test code, which prints what it has measured"
)]

mod building;
#[path = "faults/campaign.rs"]
mod campaign;
#[path = "faults/hold_up.rs"]
mod hold_up;
#[path = "faults/outage.rs"]
mod outage;
#[path = "faults/restart.rs"]
mod restart;

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use building::{Building, Line};

const THREE: [&str; 3] = ["A", "B", "C"];

/// Held by every test, and alone by one that would disturb the others.
static MACHINE: RwLock<()> = RwLock::new(());

/// A bank of three cars whose books are open.
struct Bank {
    building: Building,
    _shared: RwLockReadGuard<'static, ()>,
}

impl Bank {
    fn open() -> Self {
        let shared = share_machine();
        let mut building = Building::with_cars(8, Line::Serial, &THREE);
        building.open_books();
        Self {
            building,
            _shared: shared,
        }
    }
}

fn share_machine() -> RwLockReadGuard<'static, ()> {
    // A test that failed says nothing of the next.
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}
