//! `liftmesh mode`, `liftmesh priority`, `liftmesh fire-recall`, `liftmesh emergency-power` and
//! `liftmesh acknowledge-alarm`.

use clap::{Args, ValueEnum};
use elevator_fleet::model::{Mode, NodeId};
use elevator_fleet::node::Command;

use super::{AnyNodeArgs, CommandError, output};
use crate::operator::words::{operator, reason};

pub(super) const MODE_EXAMPLES: &str = "\
Examples:
  liftmesh mode B out-of-service --operator 'J. Kovac' --reason 'new carpet' \\
      --data-dir /var/lib/liftmesh
  liftmesh mode B in-service --operator kovac --url https://192.168.1.11:7080 \\
      --token-file ~/.config/liftmesh/token

Any running node takes the command for any car, and passes it on. The mode survives restarts and
lasts until another one is set. The most restrictive of it, the car's key switch and a fire recall
of all cars applies. Modes, least restrictive first: in-service, attendant (at each stop it waits
until an attendant presses the button of the next floor), independent (it serves only car calls),
out-of-service (it takes its riders to their floors, then stays there), fire-recall, fire-service (a
firefighter drives it).";

pub(super) const FIRE_RECALL_EXAMPLES: &str = "\
Examples:
  liftmesh fire-recall start --operator 'fire panel' --reason 'alarm on floor 3' \\
      --data-dir /var/lib/liftmesh
  liftmesh fire-recall end --operator kovac --url https://192.168.1.11:7080 --token-file token

Any running node takes the command, and passes it on. All cars go to their recall floors without
stopping and keep their doors open there. The recall never ends by itself, not even after a restart
or a power cut. While it lasts, turning the key switch in a car to `fire recall` lets a firefighter
drive that car.";

pub(super) const PRIORITY_EXAMPLES: &str = "\
Examples:
  liftmesh priority 5 --operator 'ward 5' --reason 'patient transport' --data-dir /var/lib/liftmesh
  liftmesh priority end --car B --operator 'J. Kovac' --config /etc/liftmesh/node.toml

Sends the named car, or the one in service that gets there first, to a floor. The car takes no more
hall calls, serves the car calls on its way, opens at the floor and waits for
`service.priority_stay` (30 s), or until someone presses a button in it. Then it returns to service.
`end` cancels the call, and a robot's session in the car. Fire recall and emergency power cancel the
call too.";

pub(super) const EMERGENCY_POWER_EXAMPLES: &str = "\
Examples:
  liftmesh emergency-power start --car B --operator 'J. Kovac' --reason 'mains failure' \\
      --data-dir /var/lib/liftmesh
  liftmesh emergency-power end --operator 'J. Kovac' --data-dir /var/lib/liftmesh

Any running node takes the command, and passes it on. The cars go to their recall floors one at a
time and keep their doors open there. Then the named car, or the first one that can, serves calls.
It never ends by itself. Repeat the command to give each car another turn. A car moves only while
most of the fleet's nodes, including its own, follow one master.";

pub(super) const ALARM_EXAMPLES: &str = "\
Examples:
  liftmesh acknowledge-alarm B --operator 'J. Kovac' --reason 'mechanic is on the way' \\
      --data-dir /var/lib/liftmesh

Any running node takes the command, and passes it on. The alarm lamp in the car then shows that
somebody has answered, until the door next closes.";

#[derive(Debug, Clone, Args)]
pub(crate) struct AlarmArgs {
    /// The car
    pub(crate) car: NodeId,
    #[command(flatten)]
    pub(crate) who: Who,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ModeArgs {
    /// The car
    pub(crate) car: NodeId,
    /// The mode: in-service, attendant, independent, out-of-service, fire-recall or fire-service
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) who: Who,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct FireRecallArgs {
    /// Start or end it
    pub(crate) recall: Switch,
    #[command(flatten)]
    pub(crate) who: Who,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PriorityArgs {
    /// The label of the floor; or `end` to return the car to service
    #[arg(value_name = "FLOOR|end")]
    pub(crate) to: String,
    /// The car [default: the one that gets there first]
    #[arg(long)]
    pub(crate) car: Option<NodeId>,
    #[command(flatten)]
    pub(crate) who: Who,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct EmergencyPowerArgs {
    /// Start or end it
    pub(crate) power: Switch,
    /// The car that serves calls once all are down [default: the first one that can]
    #[arg(long)]
    pub(crate) car: Option<NodeId>,
    #[command(flatten)]
    pub(crate) who: Who,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// Start it
    Start,
    /// Return all cars to what they did before
    End,
}

/// Who gives a command, why and at which node.
#[derive(Debug, Clone, Args)]
pub(crate) struct Who {
    /// Who gives the command, for the audit log
    #[arg(long, value_name = "NAME", value_parser = operator)]
    pub(crate) operator: String,
    /// The reason, for the audit log
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) node: AnyNodeArgs,
}

impl Who {
    /// Gives a command; returns its car.
    pub(super) fn give(
        &self,
        command: impl FnOnce() -> Result<Command, CommandError>,
    ) -> Result<Option<String>, CommandError> {
        // The labels of floors are those of this node.
        let node = self.node.connect()?;
        Ok(node.command(&command()?, &self.operator, self.reason.as_deref())?)
    }
}

impl ModeArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let Self { car, mode, who } = self;
        who.give(|| Ok(Command::Mode { car: car.clone(), mode: *mode }))?;
        Ok(output::print(&format!("mode of {car} set to {mode}\n"))?)
    }
}

impl AlarmArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let Self { car, who } = self;
        who.give(|| Ok(Command::AcknowledgeAlarm { car: car.clone() }))?;
        Ok(output::print(&format!("alarm from {car} acknowledged\n"))?)
    }
}

impl PriorityArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let to = Some(self.to.as_str()).filter(|to| *to != "end");
        let car = self.who.give(|| {
            let floor = to.map(str::parse).transpose()?;
            Ok(Command::Priority { car: self.car.clone(), floor })
        })?;
        let text = match (to, car) {
            (Some(floor), Some(car)) => format!("car {car} goes to floor {floor} with priority\n"),
            (_, _) => "the priority call or session has ended\n".to_owned(),
        };
        Ok(output::print(&text)?)
    }
}

impl EmergencyPowerArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let on = self.power == Switch::Start;
        self.who.give(|| Ok(Command::EmergencyPower { on, car: self.car.clone() }))?;
        let text = if on { ": one car moves at a time" } else { " ended" };
        Ok(output::print(&format!("emergency power{text}\n"))?)
    }
}

impl FireRecallArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let on = self.recall == Switch::Start;
        self.who.give(|| Ok(Command::FireRecall { on }))?;
        let text = if on { "started" } else { "ended" };
        Ok(output::print(&format!("fire recall of all cars {text}\n"))?)
    }
}
