//! The dead man's switch between a line's owner and its panel, as a pure state machine.
//!
//! ```text
//!              the owner shows no sign of life for the limit
//!   Held ──────────────────────────────────────────────────────▶ Lapsed
//!    ▲     and the motor is to run                                 │
//!    └─────────────────────────────────────────────────────────────┘
//!              the owner commands a stop by itself
//! ```

use std::time::Duration;

use crate::vocabulary::{MotorCommand, PanelOutputs};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) outputs: PanelOutputs,
    /// How many stops of the motor the owner has commanded so far, including this one. A stop
    /// counts even if a later command has replaced it.
    pub(super) stops: u64,
}

/// Whether a motor that is commanded to run may run. A motor commanded to stop needs no keep-alive.
#[derive(Debug)]
pub(super) struct Lease {
    limit: Duration,
    command: Command,
    state: LeaseState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaseState {
    Held,
    /// The motor is stopped until the owner commands another stop: only then does it know that the
    /// car stands, and starts the motor knowingly.
    Lapsed {
        stops: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Commanded(PanelOutputs),
    /// The lease ran out: the same outputs with the motor stopped.
    Lapsed(PanelOutputs),
}

impl Lease {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, command: Command::default(), state: LeaseState::Held }
    }

    /// Handles a new command, if there is one, and checks the lease. All times count from the same
    /// moment; `renewed` is the time of the owner's last keep-alive.
    pub(super) fn check(
        &mut self,
        command: Option<Command>,
        renewed: Duration,
        now: Duration,
    ) -> Option<Change> {
        let is_new = command.is_some();
        if let Some(command) = command {
            if let LeaseState::Lapsed { stops } = self.state
                && command.stops > stops
            {
                self.state = LeaseState::Held;
            }
            self.command = command;
        }
        if self.deadline(renewed).is_some_and(|at| now >= at) {
            self.state = LeaseState::Lapsed { stops: self.command.stops };
            return Some(Change::Lapsed(self.outputs()));
        }
        is_new.then(|| Change::Commanded(self.outputs()))
    }

    /// When the lease runs out; `None` if the motor is not commanded to run.
    pub(super) fn deadline(&self, renewed: Duration) -> Option<Duration> {
        let needed =
            self.state == LeaseState::Held && self.command.outputs.motor != MotorCommand::Stop;
        needed.then(|| renewed + self.limit)
    }

    /// The owner's outputs, with the motor stopped if the lease has run out.
    fn outputs(&self) -> PanelOutputs {
        let outputs = self.command.outputs.clone();
        match self.state {
            LeaseState::Held => outputs,
            LeaseState::Lapsed { .. } => PanelOutputs { motor: MotorCommand::Stop, ..outputs },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vocabulary::{Direction, Floor};

    const LIMIT: Duration = Duration::from_millis(300);

    const HOME: MotorCommand = MotorCommand::Home { direction: Direction::Up };

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn outputs(motor: MotorCommand) -> PanelOutputs {
        PanelOutputs { motor, indicator: Floor::try_from(2).ok(), ..PanelOutputs::default() }
    }

    fn command(motor: MotorCommand, stops: u64) -> Command {
        Command { outputs: outputs(motor), stops }
    }

    proptest! {
        /// S2, H1: in any order of events, a motor runs on the command of an owner that shows signs of
        /// life, and after a lapse only once a stop was commanded, even one that the line never saw.
        #[test]
        fn a_motor_runs_exactly_while_its_lease_is_held(
            steps in prop::collection::vec(
                (0_u64..200, any::<bool>(), prop::option::of((any::<bool>(), 0_u64..2))), 1..200)
        ) {
            let mut lease = Lease::new(LIMIT);
            let (mut now, mut renewed, mut stops) = (0, 0, 0);
            let (mut runs, mut has_lapsed) = (false, false);
            for (pause, is_alive, next) in steps {
                now += pause;
                renewed = if is_alive { now } else { renewed };
                let next = next.map(|(is_run, replaced_stops)| {
                    runs = is_run;
                    stops += replaced_stops + u64::from(!runs);
                    has_lapsed &= runs && replaced_stops == 0;
                    command(if runs { HOME } else { MotorCommand::Stop }, stops)
                });
                let lapses = runs && !has_lapsed && now - renewed >= 300;
                has_lapsed |= lapses;
                let motor = if runs && !has_lapsed { HOME } else { MotorCommand::Stop };
                let expected = match (lapses, &next) {
                    (true, _) => Some(Change::Lapsed(outputs(motor))),
                    (false, Some(_)) => Some(Change::Commanded(outputs(motor))),
                    (false, None) => None,
                };
                prop_assert_eq!(lease.check(next, at(renewed), at(now)), expected);
                let deadline = (motor == HOME).then(|| at(renewed + 300));
                prop_assert_eq!(lease.deadline(at(renewed)), deadline);
            }
        }
    }
}
