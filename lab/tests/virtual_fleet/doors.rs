//! Doors that can't close: an overloaded car, and something in the door.

use std::time::Duration;

use elevator_driver::{DoorCommand, DoorState, FloorCount};
use elevator_fleet::model::{Availability, Call, Timestamp, Unavailable};
use liftmesh_lab::{Fault, World};

use crate::building::{Building, car_call, floor, mins, secs, up, without_parking};

/// The two machines' cars stay where they are: the first one at floor 2, with its door open.
fn open_at_2() -> Building {
    let mut settings = without_parking(2);
    settings.floors = FloorCount::new(6).expect("a shaft");
    let mut building = Building::merged_of(settings);
    building.press(0, car_call(2));
    building.until(mins(1), "its door is open", is_open_at_2);
    building
}

fn is_open_at_2(world: &World) -> bool {
    is_open_at(world, 2)
}

fn is_open_at(world: &World, index: u8) -> bool {
    let inputs = world.car(0).inputs();
    (inputs.door, inputs.floor) == (DoorState::Open, Some(floor(index)))
}

fn availability(world: &World) -> Option<Availability> {
    let now = Timestamp::after_start(world.now());
    Some(world.node(0)?.status(now).car?.view.availability)
}

/// Lets time pass in which the car stays where it is with its door open.
fn stays_open(building: &mut Building, time: Duration) {
    let moved = building.run_until(time, |world| !is_open_at_2(world));
    assert_eq!(moved, None, "it stays\n{}", building.story(40));
}

/// H4, O7: at 110 % of the rated load. It comes for no hall call meanwhile.
#[test]
fn an_overloaded_car_stays_until_the_load_is_gone() {
    let mut building = open_at_2();
    building.inflict(Fault::Load(0, Some(110)));
    building.press(0, car_call(5));
    for index in [3, 4] {
        building.press(1, up(index));
    }
    stays_open(&mut building, secs(29));
    stays_open(&mut building, secs(2));
    let blocked = Availability::Unavailable(Unavailable::DoorBlocked);
    assert_eq!(availability(&building), Some(blocked));
    building.press(0, up(1));
    stays_open(&mut building, mins(1));
    assert!(!building.has_hall_calls(), "the other car serves");
    let hall = building.services().iter().filter(|it| matches!(it.call, Call::Hall(_)));
    assert!(hall.clone().count() == 3 && hall.clone().all(|it| it.node == 1), "{hall:?}");
    building.inflict(Fault::Load(0, Some(60)));
    building.until(secs(20), "it goes on", |world| is_open_at(world, 5));
    assert_eq!(availability(&building), Some(Availability::InService));
    building.until_at_rest();
}

/// A car may carry its rated load.
#[test]
fn a_car_with_its_rated_load_is_not_overloaded() {
    for load in [100, 109] {
        let mut building = open_at_2();
        building.inflict(Fault::Load(0, Some(load)));
        building.press(0, car_call(5));
        building.until(secs(20), "it goes", |world| is_open_at(world, 5));
        assert_eq!(availability(&building), Some(Availability::InService), "{load} %");
    }
}

/// H4: 20 s after it has opened, whatever the light curtain says.
#[test]
fn an_obstructed_door_is_nudged_after_its_time() {
    let mut building = open_at_2();
    building.inflict(Fault::Obstruct(0, true));
    building.press(0, car_call(4));
    stays_open(&mut building, secs(19));
    let is_nudged = |world: &World| {
        let outputs = world.node(0).and_then(|node| node.outputs());
        outputs.is_some_and(|outputs| outputs.door == DoorCommand::Nudge)
    };
    building.until(secs(2), "it is nudged", is_nudged);
    building.press(1, up(3));
    building.until(secs(20), "it goes on", |world| is_open_at(world, 4));
    assert_eq!(availability(&building), Some(Availability::InService));
    building.inflict(Fault::Obstruct(0, false));
    building.until_at_rest();
    assert_eq!(building.served(&building.call(up(3), 0)), 1);
}
