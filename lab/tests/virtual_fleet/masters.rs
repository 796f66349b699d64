//! A node that leads and does not do what a master is there for, and one that restarts.

use std::time::Duration;

use elevator_driver::FloorCount;
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{BadMaster, Fault, World, WorldSettings};

use crate::building::{Building, bound_of, down, millis, mins, secs, seed, up, without_parking};

fn fleet(settings: WorldSettings, protocol: Protocol) -> Building {
    let settings = WorldSettings { election: ElectionSettings::of(protocol), ..settings };
    let mut building = Building::of(settings);
    building.start_all();
    building.until(secs(20), "one leads", World::has_the_right_master);
    building.run_for(secs(2));
    building
}

/// Presses every hall button, and says how long it takes until each call has been served.
fn hall_calls_are_served(building: &mut Building, limit: Duration) -> Duration {
    let presses = [(1, up(0)), (2, down(1)), (3, up(2)), (1, down(3))];
    let calls = presses.map(|(node, button)| building.call(button, node));
    let before: Vec<usize> = calls.iter().map(|call| building.served(call)).collect();
    for (node, button) in presses {
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
            let mut building = fleet(WorldSettings::new(4, seed()), protocol);
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
            let back = building.until(secs(70), "it is back", World::has_the_right_master);
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
    let mut building = fleet(without_parking(4), Protocol::LowestIp);
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

/// So high that no car is there before the master leads again.
const CALLS: [u8; 3] = [36, 37, 38];

/// E3, E8, F1: the plan of the new incarnation counts at once, however many versions the plan of
/// the former one had. Otherwise its slave finds the calls without a car, and takes them over.
#[test]
fn the_plan_of_a_restarted_master_counts() {
    for protocol in Protocol::ALL {
        for preset in [Preset::Fleet, Preset::Source] {
            for down in [millis(20), millis(700)] {
                let election = ElectionSettings::preset(protocol, preset);
                let taken_over = a_car_is_lost_after_the_restart(election, down);
                assert_eq!(taken_over, 0, "{protocol}, {preset:?}, {down:?}");
            }
        }
    }
}

/// How many calls the slave has taken over.
fn a_car_is_lost_after_the_restart(election: ElectionSettings, down: Duration) -> u64 {
    let bound = bound_of(&election, 3) + election.settles_within();
    let mut settings = WorldSettings::new(3, seed());
    settings.floors = FloorCount::new(40).expect("floors");
    settings.election = election;
    let mut building = Building::of(settings);
    building.start_all();
    building.until(bound, "one leads", World::has_the_right_master);
    building.run_for(millis(500));
    let master = building.master().expect("one leads");
    let [slave, lost] = [(master + 1) % 3, (master + 2) % 3];
    // The plan has as many versions as there are calls, and one car has all of them.
    building.stop_switches([master, slave], true);
    building.run_for(millis(500));
    for floor in CALLS {
        building.press(slave, up(floor));
        building.run_for(millis(300));
    }
    building.inflict(Fault::Kill(master));
    building.run_for(down);
    building.inflict(Fault::Restart(master));
    building.inflict(Fault::StopSwitch(slave, false));
    building.until(bound, "one leads again", World::has_the_right_master);
    building.run_for(millis(500));
    let before = building.taken_over();
    building.inflict(Fault::PowerCut(lost));
    let first = building.call(up(CALLS[0]), slave);
    building.until(mins(4), "the slave's car serves", |world| world.served(&first) > 0);
    let taken_over = building.taken_over() - before;
    building.inflict(Fault::StopSwitch(master, false));
    building.repair_everything();
    building.until_at_rest();
    taken_over
}
