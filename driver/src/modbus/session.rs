//! What a node writes to a PLC and how it takes the answers, as a pure state machine.

use std::time::Duration;

use super::map::{self, Acknowledged, Seen, Words};
use super::wire::{Fault, INPUT_REGISTER, Span};
use crate::interlock::{permitted_door, permitted_motor};
use crate::vocabulary::{
    DoorCommand, DriveFeedback, Floor, FloorCount, MotorCommand, PanelEvent, PanelInputs,
    PanelOutputs,
};

/// How many rounds a PLC may fail to echo the heartbeat, however long they take.
const PATIENT_ROUNDS: u32 = 1;

#[derive(Debug)]
pub(super) struct Session {
    floors: FloorCount,
    /// How long the PLC may fail to echo the heartbeat.
    silence: Duration,
    outputs: PanelOutputs,
    /// Where the drive was last commanded to stop. It stays until the next flight: no drive sees a
    /// direction without it.
    stop_at: Option<Floor>,
    door: DoorCommand,
    inputs: PanelInputs,
    /// What was last reported since the PLC is connected; `None` while it isn't.
    told: Option<PanelInputs>,
    echo: Echo,
    acknowledged: Acknowledged,
}

/// The heartbeat, which is written after the coils of each round. A program that echoes it has
/// worked with these coils.
#[derive(Debug)]
struct Echo {
    written: u16,
    /// What the PLC echoed last, when, and how many rounds ago.
    seen: u16,
    at: Duration,
    rounds: u32,
    /// The last heartbeat whose coils may have moved the car, until a later one is echoed: the
    /// inputs don't show yet what they did.
    moved: Option<u16>,
    /// Likewise of the last one whose coils may have opened the door.
    opened: Option<u16>,
}

/// What is written in a round, in this order.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) stop_at: u16,
    pub(super) coils: Vec<bool>,
    pub(super) heartbeat: u16,
    pub(super) indicator: u16,
}

impl Session {
    pub(super) fn new(floors: FloorCount, silence: Duration) -> Self {
        Self {
            floors,
            silence,
            outputs: PanelOutputs::default(),
            stop_at: None,
            door: DoorCommand::Close,
            inputs: PanelInputs::default(),
            told: None,
            echo: Echo::new(0, Duration::ZERO),
            acknowledged: Acknowledged::default(),
        }
    }

    pub(super) fn set_outputs(&mut self, outputs: PanelOutputs) {
        self.outputs = outputs;
    }

    pub(super) fn is_connected(&self) -> bool {
        self.told.is_some()
    }

    /// Whether the car moves or is to move: something will happen soon.
    pub(super) fn is_busy(&self) -> bool {
        self.outputs.motor != MotorCommand::Stop
            || self.inputs.drive != DriveFeedback::Stopped
            || self.echo.moved.is_some()
    }

    /// A new connection, on which this was read before anything was written. A hall call or alarm
    /// that an earlier one has acknowledged is reported again if it is there: it may be a new press
    /// of a call that was served meanwhile. A car call was not, and a second press may cancel it.
    pub(super) fn handle_connected(
        &mut self,
        words: &Words,
        bits: &[bool],
        now: Duration,
    ) -> Result<(), Fault> {
        self.told = None;
        self.acknowledged.calls.retain(|button| button.direction().is_none());
        self.acknowledged.alarm = false;
        self.inputs = map::read(self.floors, words, bits, self.outputs.door)?.inputs;
        self.echo = Echo::new(words[map::ECHO], now);
        Ok(())
    }

    pub(super) fn handle_lost(&mut self) {
        self.told = None;
    }

