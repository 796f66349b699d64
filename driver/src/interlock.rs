//! The last safeguard between motor and door (S1).
//!
//! The controller ensures S1 by itself, and so should every panel. Each back end also refuses
//! commands that would violate it.

use crate::vocabulary::{DoorCommand, DoorState, DriveFeedback, MotorCommand, PanelOutputs};

/// The motor command to send: a stop, unless the door is known to be closed and is not commanded to
/// open (S1).
#[must_use]
pub fn permitted_motor(outputs: &PanelOutputs, door: Option<DoorState>) -> MotorCommand {
    if door == Some(DoorState::Closed) && outputs.door != DoorCommand::Open {
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
    door: DoorState,
    drive: Option<DriveFeedback>,
) -> DoorCommand {
    if door == DoorState::Closed && drive != Some(DriveFeedback::Stopped) {
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
        let driven = DriveFeedback::Driven(Direction::Up);
        assert_eq!(permitted_door(&open, DoorState::Closed, Some(driven)), DoorCommand::Close);
        assert_eq!(permitted_door(&open, DoorState::Closed, None), DoorCommand::Close);
        assert_eq!(permitted_door(&open, DoorState::Opening, Some(driven)), DoorCommand::Open);
        assert_eq!(
            permitted_door(&open, DoorState::Closed, Some(DriveFeedback::Stopped)),
            DoorCommand::Open
        );
    }
}
