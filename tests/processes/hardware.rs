//! Faulty hardware, with real processes over real pseudo-terminals: noise, cut lines, dead sensors,
//! stuck buttons, panels that restart, doors that don't move. `docs/FAULTS.md` says what each does.

use std::time::{Duration, Instant};

use elevator_driver::{Button, Direction, DoorState};
use elevator_fleet::model::{CarPhase, FloorSet};
use elevator_fleet::node::CarStatus;
use elevator_fleet::wire::NodeState;
use liftmesh_harness::building::{Building, Line};

const TWO: [&str; 2] = ["A", "B"];

/// Limits that suit the harness's quick cars.
const QUICK: [&str; 8] = [
    "--nudge-after",
    "3s",
    "--blocked-after",
    "5s",
    "--travel-limit",
    "2s",
    "--unreachable-retry",
    "4s",
];

fn two_cars(floors: u8) -> Building {
    Building::with_flags(floors, Line::Serial, &TWO, &QUICK)
}

fn fault(building: &Building, name: &str, command: &str) {
    building.panel(name).send(command).expect("a fault");
}

/// What a node says of its own car.
fn own_car(building: &Building, name: &str) -> CarStatus {
    let status = building.status(name);
    let car = status.and_then(|status| status.car);
    car.expect("a running node with a car")
}

fn is_open_at(building: &Building, name: &str, floor: u8) -> bool {
    let car = building.car(name);
    car.door == DoorState::Open && car.floor == Some(building.floor(floor))
}

fn is_out_of_group_for(building: &Building, name: &str, why: &str) -> bool {
    let why_not = own_car(building, name).view.availability.unavailable();
    why_not.is_some_and(|why_not| why_not.to_string() == why)
}

/// Sets a car going to a floor, and waits until it is on its way.
fn send_off(building: &Building, name: &str, floor: u8) -> Button {
    let button = building.car_call(floor);
    building.press(name, button);
    building.wait("the car moves", |building| building.car(name).speed > 1.0);
    button
}

/// F5, H1, S1: damage is dropped and counted, and what it took away is told again.
#[test]
fn calls_are_served_over_a_noisy_line() {
    let building = two_cars(6);
    for name in TWO {
        fault(&building, name, "fault noise 2%");
    }
    for (name, floor) in [("A", 5), ("B", 3), ("A", 0)] {
        let button = building.car_call(floor);
        building.press(name, button);
        building.wait("its door opens there", |building| is_open_at(building, name, floor));
        building.wait_dark(&[name], button);
    }
    let call = building.hall(4, Direction::Down);
    building.serve("A", &TWO, call);
    for name in TWO {
        let line = own_car(&building, name).line;
        assert!(line.frames > 0 && line.damaged > 0 && line.lost > 0, "{line:?}");
    }
    building.assert_safe();
}

/// F5, H1, H4: a line on which hardly anything arrives is one that is cut, until it is quiet.
#[test]
fn a_car_behind_nothing_but_noise_leaves_the_group_and_comes_back() {
    let building = two_cars(6);
    let button = send_off(&building, "A", 5);
    fault(&building, "A", "fault noise 40%");
    building
        .wait("A is out of the group", |building| is_out_of_group_for(building, "A", "no panel"));
    let call = building.hall(3, Direction::Up);
    building.press("B", call);
    building.wait("B serves alone", |building| is_open_at(building, "B", 3));
    fault(&building, "A", "fault noise 0%");
    building.wait("A brings its passenger", |building| is_open_at(building, "A", 5));
    building.wait_dark(&["A"], button);
    building.wait_in_service(&TWO);
    building.assert_safe();
}

/// H1, H4, S2: the panel stops the motor, the others serve, and the car goes on where it stands.
#[test]
fn an_unplugged_car_stops_and_goes_on_once_it_is_plugged_in() {
    let building = two_cars(12);
    let button = send_off(&building, "A", 11);
    fault(&building, "A", "fault line unplugged");
    building.wait("A says why", |building| {
        let panel = own_car(building, "A").connection;
        panel.is_err_and(|why| !why.is_empty())
    });
    building.wait("the panel has stopped the motor", |building| building.car("A").driven.is_none());
    assert_eq!(building.car("A").watchdog_stops, 1);
    let call = building.hall(5, Direction::Up);
    building.press("B", call);
    building.wait("B serves alone", |building| is_open_at(building, "B", 5));
    fault(&building, "A", "fault line ok");
    building.wait("A brings its passenger", |building| is_open_at(building, "A", 11));
    building.wait_dark(&["A"], button);
    building.wait_in_service(&TWO);
    assert_eq!(own_car(&building, "A").connection, Ok(()));
    building.assert_safe();
}

