//! A controller's view of the connected panel, and what it has sent to it.

use std::time::Duration;

use super::CLIMATE_LIMIT;
use crate::protocol::frame::{BootId, ButtonChunk, ControllerFrame, Drive};
use crate::vocabulary::{Display, PanelEvent, PanelInputs};

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
            display: None,
            chunks: vec![None; chunks],
            refresh: Refresh { due: now, slot: 0 },
        }
    }

    pub(super) fn hear_echo(&mut self, echo: u8, now: Duration) {
        self.heard_at = now;
        if echo != self.echo {
            self.echo = echo;
            self.echo_at = now;
        }
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
            self.drive_due = now + heartbeat;
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
