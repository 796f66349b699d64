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
//!   Resting ─── Run, Home without levelling ──▶ Sensing ─── sensor, Stop ──▶ Resting or Braking
//!   Resting ─── Run, Home of a drive that trips ──▶ Tripping ─── 1 s ──▶ Resting
//! ```
//!
//! The levelling drive follows a [profile] exactly, so a run ends at the floor to the
//! last bit and a long step comes to the same as many short ones.
//!
//! [profile]: Kinematics

use std::collections::{BTreeMap, BTreeSet};

use elevator_driver::{Direction, Floor, FloorCount};

use crate::config::{CarConfig, ConstantDrive, Kinematics};
use profile::{Motion, Profile};

pub use fault::{LevellingFault, MotorFault};

mod constant;
mod fault;
mod profile;
mod sensing;
mod target;
#[cfg(test)]
mod tests;

/// Two places nearer than this are one, m.
const SAME_PLACE: f64 = 1e-6;

/// A braking car slower than this is at rest, m/s.
const STANDSTILL: f64 = 1e-9;

/// A drive command: [`MotorCommand`](elevator_driver::MotorCommand), plus the bare motor of the
/// elevator-server protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DriveCommand {
    Stop,
    Run {
        direction: Direction,
        stop_at: Floor,
    },
    /// Creep to the first live floor sensor and level there.
    Home {
        direction: Direction,
    },
    /// At constant speed until the next command or the end of the shaft; stops immediately.
    Constant(Direction),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Shaft {
    floors: FloorCount,
    /// Of each floor above the lowest, m.
    heights: Vec<f64>,
    kinematics: Kinematics,
    constant: ConstantDrive,
    /// Height above the lowest floor, m.
    position: f64,
    drive: Drive,
    command: DriveCommand,
    /// The command or a fault changed since the drive last looked.
    unheeded: bool,
    motor_fault: Option<MotorFault>,
    /// The drive has done what it can about its command and waits for another.
    ended: bool,
    levelling_fault: Option<LevellingFault>,
    /// How fast everything goes, 1 as configured.
    pace: f64,
    dead_sensors: BTreeSet<Floor>,
    /// What the sensors of these floors report in place of their own floor.
    wrong_sensors: BTreeMap<Floor, Floor>,
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
    /// The motor is driven but nothing moves; after this many seconds the drive cuts out.
    Tripping {
        direction: Direction,
        left: f64,
    },
    /// At one speed until a sensor says that the floor is there.
    Sensing {
        direction: Direction,
        /// It has been there, and the brake is late.
        late: bool,
    },
}

impl Shaft {
    /// A car at rest at this height above the lowest floor, m.
    pub(crate) fn new(config: &CarConfig, position: f64) -> Self {
        Self {
            floors: config.building.floors(),
            heights: config.heights(),
            kinematics: config.kinematics,
            constant: config.constant_drive,
            position,
            drive: Drive::Resting,
            command: DriveCommand::Stop,
            unheeded: false,
            motor_fault: None,
            ended: false,
            levelling_fault: None,
            pace: 1.0,
            dead_sensors: BTreeSet::new(),
            wrong_sensors: BTreeMap::new(),
        }
    }

    /// Of each floor above the lowest, m.
    pub(crate) fn heights(&self) -> &[f64] {
        &self.heights
    }

    /// Height above the lowest floor, m.
    #[must_use]
    pub fn position(&self) -> f64 {
        self.position
    }

    /// Speed in m/s, upwards positive.
    #[must_use]
    pub fn speed(&self) -> f64 {
        let configured = match &self.drive {
            Drive::Resting | Drive::Jammed(_) | Drive::Tripping { .. } => 0.0,
            Drive::Travelling { direction, profile, .. } => {
                sign(*direction) * profile.motion().speed
            }
            Drive::Braking { direction, speed } => sign(*direction) * speed,
            Drive::Constant(direction) | Drive::Sensing { direction, .. } => {
                sign(*direction) * self.constant_speed(*direction)
            }
        };
        configured * self.pace
    }

