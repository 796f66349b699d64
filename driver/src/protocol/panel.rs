//! The panel's end of the line.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::codec::{FrameId, Numbered};
use super::endpoint::{Endpoint, Heard};
use super::frame::{
    BootId, ButtonChunk, ControllerFrame, Drive, KioskSlot, PanelFrame, PressSequence, Status,
};
use crate::counters::LineCounters;
use crate::vocabulary::{Button, Climate, FloorCount, PanelInputs, PanelOutputs, Trip};

/// How often the climate is sent while it does not change.
pub(super) const CLIMATE_PERIOD: Duration = Duration::from_secs(1);

/// How often stuck buttons are sent while they do not change, those of eight floors at a time.
const STUCK_PERIOD: Duration = Duration::from_secs(1);

/// How many unacknowledged presses are on the line at a time: the rest wait their turn, so that
/// repeating them never fills the line.
const PRESS_WINDOW: usize = 8;

/// From this many waiting presses on, a further press of a button, or request for a trip, that
/// already waits is the same. So at most this many and one for each button and each trip wait.
const PRESS_BACKLOG: usize = 64;

/// A panel's state machine, free of I/O: what a panel's firmware does, and a simulated panel.
///
/// [`handle_bytes`](Self::handle_bytes) and [`press`](Self::press); do what
/// [`poll_outputs`](Self::poll_outputs) says; [`set_inputs`](Self::set_inputs), which show it; then
/// drain [`poll_transmit`](Self::poll_transmit), and wait for bytes, a change or
/// [`poll_timeout`](Self::poll_timeout). Every `now` is the time since any fixed moment.
///
/// The controller takes the inputs of a status for what the door and the drive do *after* the frame
/// that it echoes (S1). So a status echoes no later frame than the last one that had been heard when
/// `poll_outputs` was called, and that call is followed by `set_inputs`. A panel that leaves out
/// either does not seem to hear.
///
/// A controller that hasn't noticed the panel's restart can't move it: only a frame that answers
/// this run of the panel counts, and none that the line repeats.
#[derive(Debug)]
pub struct PanelSession {
    floors: FloorCount,
    rear_door: bool,
    heartbeat: Duration,
    endpoint: Endpoint<ControllerFrame>,
    outputs: PanelOutputs,
    outputs_changed: bool,
    /// The last accepted `Drive`, and when it came.
    drive: Option<Drive>,
    driven_at: Duration,
    /// The last frame when the outputs were last asked for.
    applied: Option<FrameId>,
    /// The last frame whose effect the inputs show.
    echo: Option<FrameId>,
    inputs: PanelInputs,
    hello_wanted: bool,
    status_due: Due<Status>,
    climate_due: Due<Climate>,
    stuck: StuckReporter,
    acknowledged: PressSequence,
    presses: VecDeque<PendingPress>,
    /// The trips that the kiosks show, by slot; `None` until the frame of a slot has come.
    kiosks: Vec<Option<(Trip, String)>>,
}

/// Tells which buttons are stuck: what changed at once, and eight floors in turn now and then.
#[derive(Debug)]
struct StuckReporter {
    told: BTreeSet<Button>,
    refresh_at: Duration,
    /// The chunk whose turn it is.
    turn: u8,
}

#[derive(Debug)]
struct PendingPress {
    sequence: PressSequence,
    wish: Wish,
    due: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Button(Button),
    Trip(Trip),
    Alarm,
}

#[derive(Debug)]
struct Due<T> {
    told: Option<T>,
    at: Duration,
}

impl<T: PartialEq> Due<T> {
    fn is_due(&self, value: &T, now: Duration) -> bool {
        now >= self.at || self.told.as_ref() != Some(value)
    }
}

impl PanelSession {
    /// A panel of a shaft with `floors` floors, just powered up.
    ///
    /// `boot` is drawn at random at each start. `heartbeat` is how often an unchanged status is
    /// sent; 50 ms suits a controller with default settings.
    #[must_use]
    pub fn new(floors: FloorCount, boot: BootId, heartbeat: Duration, now: Duration) -> Self {
        Self {
            floors,
            rear_door: false,
            heartbeat,
            endpoint: Endpoint::new(boot),
            outputs: PanelOutputs::default(),
            outputs_changed: false,
            drive: None,
            driven_at: now,
            applied: None,
            echo: None,
            inputs: PanelInputs::default(),
            hello_wanted: true,
            status_due: Due { told: None, at: now },
            climate_due: Due { told: None, at: now },
            stuck: StuckReporter { told: BTreeSet::new(), refresh_at: now, turn: 0 },
            acknowledged: 0,
            presses: VecDeque::new(),
            kiosks: Vec::new(),
        }
    }

