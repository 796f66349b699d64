//! The back end on a real pseudo-terminal, whose far side is a panel session.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, tcgetattr, tcsetattr,
};

use crate::protocol::{BootId, PanelSession};
use crate::vocabulary::{
    Button, Direction, Floor, FloorCount, MotorCommand, PanelEvent, PanelInputs, PanelOutputs,
};
use crate::{LineSettings, PanelLine, PanelUrl};

const PATIENCE: Duration = Duration::from_secs(20);

/// A test that shows life may be held up by other tests.
const LEASE: Duration = Duration::from_secs(1);

fn floors() -> FloorCount {
    FloorCount::new(9).unwrap()
}

fn floor(index: u8) -> Floor {
    floors().floor(index).unwrap()
}

fn run_up() -> PanelOutputs {
    PanelOutputs {
        motor: MotorCommand::Run { direction: Direction::Up, stop_at: floor(4) },
        indicator: Some(floor(1)),
        ..PanelOutputs::default()
    }
}

/// A directory of its own for the device's name.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("elevator-driver-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn device(&self) -> PathBuf {
        self.0.join("panel")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A panel on the far side of a pseudo-terminal that a symbolic link names.
struct Panel {
    master: File,
    session: PanelSession,
    inputs: PanelInputs,
    started: Instant,
}

impl Panel {
    fn plug_in(device: &Path, boot: u32) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let mut terminal = tcgetattr(&master).unwrap();
        terminal.make_raw();
        tcsetattr(&master, OptionalActions::Now, &terminal).unwrap();
        rustix::fs::fcntl_setfl(&master, OFlags::NONBLOCK).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        drop(fs::remove_file(device));
        symlink(name.to_str().unwrap(), device).unwrap();
        Self {
            master: File::from(master),
            session: PanelSession::new(
                floors(),
                BootId::new(boot).unwrap(),
                Duration::from_millis(50),
                Duration::ZERO,
            ),
            inputs: PanelInputs::default(),
            started: Instant::now(),
        }
    }

    /// Another program makes the controller's side a terminal for people, as `stty sane` does; but
    /// no byte stops the output or ends the file, which would look like an unplugged device.
    fn reconfigure(&self) {
        let mut terminal = tcgetattr(&self.master).unwrap();
        terminal.input_modes |= InputModes::ICRNL;
        terminal.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        terminal.local_modes |=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        terminal.special_codes[SpecialCodeIndex::VEOF] = 0;
        tcsetattr(&self.master, OptionalActions::Now, &terminal).unwrap();
    }

    /// Carries bytes both ways. While nobody has the device open, reading fails: no matter.
    fn pump(&mut self) {
        let now = self.started.elapsed();
        let mut buffer = [0; 512];
        while let Ok(length @ 1..) = self.master.read(&mut buffer) {
            self.session.handle_bytes(&buffer[..length], now);
        }
        self.session.poll_outputs();
        self.session.set_inputs(self.inputs.clone());
        while let Some(bytes) = self.session.poll_transmit(now) {
            drop(self.master.write_all(&bytes));
        }
    }
}

struct Bench {
    line: PanelLine,
    events: Receiver<PanelEvent>,
    heard: Vec<PanelEvent>,
}

impl Bench {
    /// A line whose owner commands once and leaves it at that.
    fn open(device: &Path) -> Self {
        Self::open_with(device, LineSettings { lease: PATIENCE, ..LineSettings::default() })
    }

    fn open_with(device: &Path, settings: LineSettings) -> Self {
        let url: PanelUrl = format!("serial://{}", device.display()).parse().unwrap();
        let (sink, events) = sync_channel(4096);
        let line = PanelLine::open(&url, floors(), settings, move |event| {
            sink.try_send(event).unwrap();
        })
        .unwrap();
        Self { line, events, heard: Vec::new() }
    }

    fn presses(&self) -> Vec<Button> {
        let pressed = self.heard.iter().filter_map(|event| match event {
            PanelEvent::Pressed(button) => Some(*button),
            _ => None,
        });
        pressed.collect()
    }

    fn is_connected(&self) -> bool {
        let last = self
            .heard
            .iter()
            .rev()
            .find(|event| matches!(event, PanelEvent::Connected | PanelEvent::Disconnected(_)));
        last == Some(&PanelEvent::Connected)
    }
}

/// Keeps the panel going until the condition holds.
fn until(
    line: &mut Bench,
    mut panel: Option<&mut Panel>,
    condition: impl Fn(&Bench, Option<&Panel>) -> bool,
) {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(panel) = panel.as_deref_mut() {
            panel.pump();
        }
        line.heard.extend(line.events.recv_timeout(Duration::from_millis(1)));
        line.heard.extend(line.events.try_iter());
        if condition(line, panel.as_deref()) {
            return;
        }
        assert!(Instant::now() < end, "never happened; heard {:?}", line.heard);
    }
}

fn connected(line: &Bench, _: Option<&Panel>) -> bool {
    line.is_connected()
}

// F15
#[test]
fn events_come_in_and_outputs_go_out() {
    let directory = Directory::new();
    let mut panel = Panel::plug_in(&directory.device(), 1);
    let mut line = Bench::open(&directory.device());
    until(&mut line, Some(&mut panel), connected);
    let inputs = PanelInputs { floor: Some(floor(2)), load: Some(40), ..PanelInputs::default() };
    panel.inputs = inputs.clone();
    panel.session.press(Button::Car(floor(3)));
    panel.session.press(Button::Car(floor(3)));
    line.line.set_outputs(run_up());
    until(&mut line, Some(&mut panel), |line, panel| {
        panel.unwrap().session.outputs() == &run_up()
            && line.presses() == [Button::Car(floor(3)); 2]
            && line.heard.contains(&PanelEvent::Inputs(inputs.clone()))
    });
    assert_eq!(line.heard[0], PanelEvent::Connected);
    assert!(line.line.counters().frames > 0);
}

