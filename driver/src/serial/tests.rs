//! The back end on a real pseudo-terminal, whose far side is a panel session.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, tcgetattr, tcsetattr,
};

use tempfile::TempDir;

use crate::LineSettings;
use crate::line::bench::{Bench, PATIENCE, settings};
use crate::protocol::PanelSession;
use crate::testing::{self, boot, floor, run};
use crate::vocabulary::{
    Button, Direction, FloorCount, MotorCommand, PanelEvent, PanelInputs, PanelOutputs,
};

fn floors() -> FloorCount {
    testing::floors(9)
}

fn run_up() -> PanelOutputs {
    PanelOutputs { indicator: Some(floor(1)), ..run(Direction::Up, 4) }
}

/// A panel on the far side of a pseudo-terminal that a symbolic link names.
struct Panel {
    master: File,
    session: PanelSession,
    inputs: PanelInputs,
    started: Instant,
}

impl Panel {
    fn plug_in(directory: &TempDir, run: u32) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let mut terminal = tcgetattr(&master).unwrap();
        terminal.make_raw();
        tcsetattr(&master, OptionalActions::Now, &terminal).unwrap();
        rustix::fs::fcntl_setfl(&master, OFlags::NONBLOCK).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let device = directory.path().join("panel");
        drop(fs::remove_file(&device));
        symlink(name.to_str().unwrap(), device).unwrap();
        Self {
            master: File::from(master),
            session: PanelSession::new(
                floors(),
                boot(run),
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

    /// Keeps the panel going until the condition holds.
    fn until(&mut self, line: &mut Bench, condition: impl Fn(&Bench, &PanelOutputs) -> bool) {
        line.until(|line| {
            self.pump();
            condition(line, self.session.outputs())
        });
    }

    fn until_connected(&mut self, line: &mut Bench) {
        self.until(line, |line, _| line.is_connected());
    }

    fn until_driven(&mut self, line: &mut Bench) {
        self.until(line, |_, outputs| *outputs == run_up());
    }
}

fn open(directory: &TempDir, settings: LineSettings) -> Bench {
    Bench::open(&format!("serial://{}/panel", directory.path().display()), floors(), settings)
}

fn plugged(settings: LineSettings) -> (TempDir, Panel, Bench) {
    let directory = tempfile::tempdir().unwrap();
    let panel = Panel::plug_in(&directory, 1);
    let line = open(&directory, settings);
    (directory, panel, line)
}

// F15
#[test]
fn events_come_in_and_outputs_go_out() {
    let (_directory, mut panel, mut line) = plugged(settings());
    panel.until_connected(&mut line);
    let inputs = PanelInputs { floor: Some(floor(2)), load: Some(40), ..PanelInputs::default() };
    panel.inputs = inputs.clone();
    panel.session.press(Button::Car(floor(3)));
    panel.session.press(Button::Car(floor(3)));
    line.line.set_outputs(run_up());
    panel.until(&mut line, |line, outputs| {
        *outputs == run_up()
            && line.presses() == [Button::Car(floor(3)); 2]
            && line.heard.contains(&PanelEvent::Inputs(inputs.clone()))
    });
    assert_eq!(line.heard[0], PanelEvent::Connected);
    assert!(line.line.counters().frames > 0);
}

#[test]
fn a_port_that_another_program_reconfigures_is_set_up_again() {
    let (_directory, mut panel, mut line) = plugged(settings());
    panel.until_connected(&mut line);
    panel.reconfigure();
    panel.until(&mut line, |line, _| line.disconnections("nothing intact") > 0);
    panel.until_connected(&mut line);
}

#[test]
fn a_panel_is_waited_for_and_brought_in_line_whenever_it_is_plugged_in() {
    let directory = tempfile::tempdir().unwrap();
    let mut line = open(&directory, settings());
    line.until(|line| matches!(line.heard[..], [PanelEvent::Disconnected(_)]));
    line.line.set_outputs(run_up());
    for boot in 1..=2 {
        let mut panel = Panel::plug_in(&directory, boot);
        panel.until_connected(&mut line);
        panel.until_driven(&mut line);
        drop(panel);
        line.until(|line| !line.is_connected());
    }
    let mut panel = Panel::plug_in(&directory, 3);
    panel.session.press(Button::Car(floor(8)));
    panel.until(&mut line, |line, _| line.presses() == [Button::Car(floor(8))]);
    // The reason is not reported again at every attempt.
    assert!(line.disconnections("cannot open") <= 3);
}

// S1
#[test]
fn the_last_word_is_the_motors_stop() {
    let (_directory, mut panel, mut line) = plugged(settings());
    line.line.set_outputs(run_up());
    panel.until_driven(&mut line);
    drop(line);
    let stopped = PanelOutputs { motor: MotorCommand::Stop, ..run_up() };
    let end = Instant::now() + PATIENCE;
    while *panel.session.outputs() != stopped {
        panel.pump();
        assert!(Instant::now() < end, "the motor still runs");
    }
}

/// S2: the owner falls silent while panel and line are well, and comes back.
#[test]
fn the_motor_stops_when_the_lines_owner_shows_no_sign_of_life() {
    let (_directory, mut panel, mut line) = plugged(LineSettings::default());
    let command_until_driven = |line: &Bench, outputs: &PanelOutputs| {
        // The lease of a test that is held up lapses: only a stop lets the motor run again.
        line.line.set_outputs(PanelOutputs::default());
        line.line.set_outputs(run_up());
        outputs.motor != MotorCommand::Stop
    };
    panel.until(&mut line, command_until_driven);
    let stopped = PanelOutputs { motor: MotorCommand::Stop, ..run_up() };
    panel.until(&mut line, |line, outputs| *outputs == stopped && line.line.lapses() > 0);
    // It has not noticed: the indicator is all that it wants changed.
    line.line.set_outputs(PanelOutputs { indicator: Some(floor(2)), ..run_up() });
    panel.until(&mut line, |_, outputs| outputs.indicator == Some(floor(2)));
    assert_eq!(panel.session.outputs().motor, MotorCommand::Stop);
    panel.until(&mut line, command_until_driven);
}