    /// The same for a car that also has a rear door.
    #[must_use]
    pub fn with_rear_door(self) -> Self {
        Self { rear_door: true, ..self }
    }

    /// What the controller last asked for; motor stopped and lamps dark before its first word.
    #[must_use]
    pub fn outputs(&self) -> &PanelOutputs {
        &self.outputs
    }

    /// How long no `Drive` frame has come that answers this run, or since the start: the panel's
    /// watchdog stops the motor when this exceeds its limit (S2).
    #[must_use]
    pub fn controller_silent_for(&self, now: Duration) -> Duration {
        now.saturating_sub(self.driven_at)
    }

    /// How many presses no controller has acknowledged yet.
    #[must_use]
    pub fn pending_presses(&self) -> usize {
        self.presses.len()
    }

    #[must_use]
    pub fn counters(&self) -> LineCounters {
        self.endpoint.counters()
    }

    /// What the sensors say at this moment, after what [`poll_outputs`](Self::poll_outputs) said was
    /// done.
    pub fn set_inputs(&mut self, inputs: PanelInputs) {
        self.inputs = inputs;
        self.echo = self.applied;
    }

    /// A button was pressed. The press is sent until the controller acknowledges it; the controller
    /// reports it exactly once. A button that the shaft does not have is ignored.
    ///
    /// Without a controller presses wait; from 64 on, pressing a button again whose press already
    /// waits adds none, nor does the same request.
    pub fn press(&mut self, button: Button) {
        if self.floors.has_button(button) {
            self.wish(Wish::Button(button));
        }
    }

    /// A passenger gave a destination at the kiosk of a landing. Sent and reported as a press is.
    pub fn request(&mut self, trip: Trip) {
        if self.floors.has_trip(trip) {
            self.wish(Wish::Trip(trip));
        }
    }

    /// Somebody pressed the alarm button. Sent and reported as a press is.
    pub fn alarm(&mut self) {
        self.wish(Wish::Alarm);
    }

    fn wish(&mut self, wish: Wish) {
        let waits = || self.presses.iter().any(|press| press.wish == wish);
        if self.presses.len() >= PRESS_BACKLOG && waits() {
            return;
        }
        let newest = self.presses.back().map_or(self.acknowledged, |press| press.sequence);
        self.presses.push_back(PendingPress {
            sequence: newest.wrapping_add(1),
            wish,
            due: Duration::ZERO,
        });
    }

    /// Takes bytes from the line, chopped up in any way.
    pub fn handle_bytes(&mut self, bytes: &[u8], now: Duration) {
        for &byte in bytes {
            match self.endpoint.push(byte) {
                Some(Heard::Frame(Numbered { frame, .. })) => self.handle_frame(frame, now),
                // A controller of another version learns this panel's from the answer.
                Some(Heard::Stranger | Heard::OtherVersion(_)) => self.hello_wanted = true,
                None => {}
            }
        }
    }

    /// The line was cut, or opened anew: a frame that has begun is dropped.
    pub fn handle_line_reopened(&mut self) {
        self.endpoint.forget();
        self.hello_wanted = true;
    }

    /// The outputs, once after each change: to be done at once.
    pub fn poll_outputs(&mut self) -> Option<&PanelOutputs> {
        self.applied = self.endpoint.last();
        std::mem::take(&mut self.outputs_changed).then_some(&self.outputs)
    }

