//! The driver's own lines, serial and TCP, drive the simulated car as a controller would.

use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use elevator_driver::{
    Button, Direction, DoorCommand, DoorState, DriveFeedback, Floor, FloorCount, LineSettings,
    MotorCommand, PanelEvent, PanelInputs, PanelLine, PanelOutputs,
};
use elevator_simulator::config::{ConstantDrive, DoorTimes, Kinematics};
use elevator_simulator::simulator::{Controller, SerialConfig};
use elevator_simulator::{CarConfig, ControlClient, Simulator, SimulatorConfig, StartPosition};

use super::{LIMIT, wait_for};

/// The settings of a line on a machine that is busy with other tests.
pub(super) const SETTINGS: LineSettings = LineSettings {
    rear_door: false,
    poll_at_rest: Duration::from_millis(20),
    poll: Duration::from_millis(10),
    reply: Duration::from_secs(2),
    reload_configuration: false,
    heartbeat: Duration::from_millis(50),
    silence: Duration::from_secs(2),
    retry: Duration::from_millis(100),
    // It commands once and leaves it at that.
    lease: LIMIT,
};

pub(super) fn floors() -> FloorCount {
    FloorCount::new(4).unwrap()
}

fn floor(index: u8) -> Floor {
    floors().floor(index).unwrap()
}

struct Rig {
    simulator: Simulator,
    control: ControlClient,
    line: PanelLine,
    events: Receiver<PanelEvent>,
    inputs: PanelInputs,
    folder: tempfile::TempDir,
}

impl Rig {
    /// A quick car between floors 1 and 2, with a line to it.
    fn start(serial: bool) -> Self {
        let car = CarConfig {
            kinematics: Kinematics {
                rated_speed: 3.0,
                acceleration: 3.0,
                jerk: 8.0,
                creep_speed: 1.0,
                ..Kinematics::default()
            },
            constant_drive: ConstantDrive {
                between_floors: Duration::from_millis(800),
                passing_floor: Duration::from_secs(1),
            },
            door: DoorTimes {
                opening: Duration::from_millis(300),
                closing: Duration::from_millis(300),
                nudging: Duration::from_millis(600),
            },
            start: StartPosition::Metres(4.4),
            ..CarConfig::new(floors())
        };
        let folder = tempfile::tempdir().unwrap();
        let simulator = Simulator::start(SimulatorConfig {
            serial: serial
                .then(|| SerialConfig { link: Some(folder.path().join("panel")), noise: 0 }),
            tcp: (!serial).then(|| "127.0.0.1:0".parse().unwrap()),
            control: Some(folder.path().join("control")),
            watchdog: Duration::from_secs(2),
            ..SimulatorConfig::new("A", car)
        })
        .unwrap();
        let endpoint = simulator.endpoints()[0].to_string();
        let url = endpoint.strip_prefix("panel ").unwrap().parse().unwrap();
        let (sink, events) = sync_channel(10_000);
        let line = PanelLine::open(&url, floors(), SETTINGS, move |event| {
            // A test that is over listens no more.
            drop(sink.try_send(event));
        })
        .unwrap();
        let mut rig = Self {
            control: ControlClient::connect(folder.path().join("control")).unwrap(),
            simulator,
            line,
            events,
            inputs: PanelInputs::default(),
            folder,
        };
        rig.until_connected();
        rig
    }

    fn motor(&self, motor: MotorCommand) {
        self.line.set_outputs(PanelOutputs { motor, ..PanelOutputs::default() });
    }

    /// Takes events until one satisfies the condition.
    fn until(&mut self, mut condition: impl FnMut(&PanelEvent) -> bool) {
        let started = Instant::now();
        loop {
            let left = LIMIT.saturating_sub(started.elapsed());
            let event = self.events.recv_timeout(left);
            let event = event.unwrap_or_else(|_| panic!("it never happened: {:?}", self.inputs));
            if let PanelEvent::Inputs(inputs) = &event {
                self.inputs = inputs.clone();
            }
            if condition(&event) {
                return;
            }
        }
    }

    fn until_inputs(&mut self, mut condition: impl FnMut(&PanelInputs) -> bool) {
        self.until(|event| matches!(event, PanelEvent::Inputs(inputs) if condition(inputs)));
    }

    fn until_connected(&mut self) {
        self.until(|event| *event == PanelEvent::Connected);
    }

    fn until_driven(&mut self) {
        self.until_inputs(|inputs| inputs.drive != DriveFeedback::Stopped);
    }

    fn until_at_rest_at(&mut self, index: u8) {
        let floor = floors().floor(index);
        self.until_inputs(|inputs| inputs.floor == floor && inputs.drive == DriveFeedback::Stopped);
    }

    fn run_up_to(&self, index: u8) {
        self.motor(MotorCommand::Run { direction: Direction::Up, stop_at: floor(index) });
    }

    fn serves_a_press(mut self, controller: Controller) {
        self.motor(MotorCommand::Home { direction: Direction::Down });
        self.until_driven();
        self.until_at_rest_at(1);

        let button = Button::Car(floor(3));
        self.control.press(button).unwrap();
        self.until(|event| *event == PanelEvent::Pressed(button));
        self.run_up_to(3);
        self.until_inputs(|inputs| inputs.next_stop.is_some());
        self.until_at_rest_at(3);

        self.line.set_outputs(PanelOutputs { door: DoorCommand::Open, ..PanelOutputs::default() });
        self.until_inputs(|inputs| inputs.door == DoorState::Open);
        // Over TCP the door is the line's own notion, told before the server has heard of it.
        let state = wait_for(|| {
            let state = self.simulator.state().unwrap();
            state.car.is_at_rest_at(floor(3)).then_some(state)
        });
        assert_eq!(state.controller, controller);
        assert_eq!((state.car.violations, state.car.watchdog_stops), (0, 0));
    }
}

// F15, F16, S1
#[test]
fn the_serial_line_homes_the_car_and_serves_a_press() {
    Rig::start(true).serves_a_press(Controller::Serial);
}

// F15, F16, S1
#[test]
fn the_tcp_line_homes_the_car_and_serves_a_press() {
    Rig::start(false).serves_a_press(Controller::Tcp);
}

// S2
#[test]
fn the_watchdog_stops_the_motor_of_a_controller_that_is_not_heard() {
    let mut rig = Rig::start(true);
    // So that it does not arrive before.
    rig.control.send("fault motor stuck").unwrap();
    rig.run_up_to(3);
    rig.until_driven();
    rig.control.send("fault noise 100").unwrap();
    wait_for(|| (rig.simulator.state().unwrap().car.watchdog_stops == 1).then_some(()));
    rig.control.send("fault motor ok").unwrap();
    rig.control.send("fault noise 0").unwrap();
    rig.until_at_rest_at(3);
}

#[test]
fn an_unplugged_line_comes_back_under_its_name() {
    let mut rig = Rig::start(true);
    let link = rig.folder.path().join("panel");
    rig.control.send("fault line unplugged").unwrap();
    assert!(!link.exists());
    assert!(rig.simulator.state().unwrap().unplugged);
    rig.until(|event| matches!(event, PanelEvent::Disconnected(_)));
    rig.control.send("fault line ok").unwrap();
    assert!(link.exists());
    rig.until_connected();
}
