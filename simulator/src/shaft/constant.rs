//! The drive without levelling: one speed past a floor, another between floors, and a stop on the
//! spot.

use elevator_driver::{Direction, Floor};

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
        let (offset, storey) = self.zone_offset(direction);
        if offset < zone {
            zone / self.constant.passing_floor.as_secs_f64()
        } else {
            (storey - zone) / self.constant.between_floors.as_secs_f64()
        }
    }

    fn to_zone_edge(&self, direction: Direction) -> f64 {
        let zone = 2.0 * self.zone();
        let (offset, storey) = self.zone_offset(direction);
        if offset < zone { zone - offset } else { storey - offset }
    }

    /// How far the car is past the edge at which it entered the floor zone it was in last, and how
    /// far that is from the next one.
    fn zone_offset(&self, direction: Direction) -> (f64, f64) {
        let along = |height: f64| match direction {
            Direction::Up => height,
            Direction::Down => self.top() - height,
        };
        let place = along(self.position) + self.zone() + SAME_PLACE / 2.0;
        let floor = |floor: &Floor| along(self.height(*floor)) <= place;
        let last = match direction {
            Direction::Up => self.floors.floors().rfind(floor),
            Direction::Down => self.floors.floors().find(floor),
        };
        let last = last.unwrap_or_else(|| self.last_floor(direction.opposite()));
        let next = self.floors.next(last, direction).unwrap_or_else(|| self.last_floor(direction));
        (place - along(self.height(last)), (self.height(next) - self.height(last)).abs())
    }
}
