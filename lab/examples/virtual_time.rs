//! Runs fleets in virtual time, to measure what a virtual second costs, and to see that a faster
//! build does the same.
//!
//! ```sh
//! cargo build --release -p liftmesh-lab --example virtual_time
//! valgrind --tool=callgrind target/release/examples/virtual_time 1
//! valgrind --tool=callgrind target/release/examples/virtual_time 6
//! target/release/examples/virtual_time campaigns
//! ```
//!
//! The instructions of 8 quiet nodes for two lengths, subtracted, are those of the seconds between:
//! the start of the fleet does not count. The other form runs campaigns under each protocol. Two
//! builds that print the same do the same.

use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Campaign, World, WorldError, WorldSettings};

const NODES: usize = 8;

fn main() -> Result<(), WorldError> {
    let argument = std::env::args().nth(1).unwrap_or_default();
    match argument.parse() {
        Ok(seconds) => quiet(seconds),
        Err(_) => campaigns(),
    }
}

fn quiet(seconds: u64) -> Result<(), WorldError> {
    let mut settings = WorldSettings::new(NODES, 1);
    settings.codec = false;
    settings.inspect = false;
    let mut world = World::new(settings)?;
    world.start_all();
    world.run_for(Duration::from_secs(2 + seconds));
    show(&format!("{NODES} nodes, {seconds} s"), &world);
    Ok(())
}

fn campaigns() -> Result<(), WorldError> {
    for protocol in Protocol::ALL {
        for seed in 1..=4 {
            let campaign = Campaign::by_seed(seed).under(ElectionSettings::of(protocol));
            show(&format!("{protocol}, seed {seed}"), &campaign.run()?.world);
        }
    }
    Ok(())
}

/// Prints how much happened, and FNV-1a of its story.
fn show(what: &str, world: &World) {
    let story = world.story(usize::MAX);
    let story = story.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let (events, messages) = (world.events(), world.mesh_traffic().broadcasts);
    #[expect(clippy::print_stdout, reason = "it is what an example is for")]
    {
        println!("{what}: {events} events, {messages} broadcasts, story {story:016x}");
    }
}
