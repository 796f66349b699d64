//! One shaft: where the car is and how it moves.
//!
//! ```text
//!              Run, Home (door locked)            at the exact floor
//!   Resting ───────────────────────▶ Travelling ────────────────────▶ Resting
//!      ▲                                │ Stop, Constant      │ motor stuck
//!      │ at rest                        ▼                     ▼
//!      └──────────────────────────── Braking             Jammed ──▶ Resting (Stop, or freed)
//!
//!   Resting ─── Constant (door locked) ──▶ Constant ─── Stop ──▶ Resting, on the spot
//! ```
//!
//! The levelling drive follows a [profile] exactly, so a run ends at the floor to the
//! last bit and a long step comes to the same as many short ones.
//!
//! [profile]: Kinematics

use std::collections::BTreeSet;

use elevator_driver::{Direction, Floor, FloorCount};

use crate::config::{CarConfig, ConstantDrive, Kinematics};
use profile::{Motion, Profile};

mod constant;
mod profile;
mod target;
#[cfg(test)]
mod tests;

/// Two places nearer than this are one, m.
const SAME_PLACE: f64 = 1e-6;

/// A braking car slower than this is at rest, m/s.
const STANDSTILL: f64 = 1e-9;

/// What the drive is told: [`MotorCommand`](elevator_driver::MotorCommand), plus the bare motor of
/// the elevator-server protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveCommand {
    /// Motor off, brake on.
    Stop,
    /// To rest at a floor.
    Run {
        /// Where to.
        direction: Direction,
        /// The floor to come to rest at.
        stop_at: Floor,
    },
    /// Creep to the first live floor sensor and level there.
    Home {
        /// Where to.
        direction: Direction,
    },
    /// At one speed until told otherwise or at the end of the shaft; stops on the spot.
    Constant(Direction),
}

/// A car in its shaft, driven by steps of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaft {
    floors: FloorCount,
    kinematics: Kinematics,
    constant: ConstantDrive,
    /// Height above the lowest floor, m.
    position: f64,
    drive: Drive,
    command: DriveCommand,
    /// The command or a fault changed since the drive last looked.
    unheeded: bool,
    motor_stuck: bool,
    dead_sensors: BTreeSet<Floor>,
}

#[derive(Debug, Clone, PartialEq)]
enum Drive {
    Resting,
    Travelling {
        direction: Direction,
        target: Floor,
        homing: bool,
        from: f64,
        profile: Profile,
    },
    /// Emergency braking, m/s still left.
    Braking {
        direction: Direction,
        speed: f64,
    },
    Constant(Direction),
    /// The motor is driven and nothing moves.
    Jammed(Direction),
}

impl Shaft {
    /// A car at rest at this height above the lowest floor, m.
    #[must_use]
    pub fn new(config: &CarConfig, position: f64) -> Self {
        Self {
            floors: config.floors,
            kinematics: config.kinematics,
            constant: config.constant_drive,
            position,
            drive: Drive::Resting,
            command: DriveCommand::Stop,
            unheeded: false,
            motor_stuck: false,
            dead_sensors: BTreeSet::new(),
        }
    }

    /// From one floor to the next, m.
    #[must_use]
    pub fn floor_height(&self) -> f64 {
        self.kinematics.floor_height
    }

    /// Height above the lowest floor, m.
    #[must_use]
    pub fn position(&self) -> f64 {
        self.position
    }

    /// Speed in m/s, upwards positive.
    #[must_use]
    pub fn speed(&self) -> f64 {
        match &self.drive {
            Drive::Resting | Drive::Jammed(_) => 0.0,
            Drive::Travelling {
                direction, profile, ..
            } => sign(*direction) * profile.motion().speed,
            Drive::Braking { direction, speed } => sign(*direction) * speed,
            Drive::Constant(direction) => sign(*direction) * self.constant_speed(*direction),
        }
    }

    /// Acceleration in m/s², upwards positive.
    #[must_use]
    pub fn acceleration(&self) -> f64 {
        match &self.drive {
            Drive::Resting | Drive::Jammed(_) | Drive::Constant(_) => 0.0,
            Drive::Travelling {
                direction, profile, ..
            } => sign(*direction) * profile.motion().acceleration,
            Drive::Braking { direction, .. } => {
                -sign(*direction) * self.kinematics.emergency_braking
            }
        }
    }

