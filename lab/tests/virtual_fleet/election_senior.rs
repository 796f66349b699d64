//! What is special about `senior`: ranks by address, and nodes that serve alone while they seek.

use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::Role;
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{Building, bound_of, car_call, down, millis, secs, seed, up};
use crate::messages::Fleet;

/// How many worlds each scenario is run in; what is measured is the longest of them.
const WORLDS: u64 = 25;

fn election() -> ElectionSettings {
    ElectionSettings::of(Protocol::Senior)
}

fn bound() -> Duration {
    bound_of(&election(), 5)
}

/// A world on a LAN with 40 ms jitter and 5 % loss.
fn dark(nodes: usize, world: u64) -> Building {
    let mut settings = WorldSettings::new(nodes, seed() + world);
    settings.election = election();
    settings.codec = false;
    settings.weather.delay = 100..=40_000;
    settings.weather.loss = 5;
    Building::of(settings)
}

fn led(nodes: usize, world: u64) -> Building {
    let mut building = dark(nodes, world);
    building.start_all();
    one_leads(&mut building);
    // The next disturbance finds the fleet at rest, at any moment of its periods.
    building.run_for(secs(2) + millis(world * 7));
    building
}

fn one_leads(building: &mut Building) -> Duration {
    let bound = bound();
    building.until(bound, "one leads all", World::has_the_right_master)
}

/// Runs a scenario in several worlds, and prints the longest time that it took.
fn measure(what: &str, scenario: impl Fn(u64) -> Duration) {
    let mut times: Vec<Duration> = (0..WORLDS).map(scenario).collect();
    times.sort_unstable();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    let bound = bound();
    println!("senior, {what}: median {median:?}, longest {longest:?}, bound {bound:?}");
    assert!(longest <= bound);
}

/// C5: nobody waits for a master in order to serve.
#[test]
fn a_node_that_looks_for_a_master_serves_alone() {
    let mut building = led(3, 0);
    let master = building.master().expect("a master");
    building.inflict(Fault::PowerCut(master));
    let other = (master + 1) % 3;
    building
        .until(secs(1), "it seeks", |world| world.node_state(other) == Some(&NodeState::Seeking));
    building.press(other, up(1));
    building.press(other, car_call(2));
    building.until_at_rest();
    assert!(building.served(&building.call(up(1), other)) > 0);
}

/// M9, C3, E4, F14: each side has a master; then the one with the higher address leads all.
#[test]
fn of_two_masters_that_meet_the_higher_address_stays() {
    measure("a partition ends", |world| {
        let mut building = dark(5, world);
        let sides = vec![vec![0, 1, 2], vec![3, 4]];
        building.inflict(Fault::Partition(sides.clone()));
        building.start_all();
        building.run_for(bound());
        let masters: Vec<usize> =
            sides.iter().filter_map(|side| building.master_of(side)).collect();
        assert_eq!(masters.len(), 2, "one a side");
        building.press(1, up(1));
        building.press(4, down(3));
        building.inflict(Fault::Heal);
        let took = one_leads(&mut building);
        assert_eq!(building.master(), masters.into_iter().max());
        building.until_at_rest();
        took
    });
}

/// M9: a node with the highest address follows when it returns, or, if it could not link to anybody
/// in all its attempts, prevails as a master of its own.
#[test]
fn the_highest_address_returns_and_the_fleet_agrees_within_the_bound() {
    measure("the highest address returns", |world| {
        let mut building = led(4, world);
        building.inflict(Fault::PowerCut(3));
        one_leads(&mut building);
        building.run_for(secs(2));
        building.inflict(Fault::Restart(3));
        one_leads(&mut building)
    });
}

/// M5, E6: on a sound LAN nobody else notices that a unit with the highest address returns.
#[test]
fn the_highest_address_returns_and_follows() {
    for world in 0..WORLDS {
        let mut settings = WorldSettings::new(4, seed() + world);
        settings.election = election();
        let mut building = Building::of(settings);
        building.start_all();
        one_leads(&mut building);
        building.inflict(Fault::PowerCut(3));
        one_leads(&mut building);
        building.run_for(secs(2));
        let term = |world: &World| world.node(0).map(elevator_fleet::node::Node::term);
        let (master, before) = (building.master(), term(&building));
        building.inflict(Fault::Restart(3));
        building.until(bound(), "it follows", |world| {
            matches!(world.node_state(3), Some(NodeState::Slave { .. }))
        });
        building.run_for(secs(2));
        assert_eq!((building.master(), term(&building)), (master, before));
    }
}

/// C3, M3 to M9: with the source's figures and rules, and 5 % loss; with and without a control unit.
#[test]
fn as_in_the_source_one_leads_within_the_bound() {
    for world in 0..4 {
        let mut settings = WorldSettings::new(4, seed() + world);
        settings.election = ElectionSettings::preset(Protocol::Senior, Preset::Source);
        settings.weather.loss = 5;
        settings.roles = (world % 2 == 1).then_some((0, Role::ControlUnit)).into_iter().collect();
        Fleet::of(settings).goes_through_every_situation();
    }
}

/// M3, C5: at 30 % loss a master keeps its slaves for as long as they hear it at all.
#[test]
fn a_fleet_on_a_bad_line_is_led_almost_always() {
    let mut building = led(4, 0);
    building.inflict(Fault::Loss(30));
    building.run_for(secs(2));
    let mut led = 0;
    for _ in 0..200 {
        building.run_for(millis(50));
        led += usize::from(building.master().is_some());
    }
    println!("senior at 30 % loss: led in {led} of 200 looks");
    assert!(led > 150, "{led}\n{}", building.story(60));
    building.inflict(Fault::Loss(0));
    one_leads(&mut building);
}
