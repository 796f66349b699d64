//! The owner's side of the control interface.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{TrySendError, sync_channel};
use std::time::Duration;

use super::{ControlPeer, Owner, Watching};
use crate::control::socket::{self, ANSWERS};
use crate::control::{Command, CommandError, HELP};
use crate::serial::SerialLine;
use crate::simulator::{ControlId, SimulatorState};

/// The least time between two lines to a watcher.
const WATCH_PERIOD: Duration = Duration::from_millis(50);

impl Owner {
    pub(super) fn admit(&mut self, stream: UnixStream) -> io::Result<()> {
        let id = ControlId(self.next_client);
        self.next_client += 1;
        let (answers, waiting) = sync_channel(ANSWERS);
        let channels = (self.events.clone(), waiting);
        let watch = self.ending.watch()?;
        let threads = socket::serve(stream, id, self.car.floors(), watch, channels)?;
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.extend(threads);
        let watching = None;
        self.clients.insert(id, ControlPeer { answers, watching });
        Ok(())
    }

    /// Does what a command says; its answer, with the line's end.
    pub(super) fn obey(&mut self, id: ControlId, command: Command) -> Result<String, CommandError> {
        match command {
            Command::State => return Ok(json(&self.state(self.now()))),
            Command::Violations => return Ok(json(&self.car.violations())),
            Command::Help => return Ok(format!("{HELP}\nok\n")),
            Command::Watch => {
                if let Some(peer) = self.clients.get_mut(&id) {
                    peer.watching = Some(Watching { told: None, next: Duration::ZERO });
                }
                return Ok(String::new());
            }
            Command::Quit => self.over = true,
            Command::Noise(percent) => self.serial()?.noise.percent = percent,
            Command::Unplugged(true) => self.serial()?.unplug(),
            Command::Unplugged(false) => {
                let events = self.events.clone();
                let thread = self.serial()?.plug(&events);
                let thread = thread.map_err(|error| CommandError::Line(error.to_string()))?;
                self.threads.extend(thread);
            }
            Command::PanelRestart => {
                let now = self.now();
                let line = self.serial.as_mut().ok_or(CommandError::NoSerialLine)?;
                line.restart(&mut self.car, now);
            }
            Command::Press(button) => {
                self.car.press(button).or(Err(CommandError::Button(button)))?;
            }
            Command::Request(trip) => self.car.request(trip).or(Err(CommandError::Trip(trip)))?,
            Command::Hold(button) | Command::Release(button) => {
                let held = matches!(command, Command::Hold(_));
                let done = self.car.set_button_stuck(button, held);
                done.or(Err(CommandError::Button(button)))?;
            }
            Command::DoorButton(button, is_pressed) => {
                self.serial()?;
                self.car.set_door_button(button, is_pressed);
            }
            Command::Alarm => self.serial()?.alarm(),
            Command::Obstruct(active) => self.car.set_obstruction(active),
            Command::Stop(pulled) => self.car.set_stop(pulled),
            Command::Key(key) => self.car.set_key(key),
            Command::Load(load) => self.car.set_load(load),
            Command::Climate(climate) => self.car.set_climate(climate),
            Command::Motor(fault) => self.car.set_motor_fault(fault),
            Command::Levelling(fault) => self.car.set_levelling_fault(fault),
            Command::Speed(percent) => self.car.set_speed(percent),
            Command::DoorJammed(jammed) => self.car.set_door_jammed(jammed),
            Command::SensorDead(floor, dead) => self.car.set_sensor_dead(floor, dead),
            Command::AllSensorsDead(dead) => self.car.set_all_sensors_dead(dead),
        }
        Ok("ok\n".into())
    }

    fn serial(&mut self) -> Result<&mut SerialLine, CommandError> {
        self.serial.as_mut().ok_or(CommandError::NoSerialLine)
    }

    pub(super) fn answer(&mut self, id: ControlId, answer: String) {
        if answer.is_empty() {
            return;
        }
        let Some(peer) = self.clients.get(&id) else {
            return;
        };
        if peer.answers.try_send(answer).is_err() {
            self.clients.remove(&id);
        }
    }

    pub(super) fn notify_watchers(&mut self, now: Duration) {
        let due = |peer: &ControlPeer| peer.watching.as_ref().is_some_and(|w| now >= w.next);
        if !self.clients.values().any(due) {
            return;
        }
        let state = self.state(now);
        let line = json(&state);
        self.clients.retain(|_, peer| {
            let Some(watching) = peer.watching.as_mut().filter(|w| now >= w.next) else {
                return true;
            };
            if watching.told.as_ref().is_some_and(|told| alike(told, &state)) {
                return true;
            }
            watching.next = now + WATCH_PERIOD;
            match peer.answers.try_send(line.clone()) {
                Ok(()) => {
                    watching.told = Some(state.clone());
                    true
                }
                // It gets the latest state once it reads again.
                Err(TrySendError::Full(_)) => true,
                Err(TrySendError::Disconnected(_)) => false,
            }
        });
    }
}

/// Whether nothing except the time has changed.
fn alike(told: &SimulatorState, state: &SimulatorState) -> bool {
    let mut told = told.clone();
    told.car.time_ms = state.car.time_ms;
    told == *state
}

/// One line. A value of ours always has a JSON form.
fn json(value: &impl serde::Serialize) -> String {
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}
