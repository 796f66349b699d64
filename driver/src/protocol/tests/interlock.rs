//! S1 on any line.

use super::*;

/// A car that does what the panel is told to, as slowly as machines do.
#[derive(Default)]
pub(super) struct Machinery {
    /// How long the car goes on moving, in steps.
    coasts: u8,
    /// How far the door is open, 0 closed, in steps of its way.
    gap: u8,
    is_opening: bool,
}

impl Machinery {
    const COASTS: u8 = 20;
    const WAY: u8 = 30;

    /// Takes a new command. Returns what is unsafe about it (S1).
    pub(super) fn command(&mut self, outputs: &PanelOutputs) -> Option<&'static str> {
        let runs = outputs.motor != MotorCommand::Stop;
        let is_moving = self.coasts > 0;
        self.is_opening = outputs.door == DoorCommand::Open;
        if runs {
            self.coasts = Self::COASTS;
        }
        if self.is_opening && (is_moving || runs) {
            return Some("the door opens while the car moves");
        }
        (runs && self.gap > 0).then_some("the car starts with its door open")
    }

    pub(super) fn step(&mut self, outputs: &PanelOutputs) -> PanelInputs {
        if outputs.motor == MotorCommand::Stop {
            self.coasts = self.coasts.saturating_sub(1);
        }
        self.gap = if self.is_opening {
            (self.gap + 1).min(Self::WAY)
        } else {
            self.gap.saturating_sub(1)
        };
        let drive = match self.coasts {
            0 => DriveFeedback::Stopped,
            _ => DriveFeedback::Driven(Direction::Up),
        };
        let door = match (self.gap, self.is_opening) {
            (0, false) => DoorState::Closed,
            (Self::WAY, true) => DoorState::Open,
            (_, true) => DoorState::Opening,
            (_, false) => DoorState::Closing,
        };
        PanelInputs { drive, door, ..PanelInputs::default() }
    }
}

/// What happens to the line besides the fates of its bytes.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    None,
    /// The controller's end is opened anew; what is on its way arrives.
    Reopened,
    /// Nothing arrives, for long enough that the panel counts as silent.
    Outage,
    ControllerRestarts,
    /// Its machinery goes on as it was.
    PanelRestarts,
}

fn any_trouble() -> impl Strategy<Value = Trouble> {
    prop_oneof![
        8 => Just(Trouble::None),
        1 => Just(Trouble::Reopened),
        1 => Just(Trouble::Outage),
        1 => Just(Trouble::ControllerRestarts),
        1 => Just(Trouble::PanelRestarts),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    // S1: whatever is commanded, whatever the line loses, however late it is, and whenever it is
    // opened anew, no door opens while the car moves, and no car starts with its door open.
    #[test]
    fn no_line_is_so_bad_that_the_interlock_believes_what_is_outdated(
        delay in prop_oneof![Just(0), 0_u32..200],
        fates in proptest::collection::vec(any_fate(), 1..400),
        wishes in proptest::collection::vec(
            (any::<bool>(), any::<bool>(), 0_u32..60, any_trouble()), 1..60),
    ) {
        let mut fates = fates.into_iter();
        let mut pair = Pair::new();
        (pair.delay, pair.machinery) = (STEP * delay, Some(Machinery::default()));
        prop_assert_eq!(pair.run(STEP * 400, &mut std::iter::empty()), None);
        for (runs, opens, steps, trouble) in wishes {
            let motor = if runs { some_outputs().motor } else { MotorCommand::Stop };
            let door = if opens { DoorCommand::Open } else { DoorCommand::Close };
            let outputs = PanelOutputs { motor, door, ..PanelOutputs::default() };
            pair.controller.set_outputs(outputs.clone());
            match trouble {
                Trouble::None => {}
                Trouble::ControllerRestarts => {
                    pair.restart_controller();
                    pair.controller.set_outputs(outputs);
                }
                Trouble::PanelRestarts => pair.restart_panel(),
                Trouble::Reopened => {
                    pair.controller.handle_line_lost("it is pulled".to_owned(), pair.now);
                    pair.controller.handle_line_opened(pair.now);
                }
                Trouble::Outage => {
                    let fault = pair.run(STEP * 300, &mut std::iter::repeat(Fate::Lose));
                    prop_assert_eq!(fault, None);
                }
            }
            prop_assert_eq!(pair.run(STEP * (steps + 1), &mut fates), None);
        }
    }
}
