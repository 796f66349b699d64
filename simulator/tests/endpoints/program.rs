//! The program itself, as a child process.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;

use elevator_driver::{Button, Direction, PanelEvent, PanelLine};
use elevator_simulator::ControlClient;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::LIMIT;
use super::panel_line::{SETTINGS, floors};

/// A child that does not outlive its test.
struct Running(Child);

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_elevator-simulator"))
            .args(arguments)
            .args(["--die-with-parent", &std::process::id().to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn lines(&mut self, count: usize) -> Vec<String> {
        let output = BufReader::new(self.0.stdout.take().unwrap());
        output.lines().take(count).map(Result::unwrap).collect()
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

// F16
#[test]
fn it_says_where_it_is_and_ends_cleanly_at_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let [link, control] = ["panel", "control"].map(|name| folder.path().join(name));
    let mut program = Running::start(&[
        "--floors=5",
        "--start-floor=3",
        "--tcp=127.0.0.1:0",
        "--serial-link",
        link.to_str().unwrap(),
        "--control",
        control.to_str().unwrap(),
    ]);
    let lines = program.lines(3);
    assert_eq!(lines[0], format!("panel serial://{}", link.display()));
    let port = lines[1].strip_prefix("panel tcp://127.0.0.1:").unwrap();
    assert_ne!(port.parse::<u16>().unwrap(), 0);
    assert_eq!(lines[2], format!("control {}", control.display()));

    let state = ControlClient::connect(&control).unwrap().state().unwrap();
    assert_eq!(state.floors, 5);
    assert!((state.position - 9.0).abs() < 1e-9);

    kill_process(Pid::from_child(&program.0), Signal::TERM).unwrap();
    assert_eq!(program.exit_code(), Some(0));
    assert!(!link.is_symlink() && !control.exists());
}

#[test]
fn without_a_panel_it_says_what_to_do() {
    let mut program = Running::start(&[]);
    assert_eq!(program.exit_code(), Some(1));
    let mut told = String::new();
    let errors = program.0.stderr.as_mut().unwrap();
    errors.read_to_string(&mut told).unwrap();
    assert!(told.contains("--serial") && told.contains("--tcp"));
}

#[test]
fn its_buttons_are_pressed_by_keys_and_by_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let [link, control] = ["panel", "control"].map(|name| folder.path().join(name));
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let device = ptsname(&master, Vec::new()).unwrap();
    let device = open(device, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let program = Command::new(env!("CARGO_BIN_EXE_elevator-simulator"))
        .args(["--die-with-parent", &std::process::id().to_string()])
        .args(["--serial-link".as_ref(), link.as_os_str()])
        .args(["--control".as_ref(), control.as_os_str()])
        .stdin(device.try_clone().unwrap())
        .stdout(device)
        .spawn();
    let mut program = Running(program.unwrap());
    let mut terminal = File::from(master);
    let mut shown = String::new();
    while !shown.contains("hall button") {
        let mut bytes = [0; 1024];
        let count = terminal.read(&mut bytes).unwrap();
        shown += &String::from_utf8_lossy(&bytes[..count]);
    }
    let url = format!("serial://{}", link.display()).parse().unwrap();
    let (sink, events) = sync_channel(10_000);
    let opened = PanelLine::open(&url, floors(), SETTINGS, move |event| {
        drop(sink.try_send(event));
    });
    let _panel = opened.unwrap();
    let until = |wanted: &dyn Fn(&PanelEvent) -> bool| {
        while !wanted(&events.recv_timeout(LIMIT).unwrap()) {}
    };
    until(&|event| *event == PanelEvent::Connected);
    let floor = floors().floor(2).unwrap();
    terminal.write_all(b"9u92d2++-+").unwrap();
    until(&|event| *event == PanelEvent::Pressed(Button::Car(floor)));
    until(&|event| *event == PanelEvent::Pressed(Button::Hall(floor, Direction::Down)));
    // Two people of 75 kg, of 630 kg.
    until(&|event| matches!(event, PanelEvent::Inputs(inputs) if inputs.load == Some(23)));

    let press = |button: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_elevator-simulator"));
        command.arg("press").arg(&control).args(button).output().unwrap()
    };
    assert!(press(&["hall", "2", "up"]).status.success());
    until(&|event| *event == PanelEvent::Pressed(Button::Hall(floor, Direction::Up)));
    let refused = press(&["car", "9"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("floors are 0 to 3"));

    terminal.write_all(b"q").unwrap();
    assert_eq!(program.exit_code(), Some(0));
}

/// The parent may have ended before the simulator can look for it.
#[test]
fn it_ends_at_once_if_the_process_that_started_it_is_gone_already() {
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let program = Command::new(env!("CARGO_BIN_EXE_elevator-simulator"))
        .args(["--die-with-parent", &gone.id().to_string()])
        .arg("--tcp=127.0.0.1:0")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(Running(program).exit_code(), Some(0));
}
