//! What is wanted of a car for a while: a priority call, the session of a robot, and emergency
//! power.

use std::time::Duration;

use elevator_driver::{DoorState, Floor};

use super::event::{CarEvent, SessionLeg};
use super::state::OperatingState;
use super::{Car, CarTimer};
use crate::model::{Mode, Timestamp};
use crate::settings::SessionEnd;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Power {
    #[default]
    Normal,
    /// On emergency power: another car's turn. The motor does not run; the door may open.
    Waiting,
    Granted,
}

/// Where a car goes besides its calls, to hold its door open there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errand {
    /// A priority call: for the time of the settings, or until somebody in the car asks for a
    /// floor.
    Priority(Floor),
    /// The session of a robot. No passenger ends it.
    Session {
        /// Which one, and for which of its floors: with each the time starts anew.
        leg: SessionLeg,
        floor: Floor,
        time: Duration,
    },
}

impl Errand {
    fn floor(self) -> Floor {
        match self {
            Self::Priority(floor) | Self::Session { floor, .. } => floor,
        }
    }
}

/// An errand, while the car has not been there for long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stay {
    pub(super) errand: Errand,
    /// When it ends, once the door is open.
    until: Option<Timestamp>,
}

impl Stay {
    pub(super) fn new(errand: Errand) -> Self {
        Self { errand, until: None }
    }

    pub(super) fn floor(self) -> Floor {
        self.errand.floor()
    }
}

impl Car {
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

    pub(super) fn watch_errand(&mut self, now: Timestamp) {
        let Some(mut stay) = self.errand else {
            return;
        };
        let (mode, is_session) = (self.mode(), matches!(stay.errand, Errand::Session { .. }));
        let cut_short = if mode >= Mode::EmergencyPower {
            // Nobody waits for it any more once that ends.
            Some(SessionEnd::Recalled)
        } else {
            (is_session && mode == Mode::OutOfService).then_some(SessionEnd::Operator)
        };
        let is_there = if let OperatingState::AtDoor(cycle) = self.state {
            let is_usual = self.usual_door(cycle.floor) == Some(cycle.side);
            mode == Mode::Priority && cycle.is_held_at(stay.floor()) && is_usual
        } else {
            false
        };
        if is_there && stay.until.is_none() {
            let time = match stay.errand {
                Errand::Priority(_) => self.settings.priority_stay,
                Errand::Session { leg, time, .. } => {
                    self.events.push_back(CarEvent::SessionOpen(leg));
                    time
                }
            };
            stay.until = Some(now + time);
            self.errand = Some(stay);
        }
        // Once it has begun it ends in time, wherever the car is: its panel may be gone.
        let is_over = stay.until.is_some_and(|until| until <= now);
        if !is_over && cut_short.is_none() {
            return;
        }
        self.errand = None;
        self.events.push_back(match stay.errand {
            Errand::Priority(_) => CarEvent::PriorityOver,
            Errand::Session { leg, .. } => {
                CarEvent::SessionOver(leg, cut_short.unwrap_or(SessionEnd::Time))
            }
        });
    }

    pub(super) fn stay_deadline(&self) -> Option<(Timestamp, CarTimer)> {
        Some((self.errand?.until?, CarTimer::Priority))
    }

    /// The passenger for whom the car was sent has entered it, and asks for a floor.
    pub(super) fn end_stay(&mut self, to: Floor, now: Timestamp) {
        if let Some(stay) = self.errand.as_mut()
            && let Errand::Priority(floor) = stay.errand
            && floor != to
            && stay.until.is_some()
        {
            stay.until = Some(now);
        }
    }
}
