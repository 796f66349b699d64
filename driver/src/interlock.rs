//! The last safeguard between motor and door (S1).
//!
//! The controller ensures S1 by itself, and so should every panel. Each back end also refuses
//! commands that would violate it.

use crate::vocabulary::{
    DoorCommand, DoorState, DriveFeedback, MotorCommand, PanelInputs, PanelOutputs,
};

/// The motor command to send: a stop, unless the door is known to be closed and is not commanded to
/// open (S1).
#[must_use]
pub fn permitted_motor(outputs: &PanelOutputs, door: Option<DoorState>) -> MotorCommand {
    if door == Some(DoorState::Closed) && outputs.door.opens().is_none() {
        outputs.motor
    } else {
        MotorCommand::Stop
    }
}

/// The door command to send: a closed door is not commanded to open while the drive reports that
/// the car moves, or may have started since (`None`) (S1).
#[must_use]
pub fn permitted_door(
    outputs: &PanelOutputs,
    inputs: &PanelInputs,
    drive: Option<DriveFeedback>,
) -> DoorCommand {
    let is_closed = inputs.door == DoorState::Closed
        || outputs.door.opens().is_some_and(|side| side != inputs.side);
    if is_closed && drive != Some(DriveFeedback::Stopped) {
        DoorCommand::Close
    } else {
        outputs.door
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Direction;

    const HOME: MotorCommand = MotorCommand::Home { direction: Direction::Down };

    fn outputs(door: DoorCommand) -> PanelOutputs {
        PanelOutputs { motor: HOME, door, ..PanelOutputs::default() }
    }

    // S1
    #[test]
    fn the_motor_runs_only_with_a_door_that_is_known_to_be_closed_and_stays_so() {
        let close = outputs(DoorCommand::Close);
        assert_eq!(permitted_motor(&close, Some(DoorState::Closed)), HOME);
        assert_eq!(permitted_motor(&close, None), MotorCommand::Stop);
        for door in [DoorState::Opening, DoorState::Open, DoorState::Closing] {
            assert_eq!(permitted_motor(&close, Some(door)), MotorCommand::Stop);
        }
        let open = outputs(DoorCommand::Open);
        assert_eq!(permitted_motor(&open, Some(DoorState::Closed)), MotorCommand::Stop);
    }

    // S1
    #[test]
    fn a_closed_door_opens_only_at_rest_and_an_open_one_is_not_slammed() {
        let open = outputs(DoorCommand::Open);
        let driven = Some(DriveFeedback::Driven(Direction::Up));
        let seen = |door| PanelInputs { door, ..PanelInputs::default() };
        let permitted = |door, drive| permitted_door(&open, &seen(door), drive);
        assert_eq!(permitted(DoorState::Closed, driven), DoorCommand::Close);
        assert_eq!(permitted(DoorState::Closed, None), DoorCommand::Close);
        assert_eq!(permitted(DoorState::Opening, driven), DoorCommand::Open);
        let stopped = Some(DriveFeedback::Stopped);
        assert_eq!(permitted(DoorState::Closed, stopped), DoorCommand::Open);
        // The other door is closed.
        let rear = outputs(DoorCommand::OpenRear);
        let rear = |drive| permitted_door(&rear, &seen(DoorState::Opening), drive);
        assert_eq!([rear(driven), rear(stopped)], [DoorCommand::Close, DoorCommand::OpenRear]);
    }
}
