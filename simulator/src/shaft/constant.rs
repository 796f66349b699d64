//! The drive without levelling: one speed past a floor, another between floors, and a stop on the
//! spot.

use elevator_driver::Direction;

use super::{Drive, SAME_PLACE, Shaft, sign};

impl Shaft {
    /// Moves at the speed of each place until the time is up, the shaft ends, or a sensor ends the
    /// run.
    pub(super) fn move_constantly(&mut self, direction: Direction, seconds: f64) {
        let mut left = seconds;
        while left > 0.0 && matches!(self.drive, Drive::Constant(_) | Drive::Sensing { .. }) {
            let room = self.room(direction);
            if room <= SAME_PLACE {
                self.drive = Drive::Resting;
                return;
            }
            let way = self.to_zone_edge(direction).max(SAME_PLACE);
            let speed = self.constant_speed(direction);
            let time = left.min(room.min(way) / speed);
            self.position = (self.position + sign(direction) * speed * time).clamp(0.0, self.top());
            left -= time;
            self.on_sensor(direction);
        }
    }

    /// The speed at this place, m/s.
    pub(super) fn constant_speed(&self, direction: Direction) -> f64 {
        let zone = 2.0 * self.zone();
        if self.zone_offset(direction) < zone {
            zone / self.constant.passing_floor.as_secs_f64()
        } else {
            (self.kinematics.floor_height - zone) / self.constant.between_floors.as_secs_f64()
        }
    }

    fn to_zone_edge(&self, direction: Direction) -> f64 {
        let zone = 2.0 * self.zone();
        let offset = self.zone_offset(direction);
        if offset < zone { zone - offset } else { self.kinematics.floor_height - offset }
    }

    /// How far the car is past the edge at which it entered the floor zone it was in last.
    fn zone_offset(&self, direction: Direction) -> f64 {
        let along = match direction {
            Direction::Up => self.position,
            Direction::Down => self.top() - self.position,
        };
        (along + self.zone() + SAME_PLACE / 2.0).rem_euclid(self.kinematics.floor_height)
    }
}