    /// The next frame for the line, or `None` when there is nothing to send at `now`.
    pub fn poll_transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        let frame = self.next_frame(now)?;
        let answers = match frame {
            PanelFrame::Hello { .. } => self.endpoint.heard(),
            PanelFrame::Status(_)
            | PanelFrame::Press { .. }
            | PanelFrame::Climate(_)
            | PanelFrame::Stuck(_)
            | PanelFrame::Request { .. }
            | PanelFrame::Alarm { .. } => self.echo,
        };
        Some(self.endpoint.seal(&frame, answers))
    }

    /// When [`poll_transmit`](Self::poll_transmit) next has something without any change; ask once
    /// it has answered `None`.
    #[must_use]
    pub fn poll_timeout(&self) -> Duration {
        self.presses
            .iter()
            .take(PRESS_WINDOW)
            .map(|press| press.due)
            .chain([self.climate_due.at, self.stuck.refresh_at])
            .fold(self.status_due.at, Duration::min)
    }

    fn handle_frame(&mut self, frame: ControllerFrame, now: Duration) {
        match frame {
            ControllerFrame::Drive(drive) => self.handle_drive(&drive, now),
            ControllerFrame::Hello { .. } => self.hello_wanted = true,
            ControllerFrame::Lamps(chunk) => self.change_outputs(|outputs, floors| {
                chunk.apply(&mut outputs.lamps.orders, floors);
            }),
            ControllerFrame::Display(display) => {
                self.change_outputs(|outputs, _| outputs.display = display);
            }
            ControllerFrame::Kiosk(slot) => self.handle_kiosk(slot),
        }
    }

    fn handle_drive(&mut self, drive: &Drive, now: Duration) {
        if !drive.fits(self.floors) {
            self.endpoint.refuse();
            return;
        }
        // A controller that repeats itself early has missed a status.
        if self.drive == Some(*drive) && now < self.driven_at + self.heartbeat * 3 / 4 {
            self.status_due.at = now;
        }
        self.drive = Some(*drive);
        self.driven_at = now;
        self.acknowledge(drive.acknowledged);
        self.change_outputs(|outputs, _| {
            outputs.motor = drive.motor;
            outputs.door = drive.door;
            outputs.indicator = drive.indicator;
            outputs.lantern = drive.lantern;
            outputs.lamps.stop = drive.stop_lamp;
            outputs.alarm = drive.alarm;
            outputs.gong = drive.gong;
            outputs.light_off = drive.light_off;
        });
    }

    fn handle_kiosk(&mut self, KioskSlot { count, slot, shown }: KioskSlot) {
        if shown.as_ref().is_some_and(|(trip, _)| !self.floors.has_trip(*trip)) {
            self.endpoint.refuse();
            return;
        }
        self.kiosks.resize(usize::from(count), None);
        if let Some(place) = self.kiosks.get_mut(usize::from(slot)) {
            *place = shown;
        }
        let kiosks = self.kiosks.iter().flatten().cloned().collect();
        self.change_outputs(|outputs, _| outputs.kiosks = kiosks);
    }

    fn change_outputs(&mut self, change: impl FnOnce(&mut PanelOutputs, FloorCount)) {
        let before = self.outputs.clone();
        change(&mut self.outputs, self.floors);
        self.outputs_changed |= before != self.outputs;
    }

    fn acknowledge(&mut self, upto: PressSequence) {
        let taken = usize::from(upto.wrapping_sub(self.acknowledged));
        // An acknowledgement of an earlier controller is far ahead by this measure.
        if taken <= self.presses.len() {
            self.presses.drain(..taken);
            self.acknowledged = upto;
        }
    }

    fn next_frame(&mut self, now: Duration) -> Option<PanelFrame> {
        if std::mem::take(&mut self.hello_wanted) {
            self.status_due.at = now;
            self.climate_due.at = now;
            return Some(PanelFrame::Hello {
                floors: self.floors,
                acknowledged: self.acknowledged,
                rear_door: self.rear_door,
            });
        }
        if let Some(press) = self.next_press(now) {
            return Some(press);
        }
        // A new echo alone is no change: it waits for the heartbeat.
        let status = Status::of(&self.inputs);
        if self.status_due.is_due(&status, now) {
            self.status_due = Due { told: Some(status.clone()), at: now + self.heartbeat };
            return Some(PanelFrame::Status(status));
        }
        let climate = self.inputs.climate;
        if self.climate_due.is_due(&climate, now) {
            self.climate_due = Due { told: Some(climate), at: now + CLIMATE_PERIOD };
            return Some(PanelFrame::Climate(climate));
        }
        let stuck = self.stuck.next_chunk(&self.inputs.stuck, self.floors, now)?;
        Some(PanelFrame::Stuck(stuck))
    }

    fn next_press(&mut self, now: Duration) -> Option<PanelFrame> {
        let press = self.presses.iter_mut().take(PRESS_WINDOW).find(|press| now >= press.due)?;
        press.due = now + self.heartbeat / 2;
        let sequence = press.sequence;
        Some(match press.wish {
            Wish::Button(button) => PanelFrame::Press { sequence, button: Ok(button) },
            Wish::Trip(trip) => PanelFrame::Request { sequence, trip: Ok(trip) },
            Wish::Alarm => PanelFrame::Alarm { sequence },
        })
    }
}

impl StuckReporter {
    fn next_chunk(
        &mut self,
        stuck: &BTreeSet<Button>,
        floors: FloorCount,
        now: Duration,
    ) -> Option<ButtonChunk> {
        let changed = self.told.symmetric_difference(stuck).next();
        let index = match changed {
            Some(button) => button.floor().index() / ButtonChunk::FLOORS,
            None if now >= self.refresh_at => {
                self.refresh_at = now + STUCK_PERIOD;
                let turn = self.turn;
                self.turn = (turn + 1) % ButtonChunk::count(floors);
                turn
            }
            None => return None,
        };
        let chunk = ButtonChunk::of(stuck, floors, index);
        chunk.apply(&mut self.told, floors);
        Some(chunk)
    }
}
