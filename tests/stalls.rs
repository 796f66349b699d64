//! What may not delay the stop of a motor: the loop, any thread but the panel's, the log.

#![expect(
    clippy::expect_used,
    reason = "a test ends where what it needs is missing"
)]

mod building;

use std::time::{Duration, Instant};

use building::{Building, Line, Stopped};
use elevator_driver::DoorState;

/// A motor has to stop within 0.5 s of the cause; what is asserted leaves room for a machine that
/// is busy with other tests.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

fn is_latched(building: &Building, name: &str) -> bool {
    building.data_dir(name).join("hang.toml").exists()
}

fn is_driven(building: &Building, name: &str) -> bool {
    building.car(name).driven.is_some()
}

fn fly(building: &Building, name: &str, floor: u8) {
    building.press(name, building.cab(floor));
    building.wait("the car moves", |building| {
        building.car(name).speed.abs() > 1.0
    });
}

/// S2, H1: the loop stands still, and its panel line does not.
#[test]
fn a_loop_that_stands_still_has_its_motor_stopped() {
    loop_stands_still(Line::Serial);
}

/// S2, H1
#[test]
fn a_loop_that_stands_still_has_its_motor_stopped_over_tcp() {
    loop_stands_still(Line::Tcp);
}

fn loop_stands_still(line: Line) {
    let mut building = Building::with_cars(20, line, &["A"]);
    fly(&building, "A", 19);
    let since = Instant::now();
    let Some(stopped) = Stopped::new(&building.threads("A")[0]) else {
        return;
    };
    building.wait_within(STOPPED_WITHIN, "the motor stands", |building| {
        !is_driven(building, "A")
    });
    println!("{line:?}: the motor stood after {:?}", since.elapsed());
    assert_eq!(building.car("A").watchdog_stops, 0, "the line stopped it");
    building.stays(
        "the motor stands while the loop does",
        Duration::from_secs(4),
        |building| !is_driven(building, "A"),
    );
    drop(stopped);
    building.wait("the passenger is there", |building| {
        assert!(!is_latched(building, "A"), "latched");
        let car = building.car("A");
        let is_open = car.door == DoorState::Open || car.door_lamp;
        is_open && car.floor == Some(building.floor(19))
    });
    assert!(building.stop("A").success());
    building.assert_safe();
}

/// F9, H2: whichever thread stands still, a motor that is driven in vain is stopped and latched.
#[test]
fn a_thread_that_stands_still_hides_no_hang() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    let threads = building.threads("A");
    let others = threads[1..]
        .iter()
        .filter(|thread| !thread.name.starts_with("panel-"));
    let names: Vec<String> = others.map(|thread| thread.name.clone()).collect();
    assert!(!names.is_empty(), "{threads:?}");
    for name in names {
        let thread = building.threads("A");
        let thread = thread.iter().find(|thread| thread.name == name);
        let Some(stopped) = Stopped::new(thread.expect("a thread of that name")) else {
            return;
        };
        building
            .panel("A")
            .send("fault motor stuck")
            .expect("taken");
        building.press("A", building.cab(19));
        building.wait("the motor is driven", |building| is_driven(building, "A"));
        building.wait("it is latched", |building| is_latched(building, "A"));
        assert!(!is_driven(&building, "A"), "{name}: the motor still runs");
        drop(stopped);
        assert_eq!(building.exit("A").code(), Some(3), "{name}");
        building.clear_hang("A");
        building.panel("A").send("fault motor ok").expect("taken");
        building.start("A");
        building.wait_in_service(&["A"]);
    }
    building.assert_safe();
}
