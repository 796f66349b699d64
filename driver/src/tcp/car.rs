//! The levelling drive and the door that elevator-server hardware lacks, as a pure state machine.

use crate::interlock::permitted_motor;
use crate::vocabulary::{
    Direction, DoorCommand, DoorState, DriveFeedback, Floor, FloorCount, MotorCommand, PanelInputs,
    PanelOutputs,
};

/// The server's motor and door lamp, as computed from the commands and the sensors.
#[derive(Debug)]
pub(super) struct Car {
    floors: FloorCount,
    outputs: PanelOutputs,
    place: Place,
    motor: Option<Direction>,
    heading: Option<Direction>,
    /// A motor command that has reached its stop: it no longer starts the motor.
    fulfilled: Option<MotorCommand>,
    door: DoorState,
    stop: bool,
    obstruction: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Unknown,
    At(Floor),
    /// Between two floors, after leaving this one in this direction.
    Beyond(Floor, Direction),
}

impl Car {
    pub(super) fn new(floors: FloorCount) -> Self {
        Self {
            floors,
            outputs: PanelOutputs::default(),
            place: Place::Unknown,
            motor: None,
            heading: None,
            fulfilled: None,
            door: DoorState::Closed,
            stop: false,
            obstruction: false,
        }
    }

    pub(super) fn outputs(&self) -> &PanelOutputs {
        &self.outputs
    }

    pub(super) fn inputs(&self) -> PanelInputs {
        PanelInputs {
            floor: match self.place {
                Place::At(floor) => Some(floor),
                Place::Beyond(..) | Place::Unknown => None,
            },
            next_stop: self.motor.and_then(|direction| self.next_stop(direction)),
            drive: self.motor.map_or(DriveFeedback::Stopped, DriveFeedback::Driven),
            door: self.door,
            stop: self.stop,
            obstruction: self.obstruction,
            ..PanelInputs::default()
        }
    }

    /// Whether the car moves, is to move, or has its door open: something will happen soon.
    pub(super) fn is_busy(&self) -> bool {
        let is_closed = match self.outputs.door {
            DoorCommand::Close => self.door == DoorState::Closed,
            DoorCommand::Open | DoorCommand::OpenRear | DoorCommand::Nudge => false,
        };
        self.motor.is_some() || self.outputs.motor != MotorCommand::Stop || !is_closed
    }

    pub(super) fn set_outputs(&mut self, outputs: PanelOutputs) {
        if self.fulfilled != Some(outputs.motor) {
            self.fulfilled = None;
        }
        self.outputs = outputs;
    }

    /// A new connection: motor and door lamp are off, and the car may have moved.
    pub(super) fn lose_place(&mut self) {
        self.place = Place::Unknown;
        self.motor = None;
        self.heading = None;
        self.fulfilled = None;
        self.door = DoorState::Closed;
    }

    pub(super) fn see_floor(&mut self, floor: Option<Floor>) {
        self.place = match (floor, self.place, self.heading) {
            (Some(floor), _, _) => Place::At(floor),
            (None, Place::At(left), Some(heading)) | (None, Place::Beyond(left, heading), _) => {
                Place::Beyond(left, heading)
            }
            (None, Place::At(_) | Place::Unknown, _) => Place::Unknown,
        };
    }

    pub(super) fn see_switches(&mut self, stop: bool, obstruction: bool) {
        self.stop = stop;
        self.obstruction = obstruction;
    }

    /// Updates motor and door. The door counts as open only at a floor with the motor off, and the
    /// motor runs only with the door closed (S1).
    pub(super) fn settle(&mut self) {
        let at_floor = matches!(self.place, Place::At(_));
        self.door = match self.outputs.door {
            DoorCommand::Open if at_floor => DoorState::Open,
            DoorCommand::Open | DoorCommand::OpenRear | DoorCommand::Close | DoorCommand::Nudge => {
                DoorState::Closed
            }
        };
        let command = permitted_motor(&self.outputs, Some(self.door));
        self.motor = command
            .direction()
            .filter(|_| self.fulfilled != Some(command) && !self.is_there(command));
        if self.motor.is_some() {
            self.heading = self.motor;
        } else if command != MotorCommand::Stop {
            self.fulfilled = Some(command);
        }
    }

    /// Whether the sensor shows that the car has reached the stop of the command, or passed it.
    fn is_there(&self, command: MotorCommand) -> bool {
        let Place::At(floor) = self.place else {
            return false;
        };
        match command {
            MotorCommand::Stop | MotorCommand::Home { .. } => true,
            MotorCommand::Run { direction, stop_at } => {
                floor == stop_at
                    || floor.is_beyond(stop_at, direction)
                    || self.floors.next(floor, direction).is_none()
            }
        }
    }

