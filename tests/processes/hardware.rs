//! Faulty hardware, with real processes over real pseudo-terminals: noise, cut lines, dead sensors,
//! stuck buttons, panels that restart, doors that don't move. `docs/FAULTS.md` says what each does.

use std::time::{Duration, Instant};

use elevator_driver::{Button, Direction, DoorState};
use elevator_fleet::model::{CarPhase, FloorSet};
use elevator_fleet::node::CarStatus;
use liftmesh_harness::building::{Building, Line};

const TWO: [&str; 2] = ["A", "B"];

/// Two cars, with limits that suit the harness's quick cars.
fn two_cars(floors: u8) -> Building {
    let quick = [
        ["--nudge-after", "3s"],
        ["--blocked-after", "5s"],
        ["--travel-limit", "2s"],
        ["--unreachable-retry", "4s"],
    ];
    Building::with_flags(floors, Line::Serial, &TWO, quick.as_flattened())
}

/// What a node says of its own car.
fn own_car(building: &Building, name: &str) -> CarStatus {
    let status = building.status(name);
    let car = status.and_then(|status| status.car);
    car.expect("a running node with a car")
}

/// Car A leaves the group for this reason, and B serves a call at this floor.
fn leaves_the_group(building: &Building, why: &str, floor: u8) {
    building.wait(&format!("A is out of the group: {why}"), |building| {
        let why_not = own_car(building, "A").view.availability.unavailable();
        why_not.is_some_and(|why_not| why_not.to_string() == why)
    });
    let call = building.hall(floor, Direction::Up);
    building.press("B", call);
    building.wait_open_at("B", floor);
    building.wait_dark(&["B"], call);
}

/// Car A brings its passenger, and both cars are in service.
fn comes_back(building: &Building, call: Button, floor: u8) {
    building.wait_open_at("A", floor);
    building.wait_dark(&["A"], call);
    building.wait_in_service(&TWO);
}

/// F5, H1, H4, S1, S2, P3. Damage is dropped and counted, and what it took away is told again. A
/// line on which hardly anything arrives is one that is cut: the panel stops the motor, the others
/// serve, and the car goes on where it stands. So does one whose panel restarts.
#[test]
fn a_car_copes_with_a_bad_line() {
    let building = two_cars(12);
    for name in TWO {
        building.tell(name, "fault noise 2%");
    }
    for (name, floor) in [("A", 5), ("B", 3), ("A", 0)] {
        let button = building.car_call(floor);
        building.press(name, button);
        building.wait_open_at(name, floor);
        building.wait_dark(&[name], button);
    }
    building.serve("A", &TWO, building.hall(4, Direction::Down));
    for name in TWO {
        let line = own_car(&building, name).line;
        assert!(line.frames > 0 && line.damaged > 0 && line.lost > 0, "{line:?}");
        building.tell(name, "fault noise 0%");
    }

    for (floor, fault, remedy) in
        [(11, "fault noise 40%", "fault noise 0%"), (0, "fault line unplugged", "fault line ok")]
    {
        // From the far end, so that it is under way for a while.
        building.press("A", building.car_call(11 - floor));
        building.wait_open_at("A", 11 - floor);
        let call = building.fly("A", floor);
        building.tell("A", fault);
        leaves_the_group(&building, "no panel", 5);
        building.wait("the motor stands, and A says why", |building| {
            let why = own_car(building, "A").connection;
            building.car("A").driven.is_none() && why.is_err_and(|why| !why.is_empty())
        });
        building.tell("A", remedy);
        comes_back(&building, call, floor);
    }

    let call = building.fly("A", 11);
    building.tell("A", "fault panel restart");
    building.wait("the panel stops the motor", |building| building.car("A").driven.is_none());
    building.wait_lit(&["A"], call);
    comes_back(&building, call, 11);
    building.assert_safe();
}

fn wait_left_out(building: &Building, floors: &[u8]) {
    let floors: FloorSet = floors.iter().map(|floor| building.floor(*floor)).collect();
    building.wait(&format!("A leaves out {floors:?}"), |building| {
        own_car(building, "A").view.locked_out == floors
    });
}

