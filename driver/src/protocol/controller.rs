//! The controller's end of the line.

use std::collections::VecDeque;
use std::time::Duration;

use super::codec::{Header, Numbered, VERSION};
use super::endpoint::{Endpoint, Heard};
use super::frame::{
    BootId, ButtonChunk, ControllerFrame, Drive, KioskSlots, PanelFrame, PressSequence, Status, cut,
};
use super::panel::CLIMATE_PERIOD;
use crate::counters::LineCounters;
use crate::interlock::{permitted_door, permitted_motor};
use crate::vocabulary::{
    Climate, Display, FloorCount, MotorCommand, PanelEvent, PanelInputs, PanelOutputs,
};

mod connection;

use connection::{Connection, Wanted};

/// How long a climate that is not sent again stays known (K1).
const CLIMATE_LIMIT: Duration = CLIMATE_PERIOD.saturating_mul(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// How often unchanged outputs are sent, and how often an absent panel is greeted. Much shorter
    /// than the panel's watchdog. Default 50 ms.
    pub heartbeat: Duration,
    /// How long a panel may send nothing, or receive nothing, before it is disconnected. At least
    /// three heartbeats of either end, so that a lost frame does no harm. Default 250 ms.
    pub silence: Duration,
    /// Whether the car has a rear door. Default: no.
    pub rear_door: bool,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(50),
            silence: Duration::from_millis(250),
            rear_door: false,
        }
    }
}

/// The controller's state machine, free of I/O.
///
/// ```text
///                 Hello, right floors            Status of the same run
///   ┌─────────┐ ───────────────────▶ ┌─────────┐ ─────────▶ ┌───────────┐
///   │ Seeking │                      │ Greeted │            │ Connected │
///   └─────────┘ ◀─────────────────── └─────────┘ ◀───────── └───────────┘
///        ▲        Hello, wrong floors             Hello of another run │
///        └──────────────── silent, deaf, or a frame of another run ────┘
/// ```
///
/// [`set_outputs`](Self::set_outputs) and [`handle_bytes`](Self::handle_bytes), then drain
/// [`poll_transmit`](Self::poll_transmit) and [`poll_event`](Self::poll_event), then wait for
/// bytes, new outputs or [`poll_timeout`](Self::poll_timeout). Every `now` is the time since any
/// fixed moment.
///
/// A motor command is sent only while the panel reports its door closed and the door is not
/// commanded to open; otherwise a stop is sent instead (S1). What the panel reported before it heard
/// the last command to move counts for nothing, also after a reconnection. A frame that the line
/// repeats, of this run of the panel or of an earlier one, counts for nothing either.
#[derive(Debug)]
pub struct ControllerSession {
    floors: FloorCount,
    settings: SessionSettings,
    endpoint: Endpoint<PanelFrame>,
    /// Whether a panel that has not answered yet is to be greeted.
    hello_wanted: bool,
    outputs: PanelOutputs,
    chunks: Vec<ButtonChunk>,
    kiosks: KioskSlots,
    state: SessionState,
    /// The number of the first frame that no `Drive` follows: what a panel reported before it heard
    /// such a frame may be outdated.
    undriven: u32,
    /// The boot id of the panel last greeted, and its last reported press.
    taken: Option<(BootId, PressSequence)>,
    /// The reason that was last reported for being disconnected.
    told: Option<String>,
    events: VecDeque<PanelEvent>,
}

#[derive(Debug)]
enum SessionState {
    Seeking {
        hello_due: Duration,
        /// When to report that nothing answers, if that was not done.
        give_up: Option<Duration>,
    },
    Greeted {
        boot: BootId,
        hello_due: Duration,
        give_up: Duration,
    },
    Connected(Box<Connection>),
}

impl SessionState {
    fn boot(&self) -> Option<BootId> {
        match self {
            Self::Seeking { .. } => None,
            Self::Greeted { boot, .. } => Some(*boot),
            Self::Connected(connection) => Some(connection.boot),
        }
    }
}

impl ControllerSession {
    /// Creates a session on a newly opened line, for a panel with `floors` floors.
    ///
    /// `boot` is drawn at random for each session.
    #[must_use]
    pub fn new(floors: FloorCount, boot: BootId, settings: SessionSettings, now: Duration) -> Self {
        let outputs = PanelOutputs::default();
        Self {
            floors,
            settings,
            endpoint: Endpoint::new(boot),
            hello_wanted: false,
            chunks: chunks_of(&outputs, floors),
            kiosks: KioskSlots::default(),
            outputs,
            state: seek(now, Some(now + settings.silence)),
            undriven: 0,
            taken: None,
            told: None,
            events: VecDeque::new(),
        }
    }

