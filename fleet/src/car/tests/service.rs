use elevator_driver::{Button, Direction, DoorState, KeySwitch, MotorCommand};

use super::shaft::{World, floor};
use crate::car::{CarSettings, ServedCall};
use crate::model::{Mode, Unavailable};

#[test]
fn independent_car_waits_with_its_door_open_for_a_car_call_and_ignores_the_landings() {
    let mut world = World::at(1).settled();
    world.key = KeySwitch::Independent;
    world.run_until("open", |w| w.door() == DoorState::Open);
    world.tick();
    assert!(!world.car.absorbs(Button::Hall(floor(1), Direction::Up), world.now), "F18");
    assert!(world.car.absorbs(Button::Car(floor(1)), world.now));
    world.press_hall(1, Direction::Up);
    world.press_hall(3, Direction::Up);
    world.run(600);
    assert!(world.is_out_for(Unavailable::Independent));
    assert_eq!((world.floor(), world.door()), (Some(floor(1)), DoorState::Open));
    world.press_car(4);
    world.run_until("car call served", |w| w.car_calls.is_empty());
    world.run(600);
    assert_eq!((world.floor(), world.door()), (Some(floor(4)), DoorState::Open));
    assert_eq!(world.served.len(), 1);
    world.key = KeySwitch::Normal;
    world.run_until("all served", World::is_quiet);
}

#[test]
fn car_taken_out_of_service_lets_people_out_at_the_next_floor_and_stays_closed() {
    let mut world = World::at(0).settled();
    world.press_car(5);
    world.run_until("past floor 1", |w| w.car.indicator() == Some(floor(1)));
    world.key = KeySwitch::OutOfService;
    world.run_until("open", |w| w.door() == DoorState::Open);
    assert_eq!(world.floor(), Some(floor(2)));
    world.run_until("closed", |w| w.door() == DoorState::Closed);
    world.run(1200);
    assert!(world.is_out_for(Unavailable::OutOfService));
    assert_eq!((world.floor(), world.door()), (Some(floor(2)), DoorState::Closed));
    world.key = KeySwitch::Normal;
    world.run_until("all served", World::is_quiet);
}

#[test]
fn full_car_passes_the_landings_by_while_it_has_somebody_to_bring() {
    let mut world = World::at(0).settled();
    world.load = Some(85);
    world.press_car(4);
    world.press_hall(2, Direction::Up);
    world.run_until("all served", World::is_quiet);
    let car_calls = world.served_at(ServedCall::Car(floor(4))).unwrap();
    assert!(world.served_hall(2, Direction::Up).unwrap() > car_calls);
}

fn command(world: &mut World, mode: Mode) {
    let now = world.now;
    world.car.set_command(mode, now);
    world.tick();
}

/// An attended car at this floor, its door open.
fn attended(index: u8) -> World {
    let mut world = World::at(index).settled();
    command(&mut world, Mode::Attendant);
    world.run_until("open", |w| w.door() == DoorState::Open);
    world
}

#[test]
fn attended_car_leaves_at_the_command_of_its_attendant_only() {
    let mut world = attended(0);
    world.press_hall(2, Direction::Up);
    world.run(100);
    assert_eq!((world.floor(), world.door()), (Some(floor(0)), DoorState::Open));
    assert_eq!(world.car.calls_for_attendant().as_deref(), Some("2 up"));
    assert!(world.is_in_service());
    world.press_car(4);
    world.run_until("it stops on the way", |w| w.served_hall(2, Direction::Up).is_some());
    world.run(100);
    assert_eq!((world.floor(), world.door()), (Some(floor(2)), DoorState::Open));
    assert_eq!(world.car.calls_for_attendant(), None);
    // Who is already on the way to a floor presses its button again.
    world.press_car(4);
    world.run_until("all served", World::is_quiet);
    world.run(100);
    assert_eq!((world.floor(), world.door()), (Some(floor(4)), DoorState::Open));
}

