//! `liftmesh mode` and `liftmesh fire-recall`.

use clap::{Args, ValueEnum};
use elevator_fleet::model::{Mode, NodeId};

use super::{CommandError, NodeArgs, RemoteArgs, output};
use crate::operator::Recall;
use crate::operator::words::{operator, reason};

pub(super) const MODE_EXAMPLES: &str = "\
Examples:
  liftmesh mode B out-of-service --operator 'J. Kovac' --reason 'new carpet' \\
      --data-dir /var/lib/liftmesh
  liftmesh mode B in-service --operator kovac --config /etc/liftmesh/node.toml
  liftmesh mode B attendant --operator 'J. Kovac' --reason 'reception' \\
      --data-dir /var/lib/liftmesh
  liftmesh mode B in-service --operator kovac --url https://192.168.1.11:7080 \\
      --token-file ~/.config/liftmesh/token

Any running node takes the command for any car, and passes it on. The mode holds until another one is
set, whatever is restarted meanwhile. Modes, the least restrictive first:
  in-service      the group gives it hall calls
  attendant       the group gives it hall calls, and at each stop it waits for an attendant, who
                  presses the button of the floor to go to
  independent     it serves its car calls only, and keeps its door open until the next one
  out-of-service  it takes its riders where they asked to go, then stays with its door closed; a
                  button in it opens the door
  fire-recall     it goes to its recall floor without a stop, and keeps its door open there
  fire-service    a firefighter drives it: it goes to the floor whose button was pressed last, and
                  opens there when that button is pressed again
Of this mode, the car's key switch and a fire recall of all cars the most restrictive one applies;
a key switch at `out of service` comes before everything.";

pub(super) const FIRE_RECALL_EXAMPLES: &str = "\
Examples:
  liftmesh fire-recall start --operator 'fire panel' --reason 'alarm on floor 3' \\
      --data-dir /var/lib/liftmesh
  liftmesh fire-recall end --operator 'J. Kovac' --data-dir /var/lib/liftmesh
  LIFTMESH_URL=https://192.168.1.11:7080 liftmesh fire-recall end --operator kovac \\
      --token-file ~/.config/liftmesh/token

Any running node takes the command, and passes it on. All cars go to their recall floors without a
stop and keep their doors open there (ASME A17.1 Phase I, EN 81-73). It never ends by itself: not by
a restart, nor when the power comes back. Meanwhile the key switch in a car at `fire recall` lets a
firefighter drive that car (ASME A17.1 Phase II).";

/// The arguments of `liftmesh mode`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModeArgs {
    /// The car
    pub(crate) car: NodeId,
    /// Its mode: in-service, attendant, independent, out-of-service, fire-recall or fire-service
    pub(crate) mode: Mode,
    /// Who and why
    #[command(flatten)]
    pub(crate) who: Who,
}

/// The arguments of `liftmesh fire-recall`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FireRecallArgs {
    /// What becomes of it
    pub(crate) recall: RecallArg,
    /// Who and why
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Who gives a command, why and at which node.
#[derive(Debug, Clone, Args)]
pub(crate) struct Who {
    /// Who commands it
    #[arg(long, value_name = "NAME", value_parser = operator)]
    pub(crate) operator: String,
    /// Why
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub(crate) reason: Option<String>,
    /// Which node takes it
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Or one at another computer
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// What becomes of a fire recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecallArg {
    /// All cars are recalled
    Start,
    /// They return to what they did before
    End,
}

impl ModeArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let Who { operator, reason, node, remote } = &self.who;
        remote.connect(node)?.set_mode(&self.car, self.mode, operator, reason.as_deref())?;
        Ok(output::print(&format!("mode of {} set to {}\n", self.car, self.mode))?)
    }
}

impl FireRecallArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let Who { operator, reason, node, remote } = &self.who;
        let (recall, text) = match self.recall {
            RecallArg::Start => (Recall::Start, "fire recall of all cars started\n"),
            RecallArg::End => (Recall::End, "fire recall of all cars ended\n"),
        };
        remote.connect(node)?.set_fire_recall(recall, operator, reason.as_deref())?;
        Ok(output::print(text)?)
    }
}
