//! Faulty lines to panels, with real processes over real pseudo-terminals: noise, cut lines, panels
//! that restart. `docs/FAULTS.md` says what each does.

use elevator_driver::{Button, Direction};
use elevator_fleet::node::CarStatus;
use liftmesh_harness::building::{Building, Line};

const TWO: [&str; 2] = ["A", "B"];

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
    let building = Building::with_cars(12, Line::Serial, &TWO);
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