    fn next_stop(&self, direction: Direction) -> Option<Floor> {
        match self.place {
            Place::Unknown => None,
            Place::Beyond(left, heading) if heading != direction => Some(left),
            Place::At(floor) | Place::Beyond(floor, _) => self.floors.next(floor, direction),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, floor, run};

    fn floors() -> FloorCount {
        testing::floors(4)
    }

    fn open() -> PanelOutputs {
        PanelOutputs { door: DoorCommand::Open, ..PanelOutputs::default() }
    }

    fn car_at(place: Option<u8>) -> Car {
        let mut car = Car::new(floors());
        car.see_floor(place.map(floor));
        car
    }

    fn drive(car: &mut Car, outputs: PanelOutputs) -> DriveFeedback {
        car.set_outputs(outputs);
        car.settle();
        car.inputs().drive
    }

    fn pass(car: &mut Car, place: Option<u8>) -> DriveFeedback {
        car.see_floor(place.map(floor));
        car.settle();
        car.inputs().drive
    }

    const UP: DriveFeedback = DriveFeedback::Driven(Direction::Up);
    const DOWN: DriveFeedback = DriveFeedback::Driven(Direction::Down);

    #[test]
    fn a_run_ends_at_its_floor_and_does_not_start_again_when_the_car_coasts_past() {
        let mut car = car_at(Some(0));
        assert_eq!(drive(&mut car, run(Direction::Up, 2)), UP);
        assert_eq!(pass(&mut car, None), UP);
        assert_eq!(pass(&mut car, Some(1)), UP);
        assert_eq!(pass(&mut car, None), UP);
        assert_eq!(pass(&mut car, Some(2)), DriveFeedback::Stopped);
        assert_eq!(pass(&mut car, None), DriveFeedback::Stopped);
        assert_eq!(drive(&mut car, run(Direction::Up, 2)), DriveFeedback::Stopped);
        assert_eq!(drive(&mut car, run(Direction::Down, 2)), DOWN);
    }

    fn home() -> PanelOutputs {
        PanelOutputs {
            motor: MotorCommand::Home { direction: Direction::Down },
            ..PanelOutputs::default()
        }
    }

    #[test]
    fn a_car_that_is_there_or_at_the_end_of_the_shaft_does_not_start() {
        for (place, outputs) in
            [(2, run(Direction::Up, 2)), (2, home()), (3, run(Direction::Up, 1))]
        {
            assert_eq!(drive(&mut car_at(Some(place)), outputs), DriveFeedback::Stopped);
        }
    }

    #[test]
    fn a_run_whose_floor_is_passed_ends_at_the_next_one() {
        let mut car = car_at(Some(1));
        drive(&mut car, run(Direction::Up, 3));
        pass(&mut car, None);
        assert_eq!(drive(&mut car, run(Direction::Up, 1)), UP);
        assert_eq!(pass(&mut car, Some(2)), DriveFeedback::Stopped);
    }

    #[test]
    fn homing_ends_at_the_first_sensor() {
        let mut car = car_at(None);
        assert_eq!(drive(&mut car, home()), DOWN);
        assert_eq!(car.inputs().next_stop, None);
        assert_eq!(pass(&mut car, Some(1)), DriveFeedback::Stopped);
    }

    #[test]
    fn the_next_stop_is_the_next_floor_ahead_also_after_turning_round() {
        let mut car = car_at(Some(1));
        assert_eq!(car.inputs().next_stop, None);
        drive(&mut car, run(Direction::Up, 3));
        assert_eq!(car.inputs().next_stop, Some(floor(2)));
        pass(&mut car, None);
        assert_eq!(car.inputs().next_stop, Some(floor(2)));
        drive(&mut car, run(Direction::Down, 0));
        assert_eq!(car.inputs().next_stop, Some(floor(1)));
        pass(&mut car, Some(1));
        assert_eq!(car.inputs().next_stop, Some(floor(0)));
    }

    // S1
    #[test]
    fn the_door_opens_only_at_a_floor_and_stops_the_motor() {
        let mut car = car_at(Some(1));
        drive(&mut car, run(Direction::Up, 3));
        let both = PanelOutputs { door: DoorCommand::Open, ..run(Direction::Up, 3) };
        assert_eq!(drive(&mut car, both.clone()), DriveFeedback::Stopped);
        assert_eq!(car.inputs().door, DoorState::Open);
        pass(&mut car, None);
        assert_eq!(car.inputs().door, DoorState::Closed);
        assert_eq!(drive(&mut car, both), DriveFeedback::Stopped);
        assert_eq!(drive(&mut car, open()), DriveFeedback::Stopped);
        assert_eq!(car.inputs().door, DoorState::Closed);
    }

    #[test]
    fn closing_and_nudging_close_the_door_at_once() {
        let mut car = car_at(Some(1));
        drive(&mut car, open());
        assert_eq!(car.inputs().door, DoorState::Open);
        drive(&mut car, PanelOutputs { door: DoorCommand::Nudge, ..PanelOutputs::default() });
        assert_eq!(car.inputs().door, DoorState::Closed);
    }
}
