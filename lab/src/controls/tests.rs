//! That each control elects as its source says, in the real node.

use std::time::Duration;

use super::Control;
use crate::elections::{Comparison, Conditions, Contestant, Situation, check};
use crate::{Fault, World, WorldSettings};

/// Each replaces a master that dies, takes it in again, and keeps a master while nothing happens.
/// All but Raft have a master on both sides of a partition. Nothing is checked of controls.
#[test]
fn each_elects_whatever_happens() {
    use Situation::{MasterDead, MasterReturns, Merge, Partition, Quiet, Start};
    let comparison = Comparison {
        contestants: Contestant::list("controls").expect("controls"),
        sizes: vec![3, 5, 8],
        losses: vec![0, 5],
        conditions: vec![Conditions::Steady],
        situations: vec![Start, MasterDead, MasterReturns, Partition, Merge, Quiet],
        watch: Duration::from_mins(1),
        seed: 1,
        rounds: 1,
    };
    let runs = comparison.run(|_| ()).expect("small fleets");
    assert_eq!(check(&runs), []);
    for run in runs {
        let situation = run.trial.situation;
        let is_halved = matches!(situation, Partition | Merge);
        let is_raft = run.trial.contestant.to_string() == "raft";
        assert_eq!(run.is_unsettled(), is_raft && is_halved, "{run:?}");
        assert!(situation != Quiet || run.trial.loss > 0 || run.changes == 0, "{run:?}");
    }
}

fn world(control: Control, nodes: usize, seed: u64) -> World {
    let mut settings = WorldSettings::new(nodes, seed);
    settings.election = control.settings(nodes);
    settings.codec = false;
    settings.inspect = false;
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world
}

/// The master that this group elects and still has a second later.
fn settle(world: &mut World, group: &[usize], what: &str) -> usize {
    world.run_until(Duration::from_secs(20), |world| world.master_of(group).is_some());
    world.run_for(Duration::from_secs(1));
    world.master_of(group).unwrap_or_else(|| panic!("{what}: no master: {}", world.story(60)))
}

#[test]
fn raft_has_a_master_in_the_majority_only() {
    let mut world = world(Control::Raft, 5, 3);
    let master = settle(&mut world, &[0, 1, 2, 3, 4], "start");
    let minority = vec![master, (master + 1) % 5];
    let majority: Vec<usize> = (0..5).filter(|node| !minority.contains(node)).collect();
    world.inflict(Fault::Partition(vec![minority.clone(), majority.clone()]));
    settle(&mut world, &majority, "partition");
    world.run_for(Duration::from_secs(5));
    for node in minority {
        assert!(world.master_of(&[node]).is_none(), "{node} leads a minority");
    }
    world.inflict(Fault::Heal);
    settle(&mut world, &[0, 1, 2, 3, 4], "merge");
}

/// The paper: n (n + 1) / 2 messages at worst, where one node starts; and n of *elected*.
#[test]
fn a_ring_elects_the_highest_with_few_messages() {
    let mut world = world(Control::ChangRoberts, 8, 5);
    let all: Vec<usize> = (0..8).collect();
    assert_eq!(settle(&mut world, &all, "start"), 7);
    let before = world.election_traffic().messages;
    world.inflict(Fault::Kill(7));
    assert_eq!(settle(&mut world, &all[..7], "master killed"), 6);
    let messages = world.election_traffic().messages - before;
    assert!((14..=7 * 8 / 2 + 7).contains(&messages), "{messages}");
}
