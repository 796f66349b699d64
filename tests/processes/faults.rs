//! What real processes do when they are killed, suspended and brought back: no order is lost, and the
//! living have one master.
//!
//! Every test keeps the books of its building: an account of every order by what its panels show.
//! They print what they measure (`--nocapture` shows it). Longer campaigns: see `kills`.

use liftmesh_harness::building::{Building, Line};

mod kills;
mod outage;
mod restart;

const THREE: [&str; 3] = ["A", "B", "C"];

/// A bank of three cars whose books are open; idle cars stay where they are.
fn bank() -> Building {
    let mut building = Building::without_parking(8, Line::Serial, &THREE);
    building.open_books();
    building
}
