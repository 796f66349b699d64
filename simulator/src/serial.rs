//! The panel's own protocol on a pseudo-terminal.
//!
//! The protocol's states are the driver's [`PanelSession`]; here are the line with its faults and
//! the watchdog of the panel.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use elevator_driver::protocol::PanelSession;
use elevator_driver::{Button, MotorCommand, Trip, draw_boot_id};

use crate::car::SimulatedCar;
use crate::ending::{EndWatch, Ending, Readiness};
use crate::simulator::{Event, LineError};
use noise::Noise;
use pty::{Link, Pty};

mod noise;
mod pty;

const HEARTBEAT: Duration = Duration::from_millis(50);

/// A line on which no byte came for this long has no controller: only the latest frames are kept
/// for the next one.
const DESERTED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct SerialLine {
    session: PanelSession,
    port: Option<Port>,
    link: Option<PathBuf>,
    pub(crate) noise: Noise,
    /// Tells the bytes of this port from those of an earlier one.
    generation: u64,
    heard_at: Option<Duration>,
    /// The car does not do what the controller last wanted, and will once it speaks again: the
    /// watchdog stopped the motor, or somebody else had the car.
    tripped: bool,
}

/// What a plugged line consists of; dropped at unplugging.
#[derive(Debug)]
struct Port {
    pty: Pty,
    _link: Option<Link>,
    _ending: Ending,
}

/// A simulated car has both doors.
fn session(car: &SimulatedCar, now: Duration) -> PanelSession {
    PanelSession::new(car.floors(), draw_boot_id(), HEARTBEAT, now).with_rear_door()
}

impl SerialLine {
    pub(crate) fn new(car: &SimulatedCar, link: Option<PathBuf>, noise: u8, seed: u64) -> Self {
        Self {
            session: session(car, Duration::ZERO),
            port: None,
            link,
            noise: Noise::new(noise, seed),
            generation: 0,
            heard_at: None,
            tripped: false,
        }
    }

    /// The path at which a controller finds the line: the link, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        let port = self.port.as_ref()?;
        Some(self.link.as_deref().unwrap_or_else(|| port.pty.path()))
    }

    /// A fresh pseudo-terminal, with a thread that reads it. Nothing changes if it is plugged.
    pub(crate) fn plug(
        &mut self,
        events: &SyncSender<Event>,
    ) -> Result<Option<JoinHandle<()>>, LineError> {
        if self.port.is_some() {
            return Ok(None);
        }
        let pty = Pty::open().map_err(LineError::Pty)?;
        let link = match &self.link {
            Some(path) => Some(
                Link::new(path, pty.path())
                    .map_err(|source| LineError::Link { path: path.clone(), source })?,
            ),
            None => None,
        };
        self.generation += 1;
        let ending = Ending::new().map_err(LineError::Pty)?;
        let master = pty.reader().map_err(LineError::Pty)?;
        let watch = ending.watch().map_err(LineError::Pty)?;
        let (generation, events) = (self.generation, events.clone());
        let thread = Builder::new()
            .name("serial".into())
            .spawn(move || read(&master, &watch, generation, &events))
            .map_err(LineError::Pty)?;
        self.port = Some(Port { pty, _link: link, _ending: ending });
        self.session.handle_line_reopened();
        Ok(Some(thread))
    }

    /// Cuts the line: the device and its link are gone.
    pub(crate) fn unplug(&mut self) {
        self.port = None;
    }

    /// The panel restarts with nothing in its memory; the line stays.
    pub(crate) fn restart(&mut self, car: &mut SimulatedCar, now: Duration) {
        self.session = session(car, now);
        self.tripped = false;
        car.restart_panel();
    }

    pub(crate) fn press(&mut self, button: Button) {
        self.session.press(button);
    }

    pub(crate) fn request(&mut self, trip: Trip) {
        self.session.request(trip);
    }

    pub(crate) fn alarm(&mut self) {
        self.session.alarm();
    }

    pub(crate) fn receive(&mut self, generation: u64, bytes: Vec<u8>, now: Duration) {
        if self.port.is_none() || generation != self.generation {
            return;
        }
        if self.is_deserted(now) {
            self.renew();
        }
        self.heard_at = Some(now);
        let arrived = self.noise.pass(bytes);
        self.session.handle_bytes(&arrived, now);
    }

    pub(crate) fn has_controller(&self, now: Duration, watchdog: Duration) -> bool {
        // A session counts silence from its start, so a controller must have been heard as well.
        self.heard_at.is_some() && self.session.controller_silent_for(now) < watchdog
    }

    /// Brings the car in line with what the controller last wanted.
    pub(crate) fn drive(&mut self, car: &mut SimulatedCar, now: Duration, watchdog: Duration) {
        let returned = self.tripped && self.session.controller_silent_for(now) < watchdog;
        self.tripped &= !returned;
        if let Some(outputs) = self.session.poll_outputs() {
            car.set_outputs(outputs);
        } else if returned {
            car.set_outputs(self.session.outputs());
        }
    }

    /// Somebody else drives the car.
    pub(crate) fn yield_car(&mut self) {
        self.tripped = true;
        // It is not done, and only what is wanted last will be.
        self.session.poll_outputs();
    }

    /// S2: a silent controller loses the motor.
    pub(crate) fn watch(&mut self, car: &mut SimulatedCar, now: Duration, watchdog: Duration) {
        let silent = self.session.controller_silent_for(now) >= watchdog;
        if silent && !self.tripped && self.session.outputs().motor != MotorCommand::Stop {
            self.tripped = true;
            car.stop_for_silence();
        }
    }

    pub(crate) fn transmit(&mut self, car: &SimulatedCar, now: Duration) {
        self.session.set_inputs(car.inputs());
        let mut deserted = self.is_deserted(now);
        while let Some(frame) = self.session.poll_transmit(now) {
            if std::mem::take(&mut deserted) {
                self.renew();
            }
            let sent = self.noise.pass(frame);
            let lost = self.port.as_ref().map(|port| port.pty.write(&sent));
            if matches!(lost, Some(Err(_))) {
                self.unplug();
            }
        }
    }

    /// When [`transmit`](Self::transmit) or [`watch`](Self::watch) is due without anything
    /// happening.
    pub(crate) fn wake_at(&self, now: Duration, watchdog: Duration) -> Duration {
        let driven = self.session.outputs().motor != MotorCommand::Stop && !self.tripped;
        let silence = self.session.controller_silent_for(now);
        let watch = driven.then(|| now + watchdog.saturating_sub(silence));
        let tell = self.session.poll_timeout();
        watch.map_or(tell, |watch| watch.min(tell))
    }

    fn is_deserted(&self, now: Duration) -> bool {
        self.heard_at.is_none_or(|heard| now.saturating_sub(heard) >= DESERTED)
    }

    fn renew(&mut self) {
        let lost = self.port.as_ref().map(|port| port.pty.renew());
        if matches!(lost, Some(Err(_))) {
            self.unplug();
        }
    }
}

/// Passes on the controller's bytes until the line ends, whatever its reason.
fn read(master: &OwnedFd, watch: &EndWatch, generation: u64, events: &SyncSender<Event>) {
    let mut buffer = [0; 1024];
    while let Ok(Readiness::Readable) = watch.wait(master) {
        let bytes = match rustix::io::read(master, &mut buffer) {
            Ok(0) => return,
            Ok(length) => buffer[..length].to_vec(),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        };
        if events.send(Event::SerialBytes(generation, bytes)).is_err() {
            return;
        }
    }
}
