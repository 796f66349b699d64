//! Power cuts, empty and failing disks.

use elevator_driver::Button;
use elevator_fleet::model::{Term, Timestamp};
use elevator_fleet::node::Node;
use liftmesh_lab::{Fault, World};

use crate::building::{Building, car_call, millis, secs, up};

/// E3: the fleet's term goes on where it was, although nobody is left who would know it.
#[test]
fn terms_do_not_decrease_over_a_power_cut_of_the_whole_building() {
    let mut building = Building::merged(3);
    for _ in 0..3 {
        building.inflict(Fault::PowerCut(0));
        building.run_for(secs(1));
        building.inflict(Fault::Restart(0));
        building.run_for(secs(2));
    }
    let term = |building: &Building, node| building.node(node).map(Node::term).expect("it runs");
    let before: Vec<_> = (0..3).map(|node| term(&building, node)).collect();
    assert!(before.iter().all(|term| *term > Term(4)), "{before:?}");
    for node in 0..3 {
        building.inflict(Fault::PowerCut(node));
    }
    building.run_for(secs(3));
    for (node, before) in before.iter().enumerate() {
        building.inflict(Fault::Restart(node));
        assert!(term(&building, node) >= *before, "at once, and alone");
    }
    building.recovers();
}

/// F18: who has waited for long goes on waiting for long.
#[test]
fn ages_go_on_over_a_power_cut_of_the_whole_building() {
    let mut building = Building::merged(2);
    building.run_for(secs(30));
    let button = (0..4)
        .map(car_call)
        .find(|button| building.car(0).inputs().floor.map(Button::Car) != Some(*button))
        .expect("a floor where the car is not");
    let call = building.call(button, 0);
    building.press(0, button);
    building.run_for(millis(400));
    for node in 0..2 {
        building.inflict(Fault::PowerCut(node));
    }
    building.run_for(secs(60));
    for node in 0..2 {
        building.inflict(Fault::Restart(node));
        let store = building.node(node).expect("it runs").orders();
        let waited = store.waited(&call, Timestamp::START).expect("it is open");
        assert!(waited >= secs(60), "{waited:?}");
        assert!(waited <= secs(61), "{waited:?}");
    }
    building.recovers();
}

/// C7, O1, O7: a car serves, and a crash leaves nothing of that on its node's disk. What is left of
/// the press comes back from a node that was away, and the service from another one. Nobody lies.
#[test]
fn a_service_that_a_crash_has_erased_is_no_lie() {
    for button in [up(0), car_call(0)] {
        let mut building = Building::merged(3);
        let (witness, away, server) = (0, 1, 2);
        building.stop_switches([witness, away], true);
        building.inflict(Fault::DiskFail(server));
        building.run_for(secs(1));
        let call = building.call(button, server);
        building.press(server, button);
        building.run_for(millis(100));
        building.inflict(Fault::Partition(vec![vec![witness, server], vec![away]]));
        building.until(secs(60), "it is served", |world: &World| world.served(&call) > 0);
        building.run_for(secs(1));
        building.inflict(Fault::Kill(server));
        building.inflict(Fault::Partition(vec![vec![witness], vec![away, server]]));
        building.run_for(secs(1));
        building.inflict(Fault::Restart(server));
        let is_open = |world: &World| {
            let store = world.node(server).expect("it runs").orders();
            store.of_call(&call).count() > 0
        };
        building.until(secs(1), "it is heard of again", is_open);
        building.inflict(Fault::Heal);
        building.recovers();
        assert_eq!((0..3).map(|node| building.conflicts(node)).sum::<usize>(), 0);
    }
}

/// P1, P2: a power cut erases the service of what is open on the disk, and all others know of it.
/// The restarted node may show the lamp until it has heard them. Nobody is served twice.
#[test]
fn a_service_that_all_others_know_is_not_repeated_after_a_crash() {
    let mut settings = liftmesh_lab::WorldSettings::new(3, crate::building::seed());
    settings.commit = 20_000..=20_000;
    let mut building = Building::on(settings, secs(2));
    let (server, button) = (2, up(2));
    building.stop_switches([0, 1], true);
    building.run_for(secs(1));
    let call = building.call(button, 0);
    building.press(0, button);
    building.until(secs(60), "it is served", |world: &World| world.served(&call) > 0);
    building.run_for(millis(5));
    building.inflict(Fault::PowerCut(server));
    building.run_for(secs(2));
    for node in 0..2 {
        assert!(!building.is_lit(node, button), "{node}");
    }
    building.inflict(Fault::Restart(server));
    building.run_for(secs(3));
    for node in 0..3 {
        assert!(!building.is_lit(node, button), "{node}: {}", building.story(30));
    }
    assert_eq!(building.served(&call), 1, "{}", building.story(40));
    building.recovers();
}