    /// The direction in which the motor is driven or the car still moves, or `None` at rest.
    #[must_use]
    pub fn driven(&self) -> Option<Direction> {
        match self.drive {
            Drive::Resting => None,
            Drive::Travelling { direction, .. }
            | Drive::Braking { direction, .. }
            | Drive::Constant(direction)
            | Drive::Jammed(direction) => Some(direction),
        }
    }

    /// The floor that the car is at, whether or not a sensor says so.
    #[must_use]
    pub fn floor(&self) -> Option<Floor> {
        self.floors
            .floors()
            .find(|&floor| (self.height(floor) - self.position).abs() <= self.zone())
    }

    /// The floor whose sensor is active.
    #[must_use]
    pub fn sensed_floor(&self) -> Option<Floor> {
        self.floor()
            .filter(|floor| !self.dead_sensors.contains(floor))
    }

    /// The nearest floor where a levelling run can still come to rest; `None` at rest, while
    /// homing, and without levelling.
    #[must_use]
    pub fn next_stop(&self) -> Option<Floor> {
        match &self.drive {
            Drive::Travelling {
                direction,
                homing: false,
                ..
            } => Some(self.first_stop(*direction)),
            Drive::Travelling { .. }
            | Drive::Resting
            | Drive::Braking { .. }
            | Drive::Constant(_)
            | Drive::Jammed(_) => None,
        }
    }

    /// Tells the drive what to do from this moment.
    pub fn command(&mut self, command: DriveCommand) {
        self.unheeded |= command != self.command;
        self.command = command;
    }

    /// The direction in which the command would have a resting car move, or `None` where it is
    /// already where it is to be.
    #[must_use]
    pub fn wanted_motion(&self) -> Option<Direction> {
        match self.command {
            DriveCommand::Stop => None,
            DriveCommand::Run { direction, .. } | DriveCommand::Home { direction } => {
                let target = self.target_at_rest()?;
                self.direction_to(target).map(|_| direction)
            }
            DriveCommand::Constant(direction) => {
                (self.room(direction) > SAME_PLACE).then_some(direction)
            }
        }
    }

    /// Makes the car stick in the shaft (the motor may be driven, nothing moves), or frees it.
    pub fn set_motor_stuck(&mut self, stuck: bool) {
        self.motor_stuck = stuck;
        self.unheeded = true;
    }

    /// Whether the car sticks in the shaft.
    #[must_use]
    pub fn motor_stuck(&self) -> bool {
        self.motor_stuck
    }

    /// Kills a floor's sensor, or brings it back.
    pub fn set_sensor_dead(&mut self, floor: Floor, dead: bool) {
        if dead {
            self.dead_sensors.insert(floor);
        } else {
            self.dead_sensors.remove(&floor);
        }
        self.unheeded = true;
    }

    /// The floors whose sensors are dead.
    #[must_use]
    pub fn dead_sensors(&self) -> &BTreeSet<Floor> {
        &self.dead_sensors
    }

    /// Whether time changes anything. `may_start` as for [`Shaft::advance`].
    #[must_use]
    pub fn is_at_rest(&self, may_start: bool) -> bool {
        match self.drive {
            Drive::Resting => !(may_start && self.wanted_motion().is_some()),
            Drive::Jammed(_) => !self.unheeded,
            Drive::Travelling { .. } | Drive::Braking { .. } | Drive::Constant(_) => false,
        }
    }

