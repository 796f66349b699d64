//! `liftmesh mode`, `liftmesh priority`, `liftmesh fire-recall` and `liftmesh emergency-power`.

use std::num::ParseIntError;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use elevator_fleet::model::{Mode, NodeId};

use super::{CommandError, NodeArgs, RemoteArgs, output};
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

pub(super) const PRIORITY_EXAMPLES: &str = "\
Examples:
  liftmesh priority 5 --operator 'ward 5' --reason 'patient transport' --data-dir /var/lib/liftmesh
  liftmesh priority 5 --car B --operator 'J. Kovac' --config /etc/liftmesh/node.toml
  liftmesh priority end --car B --operator 'J. Kovac' --config /etc/liftmesh/node.toml

Sends the named car, or the one in service that gets there first, to a floor (priority service). The
car takes no more hall calls, and those that it has go to other cars. It serves the car calls on its
way, opens at the floor and waits there for `service.priority_stay` (30 s), or until somebody presses a
button in it. Then it is back in service. `end` ends that, and the session of a robot in the car. Any running node takes the command, and passes it on; it
outlives restarts. A car in a more restrictive mode goes once that is over. A fire recall and emergency
power end the call.";

pub(super) const EMERGENCY_POWER_EXAMPLES: &str = "\
Examples:
  liftmesh emergency-power start --operator 'J. Kovac' --reason 'mains failure' \\
      --data-dir /var/lib/liftmesh
  liftmesh emergency-power start --car B --operator 'J. Kovac' --config /etc/liftmesh/node.toml
  liftmesh emergency-power end --operator 'J. Kovac' --data-dir /var/lib/liftmesh

Any running node takes the command, and passes it on. Every motor stops. Then one car after the other
goes to its recall floor and keeps its door open there; the next one goes once it has arrived, or has
not moved for 60 s. Then the named car serves calls, or the first one that can (ASME A17.1, emergency
power). It never ends by itself. Commanded again, it gives each car another turn. A car moves only while
most of the fleet's nodes follow one master, and its own is among them.";

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
    /// Start or end it
    pub(crate) recall: RecallArg,
    /// Who and why
    #[command(flatten)]
    pub(crate) who: Who,
}

/// The arguments of `liftmesh priority`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PriorityArgs {
    /// The floor, counted from 0 at the bottom; or `end`: the car returns to service
    #[arg(value_name = "FLOOR|end")]
    pub(crate) to: Destination,
    /// The car; without it, the one that gets there first
    #[arg(long)]
    pub(crate) car: Option<NodeId>,
    /// Who and why
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Where a priority call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// To this floor.
    Floor(u8),
    /// Nowhere any more.
    End,
}

impl FromStr for Destination {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "end" { Ok(Self::End) } else { text.parse().map(Self::Floor) }
    }
}

/// The arguments of `liftmesh emergency-power`.
#[derive(Debug, Clone, Args)]
pub(crate) struct EmergencyPowerArgs {
    /// Start or end it
    pub(crate) power: PowerArg,
    /// The car that is to serve once all are down; without it, the first one that can
    #[arg(long)]
    pub(crate) car: Option<NodeId>,
    /// Who and why
    #[command(flatten)]
    pub(crate) who: Who,
}

/// What becomes of emergency power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PowerArg {
    /// One car moves at a time
    Start,
    /// All cars return to what they did before
    End,
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

impl PriorityArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let Who { operator, reason, node, remote } = &self.who;
        let (node, reason) = (remote.connect(node)?, reason.as_deref());
        let text = match (self.to, &self.car) {
            (Destination::Floor(floor), car) => {
                let car = node.send_with_priority(car.as_ref(), floor, operator, reason)?;
                format!("car {car} goes to floor {floor} with priority\n")
            }
            (Destination::End, car) => {
                node.end_priority(car.as_ref(), operator, reason)?;
                "the priority call or session has ended\n".to_owned()
            }
        };
        Ok(output::print(&text)?)
    }
}

impl EmergencyPowerArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let Who { operator, reason, node, remote } = &self.who;
        let (on, text) = match self.power {
            PowerArg::Start => (true, "emergency power: one car moves at a time\n"),
            PowerArg::End => (false, "emergency power ended\n"),
        };
        let node = remote.connect(node)?;
        node.set_emergency_power(on, self.car.as_ref(), operator, reason.as_deref())?;
        Ok(output::print(text)?)
    }
}

impl FireRecallArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let Who { operator, reason, node, remote } = &self.who;
        let (on, text) = match self.recall {
            RecallArg::Start => (true, "fire recall of all cars started\n"),
            RecallArg::End => (false, "fire recall of all cars ended\n"),
        };
        remote.connect(node)?.set_fire_recall(on, operator, reason.as_deref())?;
        Ok(output::print(text)?)
    }
}