/// H1: a sensor that is only passed is missed without harm.
#[test]
fn a_dead_sensor_on_the_way_is_passed() {
    let building = two_cars(6);
    for floor in 1..5 {
        fault(&building, "A", &format!("fault sensor {floor} dead"));
        if floor > 1 {
            fault(&building, "A", &format!("fault sensor {} ok", floor - 1));
        }
        let to = if floor % 2 == 1 { 5 } else { 0 };
        building.press("A", building.car_call(to));
        building.wait("A arrives", |building| is_open_at(building, "A", to));
    }
    assert!(own_car(&building, "A").view.is_in_service());
    building.assert_safe();
}

/// H1, O7: the floor is left out by the car that can't find it, and by no other.
#[test]
fn a_floor_whose_sensor_is_dead_is_locked_out_and_served_by_another_car() {
    let building = Building::with_cars(8, Line::Serial, &TWO);
    // A is the nearest, and would be chosen again and again.
    building.press("A", building.car_call(4));
    building.wait("A is near", |building| is_open_at(building, "A", 4));
    building.wait("A is idle", |building| own_car(building, "A").view.phase == CarPhase::Idle);
    fault(&building, "A", "fault sensor 6 dead");
    let call = building.hall(6, Direction::Down);
    building.press("A", call);
    building.wait("A leaves the floor out", |building| {
        own_car(building, "A").view.locked_out == [building.floor(6)].into_iter().collect()
    });
    building.wait("B comes", |building| is_open_at(building, "B", 6));
    building.wait_dark(&TWO, call);
    building.press("B", building.car_call(0));
    building.wait("B is far away", |building| is_open_at(building, "B", 0));
    building.press("A", call);
    building.wait("B comes again", |building| is_open_at(building, "B", 6));
    building.assert_safe();
}

/// H1, F13: an order that only this car can serve waits for its sensor.
#[test]
fn a_car_call_to_a_floor_with_a_dead_sensor_waits_until_it_works() {
    let building = two_cars(6);
    fault(&building, "A", "fault sensor 3 dead");
    let button = building.car_call(3);
    building.press("A", button);
    building.wait("A leaves the floor out", |building| {
        own_car(building, "A").view.locked_out == [building.floor(3)].into_iter().collect()
    });
    let other = building.car_call(1);
    building.press("A", other);
    building.wait("A serves the rest", |building| is_open_at(building, "A", 1));
    assert!(building.car("A").lamps.contains(&button), "still promised");
    fault(&building, "A", "fault sensor 3 ok");
    building.wait("A gets there", |building| is_open_at(building, "A", 3));
    building.wait_dark(&["A"], button);
    building.wait("nothing is left out", |building| {
        own_car(building, "A").view.locked_out == FloorSet::default()
    });
    building.assert_safe();
}

/// F18: a contact that never opens is one press, and is shown.
#[test]
fn a_stuck_button_is_one_order_and_is_shown() {
    for line in [Line::Serial, Line::Tcp] {
        let building = Building::with_flags(6, line, &TWO, &QUICK);
        let call = building.hall(3, Direction::Up);
        fault(&building, "A", &format!("hold {call}"));
        building.wait_lit(&TWO, call);
        building.wait_dark(&TWO, call);
        building.wait("it is shown", |building| {
            let stuck = own_car(building, "A").stuck;
            stuck == [call].into()
        });
        let at_rest = |building: &Building| {
            TWO.iter().all(|name| {
                let car = building.car(name);
                car.driven.is_none() && car.lamps.is_empty()
            })
        };
        building.wait("the fleet is at rest", at_rest);
        building.stays("the fleet rests", Duration::from_secs(2), at_rest);
        let other = building.hall(5, Direction::Down);
        building.press("B", other);
        building.wait_lit(&TWO, other);
        building.wait_dark(&TWO, other);
        fault(&building, "A", &format!("release {call}"));
        building.wait("it is shown no more", |building| own_car(building, "A").stuck.is_empty());
        building.assert_safe();
    }
}

/// F18: a button that is pressed all the time keeps a door open for a bounded time.
#[test]
fn a_chattering_button_does_not_hold_a_car_for_ever() {
    let building = Building::with_flags(6, Line::Serial, &["A"], &QUICK);
    let (here, away) = (building.car_call(0), building.car_call(5));
    let start = Instant::now();
    building.press("A", here);
    building.wait("the door opens", |building| is_open_at(building, "A", 0));
    building.press("A", away);
    building.wait("A gets away from its passenger's thumb", |building| {
        building.press("A", here);
        is_open_at(building, "A", 5)
    });
    assert!(start.elapsed() > Duration::from_secs(3), "the thumb had no effect");
    building.wait_dark(&["A"], away);
    building.assert_safe();
}

