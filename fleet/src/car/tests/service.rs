use std::time::Duration;

use elevator_driver::{Button, Direction, DoorState, Entrance, KeySwitch};

use super::shaft::{Event, World, floor};
use crate::car::{Car, CarEvent, CarSettings, Errand, Press, ServedCall, SessionLeg};
use crate::model::{FloorSet, Mode, Unavailable};
use crate::settings::{RequestId, SessionEnd};

#[test]
fn independent_car_waits_with_its_door_open_for_a_car_call_and_ignores_the_landings() {
    let mut world = World::at(1).settled();
    world.key = KeySwitch::Independent;
    world.run_until_open_at(1);
    world.tick();
    assert!(!world.car.absorbs(Button::Hall(floor(1), Direction::Up), world.now), "F18");
    assert!(world.car.absorbs(Button::Car(floor(1)), world.now));
    world.press_hall(1, Direction::Up);
    world.press_hall(3, Direction::Up);
    world.run(600);
    assert!(world.is_out_for(Unavailable::Independent));
    world.assert_at(1, DoorState::Open);
    world.press_car(4);
    world.run_until("car call served", |w| w.car_calls.is_empty());
    world.run(600);
    world.assert_at(4, DoorState::Open);
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
    world.run_until_open_at(2);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    world.run(1200);
    assert!(world.is_out_for(Unavailable::OutOfService));
    world.assert_at(2, DoorState::Closed);
    world.key = KeySwitch::Normal;
    world.run_until("all served", World::is_quiet);
}

/// A car that serves the lowest floor and the two highest ones, for a minute after each of these.
#[test]
fn a_car_opens_only_at_floors_that_it_serves() {
    let unserved: FloorSet = [1, 2, 3].map(floor).into_iter().collect();
    let switched_off: Event = |world| {
        world.press_car(5);
        world.run_until("past floor 1", |w| w.car.indicator() == Some(floor(1)));
        world.key = KeySwitch::OutOfService;
    };
    let withdrawn: Event = |world| {
        world.press_car(5);
        world.run_until("past floor 1", |w| w.car.indicator() == Some(floor(1)));
        world.car_calls.clear();
        world.update_stops();
    };
    let door_open: Event = |world| world.hold(true, false);
    let recalled: Event = |world| world.car.set_command(Mode::FireRecall, world.now);
    let out_of_service: Event = |world| {
        world.car.set_command(Mode::OutOfService, world.now);
        assert_eq!(world.car.handle_press(floor(4).into(), world.now), Press::Command);
    };
    let overloaded: Event = |world| world.load = Some(120);
    let cases = [
        ("switched off in flight", World::at(0).settled(), switched_off, 4),
        ("without its call", World::at(0).settled(), withdrawn, 4),
        ("found between floors", World::above(1), door_open, 0),
        ("found at a floor", World::at(1), door_open, 0),
        ("recalled", World::at(3), recalled, 0),
        ("out of service", World::at(3), out_of_service, 4),
        ("overloaded", World::at(1), overloaded, 0),
    ];
    for (what, mut world, happens, ends_at) in cases {
        world.car = Car::new(CarSettings { unserved, ..world.car.settings().clone() });
        world.reconnect();
        world.run(20);
        happens(&mut world);
        for _ in 0..600 {
            world.tick();
            let at = world.floor().filter(|_| world.door != DoorState::Closed);
            assert!(at.is_none_or(|at| !unserved.contains(at)), "{what}: open at {at:?}");
        }
        assert_eq!(world.floor(), Some(floor(ends_at)), "{what}");
    }
}

#[test]
fn full_car_passes_the_landings_by_while_it_has_somebody_to_bring() {
    let mut world = World::at(0).settled();
    world.load = Some(85);
    world.press_car(4);
    world.press_hall(2, Direction::Up);
    world.run_until("all served", World::is_quiet);
    let car_calls = world.served_at(ServedCall::Car(floor(4).into())).unwrap();
    assert!(world.served_hall(2, Direction::Up).unwrap() > car_calls);
}

fn command(world: &mut World, mode: Mode) {
    world.car.set_command(mode, world.now);
    world.tick();
}

/// An attended car at this floor, its door open.
fn attended(index: u8) -> World {
    let mut world = World::at(index).settled();
    command(&mut world, Mode::Attendant);
    world.run_until_open_at(index);
    world
}

#[test]
fn attended_car_leaves_at_the_command_of_its_attendant_only() {
    let mut world = attended(0);
    world.press_hall(2, Direction::Up);
    world.run(100);
    world.assert_at(0, DoorState::Open);
    assert_eq!(world.car.calls_for_attendant().as_deref(), Some("2 up"));
    assert!(world.is_in_service());
    world.press_car(4);
    world.run_until("it stops on the way", |w| w.served_hall(2, Direction::Up).is_some());
    world.run(100);
    world.assert_at(2, DoorState::Open);
    assert_eq!(world.car.calls_for_attendant(), None);
    // Who is already on the way to a floor presses its button again.
    world.press_car(4);
    world.run_until("all served", World::is_quiet);
    world.run(100);
    world.assert_at(4, DoorState::Open);
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
    world.run_until_open_at(0);
    turn(&mut world, KeySwitch::FireRecall);
    assert_eq!(world.car.mode(), Mode::FireService);
    world
}

fn turn(world: &mut World, key: KeySwitch) {
    world.key = key;
    world.tick();
}