/// H1, O7, F13: a sensor that is only passed is missed without harm. A floor that a car can't find is
/// left out by it, and by no other; an order that only this car can serve waits for its sensor.
#[test]
fn a_floor_whose_sensor_is_dead_is_left_out_by_that_car_alone() {
    let building = two_cars(8);
    for (dead, to) in [(3, 4), (2, 0), (1, 4)] {
        building.tell("A", &format!("fault sensor {dead} dead"));
        building.serve("A", &["A"], building.car_call(to));
        building.tell("A", &format!("fault sensor {dead} ok"));
        assert!(own_car(&building, "A").view.is_in_service());
    }
    // A is the nearest, and would be chosen again and again.
    building.wait("A is idle", |building| own_car(building, "A").view.phase == CarPhase::Idle);
    building.tell("A", "fault sensor 6 dead");
    let (hall, car_call) = (building.hall(6, Direction::Down), building.car_call(6));
    building.press("A", hall);
    wait_left_out(&building, &[6]);
    building.wait_open_at("B", 6);
    building.wait_dark(&TWO, hall);
    // Two misses in a row would be those of its drive.
    building.serve("A", &["A"], building.car_call(2));
    building.press("A", car_call);
    building.serve("A", &["A"], building.car_call(1));
    assert!(building.car("A").lamps.contains(&car_call), "still promised");
    building.tell("A", "fault sensor 6 ok");
    building.wait_open_at("A", 6);
    building.wait_dark(&["A"], car_call);
    wait_left_out(&building, &[]);
    building.assert_safe();
}

/// F18: a contact that never opens is one press, and is shown; a button that is pressed all the time
/// keeps a door open for a bounded time.
#[test]
fn a_stuck_button_is_one_order_and_a_chattering_one_holds_no_car_for_ever() {
    let building = two_cars(6);
    let call = building.hall(3, Direction::Up);
    building.tell("A", &format!("hold {call}"));
    building.wait_lit(&TWO, call);
    building.wait_dark(&TWO, call);
    building.wait("it is shown", |building| own_car(building, "A").stuck == [call].into());
    let at_rest = |building: &Building| {
        TWO.iter().all(|name| {
            let car = building.car(name);
            car.driven.is_none() && car.lamps.is_empty()
        })
    };
    building.wait("the fleet is at rest", at_rest);
    building.stays("the fleet rests", Duration::from_secs(2), at_rest);
    building.serve("B", &TWO, building.hall(5, Direction::Down));
    building.tell("A", &format!("release {call}"));
    building.wait("it is shown no more", |building| own_car(building, "A").stuck.is_empty());

    let (here, away) = (building.car_call(1), building.car_call(5));
    building.press("A", here);
    building.wait_open_at("A", 1);
    let start = Instant::now();
    building.press("A", away);
    building.wait("A gets away from its passenger's thumb", |building| {
        building.press("A", here);
        building.is_open_at("A", 5)
    });
    assert!(start.elapsed() > Duration::from_secs(3), "the thumb had no effect");
    building.wait_dark(&["A"], away);
    building.assert_safe();
}

/// H4: a door that does not close, or open, keeps the car out of the group until it does: the others
/// serve, and the passengers are brought then.
#[test]
fn a_car_with_a_blocked_door_leaves_the_group_until_the_door_moves() {
    let building = two_cars(6);
    let doors: [(&[&str], &[&str]); 2] = [
        (&["obstruct on", "fault door jammed"], &["obstruct off", "fault door ok"]),
        // Nobody steps out, or the load sensor is stuck.
        (&["load 110"], &["load 60"]),
    ];
    for (faults, remedies) in doors {
        building.press("A", building.car_call(2));
        building.wait_open_at("A", 2);
        for fault in faults {
            building.tell("A", fault);
        }
        let call = building.car_call(5);
        building.press("A", call);
        leaves_the_group(&building, "door blocked", 3);
        assert_eq!(building.car("A").floor, Some(building.floor(2)), "it stands where it was");
        for remedy in remedies {
            building.tell("A", remedy);
        }
        comes_back(&building, call, 5);
    }
    building.tell("A", "fault door jammed");
    let call = building.car_call(4);
    building.press("A", call);
    leaves_the_group(&building, "door blocked", 4);
    assert!(building.car("A").lamps.contains(&call), "still promised");
    building.tell("A", "fault door ok");
    comes_back(&building, call, 4);
    building.assert_safe();
}

/// H4: a door that somebody keeps open nudges after a while, although the light curtain is still broken,
/// and the car goes on.
#[test]
fn a_door_that_is_held_open_nudges() {
    let building = two_cars(6);
    building.press("A", building.car_call(2));
    building.wait_open_at("A", 2);
    let call = building.car_call(4);
    building.tell("A", "obstruct on");
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
    let least = Duration::from_secs(2);
    assert!(nudged_after > least, "a door that opens again at once: {nudged_after:?}");
    building.tell("A", "obstruct off");
    building.wait_dark(&["A"], call);
    building.wait_in_service(&TWO);
    building.assert_safe();
}
