//! Where a car goes, and where an idle one waits.

use std::time::Duration;

use Direction::{Down, Up};
use elevator_driver::{Button, Direction, DoorState, HallLantern, KeySwitch};

use super::shaft::{Event, World, floor};
use crate::car::{Power, ServedCall};
use crate::dispatch::CarPlan;
use crate::model::{CarPhase, HallCall};

#[test]
fn idle_car_fetches_a_passenger_and_goes_dark() {
    let mut world = World::at(0).settled();
    world.press_hall(3, Down);
    world.run_until("under way", World::is_moving);
    assert_eq!(world.car.lantern(), HallLantern::Lit(Up));
    world.run_until("served", World::is_quiet);
    assert_eq!(world.floor(), Some(floor(3)));
    assert_eq!(world.car.lantern(), HallLantern::Lit(Down));
    world.run_until("closed", |w| w.door == DoorState::Closed);
    world.tick();
    assert_eq!(world.car.lantern(), HallLantern::Dark);
    let view = world.car.view(world.now);
    assert_eq!((view.phase, view.direction), (CarPhase::Idle, None));
}

/// A car at rest at a floor, its car calls, its hall calls, and where it stops.
type Case = (&'static str, u8, &'static [u8], &'static [(u8, Direction)], &'static [u8]);

#[test]
fn car_collects_the_calls_on_its_way() {
    let cases: [Case; 4] = [
        ("turns at the farthest", 0, &[1], &[(2, Up), (3, Down), (4, Down)], &[1, 2, 4, 3]),
        ("nearest first", 2, &[], &[(0, Up), (3, Up)], &[3, 0]),
        ("S3: riders first", 2, &[5], &[(1, Down), (2, Down), (0, Up)], &[5, 2, 1, 0]),
        ("the way up", 0, &[5], &[(3, Up), (4, Down)], &[3, 5, 4]),
    ];
    for (what, at, car_calls, hall_calls, expected) in cases {
        let mut world = World::at(at).settled();
        world.car_calls = car_calls.iter().map(|at| floor(*at).into()).collect();
        world.assign(hall_calls);
        world.run_until("all served", World::is_quiet);
        assert_eq!(world.arrivals, expected, "{what}");
    }
    for (start, expected) in [(1, [2, 3, 1]), (3, [2, 1, 3])] {
        let mut world = World::at(start).settled();
        world.press_car(2);
        world.run_until("idle at 2", |w| w.is_quiet() && w.car.view(w.now).phase == CarPhase::Idle);
        world.car_calls = [1, 3].map(|at| floor(at).into()).into();
        world.update_stops();
        world.run_until("all served", World::is_quiet);
        assert_eq!(world.arrivals, expected, "both are as near: its older direction first");
    }
}

/// A car on its way up from floor 0, when it could stop next at this floor.
fn before(index: u8, stop_at: u8) -> World {
    let mut world = World::at(0).settled();
    world.press_car(stop_at);
    let (direction, stop_at, next_stop) = (Up, floor(stop_at), floor(index));
    let phase = CarPhase::Moving { direction, stop_at, next_stop };
    world.run_until("there", |w| w.car.view(w.now).phase == phase);
    world
}

/// Nor is one that brakes for a floor sent on.
#[test]
fn car_is_not_sent_to_a_floor_that_it_can_no_longer_stop_at() {
    for (next, stop_at, calls, expected) in [(3, 5, &[2, 5][..], [5, 2]), (2, 2, &[4], [2, 4])] {
        let mut world = before(next, stop_at);
        world.car_calls = calls.iter().map(|at| floor(*at).into()).collect();
        world.update_stops();
        world.run_until("all served", World::is_quiet);
        assert_eq!(world.arrivals, expected);
    }
}

#[test]
fn car_whose_stops_are_taken_away_stops_at_the_next_floor_with_its_door_closed() {
    let mut world = World::at(0).settled();
    world.press_hall(5, Down);
    world.run_until("past floor 1", |w| w.car.indicator() == Some(floor(1)));
    world.hall.clear();
    world.assigned.clear();
    world.update_stops();
    world.run(200);
    world.assert_at(2, DoorState::Closed);
}

