//! The protocol `senior`: who leads, after how long, whatever happens to the units.

use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::Role;
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{Building, bound_of, car_call, down, millis, secs, seed, up};

/// How many worlds each scenario is run in; what is measured is the longest of them.
const WORLDS: u64 = 25;

fn election() -> ElectionSettings {
    ElectionSettings::of(Protocol::Senior)
}

fn bound() -> Duration {
    bound_of(&election())
}

/// A world on a LAN with 40 ms jitter and 5 % loss.
fn dark(nodes: usize, world: u64, control_unit: Option<usize>) -> Building {
    let mut settings = WorldSettings::new(nodes, seed() + world);
    settings.election = election();
    settings.roles = control_unit.into_iter().map(|node| (node, Role::ControlUnit)).collect();
    settings.codec = false;
    settings.weather.delay = 100..=40_000;
    settings.weather.loss = 5;
    Building::of(settings)
}

fn led(nodes: usize, world: u64, control_unit: Option<usize>) -> Building {
    let mut building = dark(nodes, world, control_unit);
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

/// M2, M6, M8, C3: all at once, and each some time after the one before.
#[test]
fn units_that_start_agree_within_the_bound() {
    for gap in [0, 40, 400] {
        for control_unit in [None, Some(3)] {
            let what = format!("start, {gap} ms apart, control unit {control_unit:?}");
            measure(&what, |world| {
                let mut building = dark(5, world, control_unit);
                for node in 0..5 {
                    building.start(node);
                    building.run_for(millis(gap));
                }
                let took = one_leads(&mut building);
                let master = building.master();
                building.run_for(secs(4));
                assert_eq!(building.master(), master, "and stays");
                took
            });
        }
    }
}

/// M3, M6, M8, C3, C5, E2
#[test]
fn a_master_that_dies_has_a_successor_within_the_bound() {
    measure("the master dies", |world| {
        let mut building = led(5, world, None);
        let master = building.master().expect("a master");
        building.press((master + 1) % 5, up(1));
        building.inflict(Fault::PowerLoss(master));
        let took = building.until(bound(), "another one leads", |world| {
            world.master().is_some_and(|other| other != master)
        });
        building.until_at_rest();
        took
    });
}

/// C5: nobody waits for a master in order to serve.
#[test]
fn a_unit_that_looks_for_a_master_serves_alone() {
    let mut building = led(3, 0, None);
    let master = building.master().expect("a master");
    building.inflict(Fault::PowerLoss(master));
    let other = (master + 1) % 3;
    building
        .until(secs(1), "it seeks", |world| world.node_state(other) == Some(&NodeState::Seeking));
    building.press(other, up(1));
    building.press(other, car_call(2));
    building.until_at_rest();
    assert!(building.served(&building.call(up(1), other)) > 0);
}

/// M9, C3: a suspended master finds a successor when it goes on.
#[test]
fn a_master_that_was_suspended_ends_in_one_fleet_within_the_bound() {
    for pause in [100, 600, 5_000] {
        measure(&format!("the master is suspended for {pause} ms"), |world| {
            let mut building = led(4, world, None);
            let master = building.master().expect("a master");
            building.press((master + 1) % 4, down(2));
            building.inflict(Fault::Pause(master));
            building.run_for(millis(pause));
            building.inflict(Fault::Resume(master));
            let took = one_leads(&mut building);
            building.until_at_rest();
            took
        });
    }
}

/// M9, C3, E4, F14: each side has a master; then the better one leads all.
#[test]
fn the_sides_of_a_partition_agree_within_the_bound_once_they_meet() {
    for control_unit in [None, Some(0)] {
        let what = format!("a partition ends, control unit {control_unit:?}");
        measure(&what, |world| {
            let mut building = dark(5, world, control_unit);
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
            let best = control_unit.or(masters.into_iter().max());
            assert_eq!(building.master(), best);
            building.until_at_rest();
            took
        });
    }
}

/// M9: the control unit takes over when it returns. A unit with the highest address follows, or, if
/// it could not link to anybody in all its attempts, prevails as a master of its own.
#[test]
fn the_best_unit_returns_and_the_fleet_agrees_within_the_bound() {
    measure("the control unit returns", |world| {
        let mut building = led(4, world, Some(1));
        building.inflict(Fault::PowerLoss(1));
        one_leads(&mut building);
        building.run_for(secs(2));
        building.inflict(Fault::Restart(1));
        let took = one_leads(&mut building);
        assert_eq!(building.master(), Some(1));
        took
    });
    measure("the highest address returns", |world| {
        let mut building = led(4, world, None);
        building.inflict(Fault::PowerLoss(3));
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
        building.inflict(Fault::PowerLoss(3));
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

/// M3, C5: at 30 % loss a master keeps its executors for as long as they hear it at all.
#[test]
fn a_fleet_on_a_bad_line_is_led_almost_always() {
    let mut building = led(4, 0, None);
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
