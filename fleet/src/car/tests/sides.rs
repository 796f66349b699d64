//! A car with a front and a rear door.

use std::time::Duration;

use elevator_driver::{
    Building, Button, Direction, DoorButtons, DoorState, Entrance, Floor, FloorCount, KeySwitch,
    Side,
};

use super::shaft::{Event, World, floor};
use crate::car::{Car, CarSettings, Errand, SessionLeg};
use crate::model::Mode;
use crate::settings::RequestId;

fn rear(at: u8) -> Entrance {
    Entrance { floor: floor(at), side: Side::Rear }
}

/// A car at rest at floor 2, which has two entrances. The only one of floor 4 is at the rear.
fn world() -> World {
    let floors = FloorCount::new(6).expect("floors");
    let mut landings = Building::from(floors).landings().to_vec();
    landings[2].doors = Side::BOTH.into();
    landings[4].doors = [Side::Rear].into();
    let building = Building::new(landings, Vec::new()).expect("a building");
    let mut world = World::at(2);
    world.car = Car::new(CarSettings::of(&building, "A"));
    world.reconnect();
    world.settled()
}

/// Where the door has opened fully.
fn openings(world: &mut World, ticks: u32) -> Vec<(Floor, Side)> {
    let mut seen = Vec::new();
    let mut was_open = world.door == DoorState::Open;
    for _ in 0..ticks {
        world.tick();
        let is_open = world.door == DoorState::Open;
        seen.extend(world.floor().filter(|_| is_open && !was_open).map(|at| (at, world.side)));
        was_open = is_open;
    }
    seen
}

#[test]
fn each_door_serves_the_calls_of_its_side() {
    let mut world = world();
    world.press(Button::car(rear(2)));
    world.press_car(4);
    world.press_hall(2, Direction::Up);
    world.run(5);
    world.press(Button::RearHall(floor(2), Direction::Up));
    world.press(Button::car(rear(4)));
    let (front, back) = (Side::Front, Side::Rear);
    assert_eq!(openings(&mut world, 600), [(floor(2), back), (floor(2), front), (floor(4), back)]);
    assert_eq!(world.car_calls, [rear(4)].into(), "it has one entrance, which is served");
    assert!(world.hall.is_empty());
}

#[test]
fn passengers_at_both_sides_in_turn_do_not_keep_the_car() {
    let mut world = world();
    world.press_hall(2, Direction::Up);
    world.run_until_open_at(2);
    world.press_car(5);
    for _ in 0..300 {
        if world.door == DoorState::Open && world.floor() == Some(floor(2)) {
            let other = Entrance { floor: floor(2), side: world.side.other() };
            world.press(Button::hall(other, Direction::Up));
        }
        world.tick();
        if world.floor() == Some(floor(5)) {
            assert_eq!(world.openings(), 2, "front and rear");
            return;
        }
    }
    panic!("still at floor 2");
}

#[test]
fn each_door_has_its_own_button() {
    let mut world = world();
    let hold = |world: &mut World, open: bool, open_rear: bool| {
        world.door_buttons = Some(DoorButtons { open, open_rear, close: false });
        world.tick();
    };
    hold(&mut world, false, false);
    hold(&mut world, false, true);
    world.run_until_open_at(2);
    assert_eq!(world.side, Side::Rear);
    // The other one does not hold it.
    hold(&mut world, true, false);
    world.run_until("open in front", |w| w.door == DoorState::Open && w.side == Side::Front);
    hold(&mut world, false, false);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    world.press_car(1);
    world.run_until("served", World::is_quiet);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    hold(&mut world, false, true);
    assert_eq!(openings(&mut world, 100), [], "floor 1 has no rear entrance");
}