/// H1, S1, P3: what the panel was doing it does no longer; the car finds its floor and goes on.
#[test]
fn a_panel_that_restarts_in_mid_flight_is_brought_in_line() {
    let building = two_cars(12);
    let button = send_off(&building, "A", 11);
    fault(&building, "A", "fault panel restart");
    building.wait("the panel stops the motor", |building| building.car("A").driven.is_none());
    building.wait_lit(&["A"], button);
    building.wait("A brings its passenger", |building| is_open_at(building, "A", 11));
    building.wait_dark(&["A"], button);
    building.wait_in_service(&TWO);
    building.assert_safe();
}

/// H4: the car leaves the group, the others serve, and the door is tried until it moves.
#[test]
fn a_car_with_a_jammed_door_leaves_the_group_until_the_door_moves() {
    let building = two_cars(6);
    fault(&building, "A", "fault door jammed");
    let (car_call, call) = (building.car_call(4), building.hall(4, Direction::Down));
    building.press("A", car_call);
    building.wait("A stands behind its door", |building| {
        is_out_of_group_for(building, "A", "door blocked")
    });
    building.press("A", call);
    building.wait("B comes", |building| is_open_at(building, "B", 4));
    building.wait_dark(&TWO, call);
    assert!(building.car("A").lamps.contains(&car_call), "still promised");
    fault(&building, "A", "fault door ok");
    building.wait_dark(&["A"], car_call);
    building.wait_in_service(&TWO);
    building.assert_safe();
}

/// H4: a door that somebody keeps open nudges after a while, although the light curtain is still broken,
/// and the car goes on.
#[test]
fn a_door_that_is_held_open_nudges() {
    let building = two_cars(6);
    building.press("A", building.car_call(2));
    building.wait("the door opens", |building| is_open_at(building, "A", 2));
    let call = building.car_call(4);
    fault(&building, "A", "obstruct on");
    building.press("A", call);
    let since = Instant::now();
    let mut nudged_after = None;
    building.wait("it has left", |building| {
        let car = building.car("A");
        if nudged_after.is_none() && car.door == DoorState::Closing {
            assert!(own_car(building, "A").obstructed);
            nudged_after = Some(since.elapsed());
        }
        car.speed > 1.0
    });
    let nudged_after = nudged_after.expect("the door closed");
    assert!(
        nudged_after > Duration::from_secs(2),
        "a door that opens again at once: {nudged_after:?}"
    );
    fault(&building, "A", "obstruct off");
    building.wait_dark(&["A"], call);
    building.wait_in_service(&TWO);
    building.assert_safe();
}

/// H4: an obstructed door that does not move keeps the car out of the group until it is free.
#[test]
fn a_car_with_an_obstructed_door_leaves_the_group_until_the_door_is_free() {
    let building = two_cars(6);
    building.press("A", building.car_call(2));
    building.wait("the door opens", |building| is_open_at(building, "A", 2));
    fault(&building, "A", "obstruct on");
    fault(&building, "A", "fault door jammed");
    building.wait("A is out of the group", |building| {
        own_car(building, "A").obstructed && is_out_of_group_for(building, "A", "door blocked")
    });
    let call = building.hall(3, Direction::Up);
    building.press("A", call);
    building.wait("B comes", |building| is_open_at(building, "B", 3));
    fault(&building, "A", "obstruct off");
    fault(&building, "A", "fault door ok");
    building.wait_in_service(&TWO);
    let node_state = building.status("A").map(|status| status.node_state);
    assert_eq!(node_state, Some(NodeState::Master));
    building.assert_safe();
}

/// H4: nobody steps out, or the load sensor is stuck; the car is back once the load is.
#[test]
fn an_overloaded_car_leaves_the_group_until_the_overload_ends() {
    let building = two_cars(6);
    let car_call = building.car_call(5);
    building.press("A", building.car_call(2));
    building.wait("the door opens", |building| is_open_at(building, "A", 2));
    fault(&building, "A", "load 110");
    building.press("A", car_call);
    building.wait("A is out of the group", |building| {
        is_out_of_group_for(building, "A", "door blocked")
    });
    let call = building.hall(3, Direction::Up);
    building.press("A", call);
    building.wait("B comes", |building| is_open_at(building, "B", 3));
    assert!(is_open_at(&building, "A", 2), "it stands where it was");
    fault(&building, "A", "load 60");
    building.wait_in_service(&TWO);
    building.wait_dark(&["A"], car_call);
    building.assert_safe();
}
