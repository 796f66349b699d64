//! Faulty lines to panels, with real processes over real pseudo-terminals: noise, cut lines, panels
//! that restart. `docs/FAULTS.md` says what each does.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use elevator_driver::{Alarm, Button, Direction, DoorState};
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

/// What this command prints, line by line, until the test ends.
fn followed(mut command: Command) -> Receiver<String> {
    let mut program = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let lines = BufReader::new(program.stdout.take().expect("its output")).lines();
    let (sender, receiver) = mpsc::sync_channel(64);
    thread::spawn(move || {
        lines.map_while(Result::ok).take_while(|line| sender.send(line.clone()).is_ok()).count();
        program.wait().expect("it has ended")
    });
    receiver
}

/// Door buttons and alarm of a real panel: the door obeys, every node knows of the alarm, and the lamp
/// in the car says that an operator has answered.
#[test]
fn a_rider_presses_door_open_and_the_alarm() {
    let building = Building::without_parking(4, Line::Serial, &TWO);
    building.tell("A", "door-open press");
    building.wait_open_at("A", 0);
    building.tell("A", "door-open release");
    building.tell("A", "door-close press");
    building.tell("A", "door-close release");
    building.wait("the door closes", |it| it.car("A").door == DoorState::Closed);
    assert_eq!(building.car("A").position_text, "0");

    let events = building.operator("A", &["events", "--json", "--kind", "door,alarm"]);
    let events = followed(events);
    building.wait("the events are followed", |building| {
        building.tell("A", "door-open press");
        building.tell("A", "door-open release");
        events.try_recv().is_ok()
    });
    building.tell("A", "alarm");
    building.wait("the lamp says that it was sent", |it| it.car("A").alarm == Alarm::Sent);
    let sent = r#""event":"alarm","car":"A","alarm":"sent""#;
    building.wait("it is an event", |_| events.try_iter().any(|line| line.contains(sent)));
    building.wait("the other node knows it", |building| {
        building.status("B").is_some_and(|it| it.alarms().count() == 1)
    });
    let words = ["acknowledge-alarm", "A", "--operator", "J. Kovac", "--reason", "on my way"];
    building.done("B", &words);
    building.wait("the lamp shows the answer", |it| it.car("A").alarm == Alarm::Acknowledged);
    let (exit, why) = building.refusal("B", &words);
    assert!(exit == Some(1) && why.contains("no alarm from car A"), "{why}");
    building.tell("A", "door-open press");
    building.tell("A", "door-open release");
    building.wait("it is over", |it| it.car("A").alarm == Alarm::Off);
    building.assert_safe();
}