/// Whatever waits at the rear of floor 2, where the front door is open.
#[test]
fn the_second_door_opens_only_where_the_car_would_stop() {
    let stop: Event = |world| world.stop = true;
    let mechanic: Event = |world| world.key = KeySwitch::OutOfService;
    let full: Event = |world| {
        world.press_car(5);
        world.load = Some(90);
    };
    let wants_out: Event = |world| world.press(Button::car(rear(2)));
    let wants_in: Event = |world| world.press(Button::RearHall(floor(2), Direction::Up));
    let cases: [(&str, Event, Event); 3] = [
        ("stop switch", wants_out, stop),
        ("mechanic", wants_out, mechanic),
        ("full", wants_in, full),
    ];
    for (what, asks, happens) in cases {
        let mut world = world();
        world.press_hall(2, Direction::Up);
        world.run_until_open_at(2);
        asks(&mut world);
        world.run_until("closing", |w| w.door == DoorState::Closing);
        happens(&mut world);
        world.run(60);
        assert_eq!(world.side, Side::Front, "{what}");
        assert!(!world.is_quiet(), "{what}");
    }
}

#[test]
fn a_car_with_a_driver_opens_its_other_door() {
    let by_rider: Event = |world| world.press(Button::car(rear(2)));
    let by_button: Event = |world| {
        for open_rear in [true, false] {
            world.door_buttons = Some(DoorButtons { open_rear, ..DoorButtons::default() });
            world.tick();
        }
    };
    let by_passenger: Event = |world| {
        world.press(Button::RearHall(floor(2), Direction::Up));
        world.tick();
        world.hold(false, true);
    };
    for (key, asks) in [
        (KeySwitch::Independent, by_rider),
        (KeySwitch::Attendant, by_rider),
        (KeySwitch::Attendant, by_button),
        (KeySwitch::Attendant, by_passenger),
        (KeySwitch::Normal, by_button),
    ] {
        let mut world = world();
        world.hold(false, false);
        world.key = key;
        world.press_car(2);
        world.run_until_open_at(2);
        world.run(5);
        asks(&mut world);
        let is_open = |w: &World| w.door == DoorState::Open && w.side == Side::Rear;
        world.run_until("open at the rear", is_open);
    }
}

/// A robot and the fire brigade wait where the car usually opens.
#[test]
fn an_errand_waits_at_the_usual_door() {
    let session: Event = |world| {
        let leg = SessionLeg { id: RequestId { owner: 1, request: 7 }, leg: 0 };
        let time = Duration::from_secs(30);
        world.send(Some(Errand::Session { leg, floor: floor(2), time }));
    };
    let recall: Event = |world| world.car.set_command(Mode::FireRecall, world.now);
    for (what, happens) in [("session", session), ("recall", recall)] {
        let mut world = world();
        let settings = CarSettings { recall_floor: floor(2), ..world.car.settings().clone() };
        world.car = Car::new(settings);
        world.reconnect();
        world.run(20);
        world.press(Button::car(rear(2)));
        world.run_until_open_at(2);
        assert_eq!(world.side, Side::Rear, "{what}");
        happens(&mut world);
        world.run(150);
        assert_eq!((world.side, world.door), (Side::Front, DoorState::Open), "{what}");
    }
}

#[test]
fn a_firefighter_opens_either_door() {
    let mut world = world();
    world.door_buttons = Some(DoorButtons::default());
    world.car.set_command(Mode::FireRecall, world.now);
    world.run_until_open_at(0);
    world.key = KeySwitch::FireRecall;
    world.run(5);
    world.press_car(2);
    world.door_buttons = Some(DoorButtons { close: true, ..DoorButtons::default() });
    world.run_until("at floor 2", |w| w.floor() == Some(floor(2)) && !w.is_moving());
    world.door_buttons = Some(DoorButtons { open_rear: true, ..DoorButtons::default() });
    world.run_until_open_at(2);
    assert_eq!(world.side, Side::Rear);
    world.door_buttons = Some(DoorButtons { close: true, ..DoorButtons::default() });
    world.run_until("closed", |w| w.door == DoorState::Closed);
    world.door_buttons = Some(DoorButtons { open: true, ..DoorButtons::default() });
    world.run_until_open_at(2);
    assert_eq!(world.side, Side::Front);
}
