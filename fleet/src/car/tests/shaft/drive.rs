//! How the drive, the door and the sensors of the shaft behave, and fail.

use std::collections::BTreeSet;

use elevator_driver::{Direction, DoorCommand, DoorState, Floor, MotorCommand};

use super::{STOREY, World};

/// The way a car needs to come to rest.
const BRAKING: i32 = 5;
const DOOR_TRAVEL: i32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::car::tests) enum Drive {
    #[default]
    Sound,
    /// The motor is driven and the car doesn't move.
    Stuck,
    /// It ignores the command to run.
    Lazy,
    /// It reports that it runs, moves nothing, and gives up after this many ticks.
    Trips(u32),
    /// It runs the other way, and says so.
    Reversed,
    /// It never stops where it is told to, but at the end of the shaft.
    Overshoots,
    /// It stops at the sensor of its stop or, past that, at the next one.
    NoLevelling,
    /// It is driven whatever it is told, and moves nothing.
    Welded,
    /// It reports rest at its stop, and the car slips on a moment later; creeping, it holds.
    Slips,
    /// It stops just beyond its stop, and says nothing of where it could stop.
    StopsLate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::car::tests) enum Door {
    #[default]
    Sound,
    Jammed,
    /// Somebody pulls it open.
    Pried,
}

/// The faults that the line, the drive, the door and the floor sensors can have.
#[derive(Debug, Clone, Default)]
pub(in crate::car::tests) struct Faults {
    /// The line is cut; the panel stops the motor by itself (S2).
    pub(in crate::car::tests) cut: bool,
    pub(in crate::car::tests) drive: Drive,
    pub(in crate::car::tests) door: Door,
    pub(in crate::car::tests) dead: BTreeSet<Floor>,
    /// What the sensors say, wherever the car is.
    pub(in crate::car::tests) lie: Option<Floor>,
}

impl World {
    pub(super) fn move_car(&mut self) {
        let commanded = self.motor_command.direction();
        if self.faults.drive == Drive::Welded {
            self.moving = self.moving.or(Some(Direction::Up));
            return;
        }
        self.slip_on();
        let lazy = self.faults.drive == Drive::Lazy && self.moving.is_none();
        let trips = matches!(self.faults.drive, Drive::Trips(after) if self.running >= after);
        if self.has_arrived() || trips || lazy {
            return self.rest_drive();
        }
        if self.moving.is_none() && self.starting > 0 {
            self.starting -= 1;
            return;
        }
        self.running += 1;
        let drive = self.faults.drive;
        let is_stuck = matches!(drive, Drive::Stuck | Drive::Trips(_));
        let turned = commanded.map(Direction::opposite).filter(|_| drive == Drive::Reversed);
        self.moving = turned.or(commanded);
        self.rest += self.pace;
        if self.rest < 1.0 {
            return;
        }
        self.rest -= 1.0;
        if let Some(direction) = self.moving.filter(|_| !is_stuck) {
            self.step(direction);
        }
    }

    fn step(&mut self, direction: Direction) {
        let top = i32::from(self.floors.top().index()) * STOREY;
        let step = if direction == Direction::Up { 1 } else { -1 };
        self.way = (self.way + step).clamp(0, top);
    }

    fn slip_on(&mut self) {
        if let MotorCommand::Run { direction, .. } = self.motor_command
            && self.faults.drive == Drive::Slips
            && self.is_moving()
        {
            self.slip = Some((3, direction));
            return;
        }
        match self.slip.take() {
            Some((0, direction)) => self.step(direction),
            slip => self.slip = slip.map(|(ticks, direction)| (ticks - 1, direction)),
        }
    }

    pub(super) fn sensor(&self) -> Option<Floor> {
        self.faults.lie.or_else(|| self.floor().filter(|f| !self.faults.dead.contains(f)))
    }

    /// The drive has come to where its command ends.
    fn has_arrived(&self) -> bool {
        let (stop_at, direction) = match self.motor_command {
            MotorCommand::Stop => return true,
            MotorCommand::Home { direction } => {
                return self.sensor().is_some() || self.is_at_end(direction);
            }
            MotorCommand::Run { stop_at, direction } => (stop_at, direction),
        };
        let distance = self.distance(stop_at, direction);
        let drive = self.faults.drive;
        if drive == Drive::StopsLate {
            distance < 0
        } else if drive == Drive::Overshoots {
            self.is_at_end(direction)
        } else if drive == Drive::NoLevelling {
            self.is_at_end(direction) || (distance <= 0 && self.sensor().is_some())
        } else {
            // Past the stop it comes to rest at a floor of its own choice.
            distance <= 0 && self.floor().is_some()
        }
    }

    /// The limit switches stop the drive, whatever the floor sensors say.
    fn is_at_end(&self, direction: Direction) -> bool {
        let end = if direction == Direction::Up { self.floors.top() } else { Floor::BOTTOM };
        self.floor() == Some(end)
    }

    /// The way to a floor; negative if it is behind.
    fn distance(&self, floor: Floor, direction: Direction) -> i32 {
        let ahead = i32::from(floor.index()) * STOREY - self.way;
        if direction == Direction::Up { ahead } else { -ahead }
    }

    pub(super) fn next_stop(&self) -> Option<Floor> {
        let direction = self.moving?;
        let target = match self.motor_command {
            MotorCommand::Run { stop_at, .. } if self.faults.drive != Drive::StopsLate => stop_at,
            MotorCommand::Run { .. } | MotorCommand::Home { .. } | MotorCommand::Stop => {
                return None;
            }
        };
        let distance = |at: &Floor| self.distance(*at, direction);
        let is_ahead = |at: &Floor| distance(at) >= BRAKING || (*at == target && distance(at) >= 0);
        self.floors.floors().filter(is_ahead).min_by_key(distance)
    }

    pub(super) fn move_door(&mut self) {
        let before = self.gap;
        if self.gap == 0 {
            self.side = self.door_command.opens().unwrap_or(self.side);
        }
        self.gap += match (self.faults.door, self.door_command) {
            (Door::Jammed, _) => 0,
            (Door::Pried, _) | (Door::Sound, DoorCommand::Open | DoorCommand::OpenRear) => 1,
            (Door::Sound, DoorCommand::Close) if self.obstruction => 0,
            (Door::Sound, DoorCommand::Close | DoorCommand::Nudge) => -1,
        };
        self.gap = self.gap.clamp(0, DOOR_TRAVEL);
        self.door = match self.gap {
            0 => DoorState::Closed,
            DOOR_TRAVEL => DoorState::Open,
            gap if gap > before => DoorState::Opening,
            gap if gap < before => DoorState::Closing,
            _ if self.door == DoorState::Opening => DoorState::Opening,
            _ => DoorState::Closing,
        };
    }
}