/// O7: the attendant may have gone.
#[test]
fn group_stops_counting_on_an_attendant_who_does_not_react() {
    let mut world = attended(1);
    let since = world.now;
    world.run_until("out of the group", |w| w.is_out_for(Unavailable::Independent));
    let waited = world.now.since(since);
    assert!(waited >= world.car.settings().door_blocked_after, "{waited:?}");
    world.press_hall(1, Direction::Up);
    world.run(100);
    assert_eq!(world.served_hall(1, Direction::Up), None);
    world.hall.clear();
    world.assigned.clear();
    world.update_stops();
    world.press_car(3);
    world.tick();
    assert!(world.is_in_service());
    world.run_until("all served", World::is_quiet);
    assert!(world.is_in_service());
}

/// The key in the car and a commanded recall together.
fn fire_service() -> World {
    let mut world = World::at(2).settled();
    command(&mut world, Mode::FireRecall);
    world.run_until("recalled", |w| w.floor() == Some(floor(0)) && w.door() == DoorState::Open);
    world.key = KeySwitch::FireRecall;
    world.tick();
    assert_eq!(world.car.mode(), Mode::FireService);
    world
}

/// ASME A17.1, phase II, begins at the recall floor: nobody with the key may be in the car.
#[test]
fn car_on_its_way_to_the_recall_floor_does_not_stop_for_the_key_or_for_a_command() {
    type Event = fn(&mut World);
    let turn: Event = |world| world.key = KeySwitch::FireRecall;
    let recall: Event = |world| command(world, Mode::FireRecall);
    for (what, first, then) in [("the command", turn, recall), ("the key", recall, turn)] {
        let mut world = World::at(5).settled();
        first(&mut world);
        world.run_until("past floor 3", |w| w.car.indicator() == Some(floor(3)));
        then(&mut world);
        world.run_until("recalled", |w| w.floor() == Some(floor(0)) && w.door() == DoorState::Open);
        world.run(600);
        assert_eq!(world.car.mode(), Mode::FireRecall, "{what} came later");
        world.press_car(4);
        world.run(300);
        assert_eq!((world.floor(), world.door()), (Some(floor(0)), DoorState::Open), "{what}");
        // The firefighter turns the key off and on again.
        world.key = KeySwitch::Normal;
        world.tick();
        world.key = KeySwitch::FireRecall;
        world.tick();
        assert_eq!(world.car.mode(), Mode::FireService, "{what} came later");
    }
}

/// The key alone recalls one car, and gives it to nobody.
#[test]
fn car_recalled_by_its_key_alone_stays_recalled_when_a_command_follows() {
    let mut world = World::at(2).settled();
    world.key = KeySwitch::FireRecall;
    world.run_until("recalled", |w| w.floor() == Some(floor(0)) && w.door() == DoorState::Open);
    command(&mut world, Mode::FireRecall);
    assert_eq!(world.car.mode(), Mode::FireRecall);
    world.press_car(3);
    world.run(600);
    assert_eq!((world.floor(), world.door()), (Some(floor(0)), DoorState::Open));
    // What the panel says first after it was away is no turn of the key.
    world.reconnect();
    world.run(100);
    assert_eq!(world.car.mode(), Mode::FireRecall);
}

/// ASME A17.1, phase II: a firefighter may be on the floor. Only the key ends it.
#[test]
fn car_of_a_firefighter_stays_when_the_command_ends() {
    for command_after in [Mode::InService, Mode::Independent, Mode::OutOfService] {
        let mut world = fire_service();
        world.press_car(3);
        world.run_until("there", |w| w.floor() == Some(floor(3)) && !w.is_moving());
        world.run(10);
        world.press_car(3);
        world.run_until("open", |w| w.door() == DoorState::Open);
        command(&mut world, command_after);
        world.run(300);
        world.reconnect();
        world.run(600);
        assert_eq!((world.floor(), world.door()), (Some(floor(3)), DoorState::Open));
        assert_eq!(world.car.mode(), Mode::FireService, "{command_after}");
        world.key = KeySwitch::Normal;
        world.tick();
        assert_eq!(world.car.mode(), command_after);
    }
}