    /// The values to write next. The motor stops unless the door is known to be closed (S1).
    pub(super) fn next_round(&mut self) -> Round {
        let door = self.echo.opened.is_none().then_some(self.inputs.door);
        let motor = permitted_motor(&self.outputs, door);
        if let MotorCommand::Run { stop_at, .. } = motor {
            self.stop_at = Some(stop_at);
        }
        let drive = self.echo.moved.is_none().then_some(self.inputs.drive);
        self.door = permitted_door(&self.outputs, &self.inputs, drive);
        self.echo.note_written(motor, self.door);
        Round {
            stop_at: map::number(self.stop_at),
            coils: map::coils(self.floors, &self.outputs, motor, self.door, &self.acknowledged),
            heartbeat: self.echo.written,
            indicator: map::number(self.outputs.indicator),
        }
    }

    /// The last coils of a connection: the motor stops.
    pub(super) fn farewell(&mut self) -> Vec<bool> {
        let mut coils = self.next_round().coils;
        map::stop_motor(&mut coils);
        coils
    }

    /// What was read after a round was written: the registers first, so that the discrete inputs
    /// show what the program has done with the heartbeat that it echoes.
    pub(super) fn handle_answers(
        &mut self,
        words: &Words,
        bits: &[bool],
        now: Duration,
    ) -> Result<Vec<PanelEvent>, Fault> {
        let Seen { inputs, presses } = map::read(self.floors, words, bits, self.door)?;
        self.inputs = inputs;
        let is_echoed = self.echo.handle_echo(words[map::ECHO], self.silence, now)?;
        let mut events = Vec::new();
        if !self.is_connected() {
            if !is_echoed {
                return Ok(events);
            }
            events.push(PanelEvent::Connected);
        }
        if self.told.as_ref() != Some(&self.inputs) {
            self.told = Some(self.inputs.clone());
            events.push(PanelEvent::Inputs(self.inputs.clone()));
        }
        let floors = self.floors;
        if presses.alarm && !self.acknowledged.alarm {
            events.push(PanelEvent::Alarm);
        }
        events.extend(presses.calls.difference(&self.acknowledged.calls).map(|&button| {
            if floors.has_button(button) {
                PanelEvent::Pressed(button)
            } else {
                PanelEvent::Refused(format!("a press of {button}"))
            }
        }));
        self.acknowledged = presses;
        Ok(events)
    }
}

impl Echo {
    /// Nothing is known yet of what the program has done with earlier coils.
    fn new(seen: u16, at: Duration) -> Self {
        Self { written: seen, seen, at, rounds: 0, moved: Some(seen), opened: Some(seen) }
    }

    fn note_written(&mut self, motor: MotorCommand, door: DoorCommand) {
        self.written = self.written.wrapping_add(1);
        if motor != MotorCommand::Stop {
            self.moved = Some(self.written);
        }
        if door.opens().is_some() {
            self.opened = Some(self.written);
        }
    }

    /// Whether this is the echo of a later heartbeat than the last one. The PLC's watchdog stops the
    /// motor after twice the silence, so a node that sees such a gap has to know of it too.
    fn handle_echo(&mut self, echo: u16, silence: Duration, now: Duration) -> Result<bool, Fault> {
        let written = self.written;
        let age = |heartbeat: u16| written.wrapping_sub(heartbeat);
        let is_new = age(echo) < age(self.seen);
        self.rounds += 1;
        let gap = now.saturating_sub(self.at);
        let what = if is_new && gap > silence * 2 {
            "the heartbeat was echoed too late"
        } else if !is_new && gap > silence && self.rounds > PATIENT_ROUNDS {
            "the heartbeat is not echoed: does the program of the PLC run?"
        } else {
            if is_new {
                (self.seen, self.at, self.rounds) = (echo, now, 0);
                let is_answered = |sent: &mut u16| age(echo) < age(*sent);
                self.moved.take_if(is_answered);
                self.opened.take_if(is_answered);
            }
            return Ok(is_new);
        };
        Err(Fault::Impossible(Span(INPUT_REGISTER, 0, 1), what.to_owned()))
    }
}

#[cfg(test)]
mod tests;
