//! Nodes whose panel is a PLC: pymodbus, an implementation that shares nothing with ours, with a
//! shaft behind it (`modbus/plc.py`).

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use liftmesh_harness::building::{Building, Line, skip};
use liftmesh_harness::free_port;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const FLOORS: u8 = 6;
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processes/modbus/plc.py");

/// The address of a floor's car lamp and car button in `docs/MODBUS.md`.
fn car_bit(floor: u8) -> u64 {
    18 + 6 * u64::from(floor)
}

/// The Python that `verify.sh` has given pymodbus, or `None`, having said that it lacks.
fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/python/bin/python");
    let tried = Command::new(&python).args(["-c", "import pymodbus, serial"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        skip("`./verify.sh --full` installs pymodbus and pyserial, and has not run here");
        return None;
    }
    Some(python)
}

/// The server, which ends with its standard input.
struct Plc {
    process: Child,
    commands: ChildStdin,
    states: BufReader<ChildStdout>,
}

impl Plc {
    /// With the car at this floor, on TCP or a serial line.
    fn start(python: &Path, at: u8, line: &[&str]) -> Self {
        let mut command = Command::new(python);
        command.arg(SERVER).args([FLOORS, at].map(|number| number.to_string())).args(line);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python");
        let commands = process.stdin.take().expect("a pipe");
        let states = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut plc = Self { process, commands, states };
        // It serves by now.
        plc.state();
        plc
    }

    fn tell(&mut self, command: &str) -> Value {
        writeln!(self.commands, "{command}").expect("the server");
        let mut line = String::new();
        self.states.read_line(&mut line).expect("the server");
        serde_json::from_str(&line).expect("a state")
    }

    fn state(&mut self) -> Value {
        self.tell("state")
    }

    fn press(&mut self, floor: u8) {
        self.tell(&format!("press {}", car_bit(floor)));
    }

    fn has_coil(&mut self, coil: u64) -> bool {
        self.state()["coils"].as_array().expect("coils").contains(&coil.into())
    }

    fn moves(&mut self) -> bool {
        self.state()["moving"] != 0
    }

    /// Presses a button in the car, and waits until its lamp is lit and the car has opened there.
    fn serve(&mut self, building: &Building, floor: u8) {
        self.press(floor);
        building.wait("the lamp is lit", |_| self.has_coil(car_bit(floor)));
        self.wait_served(building, floor);
    }

    fn wait_served(&mut self, building: &Building, floor: u8) {
        building.wait(&format!("the door is open at {floor}"), |_| {
            let state = self.state();
            state["floor"] == floor && state["door"] == 1.0
        });
        building.wait("the lamp is dark", |_| !self.has_coil(car_bit(floor)));
    }

    /// Sends the car to a floor, and waits until it is on its way.
    fn fly(&mut self, building: &Building, floor: u8) {
        self.press(floor);
        building.wait("the car moves", |_| self.moves());
    }

    /// S1
    fn assert_safe(&mut self) {
        assert_eq!(self.state()["violations"], Value::Array(vec![]));
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("the server");
    }
}

impl Drop for Plc {
    fn drop(&mut self) {
        self.process.kill().expect("the server");
        self.process.wait().expect("the server");
    }
}

/// A building with car A, whose panel is at this URL.
fn building(url: String) -> Building {
    let mut building = Building::new(FLOORS, Line::Tcp);
    building.install_panel("A", 1, url);
    building.start("A");
    building.wait_in_service(&["A"]);
    building
}

/// The node says that its panel is disconnected, with these words.
fn wait_disconnected(building: &Building, words: &str) {
    building.wait(&format!("disconnected: {words}"), |building| {
        let car = building.status("A").and_then(|status| status.car);
        car.is_some_and(|car| car.connection.is_err_and(|why| why.contains(words)))
    });
}

/// F15, S1, S2, H1: calls are served through faults of the PLC in mid-flight, each of which is named
/// with address and register.
#[test]
fn a_plc_serves_calls_through_its_faults() {
    let Some(python) = python() else { return };
    let (port, _held) = free_port(&[]).expect("a port");
    let line = ["tcp", "127.0.0.1", &port.to_string()];
    let mut plc = Plc::start(&python, 2, &line);
    let url = format!("modbus+tcp://127.0.0.1:{port}?unit=1");
    let mut building = building(url.clone());
    for floor in [4, 0] {
        plc.serve(&building, floor);
    }
    for (to, fault, reason) in [
        (5, "slow 0.4", "no answer in time"),
        (0, "refuse 2 2", "discrete inputs 0 to 51: the PLC refuses with exception 2"),
        (5, "refuse 15 4", "coils 0 to 51: the PLC refuses with exception 4"),
        (0, "halt", "input register 0: the heartbeat is not echoed"),
    ] {
        plc.fly(&building, to);
        plc.tell(fault);
        wait_disconnected(&building, &format!("{url}: "));
        wait_disconnected(&building, reason);
        building.wait("the watchdog stops the motor", |_| !plc.moves());
        plc.tell("repair");
        plc.wait_served(&building, to);
    }

    // The server stops answering; later its process ends, and another one begins.
    plc.fly(&building, 5);
    plc.signal(Signal::STOP);
    wait_disconnected(&building, "no answer in time");
    plc.signal(Signal::CONT);
    plc.wait_served(&building, 5);
    plc.assert_safe();
    drop(plc);
    wait_disconnected(&building, "cannot connect");
    let mut plc = Plc::start(&python, 3, &line);
    plc.serve(&building, 1);

    // S2, P4: the node ends in mid-flight. What is pressed until it is back stays in the latches.
    plc.fly(&building, 5);
    building.wait("the lamp is lit", |_| plc.has_coil(car_bit(5)));
    building.kill("A");
    building.wait("the watchdog stops the motor", |_| !plc.moves());
    assert!(plc.state()["trips"].as_u64() > Some(0));
    plc.press(2);
    building.start("A");
    plc.wait_served(&building, 2);
    plc.wait_served(&building, 5);
    assert!(building.stop("A").success());
    assert!(!plc.has_coil(0) && !plc.has_coil(1));
    plc.assert_safe();
}

/// F5, F15, S1: bytes that noise damages are asked for again, up to a point.
#[test]
fn a_plc_on_a_noisy_serial_line_serves_calls() {
    let Some(python) = python() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let device = place.path().join("line");
    let device = device.to_str().expect("a path");
    let mut plc = Plc::start(&python, 2, &["rtu", device]);
    let building = building(format!("modbus+rtu://{device}?baud=38400"));
    plc.serve(&building, 4);
    plc.tell("noise 0.0005");
    for floor in [1, 5, 0] {
        plc.serve(&building, floor);
    }
    plc.fly(&building, 5);
    plc.tell("noise 0.5");
    wait_disconnected(&building, &format!("modbus+rtu://{device}?baud=38400&unit=1"));
    building.wait("the watchdog stops the motor", |_| !plc.moves());
    plc.tell("repair");
    plc.wait_served(&building, 5);
    plc.assert_safe();
}
