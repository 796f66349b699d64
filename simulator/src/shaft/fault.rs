//! What breaks in a drive.

use elevator_driver::Direction;
use serde::{Deserialize, Serialize};

use super::{Drive, DriveCommand, Shaft};

/// How long a drive that trips reports that it runs, s.
const TRIPS_AFTER: f64 = 1.0;

/// What is wrong with a motor or its drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MotorFault {
    /// The car sticks in the shaft: the motor is driven and nothing moves.
    Stuck,
    /// The drive reports for a second that it runs, moves nothing and cuts out. It stays off until
    /// the next command.
    Trips,
    Dead,
    /// The motor runs the wrong way, to the end of the shaft.
    Reversed,
}

/// How a levelling drive fails to level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevellingFault {
    /// It stops as soon as the sensor of its stop, or of a floor beyond it, becomes active.
    Off,
    /// It stops only once that sensor is inactive again, and comes to rest between floors.
    Overshoots,
}

impl Shaft {
    /// Breaks the motor, or repairs it. A levelling drive that has cut out stays off until the next
    /// command: a controller that has seen it at rest may rely on that (S1).
    pub(crate) fn set_motor_fault(&mut self, fault: Option<MotorFault>) {
        self.motor_fault = fault;
        self.forgive();
    }

    #[must_use]
    pub fn motor_fault(&self) -> Option<MotorFault> {
        self.motor_fault
    }

    /// Makes the drive stop without levelling, or repairs it, as with
    /// [`set_motor_fault`](Self::set_motor_fault). A run that is under way ends as it began.
    pub(crate) fn set_levelling_fault(&mut self, fault: Option<LevellingFault>) {
        self.levelling_fault = fault;
        self.forgive();
    }

    fn forgive(&mut self) {
        self.ended &= !matches!(self.command, DriveCommand::Constant(_));
        self.unheeded = true;
    }

    #[must_use]
    pub fn levelling_fault(&self) -> Option<LevellingFault> {
        self.levelling_fault
    }

    /// Makes everything in the shaft faster or slower, in per cent of what is configured; at
    /// least 1.
    pub(crate) fn set_speed(&mut self, percent: u8) {
        self.pace = f64::from(percent.max(1)) / 100.0;
    }

    /// What the motor does about the command.
    pub(super) fn effective_command(&self) -> DriveCommand {
        if self.motor_fault != Some(MotorFault::Reversed) {
            return self.command;
        }
        match self.command {
            DriveCommand::Stop => DriveCommand::Stop,
            DriveCommand::Run { direction, .. } => DriveCommand::Run {
                direction: direction.opposite(),
                stop_at: self.last_floor(direction.opposite()),
            },
            DriveCommand::Home { direction } => {
                DriveCommand::Home { direction: direction.opposite() }
            }
            DriveCommand::Constant(direction) => DriveCommand::Constant(direction.opposite()),
        }
    }

    /// Whether a resting drive starts on command.
    pub(super) fn starts(&self) -> bool {
        match self.motor_fault {
            Some(MotorFault::Dead) => false,
            Some(MotorFault::Stuck | MotorFault::Trips | MotorFault::Reversed) | None => {
                !self.ended
            }
        }
    }

    /// Makes a faulty drive follow its command; `false` if it behaves like a sound one.
    pub(super) fn follow_faulty_drive(&mut self, may_start: bool) -> bool {
        match self.motor_fault {
            None | Some(MotorFault::Reversed) => false,
            Some(MotorFault::Stuck) => {
                self.jam(may_start);
                true
            }
            Some(MotorFault::Dead | MotorFault::Trips) => {
                self.cut_out(may_start);
                true
            }
        }
    }

    fn jam(&mut self, may_start: bool) {
        let moving = self.drive != Drive::Resting;
        self.drive = match self.wanted_motion() {
            Some(direction) if moving || may_start => Drive::Jammed(direction),
            _ => Drive::Resting,
        };
    }

    /// A moving car brakes, and a resting one gets no further than the attempt.
    fn cut_out(&mut self, may_start: bool) {
        let wanted = self.wanted_motion();
        match &self.drive {
            Drive::Travelling { direction, .. }
            | Drive::Constant(direction)
            | Drive::Sensing { direction, .. } => {
                self.ended = true;
                self.brake(*direction);
            }
            Drive::Braking { .. } => {}
            Drive::Tripping { direction, .. } if wanted == Some(*direction) => {}
            Drive::Resting | Drive::Jammed(_) | Drive::Tripping { .. } => {
                self.drive = match wanted {
                    Some(direction) if may_start && self.starts() => {
                        Drive::Tripping { direction, left: TRIPS_AFTER }
                    }
                    Some(_) | None => Drive::Resting,
                };
            }
        }
    }

    pub(super) fn brake(&mut self, direction: Direction) {
        let speed = self.speed().abs() / self.pace;
        self.drive = Drive::Braking { direction, speed };
    }
}
