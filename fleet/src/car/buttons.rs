//! The door buttons in the car, and what else its passengers see and hear: gong, light and fan.

use elevator_driver::{Direction, DoorButtons, Floor, Side};

use super::door::Stage;
use super::state::OperatingState;
use super::{Car, CarTimer};
use crate::model::{Mode, Timestamp};

impl Car {
    /// Strikes at the landing as the door opens, and where the car turns round there.
    #[must_use]
    pub fn gong(&self) -> Option<Direction> {
        let is_at_door = matches!(self.state, OperatingState::AtDoor(_));
        let serves = matches!(self.mode(), Mode::InService | Mode::Attendant);
        self.direction.filter(|_| is_at_door && serves)
    }

    /// Whether the light and the fan are off.
    #[must_use]
    pub fn is_dark(&self) -> bool {
        self.is_dark
    }

    /// Whether a press of a lit car button cancels its call now: a car that moves may be unable to
    /// stop elsewhere, and in other modes a second press means something else.
    pub(crate) fn cancels_car_calls(&self) -> bool {
        self.settings.cancel_car_calls
            && self.mode() == Mode::InService
            && !self.state.is_driving()
            && !self.is_driven()
    }

    /// Whether the door is kept from closing until it nudges.
    pub(super) fn is_kept_open(&self, door: Side) -> bool {
        self.inputs.obstruction || self.inputs.door_buttons.is_some_and(|it| it.opens(door))
    }

    /// The panel has reported its door buttons; `before` is what it said last.
    pub(super) fn on_door_buttons(&mut self, before: Option<DoorButtons>, now: Timestamp) {
        let (Some(before), Some(pressed)) = (before, self.inputs.door_buttons) else {
            return;
        };
        for door in Side::BOTH {
            if pressed.opens(door) && !before.opens(door) && self.may_let_out() {
                self.let_out(Some(door), now);
            }
        }
        // A button that is stuck, or held from before the door opened, lets passengers board.
        if pressed.close && !before.close {
            self.end_dwell_early(now);
        }
    }

    /// The door that somebody asks to open at this floor, by its button.
    pub(super) fn door_asked_for(&self, floor: Floor) -> Option<Side> {
        let pressed = self.inputs.door_buttons?;
        let opens = |door: &Side| pressed.opens(*door) && self.opens(floor, *door);
        Side::BOTH.into_iter().find(opens)
    }

    /// Whether the door-open button opens a closed door. A recalled car opens at its recall floor
    /// only, and a mechanic may be in the shaft.
    pub(super) fn may_let_out(&self) -> bool {
        match self.mode() {
            Mode::InService | Mode::Attendant | Mode::Independent | Mode::Priority => true,
            Mode::EmergencyPower => !self.has_power(),
            Mode::OutOfService => !self.is_switched_off(),
            Mode::FireRecall | Mode::FireService => false,
        }
    }

    fn end_dwell_early(&mut self, now: Timestamp) {
        let OperatingState::AtDoor(cycle) = self.state else {
            return;
        };
        if self.is_kept_open(cycle.side) {
            return;
        }
        match cycle.stage {
            Stage::Open { .. } => self.state = cycle.in_stage(Stage::Open { until: now }),
            // Without calls the attendant has nowhere to go.
            Stage::Attended { .. } => {
                let other = self.servable(cycle.floor, cycle.side.other());
                let has_stop = self.next_departure(&self.sweep(), cycle.floor, now).is_some();
                if has_stop || !other.is_empty() {
                    self.state = OperatingState::AtDoor(cycle.dismissed(now));
                }
            }
            Stage::Opening { .. }
            | Stage::Obstructed
            | Stage::Held
            | Stage::Closing { .. }
            | Stage::Nudging { .. } => {}
        }
    }

    /// When the light and the fan go off; `None` while the car is in use, or somebody may be in it
    /// who can't get out.
    pub(super) fn light_off_at(&self) -> Option<Timestamp> {
        let rests = matches!(self.state, OperatingState::Idle { .. }) && !self.inputs.stop;
        let is_empty = self.own_calls.is_empty() && self.inputs.load.is_none_or(|load| load == 0);
        let is_usual = self.mode() != Mode::FireService && !self.is_switched_off();
        let is_unused = rests && is_empty && is_usual && self.has_power();
        is_unused.then(|| self.phase_since + self.settings.light_off_after)
    }

    pub(super) fn light_deadline(&self) -> Option<(Timestamp, CarTimer)> {
        self.light_off_at().filter(|_| !self.is_dark).map(|at| (at, CarTimer::Light))
    }
}