// F5
#[test]
fn garbage_on_the_line_is_counted_and_harms_nothing() {
    let directory = Directory::new();
    let mut panel = Panel::plug_in(&directory.device(), 1);
    let mut line = Bench::open(&directory.device());
    until(&mut line, Some(&mut panel), connected);
    let before = line.line.counters().damaged;
    panel.master.write_all(b"\x00\x13garbage\xff\x00\x00noise").unwrap();
    panel.session.press(Button::Hall(floor(0), Direction::Up));
    until(&mut line, Some(&mut panel), |line, _| {
        line.presses() == [Button::Hall(floor(0), Direction::Up)]
            && line.line.counters().damaged >= before + 2
    });
    assert!(line.is_connected());
}

#[test]
fn a_port_that_another_program_reconfigures_is_set_up_again() {
    let directory = Directory::new();
    let mut panel = Panel::plug_in(&directory.device(), 1);
    let mut line = Bench::open(&directory.device());
    until(&mut line, Some(&mut panel), connected);
    panel.reconfigure();
    until(&mut line, Some(&mut panel), |line, _| {
        let is_reason = |event: &PanelEvent| matches!(event, PanelEvent::Disconnected(reason) if reason.contains("nothing intact"));
        line.heard.iter().any(is_reason)
    });
    until(&mut line, Some(&mut panel), connected);
}

#[test]
fn a_missing_device_is_waited_for() {
    let directory = Directory::new();
    let mut line = Bench::open(&directory.device());
    until(&mut line, None, |line, _| matches!(line.heard[..], [PanelEvent::Disconnected(_)]));
    let mut panel = Panel::plug_in(&directory.device(), 1);
    until(&mut line, Some(&mut panel), connected);
    // The reason was not told again at every attempt.
    let reasons = line.heard.iter().filter(
        |event| matches!(event, PanelEvent::Disconnected(reason) if reason.contains("cannot open")),
    );
    assert_eq!(reasons.count(), 1);
}

#[test]
fn a_panel_that_is_pulled_out_and_plugged_in_again_is_brought_in_line() {
    let directory = Directory::new();
    let mut panel = Panel::plug_in(&directory.device(), 1);
    let mut line = Bench::open(&directory.device());
    line.line.set_outputs(run_up());
    until(&mut line, Some(&mut panel), |_, panel| panel.unwrap().session.outputs() == &run_up());
    drop(panel);
    until(&mut line, None, |line, _| !line.is_connected());
    let mut panel = Panel::plug_in(&directory.device(), 2);
    panel.session.press(Button::Car(floor(8)));
    until(&mut line, Some(&mut panel), |line, panel| {
        line.is_connected()
            && panel.unwrap().session.outputs() == &run_up()
            && line.presses() == [Button::Car(floor(8))]
    });
}

#[test]
fn a_panel_that_falls_silent_is_disconnected_though_the_device_is_there() {
    let directory = Directory::new();
    let mut panel = Panel::plug_in(&directory.device(), 1);
    let mut line = Bench::open(&directory.device());
    until(&mut line, Some(&mut panel), connected);
    until(&mut line, None, |line, _| !line.is_connected());
    until(&mut line, Some(&mut panel), connected);
}

// S1
#[test]
fn the_last_word_is_the_motors_stop() {
    let directory = Directory::new();
    let mut panel = Panel::plug_in(&directory.device(), 1);
    let mut line = Bench::open(&directory.device());
    line.line.set_outputs(run_up());
    until(&mut line, Some(&mut panel), |_, panel| panel.unwrap().session.outputs() == &run_up());
    line.line.close();
    let end = Instant::now() + PATIENCE;
    while panel.session.outputs().motor != MotorCommand::Stop {
        panel.pump();
        assert!(Instant::now() < end, "the motor still runs");
    }
    assert_eq!(panel.session.outputs().indicator, Some(floor(1)));
}

/// S2: the owner falls silent while panel and line are well, and comes back.
#[test]
fn the_motor_stops_when_the_lines_owner_shows_no_sign_of_life() {
    let directory = Directory::new();
    let mut panel = Panel::plug_in(&directory.device(), 1);
    let settings = LineSettings { lease: LEASE, ..LineSettings::default() };
    let mut line = Bench::open_with(&directory.device(), settings);
    until(&mut line, Some(&mut panel), connected);
    let is_driven = |panel: Option<&Panel>| {
        let motor = panel.unwrap().session.outputs().motor;
        motor != MotorCommand::Stop
    };
    line.line.set_outputs(run_up());
    until(&mut line, Some(&mut panel), |line, panel| {
        line.line.keep_alive();
        is_driven(panel)
    });
    assert_eq!(line.line.lapses(), 0);
    until(&mut line, Some(&mut panel), |_, panel| !is_driven(panel));
    assert_eq!(line.line.lapses(), 1);
    assert_eq!(panel.session.outputs().indicator, Some(floor(1)));
    // It has not noticed: the indicator is all that it wants changed.
    line.line.set_outputs(PanelOutputs { indicator: Some(floor(2)), ..run_up() });
    until(&mut line, Some(&mut panel), |_, panel| {
        panel.unwrap().session.outputs().indicator == Some(floor(2))
    });
    assert!(!is_driven(Some(&panel)));
    line.line.set_outputs(PanelOutputs::default());
    line.line.set_outputs(run_up());
    until(&mut line, Some(&mut panel), |line, panel| {
        line.line.keep_alive();
        is_driven(panel)
    });
    assert_eq!(line.line.lapses(), 1);
    assert!(line.is_connected());
}