    /// The direction in which the motor is driven or the car still moves.
    #[must_use]
    pub fn driven(&self) -> Option<Direction> {
        match self.drive {
            Drive::Resting => None,
            Drive::Travelling { direction, .. }
            | Drive::Braking { direction, .. }
            | Drive::Constant(direction)
            | Drive::Jammed(direction)
            | Drive::Tripping { direction, .. }
            | Drive::Sensing { direction, .. } => Some(direction),
        }
    }

    /// The floor that the car is at, whether or not a sensor says so.
    #[must_use]
    pub fn floor(&self) -> Option<Floor> {
        self.floors
            .floors()
            .find(|&floor| (self.height(floor) - self.position).abs() <= self.zone())
    }

    /// The floor that the active sensor reports: its own, unless it is wrong.
    #[must_use]
    pub fn sensed_floor(&self) -> Option<Floor> {
        let floor = self.floor_with_a_sensor()?;
        Some(self.wrong_sensors.get(&floor).copied().unwrap_or(floor))
    }

    /// The floor whose sensor is active.
    fn floor_with_a_sensor(&self) -> Option<Floor> {
        self.floor().filter(|floor| !self.dead_sensors.contains(floor))
    }

    /// The nearest floor where a run can still come to rest; `None` at rest, while homing, and
    /// under the bare motor of the elevator-server protocol.
    pub(crate) fn next_stop(&self) -> Option<Floor> {
        match &self.drive {
            Drive::Travelling { direction, homing: false, .. } => Some(self.first_stop(*direction)),
            Drive::Sensing { direction, .. } => self.next_sensed_stop(*direction),
            Drive::Travelling { .. }
            | Drive::Resting
            | Drive::Braking { .. }
            | Drive::Constant(_)
            | Drive::Jammed(_)
            | Drive::Tripping { .. } => None,
        }
    }

    pub(crate) fn command(&mut self, command: DriveCommand) {
        if command != self.command {
            self.unheeded = true;
            self.ended = false;
        }
        self.command = command;
    }

    /// The direction in which the command would move a resting car, or `None` if it is at its
    /// target.
    pub(crate) fn wanted_motion(&self) -> Option<Direction> {
        match self.effective_command() {
            DriveCommand::Stop => None,
            DriveCommand::Run { direction, .. } | DriveCommand::Home { direction }
                if self.levelling_fault.is_some() =>
            {
                let stays = self.senses_its_stop() || self.room(direction) <= SAME_PLACE;
                (!stays).then_some(direction)
            }
            DriveCommand::Run { direction, .. } | DriveCommand::Home { direction } => {
                let target = self.target_at_rest()?;
                self.direction_to(target).map(|_| direction)
            }
            DriveCommand::Constant(direction) => {
                (self.room(direction) > SAME_PLACE).then_some(direction)
            }
        }
    }

    pub(crate) fn set_sensor_dead(&mut self, floor: Floor, dead: bool) {
        if dead {
            self.dead_sensors.insert(floor);
        } else {
            self.dead_sensors.remove(&floor);
        }
        self.unheeded = true;
    }

    pub(crate) fn set_sensor_wrong(&mut self, floor: Floor, reports: Option<Floor>) {
        match reports {
            Some(reports) => self.wrong_sensors.insert(floor, reports),
            None => self.wrong_sensors.remove(&floor),
        };
        self.unheeded = true;
    }

    /// What the sensors that report another floor report, by their own.
    #[must_use]
    pub fn wrong_sensors(&self) -> &BTreeMap<Floor, Floor> {
        &self.wrong_sensors
    }

    #[must_use]
    pub fn dead_sensors(&self) -> &BTreeSet<Floor> {
        &self.dead_sensors
    }

    /// Whether time changes anything. `may_start` as for [`Shaft::advance`].
    pub(crate) fn is_at_rest(&self, may_start: bool) -> bool {
        match self.drive {
            Drive::Resting => !(may_start && self.starts() && self.wanted_motion().is_some()),
            Drive::Jammed(_) => !self.unheeded,
            Drive::Travelling { .. }
            | Drive::Braking { .. }
            | Drive::Constant(_)
            | Drive::Tripping { .. }
            | Drive::Sensing { .. } => false,
        }
    }

