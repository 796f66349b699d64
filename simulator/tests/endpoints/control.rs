//! The control interface over its real socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use elevator_driver::{Button, Direction, FloorCount, KeySwitch};
use elevator_simulator::control::ControlError;
use elevator_simulator::shaft::MotorFault;
use elevator_simulator::{CarConfig, ControlClient, Simulator, SimulatorConfig};

fn config(folder: &tempfile::TempDir) -> SimulatorConfig {
    let car = CarConfig::new(FloorCount::new(4).unwrap());
    SimulatorConfig {
        tcp: Some("127.0.0.1:0".parse().unwrap()),
        control: Some(folder.path().join("control")),
        ..SimulatorConfig::new("A", car)
    }
}

fn start(folder: &tempfile::TempDir) -> Simulator {
    Simulator::start(config(folder)).unwrap()
}

#[test]
fn switches_and_faults_show_in_the_state_of_every_client() {
    let folder = tempfile::tempdir().unwrap();
    let _simulator = start(&folder);
    let path = folder.path().join("control");
    let mut sender = ControlClient::connect(&path).unwrap();
    for line in [
        "stop on",
        "obstruct on",
        "key fire",
        "load 40",
        "climate -3 none",
        "fault motor stuck",
        "fault sensor 3 dead",
        "hold hall 1 down",
    ] {
        assert_eq!(sender.send(line).unwrap(), "ok", "{line}");
    }
    for line in ["press hall 9 up", "fault noise 5%", "dance", ""] {
        assert!(matches!(sender.send(line), Err(ControlError::Refused(_))), "{line}");
    }
    let car = ControlClient::connect(&path).unwrap().state().unwrap();
    let floor = |index| FloorCount::new(4).unwrap().floor(index).unwrap();
    assert!(car.stop && car.obstruction && car.faults.motor == Some(MotorFault::Stuck));
    assert_eq!(car.key, KeySwitch::FireRecall);
    assert_eq!(car.load, Some(40));
    assert_eq!((car.temperature, car.illuminance), (Some(-3), None));
    assert_eq!(car.faults.dead_sensors, [floor(3)].into());
    let held = Button::Hall(floor(1), Direction::Down);
    assert_eq!(car.faults.stuck_buttons, [held].into());
}

#[test]
fn a_watcher_sees_the_state_and_then_each_change() {
    let folder = tempfile::tempdir().unwrap();
    let _simulator = start(&folder);
    let path = folder.path().join("control");
    let mut watch = ControlClient::connect(&path).unwrap().watch().unwrap();
    assert!(!watch.next().unwrap().stop);
    let mut sender = ControlClient::connect(&path).unwrap();
    sender.send("stop on").unwrap();
    assert!(watch.next().unwrap().stop);
    sender.send("quit").unwrap();
    assert!(watch.next().is_none(), "it ends with the simulator");
}

#[test]
fn help_ends_with_ok_and_commands_may_come_in_one_write() {
    let folder = tempfile::tempdir().unwrap();
    let _simulator = start(&folder);
    let mut stream = UnixStream::connect(folder.path().join("control")).unwrap();
    stream.write_all(b"help\nstop on\nstop").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let lines: Vec<_> = BufReader::new(stream).lines().map(Result::unwrap).collect();
    assert!(lines[0].starts_with("press hall"));
    let end = &lines[lines.len() - 3..];
    assert_eq!(&end[..2], ["ok", "ok"]);
    assert!(end[2].starts_with("error: "));
}

#[test]
fn the_socket_is_removed_at_the_end_and_an_abandoned_one_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control");
    // A listener that is dropped leaves its name behind, as a killed process does.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let simulator = start(&folder);
    assert!(Simulator::start(config(&folder)).is_err(), "two do not share a socket");
    ControlClient::connect(&path).unwrap().state().unwrap();
    drop(simulator);
    assert!(!path.exists());
}
