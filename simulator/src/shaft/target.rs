//! Which floor a levelling run ends at.

use elevator_driver::{Direction, Floor};

use super::profile::{Motion, Profile, stopping_distance};
use super::{Drive, DriveCommand, SAME_PLACE, Shaft, sign};

impl Shaft {
    /// Where a resting car is to come to rest under a levelling command.
    pub(super) fn target_at_rest(&self) -> Option<Floor> {
        match self.effective_command() {
            DriveCommand::Stop | DriveCommand::Constant(_) => None,
            DriveCommand::Run { direction, stop_at } => {
                let stop_at = stop_at.min(self.floors.top());
                let ahead = self.ahead(direction, self.position)?;
                Some(if stop_at.is_beyond(ahead, direction) { stop_at } else { ahead })
            }
            // A drive that levels at a sensor does not know which floor that reports.
            DriveCommand::Home { direction } => self.floor_with_a_sensor().or_else(|| {
                let ahead = self.ahead(direction, self.position)?;
                Some(self.first_live(ahead, direction))
            }),
        }
    }

    /// The nearest floor in `direction` at which the car, moving that way, can come to rest.
    pub(super) fn first_stop(&self, direction: Direction) -> Floor {
        let distance = match &self.drive {
            Drive::Travelling { profile, .. } => {
                stopping_distance(profile.motion(), &self.kinematics)
            }
            Drive::Resting
            | Drive::Braking { .. }
            | Drive::Constant(_)
            | Drive::Jammed(_)
            | Drive::Tripping { .. }
            | Drive::Sensing { .. } => 0.0,
        };
        self.ahead(direction, self.position + sign(direction) * distance)
            .unwrap_or_else(|| self.last_floor(direction))
    }

    /// The first floor at or after a height, seen in `direction`.
    pub(super) fn ahead(&self, direction: Direction, height: f64) -> Option<Floor> {
        let reached =
            |&floor: &Floor| sign(direction) * (self.height(floor) - height) >= -SAME_PLACE;
        match direction {
            Direction::Up => self.floors.floors().find(reached),
            Direction::Down => self.floors.floors().rev().find(reached),
        }
    }

    /// The first floor from `floor` on whose sensor works; at the latest the end of the shaft.
    pub(super) fn first_live(&self, floor: Floor, direction: Direction) -> Floor {
        let mut floor = floor;
        while self.dead_sensors.contains(&floor) {
            match self.floors.next(floor, direction) {
                Some(next) => floor = next,
                None => break,
            }
        }
        floor
    }

    pub(super) fn direction_to(&self, floor: Floor) -> Option<Direction> {
        let way = self.height(floor) - self.position;
        if way.abs() <= SAME_PLACE {
            None
        } else if way > 0.0 {
            Some(Direction::Up)
        } else {
            Some(Direction::Down)
        }
    }

    /// The command changed in flight.
    pub(super) fn redirect(&mut self, direction: Direction, motion: Motion) {
        let first = self.first_stop(direction);
        let target = match self.effective_command() {
            DriveCommand::Stop | DriveCommand::Constant(_) => {
                let speed = motion.speed;
                self.drive = Drive::Braking { direction, speed };
                return;
            }
            DriveCommand::Run { direction: wanted, stop_at } if wanted == direction => {
                let stop_at = stop_at.min(self.floors.top());
                if stop_at.is_beyond(first, direction) { stop_at } else { first }
            }
            DriveCommand::Home { direction: wanted } if wanted == direction => {
                self.first_live(first, direction)
            }
            DriveCommand::Run { .. } | DriveCommand::Home { .. } => first,
        };
        self.travel(direction, target, motion);
    }

    pub(super) fn travel(&mut self, direction: Direction, target: Floor, motion: Motion) {
        let homing = matches!(self.command, DriveCommand::Home { .. });
        let cruise = if homing { self.kinematics.creep_speed } else { self.kinematics.rated_speed };
        let length = (self.height(target) - self.position).abs();
        self.drive = Drive::Travelling {
            direction,
            target,
            homing,
            from: self.position,
            profile: Profile::new(motion, length, cruise, &self.kinematics),
        };
    }
}
