//! Service modes and fire recalls by command: they reach every car, and are kept.

use elevator_driver::{DoorState, DriveFeedback, KeySwitch, LampSet};
use elevator_fleet::model::Mode;
use liftmesh_lab::{Fault, World};

use crate::building::{
    Building, are_down, car_call, down, floor, is_open_at, millis, mins, secs, seen, up,
    without_parking,
};

fn all_see(world: &World, car: usize, mode: Mode) -> bool {
    world.running().all(|at| seen(world, at, car) == Some(mode))
}

/// It is never cleared automatically, not by a loss of power either. A node that was cut off during the
/// alarm comes to know of it, and its orders are dropped too.
#[test]
fn a_fire_recall_survives_a_power_cut_and_reaches_who_was_cut_off() {
    for mains in [true, false] {
        let mut building = Building::merged(3);
        building.inflict(Fault::NetworkCut(2, !mains));
        building.run_for(secs(2));
        building.press(2, up(2));
        building.press(2, car_call(1));
        building.run_for(millis(200));
        building.inflict(Fault::FireRecall { at: 0, start: true });
        if mains {
            building.run_for(secs(1));
            building.inflict(Fault::MainsCut);
            building.run_for(secs(10));
            building.start_all();
        }
        building.inflict(Fault::NetworkCut(2, false));
        building.until(mins(3), "all cars are down", |world| are_down(world, 0..3));
        building.until(secs(5), "the stores are equal", World::in_step);
        assert!((0..3).all(|node| building.lamps(node).is_empty()));
        building.recovers();
    }
}

/// O1, C7: a node that was cut off for the whole of a fire recall keeps the calls that it has promised,
/// although the others have dropped them. The same after a restart, with what is on its disk.
#[test]
fn a_node_that_missed_a_whole_recall_keeps_what_it_has_promised() {
    for restarts in [false, true] {
        let mut building = Building::merged_of(without_parking(3));
        building.stop_switches(0..3, true);
        for button in [up(1), down(2), car_call(3)] {
            building.press(2, button);
        }
        building.press(0, up(2));
        building.until(secs(2), "the lamps are lit", |world| {
            world.lamps(2).len() == 4 && world.lamps(0).len() == 3
        });
        building.inflict(Fault::NetworkCut(2, true));
        building.run_for(secs(2));
        if restarts {
            building.inflict(Fault::Kill(2));
            building.run_for(secs(1));
        }
        building.inflict(Fault::FireRecall { at: 0, start: true });
        building.run_for(secs(20));
        building.inflict(Fault::FireRecall { at: 1, start: false });
        building.run_for(secs(2));
        building.press(1, down(3));
        building.run_for(secs(2));
        if restarts {
            building.inflict(Fault::Restart(2));
            building.run_for(secs(2));
        }
        assert_eq!(building.lamps(2).len(), 4, "it knows of no recall");
        building.press(2, down(1));
        building.run_for(secs(1));
        building.inflict(Fault::NetworkCut(2, false));
        let own: LampSet = [up(1), down(2), up(2), down(3), down(1), car_call(3)].into();
        building.until(secs(5), "it learns of the others' call", |world| world.lamps(2) == own);
        building.until(secs(5), "the stores are equal", World::in_step);
        building.run_for(secs(5));
        assert_eq!(building.lamps(2), own, "they stay open");
        building.recovers();
        let to_three = building.call(car_call(3), 2);
        assert!(building.services().iter().any(|service| service.call == to_three));
    }
}

/// E9: each side of a partition recalls its cars. The end of one recall does not end the other.
#[test]
fn recalls_on_two_sides_are_two() {
    let mut building = Building::merged(3);
    building.inflict(Fault::NetworkCut(2, true));
    building.run_for(secs(2));
    building.inflict(Fault::FireRecall { at: 0, start: true });
    building.inflict(Fault::FireRecall { at: 2, start: true });
    building.run_for(secs(1));
    building.inflict(Fault::FireRecall { at: 0, start: false });
    building.run_for(secs(1));
    let recalled = |node| building.node(node).is_some_and(|it| it.settings().is_fire_recalled());
    assert_eq!([0, 1, 2].map(recalled), [false, false, true]);
    building.inflict(Fault::NetworkCut(2, false));
    building.until(mins(2), "all cars are down", |world| are_down(world, 0..3));
    building.inflict(Fault::FireRecall { at: 1, start: false });
    building.recovers();
}

/// ASME A17.1 Phase II: in a recall of the fleet the key in a car gives it to a firefighter; no order
/// is placed, and no other car leaves. Nothing but the key ends it: not the end of the recall either,
/// while the firefighter is on a floor, nor a restart, nor a loss of power.
#[test]
fn a_firefighter_keeps_the_car_until_the_key_is_turned_back() {
    let mut building = Building::merged_of(without_parking(3));
    building.inflict(Fault::FireRecall { at: 0, start: true });
    building.until(mins(1), "all cars are down", |world| are_down(world, 0..3));
    building.inflict(Fault::Key(1, KeySwitch::FireRecall));
    building.run_for(secs(1));
    let drive = |building: &mut Building, to: u8| {
        building.press(1, car_call(to));
        building.until(secs(40), "the car is there", |world| {
            let inputs = world.car(1).inputs();
            (inputs.floor, inputs.drive) == (Some(floor(to)), DriveFeedback::Stopped)
        });
    };
    let is_left_alone = |building: &mut Building, at: u8| {
        building.run_for(mins(1));
        assert_eq!(building.car(1).inputs().floor, Some(floor(at)));
        assert!(all_see(building, 1, Mode::FireService), "also at the other nodes");
    };
    drive(&mut building, 3);
    is_left_alone(&mut building, 3);
    assert_eq!(building.car(1).inputs().door, DoorState::Closed);
    building.press(1, car_call(3));
    building.until(secs(10), "it opens", |world| is_open_at(world, 1, 3));
    building.restart(1);
    is_left_alone(&mut building, 3);
    drive(&mut building, 2);
    assert!(are_down(&building, [0, 2]));
    assert!(building.services().is_empty() && building.is_idle());

    building.inflict(Fault::FireRecall { at: 2, start: false });
    is_left_alone(&mut building, 2);
    building.restart(1);
    is_left_alone(&mut building, 2);
    building.inflict(Fault::MainsCut);
    building.run_for(secs(5));
    building.start_all();
    is_left_alone(&mut building, 2);
    // The others run as usual, and this car takes no hall call.
    building.press(1, up(2));
    building.until(mins(1), "another car comes", |world| !world.services().is_empty());
    assert_ne!(building.services()[0].node, 1);
    building.until(secs(2), "all know that", World::is_idle);

    building.inflict(Fault::Key(1, KeySwitch::Normal));
    building.until(secs(5), "it is in service", |world| all_see(world, 1, Mode::InService));
    building.recovers();
}
