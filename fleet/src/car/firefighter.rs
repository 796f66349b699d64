//! Who has the car while its key switch is at *fire recall* (ASME A17.1).
//!
//! ```text
//!              key to fire recall, where a commanded recall keeps the door open
//!   Recalls ───────────────────────────────────────────────────────────────────▶ Drives
//!      ▲                                                                           │
//!      └─────────────────────── key elsewhere, seen by the panel ──────────────────┘
//! ```
//!
//! Phase II begins with a turn of the key in a car that has been recalled, so that neither a
//! command nor the place of the car can begin it: nobody may be in the car. And only the key ends
//! it: while the firefighter is on a floor, the car waits there, whatever is commanded or
//! restarted.

use elevator_driver::{DoorButtons, DoorState, DriveFeedback, KeySwitch};

use super::Car;
use super::door::{DoorCycle, Stage};
use super::state::{Closed, OperatingState};
use super::supervision::DoorHealth;
use crate::model::{Mode, Timestamp};

/// What the key switch at *fire recall* means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FireKey {
    /// It recalls the car (phase I), if it is there at all.
    #[default]
    Recalls,
    /// It gives the car to a firefighter (phase II).
    Drives,
}

impl Car {
    pub fn restore_fire_key(&mut self, key: FireKey) {
        self.fire_key = key;
    }

    /// What the key switch at *fire recall* means now. It holds while the panel is away.
    #[must_use]
    pub fn fire_key(&self) -> FireKey {
        self.fire_key
    }

    /// The panel has reported the key switch; `before` is its last position, if there was one.
    pub(super) fn follow_key(&mut self, before: Option<KeySwitch>) {
        if self.inputs.key != KeySwitch::FireRecall {
            self.fire_key = FireKey::Recalls;
            return;
        }
        let is_turned = before.is_some_and(|before| before != KeySwitch::FireRecall);
        if is_turned && self.command >= Mode::FireRecall && self.is_open_at_recall_floor() {
            self.fire_key = FireKey::Drives;
        }
    }

    /// The door by constant pressure (ASME A17.1, 2.27.3.3; EN 81-72): it opens while door-open is
    /// pressed, and closes again if that is released before it is fully open. From then on it stays
    /// open; it closes while door-close is pressed, and opens again if that is released before it
    /// is closed.
    pub(super) fn step_by_hand(
        &mut self,
        mut cycle: DoorCycle,
        pressed: DoorButtons,
        now: Timestamp,
    ) -> OperatingState {
        let (door, is_overloaded) = (self.inputs.door, self.is_overloaded());
        let opens_pressed = pressed.opens(cycle.side);
        let (is_opening, since) = match cycle.stage {
            Stage::Opening { since } => (true, Some(since)),
            Stage::Closing { since } | Stage::Nudging { since } => (false, Some(since)),
            Stage::Open { .. } | Stage::Obstructed | Stage::Held | Stage::Attended { .. } => {
                (true, None)
            }
        };
        if door == DoorState::Closed && !is_opening {
            return self.closed(cycle, Closed::Freely, now);
        }
        let has_opened = door == DoorState::Open && is_opening;
        match since {
            Some(_) if has_opened => self.supervision.door = DoorHealth::Sound,
            Some(since) => self.watch_travel(since, now),
            None => {}
        }
        if has_opened {
            cycle.opened.get_or_insert(now);
        }
        let opens = match cycle.opened {
            Some(_) => !pressed.close || opens_pressed || is_overloaded,
            // One that has not begun to open is still locked: "closed" would not be the end of a
            // closing.
            None => opens_pressed || is_overloaded || (is_opening && door == DoorState::Closed),
        };
        match (opens, is_opening) {
            (true, true) if has_opened => cycle.in_stage(Stage::Held),
            (true, true) if since.is_some() => OperatingState::AtDoor(cycle),
            (true, _) => cycle.in_stage(Stage::Opening { since: now }),
            // Smoke may cover the light curtain.
            (false, true) => cycle.in_stage(Stage::Nudging { since: now }),
            (false, false) => OperatingState::AtDoor(cycle),
        }
    }

    fn is_open_at_recall_floor(&self) -> bool {
        self.inputs.floor == Some(self.settings.recall_floor)
            && self.inputs.door == DoorState::Open
            && self.inputs.drive == DriveFeedback::Stopped
    }
}