    /// Whether the panel answers, and is the right one.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(self.state, SessionState::Connected(_))
    }

    #[must_use]
    pub fn counters(&self) -> LineCounters {
        self.endpoint.counters()
    }

    pub fn set_outputs(&mut self, outputs: PanelOutputs) {
        if outputs.lamps.orders != self.outputs.lamps.orders {
            self.chunks = chunks_of(&outputs, self.floors);
        }
        if outputs.kiosks != self.outputs.kiosks {
            self.kiosks.show(&outputs.kiosks, self.floors);
        }
        self.outputs = outputs;
    }

    pub fn handle_bytes(&mut self, bytes: &[u8], now: Duration) {
        let before = self.endpoint.counters();
        for &byte in bytes {
            match self.endpoint.push(byte) {
                Some(Heard::Frame(Numbered { header, frame })) => {
                    self.handle_frame(header, frame, now);
                }
                Some(Heard::Stranger) => self.hello_wanted = true,
                Some(Heard::OtherVersion(version)) if !self.is_connected() => {
                    self.disconnect(
                        format!("the panel speaks protocol version {version}, this node {VERSION}"),
                        now,
                    );
                }
                Some(Heard::OtherVersion(_)) | None => {}
            }
        }
        let counters = self.endpoint.counters();
        let is_damaged = (counters.damaged, counters.lost) != (before.damaged, before.lost);
        if let SessionState::Connected(connection) = &mut self.state
            && is_damaged
        {
            connection.note_damage(self.settings.heartbeat, now);
        }
    }

    /// The line is gone, for this reason. Nothing is received or worth sending until
    /// [`handle_line_opened`](Self::handle_line_opened).
    pub fn handle_line_lost(&mut self, reason: String, now: Duration) {
        self.endpoint.forget();
        self.disconnect(reason, now);
    }

    pub fn handle_line_opened(&mut self, now: Duration) {
        self.endpoint.forget();
        self.state = seek(now, Some(now + self.settings.silence));
    }

    /// Returns the next event. Drain it after every call that takes `now`.
    pub fn poll_event(&mut self) -> Option<PanelEvent> {
        self.events.pop_front()
    }

    /// The next frame for the line, or `None` when there is nothing to send at `now`.
    pub fn poll_transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.check_silence(now);
        let frame = self.next_frame(now)?;
        if let (SessionState::Connected(connection), ControllerFrame::Drive(drive)) =
            (&mut self.state, &frame)
        {
            connection.note_sent(drive, self.endpoint.next());
        }
        Some(self.seal(&frame))
    }

    /// When [`poll_transmit`](Self::poll_transmit) next has something to send or to check. Call it
    /// after that has returned `None`.
    #[must_use]
    pub fn poll_timeout(&self) -> Duration {
        match &self.state {
            SessionState::Seeking { hello_due, give_up } => {
                give_up.map_or(*hello_due, |give_up| give_up.min(*hello_due))
            }
            SessionState::Greeted { hello_due, give_up, .. } => *hello_due.min(give_up),
            SessionState::Connected(connection) => connection.deadline(self.settings.silence),
        }
    }

    /// The last frame of a controller that ends: the motor stops, everything else stays.
    ///
    /// `None` while no panel is connected.
    pub fn farewell(&mut self) -> Option<Vec<u8>> {
        self.outputs.motor = MotorCommand::Stop;
        let SessionState::Connected(connection) = &self.state else {
            return None;
        };
        let drive = drive(&self.outputs, connection, self.taken);
        Some(self.seal(&ControllerFrame::Drive(drive)))
    }

    fn seal(&mut self, frame: &ControllerFrame) -> Vec<u8> {
        let answers = match frame {
            ControllerFrame::Hello { .. } => self.endpoint.heard(),
            ControllerFrame::Drive(_) => {
                self.undriven = self.endpoint.next().wrapping_add(1);
                self.endpoint.last()
            }
            ControllerFrame::Lamps(_) | ControllerFrame::Display(_) | ControllerFrame::Kiosk(_) => {
                self.endpoint.last()
            }
        };
        self.endpoint.seal(frame, answers)
    }

    fn handle_frame(&mut self, header: Header, frame: PanelFrame, now: Duration) {
        let Header { id, answers } = header;
        if self.state.boot().is_some_and(|boot| boot != id.boot) {
            // The panel has restarted: its state is determined before anything is reported.
            self.state = seek(now, Some(now + self.settings.silence));
        }
        match frame {
            PanelFrame::Hello { floors, acknowledged, rear_door } => {
                match self.mismatch(floors, rear_door) {
                    Some(what) => self.disconnect(what, now),
                    None => self.handle_hello(id.boot, acknowledged, now),
                }
            }
            PanelFrame::Status(status) => {
                let echo = answers.map_or(0, |answered| answered.number);
                self.handle_status(status, echo, now);
            }
            PanelFrame::Press { sequence, button } => {
                let event = match button {
                    Ok(button) if self.floors.has_button(button) => PanelEvent::Pressed(button),
                    Ok(button) => PanelEvent::Refused(format!("a press of {button}")),
                    Err(raw) => PanelEvent::Refused(format!("a press with the bytes {raw:?}")),
                };
                self.handle_press(sequence, event, now);
            }
            PanelFrame::Request { sequence, trip } => {
                let event = match trip {
                    Ok(trip) if self.floors.has_trip(trip) => PanelEvent::Requested(trip),
                    Ok(trip) => PanelEvent::Refused(format!("a request for {trip}")),
                    Err(raw) => PanelEvent::Refused(format!("a request with the bytes {raw:?}")),
                };
                self.handle_press(sequence, event, now);
            }
            PanelFrame::Alarm { sequence } => self.handle_press(sequence, PanelEvent::Alarm, now),
            PanelFrame::Climate(climate) => {
                if let SessionState::Connected(connection) = &mut self.state {
                    connection.heard_at = now;
                    connection.climate_at = now;
                    let inputs = connection.change(|inputs| inputs.climate = climate);
                    self.events.extend(inputs);
                }
            }
            PanelFrame::Stuck(chunk) => {
                if let SessionState::Connected(connection) = &mut self.state {
                    connection.heard_at = now;
                    let floors = self.floors;
                    let inputs = connection.change(|inputs| chunk.apply(&mut inputs.stuck, floors));
                    self.events.extend(inputs);
                }
            }
        }
    }

    /// Why a panel with these floors and doors does not fit, if it does not.
    fn mismatch(&self, floors: FloorCount, rear_door: bool) -> Option<String> {
        if floors != self.floors {
            let (has, wanted) = (floors.get(), self.floors.get());
            return Some(format!(
                "the panel has {has} floors, but the configuration says {wanted}"
            ));
        }
        let lacks = self.settings.rear_door && !rear_door;
        lacks.then(|| "the panel has no rear door, but the building says one".to_owned())
    }

    fn handle_hello(&mut self, boot: BootId, acknowledged: PressSequence, now: Duration) {
        match &mut self.state {
            SessionState::Connected(connection) => connection.heard_at = now,
            SessionState::Greeted { .. } => {}
            SessionState::Seeking { .. } => {
                self.state = SessionState::Greeted {
                    boot,
                    hello_due: now + self.settings.heartbeat,
                    give_up: now + self.settings.silence,
                };
            }
        }
        if self.taken.is_none_or(|(greeted, _)| greeted != boot) {
            self.taken = Some((boot, acknowledged));
        }
    }

    /// Handles a status that shows what the frame of number `echo` did.
    fn handle_status(&mut self, status: Status, echo: u32, now: Duration) {
        if !status.fits(self.floors) {
            self.endpoint.refuse();
            return;
        }
        match &mut self.state {
            SessionState::Connected(connection) => {
                connection.hear_echo(echo, self.endpoint.next(), now);
                let told = connection.change(|inputs| *inputs = status.inputs(inputs.clone()));
                self.events.extend(told);
            }
            SessionState::Greeted { boot, .. } => {
                let inputs = status.inputs(PanelInputs::default());
                self.told = None;
                self.events.push_back(PanelEvent::Connected);
                self.events.push_back(PanelEvent::Inputs(inputs.clone()));
                let chunks = self.chunks.len();
                let mut connection = Connection::new(*boot, self.undriven, inputs, chunks, now);
                connection.hear_echo(echo, self.endpoint.next(), now);
                self.state = SessionState::Connected(Box::new(connection));
            }
            SessionState::Seeking { .. } => {}
        }
    }

    /// A press, a request or an alarm, and what it means. One of something that the shaft does not
    /// have is acknowledged as well: the panel would repeat it for ever, and later presses wait for
    /// it.
    fn handle_press(&mut self, sequence: PressSequence, event: PanelEvent, now: Duration) {
        let SessionState::Connected(connection) = &mut self.state else {
            return;
        };
        connection.heard_at = now;
        let Some((_, last)) = &mut self.taken else {
            return;
        };
        let ahead = sequence.wrapping_sub(*last);
        if ahead == 1 {
            *last = sequence;
            if matches!(event, PanelEvent::Refused(_)) {
                self.endpoint.refuse();
            }
            self.events.push_back(event);
        } else if ahead == 0 || ahead > PressSequence::MAX / 2 {
            // Reported already: the acknowledgement was lost.
            connection.repeat_drive(now);
        }
    }

    fn disconnect(&mut self, reason: String, now: Duration) {
        self.state = seek(now + self.settings.heartbeat, None);
        if self.told.as_ref() != Some(&reason) {
            self.told = Some(reason.clone());
            self.events.push_back(PanelEvent::Disconnected(reason));
        }
    }

    fn check_silence(&mut self, now: Duration) {
        let silence = self.settings.silence;
        match &mut self.state {
            SessionState::Connected(connection) => {
                if now >= connection.heard_at + silence {
                    self.disconnect("the panel is silent".to_owned(), now);
                } else if now >= connection.echo_at + silence {
                    self.disconnect("the panel does not hear the controller".to_owned(), now);
                } else if now >= connection.climate_at + CLIMATE_LIMIT {
                    connection.climate_at = now;
                    let told = connection.change(|inputs| inputs.climate = Climate::default());
                    self.events.extend(told);
                }
            }
            SessionState::Seeking { give_up: Some(give_up), .. }
            | SessionState::Greeted { give_up, .. } => {
                if now >= *give_up {
                    self.disconnect("the panel does not answer".to_owned(), now);
                }
            }
            SessionState::Seeking { give_up: None, .. } => {}
        }
    }

    fn next_frame(&mut self, now: Duration) -> Option<ControllerFrame> {
        let heartbeat = self.settings.heartbeat;
        let hello = ControllerFrame::Hello { floors: self.floors };
        match &mut self.state {
            SessionState::Seeking { hello_due, .. } | SessionState::Greeted { hello_due, .. } => {
                let is_due = now >= *hello_due;
                if is_due {
                    *hello_due = now + heartbeat;
                }
                (std::mem::take(&mut self.hello_wanted) || is_due).then_some(hello)
            }
            SessionState::Connected(connection) => {
                let drive = drive(&self.outputs, connection, self.taken);
                let Display { position, text, brightness } = &self.outputs.display;
                let [position, text] = [position, text].map(|text| cut(text).to_owned());
                let display = Display { position, text, brightness: *brightness };
                let wanted = Wanted { drive, display, chunks: &self.chunks, kiosks: &self.kiosks };
                // A stop of the motor waits for nothing (H6).
                if !connection.has_news(&wanted) && std::mem::take(&mut self.hello_wanted) {
                    return Some(hello);
                }
                connection.next_frame(&wanted, heartbeat, now)
            }
        }
    }
}

fn seek(hello_due: Duration, give_up: Option<Duration>) -> SessionState {
    SessionState::Seeking { hello_due, give_up }
}

fn chunks_of(outputs: &PanelOutputs, floors: FloorCount) -> Vec<ButtonChunk> {
    (0..ButtonChunk::count(floors))
        .map(|index| ButtonChunk::of(&outputs.lamps.orders, floors, index))
        .collect()
}

/// The `Drive` frame for these outputs, restricted by S1.
fn drive(
    outputs: &PanelOutputs,
    connection: &Connection,
    taken: Option<(BootId, PressSequence)>,
) -> Drive {
    Drive {
        acknowledged: taken.map_or(0, |(_, last)| last),
        motor: permitted_motor(outputs, connection.door()),
        door: permitted_door(outputs, &connection.inputs, connection.feedback()),
        indicator: outputs.indicator,
        lantern: outputs.lantern,
        stop_lamp: outputs.lamps.stop,
        alarm: outputs.alarm,
        gong: outputs.gong,
        light_off: outputs.light_off,
    }
}

#[cfg(test)]
mod tests;