    /// Moves the car for some seconds. A resting car sets off only where `may_start` says that the
    /// door is closed and locked (S1).
    pub fn advance(&mut self, seconds: f64, may_start: bool) {
        if self.unheeded || self.drive == Drive::Resting {
            self.unheeded = false;
            self.heed(may_start);
        }
        match &mut self.drive {
            Drive::Resting | Drive::Jammed(_) => {}
            Drive::Travelling {
                direction,
                target,
                from,
                profile,
                ..
            } => {
                let target = *target;
                if profile.advance(seconds) {
                    self.position = self.height(target);
                    self.drive = Drive::Resting;
                } else {
                    let position = *from + sign(*direction) * profile.motion().distance;
                    self.position = position.clamp(0.0, self.top());
                }
            }
            Drive::Braking { direction, speed } => {
                let braking = self.kinematics.emergency_braking;
                let time = seconds.min(*speed / braking);
                let way = sign(*direction) * time * (*speed - braking * time / 2.0);
                *speed -= braking * time;
                let at_rest = *speed <= STANDSTILL;
                self.position = (self.position + way).clamp(0.0, self.top());
                if at_rest {
                    self.drive = Drive::Resting;
                }
            }
            Drive::Constant(direction) => {
                let direction = *direction;
                self.move_constantly(direction, seconds);
            }
        }
    }

    /// Brings the drive in line with its command.
    fn heed(&mut self, may_start: bool) {
        if self.motor_stuck {
            self.jam(may_start);
            return;
        }
        match &self.drive {
            Drive::Resting => self.set_off(may_start),
            Drive::Jammed(_) => {
                self.drive = Drive::Resting;
                self.set_off(may_start);
            }
            // The brake is on: whatever comes next starts from rest.
            Drive::Braking { .. } => {}
            Drive::Constant(direction) => match self.command {
                DriveCommand::Constant(wanted) => self.drive = Drive::Constant(wanted),
                DriveCommand::Stop => self.drive = Drive::Resting,
                DriveCommand::Run { .. } | DriveCommand::Home { .. } => {
                    self.drive = Drive::Braking {
                        direction: *direction,
                        speed: self.constant_speed(*direction),
                    };
                }
            },
            Drive::Travelling {
                direction, profile, ..
            } => {
                let (direction, motion) = (*direction, profile.motion());
                self.redirect(direction, motion);
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

    fn set_off(&mut self, may_start: bool) {
        let Some(wanted) = self.wanted_motion().filter(|_| may_start) else {
            return;
        };
        if let DriveCommand::Constant(direction) = self.command {
            self.drive = Drive::Constant(direction);
        } else if let Some(target) = self.target_at_rest() {
            // A homing car that stands just past a sensor's middle levels against its direction.
            let direction = self.direction_to(target).unwrap_or(wanted);
            self.travel(direction, target, Motion::default());
        }
    }

    /// The command changed in flight.
    fn redirect(&mut self, direction: Direction, motion: Motion) {
        let first = self.first_stop(direction);
        let target = match self.command {
            DriveCommand::Stop | DriveCommand::Constant(_) => {
                let speed = motion.speed;
                self.drive = Drive::Braking { direction, speed };
                return;
            }
            DriveCommand::Run {
                direction: wanted,
                stop_at,
            } if wanted == direction => {
                let stop_at = stop_at.min(self.floors.top());
                if stop_at.is_beyond(first, direction) {
                    stop_at
                } else {
                    first
                }
            }
            DriveCommand::Home { direction: wanted } if wanted == direction => {
                self.first_live(first, direction)
            }
            DriveCommand::Run { .. } | DriveCommand::Home { .. } => first,
        };
        self.travel(direction, target, motion);
    }

    fn travel(&mut self, direction: Direction, target: Floor, motion: Motion) {
        let homing = matches!(self.command, DriveCommand::Home { .. });
        let cruise = if homing {
            self.kinematics.creep_speed
        } else {
            self.kinematics.rated_speed
        };
        let length = (self.height(target) - self.position).abs();
        self.drive = Drive::Travelling {
            direction,
            target,
            homing,
            from: self.position,
            profile: Profile::new(motion, length, cruise, &self.kinematics),
        };
    }

    /// How far it is to the end of the shaft, m.
    fn room(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Up => self.top() - self.position,
            Direction::Down => self.position,
        }
    }

    fn zone(&self) -> f64 {
        self.kinematics.floor_zone
    }

    fn top(&self) -> f64 {
        self.height(self.floors.top())
    }

    fn height(&self, floor: Floor) -> f64 {
        self.kinematics.floor_height * f64::from(floor.index())
    }
}

fn sign(direction: Direction) -> f64 {
    match direction {
        Direction::Up => 1.0,
        Direction::Down => -1.0,
    }
}
