//! What an operator wants of a car for a while: a priority call, and emergency power.

use elevator_driver::{DoorState, Floor};

use super::event::CarEvent;
use super::state::OperatingState;
use super::{Car, CarTimer};
use crate::model::{Mode, Timestamp};

/// Whether the motor of a car may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Power {
    /// The building has its usual power.
    #[default]
    Normal,
    /// On emergency power: it is another car's turn. The motor does not run; the door opens and
    /// closes.
    Waiting,
    /// On emergency power: it is this car's turn.
    Granted,
}

/// A priority call, while the car has not been there for long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PriorityCall {
    pub(super) floor: Floor,
    /// When its stay there ends, once its door is open.
    stays_until: Option<Timestamp>,
}

impl PriorityCall {
    pub(super) fn new(floor: Floor) -> Self {
        Self { floor, stays_until: None }
    }
}

impl Car {
    /// Whether the motor may run, as far as power is concerned.
    pub(super) fn has_power(&self) -> bool {
        self.power != Power::Waiting
    }

    /// Whether the door is open at the recall floor, to stay so.
    #[must_use]
    pub fn is_recalled(&self) -> bool {
        let OperatingState::AtDoor(cycle) = self.state else {
            return false;
        };
        let is_open = cycle.is_held_at(self.settings.recall_floor);
        is_open && self.inputs.door == DoorState::Open && self.mode() >= Mode::EmergencyPower
    }

    /// Counts the stay at the floor of the priority call, and ends the call.
    pub(super) fn watch_priority(&mut self, now: Timestamp) {
        let Some(mut call) = self.priority else {
            return;
        };
        let is_over = if self.mode() >= Mode::EmergencyPower {
            // Nobody waits for it any more once that ends.
            true
        } else if let OperatingState::AtDoor(cycle) = self.state
            && self.mode() == Mode::Priority
            && cycle.is_held_at(call.floor)
        {
            let until = *call.stays_until.get_or_insert(now + self.settings.priority_stay);
            self.priority = Some(call);
            until <= now
        } else {
            false
        };
        if is_over {
            self.priority = None;
            self.events.push_back(CarEvent::PriorityOver);
        }
    }

    pub(super) fn stay_deadline(&self) -> Option<(Timestamp, CarTimer)> {
        let is_due = self.mode() == Mode::Priority;
        let until = self.priority.filter(|_| is_due)?.stays_until?;
        Some((until, CarTimer::Priority))
    }

    /// The passenger for whom the car was sent has entered it, and asks for a floor.
    pub(super) fn end_stay(&mut self, to: Floor, now: Timestamp) {
        if let Some(call) = self.priority.as_mut().filter(|call| call.floor != to)
            && call.stays_until.is_some()
        {
            call.stays_until = Some(now);
        }
    }
}
