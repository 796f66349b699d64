//! The reference panel in C (`firmware/`): on this machine, and in an emulated microcontroller at the
//! line of a real node, with a simulated shaft behind its pins.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use elevator_driver::{Alarm, Direction};
use liftmesh_harness::building::{Building, Line, skip};
use serde_json::Value;

use super::documents::read;

const FLOORS: u8 = 5;

/// The nodes of a building close the door after a second.
const BEYOND_THE_DWELL: Duration = Duration::from_millis(1500);

/// S2: what the protocol allows, and on top of it the last heartbeat, in which the controller sent
/// something else after its last `Drive`.
const WATCHDOG_MS: std::ops::RangeInclusive<i64> = 200..=500;

/// Where the programs of the firmware are, made once; `None` where this machine lacks a tool.
fn programs() -> Option<&'static Path> {
    static MADE: LazyLock<Option<PathBuf>> = LazyLock::new(make);
    if MADE.is_none() {
        skip("make, cc, avr-gcc, avr-libc or libsimavr-dev is missing");
    }
    MADE.as_deref()
}

fn make() -> Option<PathBuf> {
    let has = |tool: &&str| Command::new(tool).arg("--version").output().is_ok();
    let headers = ["/usr/include/simavr/sim_avr.h", "/usr/lib/avr/include/avr/io.h"];
    let is_equipped = ["make", "cc", "avr-gcc"].iter().all(has)
        && headers.iter().all(|header| Path::new(header).exists());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("firmware-{FLOORS}"));
    is_equipped.then(|| {
        let mut command = Command::new("make");
        command.arg("-C").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("firmware"));
        command.arg(format!("OUT={}", directory.display())).arg(format!("FLOORS={FLOORS}"));
        let output = command.args(["emulator", "host"]).output().expect("make");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        directory
    })
}

/// What a test on this machine prints.
fn host(programs: &Path, test: &str, input: &str) -> String {
    let mut command = Command::new(programs.join("host"));
    command.arg(test).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut host = command.spawn().expect("it runs");
    let stdin = host.stdin.take();
    stdin.expect("piped").write_all(input.as_bytes()).expect("it reads");
    let output = host.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{said}");
    said
}

/// F15: each frame that the panel sends is in the document, and it understands the controller's.
#[test]
fn the_firmware_speaks_the_bytes_of_the_document() {
    let Some(programs) = programs() else { return };
    let document = read("docs/PANEL-PROTOCOL.md");
    let frames: Vec<&str> = document.split('`').filter(|code| code.starts_with("00 0")).collect();
    let of_controller = frames.iter().filter(|frame| frame.starts_with("00 05"));
    let input: String = of_controller.flat_map(|frame| [frame, "\n"]).collect();
    let said = host(programs, "golden", &input);
    let (sent, understood): (Vec<&str>, Vec<&str>) =
        said.lines().partition(|line| line.starts_with("00 "));
    assert_eq!(sent.len(), 6);
    for frame in sent {
        assert!(frames.contains(&frame), "not in the document: {frame}");
    }
    let expected = [
        "hello",
        "drive 258 1 7 0, 3 1 1 1 2 1",
        "lamps 0 from 0: 01",
        "lamps 2 from 0: 80",
        "display 200 \"B3\" \"21.5 °C\"",
    ];
    assert_eq!(understood, expected);
}

/// S1, S2: whatever the line brings and the sensors say. And a car stops where it says that it can.
#[test]
fn the_firmware_keeps_motor_and_door_apart() {
    let Some(programs) = programs() else { return };
    for test in ["storm", "flights"] {
        println!("{}", host(programs, test, ""));
    }
}

/// A building with car A, whose panel is the emulated microcontroller.
fn building(programs: &Path) -> Building {
    let emulator = programs.join("emulator").to_str().expect("a path").to_owned();
    let mut building = Building::of_program(emulator, FLOORS, Line::Serial);
    building.install("A", 1);
    env!("CARGO_BIN_EXE_liftmesh").clone_into(&mut building.program);
    building.start("A");
    building.wait_in_service(&["A"]);
    building
}