// F18
#[test]
fn open_door_serves_a_call_in_its_direction_whichever_car_was_to_serve_it() {
    let mut world = World::at(0).settled();
    world.hall = Direction::BOTH.map(|direction| HallCall::new(floor(2), direction)).into();
    world.car_calls = [2, 4].map(|at| floor(at).into()).into();
    world.update_stops();
    world.run_until("at floor 4", |w| w.car_calls.is_empty());
    assert!(world.served_hall(2, Up).is_some());
    assert!(world.served_hall(2, Down).is_none());
}

#[test]
fn idle_car_does_not_open_for_a_call_that_another_car_is_to_serve() {
    let mut world = World::at(2).settled();
    world.hall.insert(HallCall::new(floor(2), Up));
    world.update_stops();
    world.run(100);
    assert_eq!(world.door, DoorState::Closed);
    assert!(world.served.is_empty());
}

/// Unless somebody who boarded wants to go the first way: then that comes before the other.
#[test]
fn turn_round_clears_one_direction_and_the_other_a_dwell_later_without_closing() {
    for goes_on in [false, true] {
        let mut world = World::at(0).settled();
        world.press_hall(3, Up);
        world.press_hall(3, Down);
        world.run_until("up served", |w| w.served_hall(3, Up).is_some());
        if goes_on {
            world.press_car(5);
        }
        world.run_until("both served", World::is_quiet);
        let [up, down] = Direction::BOTH.map(|way| world.served_hall(3, way).unwrap());
        assert!(down.since(up) >= world.car.settings().dwell);
        assert_eq!(world.openings(), if goes_on { 3 } else { 1 });
        let car_call = world.served_at(ServedCall::Car(floor(5).into()));
        assert_eq!(car_call.is_some_and(|at| at < down), goes_on);
        assert_eq!(world.car.lantern(), HallLantern::Lit(Down));
    }
}

#[test]
fn car_with_nowhere_to_go_is_dark_at_its_last_stop_and_takes_whoever_presses_either_way() {
    for direction in Direction::BOTH {
        let mut world = World::at(0).settled();
        world.press_car(3);
        world.run_until("open", |w| w.door == DoorState::Open);
        world.tick();
        assert_eq!(world.car.lantern(), HallLantern::Dark);
        let call = Button::Hall(floor(3), direction);
        assert!(world.car.absorbs(call, world.now));
        assert_eq!(world.car.lantern(), HallLantern::Lit(direction));
    }
}

/// S3: the group is gone, so every hall call is the car's, and its panel line breaks off.
#[test]
fn car_keeps_its_direction_when_its_panel_comes_back() {
    let mut world = World::at(1).settled();
    world.press_car(0);
    world.press_car(5);
    // The farther of the two, so that the direction is not that of the nearest car call.
    world.run_until("under way down", |w| w.car.indicator() == Some(floor(0)));
    world.run_until("under way up", |w| w.car.indicator() == Some(floor(2)));
    world.press_car(1);
    world.disconnect();
    world.run(5);
    world.reconnect();
    world.assign(&[(1, Down), (2, Down), (3, Down)]);
    let before = world.arrivals.len();
    world.run_until("all served", World::is_quiet);
    let after = world.arrivals.split_off(before);
    let up: Vec<&u8> = after.iter().take_while(|at| **at != 5).collect();
    assert!(up.is_sorted() && after.contains(&5), "{after:?}");
}

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
        world.press_hall(index, Up);
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
    world.press_hall(1, Up);
    world.run_until("closed", |w| w.is_quiet() && w.door == DoorState::Closed);
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
    for (wanted, first) in [(None, 1), (Some(Up), 4)] {
        let mut world = World::at(2).settled();
        world.car.set_plan(CarPlan { direction: wanted, park: None });
        world.assign(&[(1, Up), (4, Up)]);
        world.run_until("one served", |w| !w.served.is_empty());
        assert_eq!(world.floor(), Some(floor(first)), "{wanted:?}");
    }
}
