//! The drive that has lost its levelling: it runs at the speeds of the bare motor and stops by the
//! floor sensors.

use elevator_driver::{Direction, Floor};

use super::{Drive, DriveCommand, LevellingFault, SAME_PLACE, Shaft, sign};

impl Shaft {
    /// Whether the sensor is active at which the command ends a run.
    pub(super) fn senses_its_stop(&self) -> bool {
        let Some(floor) = self.sensed_floor() else {
            return false;
        };
        match self.effective_command() {
            DriveCommand::Run { direction, stop_at } => {
                !stop_at.min(self.floors.top()).is_beyond(floor, direction)
            }
            DriveCommand::Home { .. } => true,
            DriveCommand::Stop | DriveCommand::Constant(_) => false,
        }
    }

    /// Ends a run that stops by the sensors, once one says so.
    pub(super) fn on_sensor(&mut self, direction: Direction) {
        let Drive::Sensing { late, .. } = self.drive else {
            return;
        };
        if self.senses_its_stop() {
            if self.levelling_fault == Some(LevellingFault::Overshoots) {
                let late = true;
                self.drive = Drive::Sensing { direction, late };
            } else {
                self.ended = true;
                self.drive = Drive::Resting;
            }
        } else if late {
            self.ended = true;
            self.brake(direction);
        }
    }

    /// The command changed in flight.
    pub(super) fn redirect_sensing(&mut self, direction: Direction) {
        match self.effective_command() {
            DriveCommand::Run { direction: wanted, .. }
            | DriveCommand::Home { direction: wanted }
                if wanted == direction => {}
            DriveCommand::Run { .. }
            | DriveCommand::Home { .. }
            | DriveCommand::Stop
            | DriveCommand::Constant(_) => self.brake(direction),
        }
    }

    /// The next floor whose sensor the car has not reached.
    pub(super) fn next_sensed_stop(&self, direction: Direction) -> Option<Floor> {
        let runs = matches!(self.effective_command(), DriveCommand::Run { .. });
        let edge = self.position + sign(direction) * (self.zone() + SAME_PLACE);
        let ahead = self.ahead(direction, edge);
        runs.then(|| ahead.unwrap_or_else(|| self.last_floor(direction)))
    }
}
