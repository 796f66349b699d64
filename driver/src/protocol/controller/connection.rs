//! A controller's view of the connected panel, and what it has sent to it.

use std::time::Duration;

use super::CLIMATE_LIMIT;
use crate::protocol::frame::{BootId, ButtonChunk, ControllerFrame, Drive};
use crate::vocabulary::{
    Display, DoorCommand, DoorState, DriveFeedback, MotorCommand, PanelEvent, PanelInputs,
};

/// How often in a heartbeat a `Drive` is repeated while the line damages frames.
const REPEATS: u32 = 4;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) boot: BootId,
    pub(super) heard_at: Duration,
    /// When the panel last acknowledged something new.
    pub(super) echo_at: Duration,
    echo: u8,
    pub(super) climate_at: Duration,
    pub(super) inputs: PanelInputs,
    drive: Option<Drive>,
    drive_due: Duration,
    /// The number of the last `Drive` that may have moved the car, until the panel has answered it
    /// or a later frame: the inputs don't show yet what it did.
    moved: Option<u8>,
    /// Likewise of the last one that may have opened the door.
    opened: Option<u8>,
    /// When damage was last noticed.
    damaged_at: Option<Duration>,
    display: Option<Display>,
    chunks: Vec<Option<ButtonChunk>>,
    refresh: Refresh,
}

/// Which lamps or text are repeated next, changed or not.
#[derive(Debug)]
struct Refresh {
    due: Duration,
    /// A chunk's index, or one more than the last for the display.
    slot: usize,
}

impl Connection {
    pub(super) fn new(
        boot: BootId,
        echo: u8,
        inputs: PanelInputs,
        chunks: usize,
        now: Duration,
    ) -> Self {
        Self {
            boot,
            heard_at: now,
            echo_at: now,
            echo,
            climate_at: now,
            inputs,
            drive: None,
            drive_due: now,
            moved: None,
            opened: None,
            damaged_at: None,
            display: None,
            chunks: vec![None; chunks],
            refresh: Refresh { due: now, slot: 0 },
        }
    }

    /// The panel's status answers the frame of this number; `next` is the number of the next one.
    pub(super) fn hear_echo(&mut self, echo: u8, next: u8, now: Duration) {
        self.heard_at = now;
        if echo != self.echo {
            self.echo = echo;
            self.echo_at = now;
        }
        // The panel may have missed that frame, but then it has not acted on it.
        let is_answered = |sent: &mut u8| echo.wrapping_sub(*sent) < next.wrapping_sub(*sent);
        self.moved.take_if(is_answered);
        self.opened.take_if(is_answered);
    }

    /// A frame was damaged or lost.
    pub(super) fn note_damage(&mut self, now: Duration) {
        self.damaged_at = Some(now);
    }

    /// This `Drive` is sent under this number.
    pub(super) fn note_sent(&mut self, drive: &Drive, sequence: u8) {
        if drive.motor != MotorCommand::Stop {
            self.moved = Some(sequence);
        }
        if drive.door == DoorCommand::Open {
            self.opened = Some(sequence);
        }
    }

    /// The door as the panel reported it, unless it may have been opened since.
    pub(super) fn door(&self) -> Option<DoorState> {
        self.opened.is_none().then_some(self.inputs.door)
    }

    /// What the drive does as the panel reported it, unless it may have been started since.
    pub(super) fn feedback(&self) -> Option<DriveFeedback> {
        self.moved.is_none().then_some(self.inputs.drive)
    }

    /// Changes the inputs; answers them if they differ from before.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut PanelInputs)) -> Option<PanelEvent> {
        let mut inputs = self.inputs.clone();
        change(&mut inputs);
        (inputs != self.inputs).then(|| {
            self.inputs = inputs.clone();
            PanelEvent::Inputs(inputs)
        })
    }

    pub(super) fn repeat_drive(&mut self, now: Duration) {
        self.drive_due = now;
    }

    /// The earliest moment with something to do.
    pub(super) fn deadline(&self, silence: Duration) -> Duration {
        [self.drive_due, self.refresh.due, self.heard_at + silence, self.echo_at + silence]
            .into_iter()
            .fold(self.climate_at + CLIMATE_LIMIT, Duration::min)
    }

    /// A line that damages frames has them repeated before the panel counts as silent.
    fn drive_period(&self, heartbeat: Duration, now: Duration) -> Duration {
        let damaged = self.damaged_at.is_some_and(|at| now < at + heartbeat * 2);
        let is_late = now > self.echo_at + heartbeat * 3 / 2;
        if damaged || is_late { heartbeat / REPEATS } else { heartbeat }
    }

    /// What moves first, then what changed, then one refresh.
    pub(super) fn next_frame(
        &mut self,
        drive: Drive,
        display: Display,
        chunks: &[ButtonChunk],
        heartbeat: Duration,
        now: Duration,
    ) -> Option<ControllerFrame> {
        if self.drive != Some(drive) || now >= self.drive_due {
            self.drive = Some(drive);
            self.drive_due = now + self.drive_period(heartbeat, now);
            return Some(ControllerFrame::Drive(drive));
        }
        for (told, &chunk) in self.chunks.iter_mut().zip(chunks) {
            if *told != Some(chunk) {
                *told = Some(chunk);
                return Some(ControllerFrame::Lamps(chunk));
            }
        }
        if self.display.as_ref() != Some(&display) {
            self.display = Some(display.clone());
            return Some(ControllerFrame::Display(display));
        }
        if now >= self.refresh.due {
            let slot = self.refresh.slot;
            self.refresh = Refresh {
                due: now + heartbeat,
                slot: if slot < chunks.len() { slot + 1 } else { 0 },
            };
            return Some(chunks.get(slot).map_or_else(
                || ControllerFrame::Display(display),
                |&chunk| ControllerFrame::Lamps(chunk),
            ));
        }
        None
    }
}
