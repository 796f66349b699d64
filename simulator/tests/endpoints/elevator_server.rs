//! Somebody else's client drives our car: a controller written from the protocol's description
//! alone, without a word of our own client or of our vocabulary.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use elevator_driver::{Button, Direction, FloorCount};
use elevator_simulator::config::ConstantDrive;
use elevator_simulator::{CarConfig, ControlClient, Simulator, SimulatorConfig, StartPosition};

use super::{LIMIT, wait_for};

const HALL_UP: u8 = 0;
const STOP: u8 = 0;
const UP: u8 = 1;
const DOWN: u8 = 255;

struct Client(TcpStream);

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self(stream)
    }

    fn command(&mut self, message: [u8; 4]) {
        self.0.write_all(&message).unwrap();
    }

    fn poll(&mut self, message: [u8; 4]) -> [u8; 4] {
        self.command(message);
        let mut reply = [0; 4];
        self.0.read_exact(&mut reply).unwrap();
        assert_eq!(reply[0], message[0]);
        reply
    }

    fn motor(&mut self, direction: u8) {
        self.command([1, direction, 0, 0]);
    }

    fn floor(&mut self) -> Option<u8> {
        let reply = self.poll([7, 0, 0, 0]);
        (reply[1] == 1).then_some(reply[2])
    }

    fn run_to(&mut self, direction: u8, target: u8) {
        self.motor(direction);
        wait_for(|| {
            let floor = self.floor()?;
            self.command([3, floor, 0, 0]);
            (floor == target).then_some(())
        });
        self.motor(STOP);
    }
}

/// Whether the other side closes this connection without a word.
fn is_refused(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    match stream.read(&mut [0; 4]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

struct Rig {
    simulator: Simulator,
    control: ControlClient,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

/// A car that is quick between floors and slow enough past them that a client on a busy machine
/// does not miss one.
fn rig(start: StartPosition) -> Rig {
    let car = CarConfig {
        start,
        constant_drive: ConstantDrive {
            between_floors: Duration::from_millis(500),
            passing_floor: Duration::from_secs(1),
        },
        ..CarConfig::new(FloorCount::new(4).unwrap())
    };
    let folder = tempfile::tempdir().unwrap();
    let simulator = Simulator::start(SimulatorConfig {
        tcp: Some("127.0.0.1:0".parse().unwrap()),
        control: Some(folder.path().join("control")),
        watchdog: Duration::from_secs(2),
        ..SimulatorConfig::new("A", car)
    })
    .unwrap();
    Rig {
        control: ControlClient::connect(folder.path().join("control")).unwrap(),
        address: simulator.tcp().unwrap(),
        simulator,
        _folder: folder,
    }
}

fn is_driven(rig: &Rig) -> bool {
    rig.simulator.state().unwrap().car.driven.is_some()
}

// F15, F16, S1
#[test]
fn a_foreign_client_homes_and_serves_a_hall_button() {
    let mut rig = rig(StartPosition::Metres(4.4));
    let mut client = Client::connect(rig.address);
    assert_eq!(client.floor(), None, "it starts between floors");
    client.run_to(DOWN, 1);

    let hall = Button::Hall(FloorCount::new(4).unwrap().floor(2).unwrap(), Direction::Up);
    rig.control.press(hall).unwrap();
    wait_for(|| (client.poll([6, HALL_UP, 2, 0])[1] == 1).then_some(()));
    client.command([2, HALL_UP, 2, 1]);
    client.run_to(UP, 2);
    client.command([4, 1, 0, 0]);
    client.command([2, HALL_UP, 2, 0]);
    assert_eq!(client.floor(), Some(2));

    let car = rig.control.state().unwrap();
    assert!(car.is_at_rest_at(hall.floor()) && car.door_lamp);
    assert!(car.lamps.is_empty());
    assert_eq!(car.indicator, Some(hall.floor()));
    assert_eq!(car.violations, 0);
}

#[test]
fn a_second_client_is_refused_and_the_next_one_after_the_first_is_served() {
    let rig = rig(StartPosition::Floor(1));
    let mut first = Client::connect(rig.address);
    assert_eq!(first.floor(), Some(1));
    let mut second = TcpStream::connect(rig.address).unwrap();
    assert!(is_refused(&mut second));
    assert_eq!(first.floor(), Some(1), "the first is not disturbed");
    drop(first);
    assert_eq!(Client::connect(rig.address).floor(), Some(1));
}

// S2
#[test]
fn the_motor_stops_when_the_client_disconnects() {
    let rig = rig(StartPosition::Floor(0));
    let mut client = Client::connect(rig.address);
    client.motor(UP);
    assert!(client.floor().is_some());
    wait_for(|| is_driven(&rig).then_some(()));
    drop(client);
    wait_for(|| (!is_driven(&rig)).then_some(()));
    assert!(rig.simulator.state().unwrap().car.position < 9.0);
}

// S2
#[test]
fn the_motor_stops_when_polls_cease() {
    let car = CarConfig::new(FloorCount::new(9).unwrap());
    let simulator = Simulator::start(SimulatorConfig {
        tcp: Some("127.0.0.1:0".parse().unwrap()),
        watchdog: Duration::from_millis(200),
        ..SimulatorConfig::new("A", car)
    })
    .unwrap();
    let mut client = Client::connect(simulator.tcp().unwrap());
    client.motor(UP);
    let car = wait_for(|| {
        let car = simulator.state().unwrap().car;
        (car.watchdog_stops == 1).then_some(car)
    });
    assert_eq!(car.driven, None);
    assert!(car.position < 20.0, "stopped long before the end");
    assert!(client.floor().is_none_or(|floor| floor < 8), "still served");
}