    /// Moves the car for some seconds. A resting car sets off only where `may_start` says that the
    /// door is closed and locked (S1).
    pub(crate) fn advance(&mut self, seconds: f64, may_start: bool) {
        if self.unheeded || self.drive == Drive::Resting {
            self.unheeded = false;
            self.follow_command(may_start);
        }
        let (real, seconds) = (seconds, seconds * self.pace);
        let stood = self.drive == Drive::Resting;
        match &mut self.drive {
            Drive::Resting | Drive::Jammed(_) => {}
            Drive::Tripping { left, .. } => {
                *left -= real;
                if *left <= 0.0 {
                    self.ended = true;
                    self.drive = Drive::Resting;
                }
            }
            Drive::Travelling { direction, target, from, profile, .. } => {
                let target = *target;
                if profile.advance(seconds) {
                    self.position = self.height(target);
                    self.drive = Drive::Resting;
                    // Unless it only stopped to turn round. A reversed motor does not do that.
                    let has_arrived = self.wanted_motion().is_none();
                    self.ended = has_arrived || self.motor_fault == Some(MotorFault::Reversed);
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
            Drive::Constant(direction) | Drive::Sensing { direction, .. } => {
                let direction = *direction;
                self.move_constantly(direction, seconds);
            }
        }
        // A drive that only stopped to set off again never says that it stands: the controller would
        // open the door (S1).
        if !stood && self.drive == Drive::Resting && !self.ended {
            self.follow_command(may_start);
        }
    }

    fn follow_command(&mut self, may_start: bool) {
        if self.follow_faulty_drive(may_start) {
            return;
        }
        match &self.drive {
            Drive::Resting => self.set_off(may_start),
            Drive::Jammed(_) | Drive::Tripping { .. } => {
                self.drive = Drive::Resting;
                self.set_off(may_start);
            }
            // The brake is on: whatever comes next starts from rest.
            Drive::Braking { .. } => {}
            Drive::Sensing { direction, .. } => {
                let direction = *direction;
                self.redirect_sensing(direction);
            }
            Drive::Constant(direction) => match self.effective_command() {
                DriveCommand::Constant(wanted) => self.drive = Drive::Constant(wanted),
                DriveCommand::Stop => self.drive = Drive::Resting,
                DriveCommand::Run { .. } | DriveCommand::Home { .. } => {
                    self.drive = Drive::Braking {
                        direction: *direction,
                        speed: self.constant_speed(*direction),
                    };
                }
            },
            Drive::Travelling { direction, profile, .. } => {
                let (direction, motion) = (*direction, profile.motion());
                self.redirect(direction, motion);
            }
        }
    }

    fn set_off(&mut self, may_start: bool) {
        let starts = may_start && self.starts();
        let Some(wanted) = self.wanted_motion().filter(|_| starts) else {
            return;
        };
        if let DriveCommand::Constant(direction) = self.effective_command() {
            self.drive = Drive::Constant(direction);
        } else if self.levelling_fault.is_some() {
            let (direction, late) = (wanted, false);
            self.drive = Drive::Sensing { direction, late };
        } else if let Some(target) = self.target_at_rest() {
            // A homing car that stands just past the middle of a sensor levels against its
            // direction.
            let direction = self.direction_to(target).unwrap_or(wanted);
            self.travel(direction, target, Motion::default());
        }
    }

    fn room(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Up => self.top() - self.position,
            Direction::Down => self.position,
        }
    }

    fn last_floor(&self, direction: Direction) -> Floor {
        match direction {
            Direction::Up => self.floors.top(),
            Direction::Down => Floor::BOTTOM,
        }
    }

    fn zone(&self) -> f64 {
        self.kinematics.floor_zone
    }

    fn top(&self) -> f64 {
        self.height(self.floors.top())
    }

    /// The height of a floor above the lowest, m.
    #[must_use]
    pub fn height(&self, floor: Floor) -> f64 {
        self.heights[usize::from(floor.index())]
    }
}

fn sign(direction: Direction) -> f64 {
    match direction {
        Direction::Up => 1.0,
        Direction::Down => -1.0,
    }
}
