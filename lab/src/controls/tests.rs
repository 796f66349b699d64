//! That each control elects as its source says, in the real node.

use std::time::Duration;

use super::Control;
use crate::{Fault, World, WorldSettings};

const LIMIT: Duration = Duration::from_secs(20);
const CALM: Duration = Duration::from_secs(5);

fn world(control: Control, nodes: usize, loss: u8, seed: u64) -> World {
    let mut settings = WorldSettings::new(nodes, seed);
    settings.election = control.settings(nodes);
    settings.weather.loss = loss;
    settings.codec = false;
    settings.inspect = false;
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world
}

/// The master of this group, which has to have one, and to keep it.
fn settle(world: &mut World, group: &[usize], what: &str) -> usize {
    let mut since = None;
    let end = world.now() + LIMIT;
    while world.now() < end {
        world.run_for(Duration::from_millis(5));
        let master = world.master_of(group);
        since = match (since, master) {
            (Some((before, at)), Some(master)) if before == master => Some((master, at)),
            (_, Some(master)) => Some((master, world.now())),
            (_, None) => None,
        };
        if let Some((master, at)) = since
            && world.now() > at + Duration::from_secs(1)
        {
            return master;
        }
    }
    panic!("{what}: no master after {LIMIT:?}: {}", world.story(60));
}

/// Starts, loses its master, and takes it in again.
fn live(control: Control, nodes: usize, loss: u8, seed: u64) {
    let what = |event: &str| format!("{control}, {nodes} nodes, {loss} %, seed {seed}: {event}");
    let all: Vec<usize> = (0..nodes).collect();
    let mut world = world(control, nodes, loss, seed);
    let master = settle(&mut world, &all, &what("start"));
    world.inflict(Fault::Kill(master));
    let others: Vec<usize> = all.iter().copied().filter(|node| *node != master).collect();
    let heir = settle(&mut world, &others, &what("master killed"));
    assert_ne!(heir, master);
    world.inflict(Fault::Restart(master));
    settle(&mut world, &all, &what("it returns"));
}

#[test]
fn each_replaces_a_master_that_dies() {
    for control in Control::ALL {
        for nodes in [3, 5, 8] {
            for loss in [0, 5] {
                live(control, nodes, loss, 1);
            }
        }
    }
}

#[test]
fn a_quiet_fleet_keeps_its_master() {
    for control in Control::ALL {
        let mut world = world(control, 5, 0, 2);
        let all = [0, 1, 2, 3, 4];
        let master = settle(&mut world, &all, "start");
        let changes = world.mesh_traffic().changes;
        world.run_for(Duration::from_mins(1));
        assert_eq!(world.mesh_traffic().changes, changes, "{control}");
        assert_eq!(world.master_of(&all), Some(master), "{control}");
    }
}

#[test]
fn raft_has_a_master_in_the_majority_only() {
    let mut world = world(Control::Raft, 5, 0, 3);
    let master = settle(&mut world, &[0, 1, 2, 3, 4], "start");
    let minority = vec![master, (master + 1) % 5];
    let majority: Vec<usize> = (0..5).filter(|node| !minority.contains(node)).collect();
    world.inflict(Fault::Partition(vec![minority.clone(), majority.clone()]));
    settle(&mut world, &majority, "partition");
    world.run_for(CALM);
    for node in minority {
        assert!(world.master_of(&[node]).is_none(), "{node} leads a minority");
    }
    world.inflict(Fault::Heal);
    settle(&mut world, &[0, 1, 2, 3, 4], "merge");
}

#[test]
fn the_others_have_a_master_on_both_sides() {
    for control in [Control::ChangRoberts, Control::Invitation] {
        let mut world = world(control, 5, 0, 4);
        settle(&mut world, &[0, 1, 2, 3, 4], "start");
        world.inflict(Fault::Partition(vec![vec![0, 3], vec![1, 2, 4]]));
        settle(&mut world, &[0, 3], "one side");
        settle(&mut world, &[1, 2, 4], "the other side");
        world.inflict(Fault::Heal);
        settle(&mut world, &[0, 1, 2, 3, 4], "merge");
    }
}

/// The paper: n (n + 1) / 2 messages at worst, where one node starts; and n of *elected*.
#[test]
fn a_ring_elects_the_highest_with_few_messages() {
    let mut world = world(Control::ChangRoberts, 8, 0, 5);
    let all: Vec<usize> = (0..8).collect();
    assert_eq!(settle(&mut world, &all, "start"), 7);
    let before = world.election_traffic().messages;
    world.inflict(Fault::Kill(7));
    assert_eq!(settle(&mut world, &all[..7], "master killed"), 6);
    let messages = world.election_traffic().messages - before;
    assert!((14..=7 * 8 / 2 + 7).contains(&messages), "{messages}");
}

#[test]
fn controls_have_names() {
    for control in Control::ALL {
        assert_eq!(control.to_string().parse(), Ok(control));
    }
    assert!("paxos".parse::<Control>().is_err());
}