/// ASME A17.1, phase II, begins at the recall floor: nobody with the key may be in the car.
#[test]
fn car_on_its_way_to_the_recall_floor_does_not_stop_for_the_key_or_for_a_command() {
    let key: Event = |world| turn(world, KeySwitch::FireRecall);
    let recall: Event = |world| command(world, Mode::FireRecall);
    for (first, then) in [(key, recall), (recall, key)] {
        let mut world = World::at(5).settled();
        first(&mut world);
        world.run_until("past floor 3", |w| w.car.indicator() == Some(floor(3)));
        then(&mut world);
        world.run_until_open_at(0);
        world.run(600);
        assert_eq!(world.car.mode(), Mode::FireRecall);
        world.press_car(4);
        world.run(300);
        world.assert_at(0, DoorState::Open);
        // What the panel says first after it was away is no turn of the key.
        world.reconnect();
        world.run(100);
        assert_eq!(world.car.mode(), Mode::FireRecall);
        turn(&mut world, KeySwitch::Normal);
        turn(&mut world, KeySwitch::FireRecall);
        assert_eq!(world.car.mode(), Mode::FireService);
    }
}

/// ASME A17.1, phase II: a firefighter may be on the floor. Only the key ends it, and a mechanic
/// comes before a firefighter, who has to begin again at the recall floor.
#[test]
fn car_of_a_firefighter_goes_by_its_buttons_and_stays_until_the_key_is_turned() {
    let mut world = fire_service();
    world.press_car(4);
    world.run_until("closing", |w| w.door == DoorState::Closing);
    world.press_car(0);
    world.run_until_open_at(0);
    world.run(600);
    world.assert_at(0, DoorState::Open);
    // Its door stays closed where it comes to rest, also after an interruption between two floors.
    world.press_car(5);
    world.run_until("past floor 2", |w| w.car.indicator() == Some(floor(2)));
    world.run(3);
    world.reconnect();
    world.run(600);
    assert!(world.floor().is_some() && world.door == DoorState::Closed);
    for commanded in [Mode::InService, Mode::OutOfService] {
        command(&mut world, commanded);
        world.run(300);
        assert_eq!(world.car.mode(), Mode::FireService, "{commanded}");
    }
    command(&mut world, Mode::FireRecall);
    turn(&mut world, KeySwitch::OutOfService);
    assert_eq!(world.car.mode(), Mode::OutOfService);
    world.run(300);
    world.key = KeySwitch::FireRecall;
    world.run_until_open_at(0);
    assert_eq!(world.car.mode(), Mode::FireRecall);
}

/// A car out of service by command takes nobody anywhere who had not asked before. Calls of a node
/// that has not heard of the command yet come late, and are kept (O1).
#[test]
fn car_out_of_service_takes_no_new_car_call_and_lets_people_out() {
    let mut world = World::at(0).settled();
    world.press_car(3);
    world.run_until("on its way", World::is_moving);
    command(&mut world, Mode::OutOfService);
    world.press_car(5);
    world.car_calls.insert(floor(5).into());
    world.update_stops();
    world.run(600);
    world.assert_at(3, DoorState::Closed);
    world.press_car(1);
    world.run_until_open_at(3);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    // Once it is served, a call to the same floor is another one.
    world.car_calls.extend([3, 1].map(|at| Entrance::from(floor(at))));
    world.update_stops();
    world.run(600);
    world.assert_at(3, DoorState::Closed);
    assert_eq!(world.car_calls, [1, 3, 5].map(|at| floor(at).into()).into());
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
        world.run_until("open", |w| w.door == DoorState::Open);
        world.load = Some(*load);
        world.tick();
        command(&mut world, *mode);
        world.press_car(4);
        world.run(600);
        assert_eq!(world.floor(), Some(floor(*at)), "{mode}, {load} %");
        assert!(*at == 4 || world.door == DoorState::Open, "{mode}");
    }
}

const ID: RequestId = RequestId { owner: 1, request: 7 };
const LEG: SessionLeg = SessionLeg { id: ID, leg: 0 };
const STAY: Duration = Duration::from_secs(20);

fn session(index: u8) -> Errand {
    Errand::Session { leg: LEG, floor: floor(index), time: STAY }
}

/// A car that holds its door open at floor 3 for a session, since just now.
fn held() -> World {
    let mut world = World::at(0).settled();
    world.send(Some(session(3)));
    let is_open = |world: &World| world.events.contains(&CarEvent::SessionOpen(LEG));
    world.run_until("its door is open for the session", is_open);
    world.assert_at(3, DoorState::Open);
    world
}

fn is_over(world: &World) -> bool {
    world.events.contains(&CarEvent::SessionOver(LEG, SessionEnd::Time))
}

// F19
#[test]
fn session_ends_in_time_whatever_becomes_of_its_panel() {
    let nothing: Event = |_| {};
    let key: Event = |world| {
        world.key = KeySwitch::Independent;
        world.run_until("the key is read", |world| world.car.mode() == Mode::Independent);
    };
    let restart: Event = |world| {
        world.disconnect();
        world.run(30);
        world.reconnect();
        world.run_until("its door is open again", |world| world.door == DoorState::Open);
        assert!(!is_over(world));
    };
    for happens in [nothing, World::disconnect, key, restart] {
        let mut world = held();
        let began = world.now;
        happens(&mut world);
        world.run_until("the session is over", is_over);
        assert_eq!(world.now, began + STAY);
        assert_eq!(world.count(|event| *event == CarEvent::SessionOpen(LEG)), 1);
    }
}
