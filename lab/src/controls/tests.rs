//! That each control elects as its source says, in the real node.

use std::time::Duration;

use super::Control;
use crate::elections::{Comparison, Conditions, Contestant, Situation, check};
use crate::{Fault, World, WorldSettings};

/// Each replaces a master that dies, takes it in again, and keeps a master while nothing happens.
/// All but Raft, which needs a majority, have a master on both sides of a partition, and all have one
/// after it. Nothing is checked of controls.
#[test]
fn each_elects_whatever_happens() {
    use Situation::{MasterDead, MasterReturns, Merge, Partition, Quiet, Start};
    let comparison = Comparison {
        contestants: ["controls", "raft:pre-vote", "controls:reliable"]
            .map(|list| Contestant::list(list).expect("controls"))
            .concat(),
        sizes: vec![5],
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
        let is_raft = run.trial.contestant.to_string().starts_with("raft");
        assert!(run.prepared, "{run:?}");
        assert_eq!(run.is_unsettled(), is_raft && situation == Partition, "{run:?}");
        assert!(situation != Quiet || run.trial.loss > 0 || run.changes == 0, "{run:?}");
    }
}

/// The paper: n (n + 1) / 2 messages at worst, where one node starts; and n of *elected*.
#[test]
fn a_ring_elects_the_highest_with_few_messages() {
    let election = Control::ChangRoberts.settings(8, false);
    let mut world = World::new(WorldSettings { election, ..WorldSettings::new(8, 5) });
    let world = world.as_mut().expect("a world");
    let settle = |world: &mut World, master| {
        world.run_until(Duration::from_secs(20), |world| world.master() == Some(master));
        world.run_for(Duration::from_secs(1));
        assert_eq!(world.master(), Some(master), "{}", world.story(60));
    };
    world.start_all();
    settle(world, 7);
    let before = world.election_traffic().messages;
    world.inflict(Fault::Kill(7));
    settle(world, 6);
    let messages = world.election_traffic().messages - before;
    assert!((14..=7 * 8 / 2 + 7).contains(&messages), "{messages}");
}
