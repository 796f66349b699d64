//! A node that leads and does not do what a master is there for.

use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{BadMaster, Fault, World, WorldSettings};

use crate::building::{Building, down, mins, secs, seed, up, without_parking};

fn halls() -> [Button; 4] {
    [up(0), down(1), up(2), down(3)]
}

fn fleet(protocol: Protocol) -> Building {
    fleet_of(WorldSettings::new(4, seed()), protocol)
}

fn fleet_of(mut settings: WorldSettings, protocol: Protocol) -> Building {
    settings.election = ElectionSettings::of(protocol);
    let mut building = Building::of(settings);
    building.start_all();
    building.until(secs(20), "one leads", World::has_the_right_master);
    building.run_for(secs(2));
    building
}

/// Presses every hall button, and says how long it takes until each call has been served.
fn hall_calls_are_served(building: &mut Building, limit: Duration) -> Duration {
    let calls = halls().map(|button| building.call(button, 0));
    let before: Vec<usize> = calls.iter().map(|call| building.served(call)).collect();
    for (node, button) in [1, 2, 3, 1].into_iter().zip(halls()) {
        building.press(node, button);
    }
    building.until(limit, "every hall call is served", |world| {
        let mut pairs = calls.iter().zip(&before);
        pairs.all(|(call, before)| world.served(call) > *before)
    })
}

/// E8: under a master that assigns nothing, or to a car that does not exist, calls are served late. It
/// goes on to lead, and they are assigned again once it is repaired and restarted.
#[test]
fn calls_are_served_under_a_master_that_does_not_assign() {
    for protocol in Protocol::ALL {
        for bad in [BadMaster::Idle, BadMaster::Confused] {
            let mut building = fleet(protocol);
            let master = building.master().expect("one leads");
            building.inflict(Fault::Leads(master, Some(bad)));
            let first = hall_calls_are_served(&mut building, secs(45));
            // A press at an open door makes no order (F18).
            building.run_for(secs(5));
            let second = hall_calls_are_served(&mut building, secs(45));
            let taken = building.taken_over();
            // The next holder of the token assigns.
            assert!(taken > 0 || protocol == Protocol::TokenRing);
            building.until(secs(5), "it still leads", World::has_the_right_master);
            building.inflict(Fault::Leads(master, None));
            building.inflict(Fault::Kill(master));
            building.inflict(Fault::Restart(master));
            let back = building.until(secs(70), "all follow the right master", |world| {
                world.has_the_right_master()
            });
            building.run_for(secs(5));
            let third = hall_calls_are_served(&mut building, secs(45));
            println!(
                "{protocol}, {bad:?}: {first:?}, {second:?}, back {back:?}, {third:?}, {taken} taken over"
            );
            building.until_at_rest();
            building.run_for(mins(1));
        }
    }
}

/// E8: a master that assigns every call to its own car, which serves none, stops service for a
/// bounded time too.
#[test]
fn calls_are_served_under_a_master_that_keeps_them_to_itself() {
    let mut building = fleet_of(without_parking(4), Protocol::LowestIp);
    let master = building.master().expect("one leads");
    building.inflict(Fault::Leads(master, Some(BadMaster::Greedy)));
    let first = hall_calls_are_served(&mut building, secs(220));
    assert_eq!(building.master(), Some(master));
    building.inflict(Fault::Leads(master, None));
    building.run_for(secs(15));
    let second = hall_calls_are_served(&mut building, secs(45));
    println!("{first:?}, {second:?}");
    building.until_at_rest();
}
