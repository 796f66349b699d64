//! Runs 8 quiet nodes in virtual time, to measure what a virtual second costs, and to see that a
//! faster build does the same.
//!
//! ```sh
//! cargo build --release -p liftmesh-lab --example virtual_time
//! valgrind --tool=callgrind target/release/examples/virtual_time 1
//! valgrind --tool=callgrind target/release/examples/virtual_time 6
//! ```
//!
//! The instructions of the two lengths, subtracted, are those of the seconds between: the start of
//! the fleet does not count.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use liftmesh_lab::{World, WorldSettings};

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(1), |text| text.parse())?;
    let mut settings = WorldSettings::new(8, 1);
    settings.codec = false;
    settings.inspect = false;
    let mut world = World::new(settings)?;
    world.start_all();
    world.run_for(Duration::from_secs(2 + seconds));
    let (events, messages) = (world.events(), world.mesh_traffic().broadcasts);
    println!("8 nodes, {seconds} s: {events} events, {messages} broadcasts");
    Ok(())
}
