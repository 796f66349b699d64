//! Upgrades a fleet of real processes node by node from one version of the program to another,
//! while it serves.
//!
//! ```sh
//! cargo run -p liftmesh-harness --features building --example rolling_upgrade -- OLD NEW
//! ```
//!
//! OLD and NEW are paths of the program `liftmesh`, with the same version of the wire protocol;
//! `docs/RELIABILITY.md` says how to build an old one. An account is kept of every order (F12); the
//! run ends with an error if one was lost, or if a node did not become a member again.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it reports its progress")]

use std::env;
use std::process::ExitCode;

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line};

const NAMES: [&str; 3] = ["A", "B", "C"];

/// Where the passenger of each step waits; the cars are elsewhere then.
const FLOORS: [u8; 3] = [3, 2, 3];

fn main() -> ExitCode {
    let programs: Vec<String> = env::args().skip(1).collect();
    let [old, new] = programs.as_slice() else {
        eprintln!("usage: rolling_upgrade OLD NEW (two paths of the program liftmesh)");
        return ExitCode::from(2);
    };
    let mut building = Building::of_program(old.clone(), 4, Line::Serial);
    building.fill(&NAMES);
    building.open_books();
    building.program.clone_from(new);
    for (name, floor) in NAMES.into_iter().zip(FLOORS) {
        building.press(name, building.hall(floor, Direction::Down));
        building.kill(name);
        building.start(name);
        building.wait_for_one_master_of(&NAMES);
        building.wait_in_service(&NAMES);
        building.wait_all_dark();
        println!("{name} is a member again, and every order is served");
    }
    let tally = building.close_books().tally;
    println!("{} orders placed, {} served, {} lost", tally.placed, tally.served, tally.lost);
    ExitCode::SUCCESS
}
