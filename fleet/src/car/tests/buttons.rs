use std::time::Duration;

use elevator_driver::{Direction, DoorCommand, DoorState, KeySwitch};

use super::shaft::{Event, TICK, World, floor};
use crate::model::{Mode, Timestamp, Unavailable};

/// A car with released door buttons, its door just fully open at floor 2.
fn open_at_two() -> World {
    let mut world = World::at(2).settled();
    world.hold(false, false);
    world.press_hall(2, Direction::Up);
    world.run_until_open_at(2);
    world.tick();
    world
}

fn command(world: &mut World, mode: Mode) {
    world.car.set_command(mode, world.now);
    world.tick();
}

#[test]
fn door_open_holds_the_door_until_it_nudges_as_an_obstruction_does() {
    let mut world = open_at_two();
    world.hold(true, false);
    world.run(100);
    assert_eq!(world.door, DoorState::Open);
    world.hold(false, false);
    let released = world.now;
    world.run_until("closing", |w| w.car.door() == DoorCommand::Close);
    assert_eq!(world.now.since(released), Duration::from_secs(3), "a dwell");
    world.run_until("closing", |w| w.door == DoorState::Closing);
    world.hold(true, false);
    assert_eq!(world.car.door(), DoorCommand::Open);
    world.run_until("nudging", |w| w.car.door() == DoorCommand::Nudge);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    // A button that is stuck opens no door again.
    world.run(600);
    world.assert_at(2, DoorState::Closed);
}

#[test]
fn a_press_of_door_open_opens_a_car_at_rest_where_nobody_is_in_danger() {
    let out: [(Mode, KeySwitch, bool); 6] = [
        (Mode::InService, KeySwitch::Normal, true),
        (Mode::OutOfService, KeySwitch::Normal, true),
        (Mode::InService, KeySwitch::OutOfService, false),
        (Mode::InService, KeySwitch::Independent, true),
        (Mode::EmergencyPower, KeySwitch::Normal, true),
        (Mode::FireRecall, KeySwitch::Normal, true),
    ];
    for (mode, key, opens) in out {
        let mut world = World::at(0).settled();
        world.key = key;
        command(&mut world, mode);
        world.hold(false, false);
        world.run(50);
        world.hold(true, false);
        world.hold(false, false);
        let is_open = |w: &World| w.door == DoorState::Open;
        if opens {
            world.run_until("open", is_open);
        } else {
            world.run(100);
            assert!(!is_open(&world), "{mode} {key}");
        }
    }
    // Held since before the car was seen at rest.
    let mut world = World::at(0);
    world.hold(false, false);
    world.hold(true, false);
    world.run_until_open_at(0);
    // Not on the way to another floor.
    let mut world = World::at(0).settled();
    world.hold(false, false);
    world.press_car(3);
    world.run_until("moving", World::is_moving);
    world.hold(true, false);
    world.hold(false, false);
    world.run_until_open_at(3);
    assert_eq!(world.openings(), 1);
}

#[test]
fn door_close_ends_the_dwell_but_not_against_an_obstruction_and_not_before_boarding() {
    let mut world = open_at_two();
    world.hold(false, true);
    assert_eq!(world.car.door(), DoorCommand::Close);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    // Held since before the door opened: passengers get their dwell.
    world.press_hall(2, Direction::Up);
    world.run_until_open_at(2);
    let opened = world.now;
    world.run_until("closing", |w| w.car.door() == DoorCommand::Close);
    assert!(world.now.since(opened) >= Duration::from_secs(3));

    let mut world = open_at_two();
    world.obstruction = true;
    world.hold(false, true);
    world.run(10);
    assert_eq!((world.car.door(), world.door), (DoorCommand::Open, DoorState::Open));
    world.obstruction = false;
    world.hold(true, true);
    world.run(10);
    assert_eq!(world.door, DoorState::Open, "door-open comes first");
}

#[test]
fn an_attendant_leaves_with_door_close_if_there_is_a_call() {
    let mut world = World::at(0).settled();
    world.hold(false, false);
    command(&mut world, Mode::Attendant);
    world.run_until_open_at(0);
    world.run(20);
    world.hold(false, true);
    world.hold(false, false);
    world.run(30);
    world.assert_at(0, DoorState::Open);
    world.press_hall(2, Direction::Up);
    world.hold(false, true);
    world.run_until_open_at(2);
}

