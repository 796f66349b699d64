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

use elevator_driver::{DoorState, DriveFeedback, KeySwitch};

use super::Car;
use crate::model::Mode;

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

    fn is_open_at_recall_floor(&self) -> bool {
        self.inputs.floor == Some(self.settings.recall_floor)
            && self.inputs.door == DoorState::Open
            && self.inputs.drive == DriveFeedback::Stopped
    }
}
