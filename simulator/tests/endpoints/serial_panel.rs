//! The panel on a real pseudo-terminal, driven by the driver's end of the protocol.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use elevator_driver::protocol::{ControllerSession, SessionSettings};
use elevator_driver::{
    Button, Direction, DoorCommand, DoorState, DriveFeedback, Floor, FloorCount, MotorCommand,
    PanelEvent, PanelInputs, PanelOutputs, draw_boot_id,
};
use elevator_simulator::config::{DoorTimes, Kinematics};
use elevator_simulator::simulator::{Controller, SerialConfig};
use elevator_simulator::{CarConfig, ControlClient, Simulator, SimulatorConfig};

const LIMIT: Duration = Duration::from_secs(30);

fn floors() -> FloorCount {
    FloorCount::new(4).unwrap()
}

fn floor(index: u8) -> Floor {
    floors().floor(index).unwrap()
}

/// A controller without a thread: it lives while it is polled.
struct Controlling {
    port: File,
    session: ControllerSession,
    started: Instant,
    inputs: PanelInputs,
    presses: Vec<Button>,
    connections: usize,
}

impl Controlling {
    fn open(path: &Path) -> Self {
        let port = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(
                (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits().cast_signed(),
            )
            .open(path)
            .unwrap();
        let settings =
            SessionSettings { silence: Duration::from_secs(2), ..SessionSettings::default() };
        Self {
            port,
            session: ControllerSession::new(floors(), draw_boot_id(), settings, Duration::ZERO),
            started: Instant::now(),
            inputs: PanelInputs::default(),
            presses: Vec::new(),
            connections: 0,
        }
    }

    /// One exchange with the panel. A line that is gone takes and gives nothing.
    fn exchange(&mut self) {
        let now = self.started.elapsed();
        let mut buffer = [0; 1024];
        match self.port.read(&mut buffer) {
            Ok(length) => self.session.handle_bytes(&buffer[..length], now),
            Err(error) => assert!(
                error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(5),
                "{error}"
            ),
        }
        while let Some(frame) = self.session.poll_transmit(now) {
            // A write that fails is a lost frame, which the protocol repairs.
            drop(self.port.write(&frame));
        }
        while let Some(event) = self.session.poll_event() {
            match event {
                PanelEvent::Connected => self.connections += 1,
                PanelEvent::Disconnected(_) | PanelEvent::Requested(_) | PanelEvent::Refused(_) => {
                }
                PanelEvent::Pressed(button) => self.presses.push(button),
                PanelEvent::Inputs(inputs) => self.inputs = inputs,
            }
        }
    }

    fn until(&mut self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let started = Instant::now();
        while !condition(self) {
            assert!(started.elapsed() < LIMIT, "never {what}: {:?}", self.inputs);
            self.exchange();
            sleep(Duration::from_millis(2));
        }
    }

    fn run_up_to(&mut self, index: u8) {
        self.session.set_outputs(PanelOutputs {
            motor: MotorCommand::Run { direction: Direction::Up, stop_at: floor(index) },
            ..PanelOutputs::default()
        });
    }

    fn is_driven(&self) -> bool {
        self.inputs.drive != DriveFeedback::Stopped
    }
}

struct Rig {
    simulator: Simulator,
    control: ControlClient,
    folder: tempfile::TempDir,
}

impl Rig {
    fn start(noise: u8) -> Self {
        let car = CarConfig {
            kinematics: Kinematics {
                rated_speed: 3.0,
                acceleration: 3.0,
                jerk: 8.0,
                ..Kinematics::default()
            },
            door: DoorTimes {
                opening: Duration::from_millis(300),
                closing: Duration::from_millis(300),
                nudging: Duration::from_millis(600),
            },
            ..CarConfig::new(floors())
        };
        let folder = tempfile::tempdir().unwrap();
        let simulator = Simulator::start(SimulatorConfig {
            serial: Some(SerialConfig { link: Some(folder.path().join("panel")), noise }),
            control: Some(folder.path().join("control")),
            watchdog: Duration::from_millis(500),
            ..SimulatorConfig::new("A", car)
        })
        .unwrap();
        Self {
            control: ControlClient::connect(folder.path().join("control")).unwrap(),
            simulator,
            folder,
        }
    }

    fn controller(&self) -> Controlling {
        let mut controller = Controlling::open(&self.folder.path().join("panel"));
        controller.until("connected", |c| c.session.is_connected());
        controller
    }
}

// F15, F16, S1
#[test]
fn a_controller_runs_the_car_to_a_floor_and_opens_the_door() {
    let rig = Rig::start(0);
    let mut controller = rig.controller();
    controller.until("at the bottom", |c| c.inputs.floor == Some(floor(0)));
    controller.run_up_to(2);
    controller.until("driven", Controlling::is_driven);
    controller.until("told of a next stop", |c| c.inputs.next_stop.is_some());
    controller.until("arrived", |c| c.inputs.floor == Some(floor(2)) && !c.is_driven());
    controller
        .session
        .set_outputs(PanelOutputs { door: DoorCommand::Open, ..PanelOutputs::default() });
    controller.until("open", |c| c.inputs.door == DoorState::Open);
    let state = rig.simulator.state().unwrap();
    assert_eq!(state.controller, Controller::Serial);
    assert!((state.car.position - 6.0).abs() < 1e-9);
    assert_eq!(state.car.violations, 0);
}

#[test]
fn presses_reach_the_controller_once_each_and_in_order_over_a_noisy_line() {
    let mut rig = Rig::start(1);
    let mut controller = rig.controller();
    let buttons =
        [Button::Car(floor(3)), Button::Hall(floor(1), Direction::Down), Button::Car(floor(3))];
    for button in buttons {
        rig.control.press(button).unwrap();
    }
    controller.until("all told", |c| c.presses.len() >= buttons.len());
    assert_eq!(controller.presses, buttons);
}

// S2
#[test]
fn the_watchdog_stops_the_motor_of_a_silent_controller() {
    let rig = Rig::start(0);
    let mut controller = rig.controller();
    controller.run_up_to(3);
    controller.until("driven", Controlling::is_driven);
    let started = Instant::now();
    while rig.simulator.state().unwrap().car.watchdog_stops == 0 {
        assert!(started.elapsed() < LIMIT, "the watchdog never acted");
        sleep(Duration::from_millis(5));
    }
    controller.until("driven again by the returned controller", |c| {
        c.inputs.floor == Some(floor(3)) && !c.is_driven()
    });
}

#[test]
fn an_unplugged_line_comes_back_under_its_name() {
    let mut rig = Rig::start(0);
    let link = rig.folder.path().join("panel");
    let mut controller = rig.controller();
    rig.control.send("fault line unplugged").unwrap();
    assert!(!link.exists());
    assert!(rig.simulator.state().unwrap().unplugged);
    controller.until("cut off", |c| !c.session.is_connected());
    rig.control.send("fault line ok").unwrap();
    assert!(link.exists());
    rig.controller();
}

#[test]
fn a_restarted_panel_connects_anew_with_its_motor_off() {
    let mut rig = Rig::start(0);
    let mut controller = rig.controller();
    controller.until("told of its connection", |c| c.connections == 1);
    rig.control.send("fault panel restart").unwrap();
    controller.until("connected anew", |c| c.connections == 2);
}
