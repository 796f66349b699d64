//! Where an idle car waits, and where an empty one begins.

use std::time::Duration;

use elevator_driver::{Direction, DoorState, KeySwitch};

use super::shaft::{Event, World, floor};
use crate::car::Power;
use crate::dispatch::CarPlan;

/// A car that is to wait at this floor.
fn parks_at(world: &mut World, index: u8) {
    world.car.set_plan(CarPlan { direction: None, park: Some(floor(index)) });
    world.update_stops();
}

/// F17: and it stays there, with its door closed.
#[test]
fn idle_car_drives_to_where_it_is_to_wait_and_keeps_its_door_closed() {
    let mut world = World::at(0).settled();
    parks_at(&mut world, 4);
    world.run(200);
    world.assert_at(4, DoorState::Closed);
    assert_eq!((world.openings(), world.departures()), (0, 1));
    // Being told again changes nothing.
    parks_at(&mut world, 4);
    world.run(600);
    assert_eq!(world.departures(), 1);
}

/// It stops where the call is on its way, and else ends the flight; nobody resumes it.
#[test]
fn parking_car_goes_where_a_call_is() {
    for (index, departures) in [(3, 1), (0, 2)] {
        let mut world = World::at(0).settled();
        parks_at(&mut world, 5);
        world.run_until("past floor 1", |w| w.car.indicator() == Some(floor(1)));
        world.press_hall(index, Direction::Up);
        world.run_until("served", World::is_quiet);
        world.run(600);
        world.assert_at(index, DoorState::Closed);
        assert_eq!(world.departures(), departures);
    }
}

/// A passenger who has just boarded has not pressed yet.
#[test]
fn car_that_has_just_closed_its_door_waits_before_it_parks() {
    let mut world = World::at(1).settled();
    world.press_hall(1, Direction::Up);
    world.run_until("closed", |w| w.is_quiet() && w.door() == DoorState::Closed);
    let closed = world.now;
    parks_at(&mut world, 5);
    world.run_until("moves", World::is_moving);
    assert!(world.now.since(closed) >= Duration::from_secs(2));
}

#[test]
fn car_that_is_not_free_does_not_park() {
    let reasons: [(&str, Event); 8] = [
        // Its turn may have been given by a master that is gone: then it is in service.
        ("no power", |world| world.car.set_power(Power::Waiting, world.now)),
        ("independent", |world| world.key = KeySwitch::Independent),
        ("fire recall", |world| world.key = KeySwitch::FireRecall),
        ("out of service", |world| world.key = KeySwitch::OutOfService),
        ("stopped", |world| world.stop = true),
        ("overloaded", |world| world.load = Some(110)),
        ("somebody in it", |world| world.load = Some(1)),
        ("locked out", |world| {
            let until = world.now + Duration::from_hours(1);
            world.car.supervision.locked_out.insert(floor(4), until);
        }),
    ];
    for (reason, hinder) in reasons {
        let mut world = World::at(0).settled();
        hinder(&mut world);
        world.run(50);
        parks_at(&mut world, 4);
        world.run(300);
        assert_eq!((world.floor(), world.departures()), (Some(floor(0)), 0), "{reason}");
    }
}

/// F17: the nearer call is the one below.
#[test]
fn empty_car_begins_in_the_direction_that_the_master_wants() {
    for (wanted, first) in [(None, 1), (Some(Direction::Up), 4)] {
        let mut world = World::at(2).settled();
        world.car.set_plan(CarPlan { direction: wanted, park: None });
        world.assign(&[(1, Direction::Up), (4, Direction::Up)]);
        world.run_until("one served", |w| !w.served.is_empty());
        assert_eq!(world.floor(), Some(floor(first)), "{wanted:?}");
    }
}
