//! A regular leader and its stand-ins: how soon all follow one (C3).

use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::Role;
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_lab::{Fault, Weather, World, WorldSettings};

use crate::building::{Building, bound_of, millis, secs, seed, up};

/// How often each scenario is played, each time with other chances.
const ROUNDS: u64 = 12;

/// A sound LAN, and one with 40 ms of jitter that loses 5 % of the packets.
fn weathers() -> [Weather; 2] {
    let rough = Weather { delay: 100..=40_000, loss: 5, duplication: 5 };
    [Weather::default(), rough]
}

/// Five machines, the last ones of them control units, that run under `ballot`.
fn five(regular: usize, weather: Weather, round: u64) -> Building {
    let mut settings = WorldSettings::new(5, seed() * 1000 + round);
    settings.election = ElectionSettings::of(Protocol::Ballot);
    let units = 5 - regular..5;
    settings.roles = units.map(|node| (node, Role::ControlUnit)).collect();
    settings.weather = weather;
    let mut building = Building::of(settings);
    building.start_all();
    building
}

/// The same, once they have a leader.
fn led(regular: usize, weather: Weather, round: u64) -> (Building, usize) {
    let mut building = five(regular, weather, round);
    agree(&mut building, "they have found each other");
    building.run_for(secs(3));
    let leader = building.master().expect("a leader");
    (building, leader)
}

fn bound() -> Duration {
    bound_of(&ElectionSettings::of(Protocol::Ballot))
}

/// Waits until all that run follow the right one.
fn agree(building: &mut Building, after: &str) -> Duration {
    building.until(bound(), after, World::has_the_right_master)
}

/// Plays a scenario in each weather; tells how long it took at most.
fn play(what: &str, scenario: impl Fn(Weather, u64) -> Duration) {
    for (weather, name) in weathers().into_iter().zip(["sound", "rough"]) {
        let took = (0..ROUNDS).map(|round| scenario(weather.clone(), round));
        let most = took.max().unwrap_or_default();
        println!("{what}: at most {most:?} on a {name} LAN, of {:?}", bound());
    }
}

/// C3, V3
#[test]
fn machines_that_start_together_soon_follow_one() {
    play("start", |weather, round| {
        let mut building = five(0, weather, round);
        agree(&mut building, "the start")
    });
}

/// V7
#[test]
fn the_regular_leader_leads_from_the_start() {
    play("start with a regular leader", |weather, round| {
        let mut building = five(1, weather, round);
        let took = agree(&mut building, "the start");
        assert_eq!(building.master(), Some(4));
        took
    });
}

/// C3, V2, V3, E1, E2
#[test]
fn a_dead_leader_is_replaced() {
    for regular in [0, 1] {
        let what = ["a stand-in dies", "the regular leader dies"][regular];
        play(what, |weather, round| {
            let (mut building, leader) = led(regular, weather, round);
            building.inflict(if round % 2 == 0 {
                Fault::Kill(leader)
            } else {
                Fault::PowerLoss(leader)
            });
            let took = agree(&mut building, "its end");
            assert_ne!(building.master(), Some(leader));
            took
        });
    }
}

/// C5: while they choose, everybody serves.
#[test]
fn nobody_waits_for_the_vote() {
    let (mut building, leader) = led(0, Weather::default(), 1);
    building.inflict(Fault::PowerLoss(leader));
    building.until(secs(1), "somebody seeks", |world| {
        let mut running = world.running();
        running.any(|node| world.node_state(node) == Some(&NodeState::Seeking))
    });
    let press = (leader + 1) % 5;
    building.press(press, up(1));
    building.until(millis(100), "the lamp", |world| world.is_lit(press, up(1)));
    building.recovers_under(World::has_the_right_master);
}

/// C3, H1: it comes back as a leader, and finds another.
#[test]
fn a_leader_that_was_suspended_does_not_lead_beside_another() {
    play("the leader is suspended for 2 s", |weather, round| {
        let (mut building, leader) = led(0, weather, round);
        building.inflict(Fault::Pause(leader));
        building.run_for(secs(2));
        building.inflict(Fault::Resume(leader));
        agree(&mut building, "its return")
    });
}

/// V12, E1, E4: both halves have a leader, and then the whole has one.
#[test]
fn halves_that_meet_vote_and_the_loser_yields() {
    play("two halves meet", |weather, round| {
        let (mut building, _) = led(0, weather, round);
        let halves = [vec![0, 1], vec![2, 3, 4]];
        building.inflict(Fault::Partition(halves.to_vec()));
        for half in &halves {
            building
                .until(bound(), "each half has a leader", |world| world.master_of(half).is_some());
        }
        building.run_for(secs(1));
        building.press(0, up(0));
        building.press(4, up(2));
        building.inflict(Fault::Heal);
        agree(&mut building, "the merge")
    });
}

/// V12: more than two leaders meet.
#[test]
fn machines_that_were_all_alone_soon_follow_one() {
    play("five leaders meet", |weather, round| {
        let mut building = five(0, weather, round);
        building.inflict(Fault::Partition(Vec::new()));
        building.run_for(secs(2));
        building.inflict(Fault::Heal);
        agree(&mut building, "the merge")
    });
}

/// V7
#[test]
fn the_regular_leader_that_returns_leads_again() {
    play("the regular leader returns", |weather, round| {
        let (mut building, leader) = led(1, weather, round);
        assert_eq!(leader, 4);
        building.inflict(Fault::Kill(leader));
        building.run_for(secs(2));
        assert!(building.master().is_some_and(|master| master != leader));
        building.inflict(Fault::Restart(leader));
        agree(&mut building, "its return")
    });
}

/// V7: the first by name leads, and the other replaces it without a vote.
#[test]
fn of_two_regular_leaders_one_leads() {
    play("one of two regular leaders dies", |weather, round| {
        let (mut building, leader) = led(2, weather, round);
        assert_eq!(leader, 3);
        building.inflict(Fault::PowerLoss(leader));
        let took = agree(&mut building, "its end");
        assert_eq!(building.master(), Some(4));
        took
    });
}

/// E6, V2: a leader stays, though packets get lost.
#[test]
fn lost_packets_unseat_nobody() {
    for weather in weathers() {
        let (mut building, leader) = led(0, weather, 7);
        let term = building.node(leader).map(elevator_fleet::node::Node::term);
        building.run_for(Duration::from_mins(4));
        assert_eq!(building.master(), Some(leader));
        let after = building.node(leader).map(elevator_fleet::node::Node::term);
        assert_eq!(after, term);
    }
}