/// A car with door buttons that a firefighter has taken at the recall floor.
fn fire_service() -> World {
    let mut world = World::at(0).settled();
    command(&mut world, Mode::FireRecall);
    world.run_until_open_at(0);
    world.hold(false, false);
    world.key = KeySwitch::FireRecall;
    world.tick();
    assert_eq!(world.car.mode(), Mode::FireService);
    world
}

/// ASME A17.1, 2.27.3.3, and EN 81-72: constant pressure on both buttons.
#[test]
fn a_firefighter_moves_the_door_by_constant_pressure() {
    let mut world = fire_service();
    world.run(600);
    world.press_car(3);
    world.run(100);
    world.assert_at(0, DoorState::Open);
    // Released before it is closed, it opens again; an obstruction does not count.
    world.obstruction = true;
    world.hold(false, true);
    world.run_until("closing", |w| w.door == DoorState::Closing);
    assert_eq!(world.car.door(), DoorCommand::Nudge);
    world.hold(false, false);
    world.run_until_open_at(0);
    world.hold(false, true);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    world.hold(false, false);
    world.run_until("there", |w| w.arrivals.last() == Some(&3));
    world.run(600);
    world.assert_at(3, DoorState::Closed);
    // The button of the floor does not open it. Released before it is open, it closes again.
    world.press_car(3);
    world.run(50);
    world.assert_at(3, DoorState::Closed);
    world.hold(true, false);
    world.run_until("opening", |w| w.door == DoorState::Opening);
    world.hold(false, false);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    world.run(100);
    world.assert_at(3, DoorState::Closed);
    assert_eq!(world.openings(), 2);
    world.hold(true, false);
    world.run_until_open_at(3);
    world.hold(false, false);
    world.run(600);
    world.assert_at(3, DoorState::Open);
    // As after a restart of the panel or the node.
    world.reconnect();
    world.hold(false, false);
    world.run(600);
    world.assert_at(3, DoorState::Open);
    world.key = KeySwitch::Normal;
    world.run_until_open_at(0);
}

/// The button of the floor at which the car stands cancels a call to another floor.
#[test]
fn a_firefighter_cancels_a_call() {
    let mut world = fire_service();
    world.press_car(4);
    world.press_car(0);
    world.hold(false, true);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    world.run(300);
    world.assert_at(0, DoorState::Closed);
    assert!(world.is_out_for(Unavailable::FireRecall));
}

#[test]
fn the_gong_strikes_where_the_door_opens_for_a_direction() {
    let mut world = World::at(0).settled();
    world.press_hall(2, Direction::Down);
    world.run_until("moving", World::is_moving);
    assert_eq!(world.car.gong(), None);
    world.run_until("opening", |w| w.door == DoorState::Opening);
    assert_eq!(world.car.gong(), Some(Direction::Down));
    world.run_until("closed", |w| w.door == DoorState::Closed);
    assert_eq!(world.car.gong(), None);
}

#[test]
fn light_and_fan_go_off_in_an_unused_car_and_on_when_it_is_used() {
    let mut world = World::at(0).settled();
    let limit = world.car.settings().light_off_after;
    world.press_car(1);
    world.run_until("all served", World::is_quiet);
    world.run_until("closed", |w| w.door == DoorState::Closed && !w.car.is_dark());
    let since = world.now;
    world.run_until("dark", |w| w.car.is_dark());
    assert!(world.now.since(since) <= limit + TICK * 2);
    assert!(world.now.since(since) >= limit);
    let stop: Event = |world| world.stop = true;
    let load: Event = |world| world.load = Some(10);
    let mechanic: Event = |world| world.key = KeySwitch::OutOfService;
    let door: Event = |world| world.press_car(1);
    for it in [stop, load, mechanic, door] {
        it(&mut world);
        world.tick();
        assert!(!world.car.is_dark());
        (world.stop, world.load, world.key) = (false, None, KeySwitch::Normal);
        world.run_until("dark", |w| w.car.is_dark());
    }
    assert_eq!(world.floor(), Some(floor(1)));
    assert!(world.now > Timestamp::START + limit);
}
