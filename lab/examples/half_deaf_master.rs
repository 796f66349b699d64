//! An election under a fault of your own choice: the master of five goes half deaf. It can still
//! send to everybody, but hears nothing any more. What does each protocol make of that?
//!
//! ```text
//! cargo run -p liftmesh-lab --example half_deaf_master
//! cargo run -p liftmesh-lab --example half_deaf_master -- 7   # another seed
//! ```
//!
//! Time is virtual: minutes pass in moments, and the same seed always tells the same story.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, World, WorldSettings};

type Failed = Box<dyn std::error::Error>;

const NODES: usize = 5;

/// No protocol needs as long as this to agree.
const LIMIT: Duration = Duration::from_secs(30);

fn main() -> Result<(), Failed> {
    let seed = std::env::args().nth(1).map_or(Ok(1), |text| text.parse())?;
    for protocol in Protocol::ALL {
        let mut settings = WorldSettings::new(NODES, seed);
        settings.election = ElectionSettings::of(protocol);
        run(protocol, World::new(settings)?)?;
    }
    Ok(())
}

fn run(protocol: Protocol, mut world: World) -> Result<(), Failed> {
    world.start_all();
    let all: Vec<usize> = (0..NODES).collect();
    let took = world.run_until(LIMIT, |world| world.master_of(&all).is_some());
    let took = took.ok_or("no master after the start")?;
    let master = world.master_of(&all).ok_or("no master")?;
    let name = world.name(master).clone();
    println!("{protocol}: {name} leads all {took:.1?} after the start");

    let others: Vec<usize> = all.into_iter().filter(|node| *node != master).collect();
    for from in &others {
        world.inflict(Fault::CutOneWay { from: *from, to: master });
    }
    let took =
        world.run_until(LIMIT, |world| world.master_of(&others).is_some_and(|next| next != master));
    match (took, world.master_of(&others)) {
        (Some(took), Some(next)) => {
            println!("  deaf: {} leads the others {took:.1?} later", world.name(next));
        }
        _ => println!("  deaf: the others have found no master in {LIMIT:?}"),
    }

    world.inflict(Fault::Heal);
    let took = world.run_until(LIMIT, |world| world.master().is_some());
    let took = took.ok_or("no master after the cure")?;
    let leader = world.master().ok_or("no master")?;
    println!("  cured: {} leads all {took:.1?} later", world.name(leader));

    let broken = world.violations();
    if !broken.is_empty() {
        return Err(format!("{protocol} broke what has to hold: {broken:?}").into());
    }
    Ok(())
}