/// What the emulator says besides the state of a simulated car.
fn emulated(building: &Building, value: &str) -> Value {
    let state = building.panel("A").send("state").expect("a state");
    let state: Value = serde_json::from_str(&state).expect("JSON");
    state[value].clone()
}

fn wait_for_motor(building: &Building, runs: bool) {
    let what = if runs { "the motor runs" } else { "the motor is off" };
    building.wait(what, |building| emulated(building, "motor") == runs);
}

/// F5, H1, P3, S1, S2: calls are served over a good line and a noisy one; the panel stops the motor
/// of a killed node by itself; and neither that nor a reset of the microcontroller loses an order.
#[test]
fn a_node_drives_a_car_with_the_firmware_through_noise_crashes_and_resets() {
    let Some(programs) = programs() else { return };
    let mut building = building(programs);
    building.serve("A", &["A"], building.car_call(3));
    let opening = building.car("A").opening.expect("an open door");
    assert_eq!(opening.floor, building.floor(3));
    building.wait("the panel shows where the car is", |building| {
        let car = building.car("A");
        car.indicator == Some(building.floor(3)) && car.position_text == "3"
    });

    building.tell("A", "fault noise 2%");
    building.serve("A", &["A"], building.hall(1, Direction::Up));
    building.serve("A", &["A"], building.car_call(4));
    let line = building.status("A").and_then(|status| status.car).expect("a car").line;
    assert!(line.frames > 0 && line.damaged > 0 && line.lost > 0, "{line:?}");
    building.tell("A", "fault noise 0%");

    let call = building.fly("A", 0);
    building.wait_lit(&["A"], call);
    building.kill("A");
    wait_for_motor(&building, false);
    let [off, heard] = ["motor_off_ms", "heard_ms"].map(|it| emulated(&building, it).as_i64());
    let silence = off.zip(heard).map(|(off, heard)| off - heard).expect("times");
    println!("S2: the motor is off {silence} ms after the last byte");
    assert!(WATCHDOG_MS.contains(&silence), "{silence} ms");
    building.start("A");
    building.wait_open_at("A", 0);
    building.wait_dark(&["A"], call);

    let call = building.fly("A", 4);
    building.wait_lit(&["A"], call);
    building.tell("A", "fault panel restart");
    assert_eq!(emulated(&building, "motor"), false);
    wait_for_motor(&building, true);
    building.wait_lit(&["A"], call);
    building.wait_open_at("A", 4);
    building.wait_dark(&["A"], call);

    let call = building.fly("A", 3);
    building.tell("A", "fault line unplugged");
    wait_for_motor(&building, false);
    building.tell("A", "fault line ok");
    building.wait_open_at("A", 3);
    building.wait_dark(&["A"], call);
    building.assert_safe();
}

/// The buttons in the car that are no order: door-open holds the door, the alarm is acknowledged by
/// its lamp. Something in the door keeps it open too (S1).
#[test]
fn the_firmware_reports_door_buttons_obstruction_and_alarm() {
    let Some(programs) = programs() else { return };
    let building = building(programs);
    for [begin, end] in [["obstruct on", "obstruct off"], ["door-open press", "door-open release"]]
    {
        building.tell("A", begin);
        building.press("A", building.hall(0, Direction::Up));
        building.wait_open_at("A", 0);
        building.press("A", building.car_call(1));
        building.stays("it is open", BEYOND_THE_DWELL, |building| building.is_open_at("A", 0));
        building.tell("A", end);
        building.wait_open_at("A", 1);
        building.serve("A", &["A"], building.car_call(0));
    }
    building.tell("A", "alarm");
    building.wait("the alarm lamp says that it was sent", |building| {
        building.car("A").alarm == Alarm::Sent
    });
    building.assert_safe();
}
