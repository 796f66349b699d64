//! A controller's view of the connected panel, and what it has sent to it.

use std::time::Duration;

use super::CLIMATE_LIMIT;
use crate::protocol::frame::{BootId, ButtonChunk, ControllerFrame, Drive, KioskSlot, KioskSlots};
use crate::vocabulary::{
    Display, DoorState, DriveFeedback, MotorCommand, PanelEvent, PanelInputs, Trip,
};

/// How often in a heartbeat a `Drive` is repeated while the line damages frames.
const REPEATS: u32 = 4;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) boot: BootId,
    pub(super) heard_at: Duration,
    /// When the panel last acknowledged something new.
    pub(super) echo_at: Duration,
    echo: u32,
    pub(super) climate_at: Duration,
    pub(super) inputs: PanelInputs,
    drive: Option<Drive>,
    drive_due: Duration,
    /// The number of the last `Drive` that may have moved the car, until the panel has answered it
    /// or a later frame: the inputs don't show yet what it did.
    moved: Option<u32>,
    /// Likewise of the last one that may have opened the door.
    opened: Option<u32>,
    damaged_at: Option<Duration>,
    display: Option<Display>,
    chunks: Vec<Option<ButtonChunk>>,
    kiosks: ToldKiosks,
    refresh: Refresh,
}

#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) drive: Drive,
    pub(super) display: Display,
    pub(super) chunks: &'a [ButtonChunk],
    pub(super) kiosks: &'a KioskSlots,
}

impl Wanted<'_> {
    /// What is refreshed in this turn: each chunk, the display, each slot of the kiosks, or that
    /// there is none, and then from the start.
    fn refreshed(&self, turn: usize) -> Option<ControllerFrame> {
        let after_chunks = turn.checked_sub(self.chunks.len());
        let Some(after_chunks) = after_chunks else {
            return self.chunks.get(turn).map(|&chunk| ControllerFrame::Lamps(chunk));
        };
        match after_chunks.checked_sub(1) {
            None => Some(ControllerFrame::Display(self.display.clone())),
            Some(0) => {
                let first = self.kiosks.frames().next();
                Some(ControllerFrame::Kiosk(first.unwrap_or_else(|| self.kiosks.last())))
            }
            Some(slot) => self.kiosks.frames().nth(slot).map(ControllerFrame::Kiosk),
        }
    }
}

#[derive(Debug, Default)]
struct ToldKiosks {
    /// How many slots there are; `None` before the first frame.
    count: Option<u8>,
    slots: Vec<Option<(Trip, String)>>,
}

impl ToldKiosks {
    /// The next frame that tells something new, if any: first of a slot that has changed, then of
    /// how many there are.
    fn next_change(&mut self, wanted: &KioskSlots) -> Option<KioskSlot> {
        let is_new = |frame: &KioskSlot| {
            self.slots.get(usize::from(frame.slot)).is_none_or(|told| *told != frame.shown)
        };
        let last = || Some(wanted.last()).filter(|last| self.count != Some(last.count));
        let frame = wanted.frames().find(is_new).or_else(last)?;
        self.count = Some(frame.count);
        self.slots.resize(usize::from(frame.count), None);
        if let Some(slot) = self.slots.get_mut(usize::from(frame.slot)) {
            slot.clone_from(&frame.shown);
        }
        Some(frame)
    }
}

/// Which lamps, text or trips are repeated next, changed or not.
#[derive(Debug)]
struct Refresh {
    due: Duration,
    turn: usize,
}

impl Connection {
    /// A connection to a panel that has to echo the frame of number `unanswered`, or a later one,
    /// before what it reports of its door and its drive counts.
    pub(super) fn new(
        boot: BootId,
        unanswered: u32,
        inputs: PanelInputs,
        chunks: usize,
        now: Duration,
    ) -> Self {
        Self {
            boot,
            heard_at: now,
            echo_at: now,
            echo: 0,
            climate_at: now,
            inputs,
            drive: None,
            drive_due: now,
            moved: Some(unanswered),
            opened: Some(unanswered),
            damaged_at: None,
            display: None,
            chunks: vec![None; chunks],
            kiosks: ToldKiosks::default(),
            refresh: Refresh { due: now, turn: 0 },
        }
    }

    /// The panel's status answers the frame of this number; `next` is the number of the next one.
    pub(super) fn hear_echo(&mut self, echo: u32, next: u32, now: Duration) {
        self.heard_at = now;
        if echo != self.echo {
            self.echo = echo;
            self.echo_at = now;
        }
        // The panel may have missed that frame, but then it has not acted on it.
        let is_answered = |sent: &mut u32| echo.wrapping_sub(*sent) < next.wrapping_sub(*sent);
        self.moved.take_if(is_answered);
        self.opened.take_if(is_answered);
    }

    /// A frame was damaged or lost: it is asked for soon.
    pub(super) fn note_damage(&mut self, heartbeat: Duration, now: Duration) {
        self.damaged_at = Some(now);
        self.drive_due = self.drive_due.min(now + heartbeat / REPEATS);
    }

    pub(super) fn note_sent(&mut self, drive: &Drive, number: u32) {
        if drive.motor != MotorCommand::Stop {
            self.moved = Some(number);
        }
        if drive.door.opens().is_some() {
            self.opened = Some(number);
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

    /// Whether the panel does not know yet what is to move.
    pub(super) fn has_news(&self, wanted: &Wanted<'_>) -> bool {
        self.drive != Some(wanted.drive)
    }

    /// What moves first, then what changed, then one refresh.
    pub(super) fn next_frame(
        &mut self,
        wanted: &Wanted<'_>,
        heartbeat: Duration,
        now: Duration,
    ) -> Option<ControllerFrame> {
        let &Wanted { drive, ref display, chunks, kiosks } = wanted;
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
        if self.display.as_ref() != Some(display) {
            self.display = Some(display.clone());
            return Some(ControllerFrame::Display(display.clone()));
        }
        if let Some(slot) = self.kiosks.next_change(kiosks) {
            return Some(ControllerFrame::Kiosk(slot));
        }
        if now >= self.refresh.due {
            let turn = self.refresh.turn;
            let (frame, next) = match wanted.refreshed(turn) {
                Some(frame) => (Some(frame), turn + 1),
                None => (wanted.refreshed(0), 1),
            };
            self.refresh = Refresh { due: now + heartbeat, turn: next };
            return frame;
        }
        None
    }
}
