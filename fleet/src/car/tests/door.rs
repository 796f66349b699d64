use std::time::Duration;

use elevator_driver::{
    Button, Direction, DoorCommand, DoorState, DriveFeedback, PanelEvent, PanelInputs,
};

use super::shaft::{Door, TICK, World, floor};
use crate::model::Unavailable;

/// A car with its door just fully open at floor 2, announcing up.
fn open_at_two() -> World {
    let mut world = World::at(2).settled();
    world.press_hall(2, Direction::Up);
    world.run_until("open", |w| w.door == DoorState::Open);
    world
}

// F18
#[test]
fn press_at_an_open_door_restarts_the_dwell_and_needs_no_order() {
    let mut world = open_at_two();
    world.run(20);
    let pressed = world.now;
    for call in [
        Button::Hall(floor(2), Direction::Down),
        Button::Hall(floor(3), Direction::Up),
        Button::Car(floor(3)),
    ] {
        assert!(!world.car.absorbs(call, pressed), "{call}");
    }
    assert!(world.car.absorbs(Button::Car(floor(2)), pressed));
    assert!(world.car.absorbs(Button::Hall(floor(2), Direction::Up), pressed));
    world.run_until("closing", |w| w.car.door() == DoorCommand::Close);
    assert_eq!(world.now.since(pressed), Duration::from_secs(3));
    // At a closing door it needs one, which opens the door again.
    world.run_until("closing", |w| w.door == DoorState::Closing);
    let served = world.served.len();
    assert!(!world.car.absorbs(Button::Hall(floor(2), Direction::Up), world.now));
    world.press_hall(2, Direction::Up);
    assert_eq!(world.car.door(), DoorCommand::Open);
    world.run_until("served", World::is_quiet);
    assert_eq!(world.served.len(), served + 1);
}

/// O1, F18: what the panel said before an interruption serves nobody. If the panel was lost
/// meanwhile, those who wait have seen no car.
#[test]
fn an_open_door_serves_nobody_until_it_is_seen_again_after_an_interruption() {
    for is_lost in [false, true] {
        let mut world = open_at_two();
        world.run(20);
        // The dwell is over meanwhile.
        let late = Duration::from_secs(2);
        world.now = world.now + late;
        let (before, resumed) = (world.served.len(), world.now);
        world.car.handle_interrupted(late, world.now);
        assert!(world.car.poll_timeout().is_some_and(|(at, _)| at > world.now));
        let up = Button::Hall(floor(2), Direction::Up);
        assert!(!world.car.absorbs(up, world.now));
        world.press_hall(2, Direction::Up);
        assert_eq!(world.served.len(), before);
        if is_lost {
            world.disconnect();
            world.run(20);
            assert_eq!(world.served.len(), before);
        } else {
            world.run_until("served", |w| w.served.len() > before);
            assert_eq!(world.now.since(resumed), Duration::from_millis(100));
            assert!(world.car.absorbs(up, world.now));
            assert_eq!(world.door, DoorState::Open);
        }
    }
}

// F18
#[test]
fn presses_hold_the_door_no_longer_than_nudging_allows_and_the_car_leaves() {
    let mut world = open_at_two();
    let opened = world.now;
    world.press_car(5);
    while world.floor() == Some(floor(2)) {
        assert!(world.now.since(opened) < Duration::from_secs(25));
        world.press_hall(2, Direction::Up);
        world.tick();
    }
    assert!(world.now.since(opened) >= Duration::from_secs(20));
    world.run_until("all served", World::is_quiet);
}

#[test]
fn obstruction_reopens_the_door_and_restarts_the_dwell_until_the_door_nudges() {
    let mut world = open_at_two();
    let opened = world.now;
    world.run_until("closing", |w| w.door == DoorState::Closing);
    world.obstruction = true;
    world.run(60);
    assert_eq!(world.car.door(), DoorCommand::Open);
    world.obstruction = false;
    let cleared = world.now;
    world.run_until("closing", |w| w.car.door() == DoorCommand::Close);
    assert!(world.now.since(cleared) >= Duration::from_secs(3));
    world.obstruction = true;
    world.run_until("nudging", |w| w.car.door() == DoorCommand::Nudge);
    assert_eq!(world.now.since(opened), Duration::from_secs(20));
    assert!(!world.car.absorbs(Button::Car(floor(2)), world.now));
    world.run_until("closed", |w| w.door == DoorState::Closed);
    assert!(world.is_in_service());
}

#[test]
fn door_that_is_blocked_takes_the_car_out_of_the_group_until_it_obeys() {
    // It does not close, with somebody in it, or does not open.
    for (mut world, command) in
        [(open_at_two(), DoorCommand::Nudge), (World::at(2).settled(), DoorCommand::Open)]
    {
        world.faults.door = Door::Jammed;
        if command == DoorCommand::Open {
            world.press_hall(2, Direction::Up);
        } else {
            world.press_car(4);
            world.obstruction = true;
        }
        let since = world.now;
        world.run_until("blocked", |w| w.is_out_for(Unavailable::DoorBlocked));
        let held = world.now.since(since);
        let limit = Duration::from_secs(30);
        assert!(command == DoorCommand::Open || held >= limit && held <= limit + TICK, "{held:?}");
        world.run(600);
        assert_eq!(world.car.door(), command);
        world.faults.door = Door::Sound;
        world.obstruction = false;
        world.run_until("in service", World::is_in_service);
        world.run_until("all served", World::is_quiet);
    }
}

// S1
#[test]
fn stop_switch_leaves_an_open_door_open() {
    let mut world = open_at_two();
    world.press_car(4);
    world.stop = true;
    world.run(600);
    assert_eq!(world.door, DoorState::Open);
    assert!(world.car.stop_lamp() && world.is_out_for(Unavailable::Stopped));
    world.stop = false;
    let released = world.now;
    world.run_until("all served", World::is_quiet);
    assert!(world.now.since(released) > Duration::from_secs(3));
}

// S1
#[test]
fn door_is_told_to_close_the_moment_the_drive_is_seen_running() {
    for has_ended in [false, true] {
        let mut world = open_at_two();
        if has_ended {
            world.car.shut_down(world.now);
            world.run(100);
        }
        assert_eq!((world.car.door(), world.door), (DoorCommand::Open, DoorState::Open));
        let inputs = PanelInputs {
            floor: Some(floor(2)),
            drive: DriveFeedback::Driven(Direction::Up),
            door: DoorState::Open,
            ..PanelInputs::default()
        };
        world.car.handle_panel(&PanelEvent::Inputs(inputs), world.now);
        assert_eq!(world.car.door(), DoorCommand::Close);
    }
}
