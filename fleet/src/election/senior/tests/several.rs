//! Several nodes: there is a master in the end (M8), and one only (M9).

use std::time::Duration;

use super::super::Settings;
use super::super::lan::Lan;
use crate::election::testing::{candidate, control_unit as control};
use crate::election::{Candidate, Election, Rules};
use crate::model::Role;
use crate::wire::NodeState;

const SEEDS: u64 = 300;

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// After this the nodes alone, without links to be made, have one master.
fn limit() -> Duration {
    Settings::default().decided_within()
}

fn indicators(count: u8) -> impl Iterator<Item = Candidate> {
    (1..=count).map(candidate)
}

/// With so much delay, in milliseconds, and so much loss, in per cent.
fn lan(candidates: impl IntoIterator<Item = Candidate>, seed: u64, delay: u64, loss: u8) -> Lan {
    let mut lan = Lan::new(candidates, Settings::default(), seed);
    lan.delay = delay;
    lan.loss = loss;
    lan
}

/// Starts all, each a little later than the one before.
fn start_all(lan: &mut Lan, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for at in 0..lan.machines.len() {
        lan.start(at, Settings::default());
        lan.run_for(millis(random.u64(0..150)));
    }
}

fn settles(lan: &mut Lan) -> Duration {
    let took = lan.run_until(limit(), |lan| lan.master().is_some());
    let took = took.unwrap_or_else(|| panic!("no master within {:?}: {lan:?}", limit()));
    let master = lan.master();
    lan.run_for(Duration::from_secs(2));
    assert_eq!(lan.master(), master, "it stays: {lan:?}");
    took
}

/// M8: one node, and each set of survivors of four.
#[test]
fn whoever_is_left_has_a_master() {
    for survivors in 1_u8..16 {
        let mut lan = lan(indicators(4), 1, 1, 0);
        start_all(&mut lan, 1);
        settles(&mut lan);
        for at in 0..4 {
            if survivors & (1 << at) == 0 {
                lan.stop(at);
            }
        }
        settles(&mut lan);
    }
}

/// M4, M6: without loss or delay those that start together get the highest address.
#[test]
fn nodes_that_start_together_get_the_highest_address_as_master() {
    for count in 2..=5 {
        let mut lan = lan(indicators(count), 1, 1, 0);
        for at in 0..usize::from(count) {
            lan.start(at, Settings::default());
        }
        settles(&mut lan);
        assert_eq!(lan.master(), Some(usize::from(count) - 1));
    }
}

/// M8, M9, C3: with lost and late messages, whatever the order of the starts, and after losses.
#[test]
fn lost_messages_delay_a_master_but_do_not_prevent_one() {
    for loss in [0, 5, 30] {
        let mut longest = Duration::ZERO;
        for seed in 0..SEEDS {
            let mut lan = lan(indicators(4), seed, 40, loss);
            start_all(&mut lan, seed);
            for _ in 0..3 {
                let within = limit() * if loss > 5 { 10 } else { 1 };
                let took = lan.run_until(within, |lan| lan.master().is_some());
                longest = longest.max(took.unwrap_or_else(|| panic!("seed {seed}: {lan:?}")));
                lan.run_for(millis(500));
                if let Some(master) = lan.master() {
                    lan.stop(master);
                }
            }
        }
        println!("one master after at most {longest:?} with {loss} % loss");
    }
}

/// M9: two groups that meet have the higher of their masters, or the control unit.
#[test]
fn groups_that_meet_have_one_master() {
    for with_control in [false, true] {
        for seed in 0..SEEDS {
            let mut nodes: Vec<Candidate> = indicators(5).collect();
            if with_control {
                nodes[usize::try_from(seed % 5).unwrap_or(0)].role = Role::ControlUnit;
            }
            let mut lan = lan(nodes, seed, 40, 5);
            let left: Vec<usize> = (0..5).filter(|at| seed >> at & 1 == 0).collect();
            let right: Vec<usize> = (0..5).filter(|at| seed >> at & 1 == 1).collect();
            lan.cut(&left, &right);
            start_all(&mut lan, seed);
            lan.run_for(limit());
            let masters = [lan.master_of(&left), lan.master_of(&right)];
            lan.deaf.clear();
            settles(&mut lan);
            let nodes = |at: &usize| super::Member::of(&lan.machines[*at].candidate);
            let best = masters.into_iter().flatten().max_by_key(nodes);
            assert_eq!(lan.master(), best, "seed {seed}");
        }
    }
}

/// M9: the control unit leads from its start, even if another node leads already, and again when it
/// comes back.
#[test]
fn the_control_unit_leads_whenever_it_is_there() {
    for seed in 0..SEEDS {
        let nodes = [control(1), candidate(2), candidate(3), candidate(4)];
        let mut lan = lan(nodes, seed, 40, 5);
        for at in 1..4 {
            lan.start(at, Settings::default());
        }
        settles(&mut lan);
        for _ in 0..2 {
            lan.start(0, Settings::default());
            let leads = |lan: &Lan| lan.master() == Some(0);
            assert!(lan.run_until(limit(), leads).is_some(), "{lan:?}");
            settles(&mut lan);
            assert_eq!(lan.master(), Some(0));
            lan.stop(0);
            settles(&mut lan);
        }
    }
}

/// M5, M9: a node that comes back finds a master above or below it, and follows.
#[test]
fn a_node_that_comes_back_follows_the_master_that_there_is() {
    for seed in 0..SEEDS {
        let mut lan = lan(indicators(4), seed, 40, 5);
        start_all(&mut lan, seed);
        settles(&mut lan);
        let before = lan.master().expect("a master");
        lan.stop(before);
        settles(&mut lan);
        let after = lan.master();
        lan.start(before, Settings::default());
        settles(&mut lan);
        assert_eq!(lan.master(), after, "seed {seed}");
    }
}

/// M3, C5: as in the source, only the silence of sensor requests tells of a loss.
#[test]
fn without_the_mesh_a_loss_is_noticed_after_the_interval() {
    let settings = Settings::emulator();
    let mut lan = lan(indicators(3), 1, 40, 5);
    for at in 0..3 {
        lan.start(at, settings);
    }
    let within = settings.bound(Duration::ZERO, 64);
    assert!(lan.run_until(within, |lan| lan.master().is_some()).is_some());
    lan.run_for(settings.request_period * 2);
    let master = lan.master().expect("a master");
    lan.stop(master);
    let seeks = |lan: &Lan| (0..3).any(|at| lan.node_state(at) == Some(NodeState::Seeking));
    let noticed = lan.run_until(within, seeks).expect("somebody notices");
    assert!(noticed + settings.request_period * 2 >= settings.master_loss, "{noticed:?}");
    assert!(lan.run_until(within, |lan| lan.master().is_some()).is_some());
}

/// M2, M9: of two control units one leads all.
#[test]
fn two_control_units_end_with_one_master() {
    for seed in 0..SEEDS {
        let nodes = [control(2), candidate(3), control(1)];
        let mut lan = lan(nodes, seed, 40, 5);
        start_all(&mut lan, seed);
        settles(&mut lan);
        assert_eq!(lan.master(), Some(2), "the lower name");
        let election = lan.machines[0].election.as_ref().expect("it runs");
        assert!(election.details().iter().any(|d| d.name == "other control unit"));
        lan.stop(2);
        settles(&mut lan);
        assert_eq!(lan.master(), Some(0));
    }
}
