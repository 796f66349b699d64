//! What is special about `ballot`: two regular leaders, and votes that interrupt no service.

use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::Role;
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_lab::{Fault, Weather, World, WorldSettings};

use crate::building::{Building, bound_of, millis, secs, seed, up};
use crate::messages::Fleet;

/// How often each scenario is played, each time with other chances.
const ROUNDS: u64 = 12;

/// A sound LAN, and one with 40 ms of jitter that loses 5 % of the packets.
fn weathers() -> [Weather; 2] {
    let rough = Weather { delay: 100..=40_000, loss: 5, duplication: 5, ..Weather::default() };
    [Weather::default(), rough]
}

/// Five machines under `ballot`, the last ones of them control units, and their master.
fn led(regular: usize, weather: Weather, round: u64) -> (Building, usize) {
    let mut settings = WorldSettings::new(5, seed() * 1000 + round);
    settings.election = ElectionSettings::of(Protocol::Ballot);
    let units = 5 - regular..5;
    settings.roles = units.map(|node| (node, Role::ControlUnit)).collect();
    settings.weather = weather;
    let mut building = Building::of(settings);
    building.start_all();
    agree(&mut building, "they have found each other");
    building.run_for(secs(3));
    let master = building.master().expect("a master");
    (building, master)
}

fn bound() -> Duration {
    bound_of(&ElectionSettings::of(Protocol::Ballot), 5)
}

/// Waits until all that run follow the right one.
fn agree(building: &mut Building, after: &str) -> Duration {
    building.until(bound(), after, World::has_the_right_master)
}

/// Plays a scenario in each weather; prints the longest time that it took.
fn play(what: &str, scenario: impl Fn(Weather, u64) -> Duration) {
    for (weather, name) in weathers().into_iter().zip(["sound", "rough"]) {
        let took = (0..ROUNDS).map(|round| scenario(weather.clone(), round));
        let most = took.max().unwrap_or_default();
        println!("{what}: at most {most:?} on a {name} LAN, of {:?}", bound());
    }
}

/// C5: while they choose, everybody serves.
#[test]
fn nobody_waits_for_the_vote() {
    let (mut building, master) = led(0, Weather::default(), 1);
    building.inflict(Fault::PowerCut(master));
    building.until(secs(1), "somebody seeks", |world| {
        let mut running = world.running();
        running.any(|node| world.node_state(node) == Some(&NodeState::Seeking))
    });
    let press = (master + 1) % 5;
    building.press(press, up(1));
    building.until(millis(100), "the lamp", |world| world.is_lit(press, up(1)));
    building.recovers_under(World::has_the_right_master);
}

/// C3, V2 to V7, V12: with the source's figures and rules, on the reliable network that it asks for.
#[test]
fn as_in_the_source_one_leads_within_the_bound() {
    let slow = Weather { delay: 100..=40_000, ..Weather::default() };
    for (round, weather) in (0..ROUNDS).zip([Weather::default(), slow].into_iter().cycle()) {
        let mut settings = WorldSettings::new(5, seed() * 1000 + round);
        settings.election = ElectionSettings::preset(Protocol::Ballot, Preset::Source);
        settings.roles = (round % 3 == 2).then_some((4, Role::ControlUnit)).into_iter().collect();
        settings.weather = weather;
        Fleet::of(settings).goes_through_every_situation();
    }
}

/// V7: the first by name leads, and the other replaces it without a vote.
#[test]
fn of_two_regular_leaders_one_leads() {
    play("one of two regular leaders dies", |weather, round| {
        let (mut building, master) = led(2, weather, round);
        assert_eq!(master, 3);
        building.inflict(Fault::PowerCut(master));
        let took = agree(&mut building, "its end");
        assert_eq!(building.master(), Some(4));
        took
    });
}

/// E6, V2: a master stays, though packets get lost.
#[test]
fn lost_packets_unseat_nobody() {
    for weather in weathers() {
        let (mut building, master) = led(0, weather, 7);
        let term = building.node(master).map(elevator_fleet::node::Node::term);
        building.run_for(Duration::from_mins(4));
        assert_eq!(building.master(), Some(master));
        let after = building.node(master).map(elevator_fleet::node::Node::term);
        assert_eq!(after, term);
    }
}