/// A mechanic comes before a firefighter, who has to begin again at the recall floor.
#[test]
fn key_out_of_service_ends_fire_service() {
    let mut world = fire_service();
    world.press_car(3);
    world.run_until("there", |w| w.floor() == Some(floor(3)) && !w.is_moving());
    world.key = KeySwitch::OutOfService;
    world.tick();
    assert_eq!(world.car.mode(), Mode::OutOfService);
    world.run(300);
    world.key = KeySwitch::FireRecall;
    world.run_until("recalled", |w| w.floor() == Some(floor(0)) && w.door() == DoorState::Open);
    assert_eq!(world.car.mode(), Mode::FireRecall);
}

#[test]
fn firefighter_reopens_a_door_that_is_closing() {
    let mut world = fire_service();
    world.press_car(4);
    world.run_until("closing", |w| w.door() == DoorState::Closing);
    world.press_car(0);
    world.run_until("open again", |w| w.door() == DoorState::Open);
    world.run(600);
    assert_eq!((world.floor(), world.door()), (Some(floor(0)), DoorState::Open));
    assert_eq!(world.car.motor(), MotorCommand::Stop);
}

/// Nor after an interruption, which leaves the car between two floors.
#[test]
fn car_in_fire_service_stays_closed_after_its_panel_has_restarted() {
    let mut world = fire_service();
    world.press_car(5);
    world.run_until("past floor 2", |w| w.car.indicator() == Some(floor(2)));
    world.run(3);
    world.reconnect();
    world.run(600);
    assert!(world.floor().is_some());
    assert_eq!(world.door(), DoorState::Closed);
    assert_eq!(world.car.mode(), Mode::FireService);
}

/// A car out of service by command takes nobody anywhere who had not asked before.
#[test]
fn car_out_of_service_takes_no_new_car_call_and_lets_people_out() {
    let mut world = World::at(0).settled();
    world.press_car(3);
    world.run_until("on its way", World::is_moving);
    command(&mut world, Mode::OutOfService);
    world.press_car(5);
    world.run_until("all served", World::is_quiet);
    world.run_until("closed", |w| w.door() == DoorState::Closed);
    assert_eq!(world.floor(), Some(floor(3)));
    world.press_car(1);
    world.run_until("open", |w| w.door() == DoorState::Open);
    world.run_until("closed", |w| w.door() == DoorState::Closed);
    world.run(600);
    assert_eq!((world.floor(), world.served.len()), (Some(floor(3)), 1));
}

/// A node that has not heard of the command yet places such calls. No order is lost (O1).
#[test]
fn car_out_of_service_is_not_driven_by_calls_that_come_late() {
    let mut world = World::at(0).settled();
    world.press_car(3);
    world.run_until("on its way", World::is_moving);
    command(&mut world, Mode::OutOfService);
    world.car_calls.insert(floor(5));
    world.update_stops();
    world.run(600);
    assert_eq!((world.floor(), world.door()), (Some(floor(3)), DoorState::Closed));
    // Once it is served, a call to the same floor is another one.
    world.car_calls.insert(floor(3));
    world.car_calls.insert(floor(1));
    world.update_stops();
    world.run(600);
    assert_eq!(world.floor(), Some(floor(3)));
    assert_eq!(world.car_calls, [floor(1), floor(3), floor(5)].into());
    command(&mut world, Mode::InService);
    world.run_until("all served", World::is_quiet);
}

/// A car may carry its rated load.
#[test]
fn overloaded_car_leaves_in_no_mode() {
    let overloaded = Mode::ALL.map(|mode| (mode, CarSettings::OVERLOAD, 1));
    for (mode, load, at) in
        [(Mode::InService, CarSettings::OVERLOAD - 1, 4)].iter().chain(&overloaded)
    {
        let mut world = World::at(1).settled();
        world.press_car(1);
        world.run_until("open", |w| w.door() == DoorState::Open);
        world.load = Some(*load);
        world.tick();
        command(&mut world, *mode);
        world.press_car(4);
        world.run(600);
        assert_eq!(world.floor(), Some(floor(*at)), "{mode}, {load} %");
        assert!(*at == 4 || world.door() == DoorState::Open, "{mode}");
    }
}
