//! `liftmesh floors`.

use std::fmt::Write;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand, value_parser};
use elevator_driver::Floor;
use elevator_fleet::node::{AccessStatus, Command};

use super::mode::Who;
use super::remote::{RemoteArgs, refused_url};
use super::{CommandError, NodeArgs, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh floors lock 5 --operator 'J. Kovac' --reason 'server room' --data-dir /var/lib/liftmesh
  liftmesh floors unlock 5 --operator 'J. Kovac' --data-dir /var/lib/liftmesh
  liftmesh floors release 5 --seconds 20 --data-dir /var/lib/liftmesh
  liftmesh floors show --data-dir /var/lib/liftmesh

Any running node takes the command; it applies to all cars. A lock survives restarts and lasts until
the floor is unlocked. Car buttons, kiosks and programs can't place orders to a locked floor, unless
the call has a right of access: over HTTP with a token of scope `access`, or with `liftmesh order
car A 5 --access`. Hall calls are accepted at every floor, so that people can leave. Locks do not
apply in a car in independent or fire service.";

/// The arguments of `liftmesh floors`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FloorsArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: FloorsCommand,
}

/// What to do with locks.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum FloorsCommand {
    /// Accept calls to a floor only with a right of access (audited)
    #[command(
        after_help = "Example: liftmesh floors lock 5 --operator kovac --data-dir /var/lib/liftmesh"
    )]
    Lock(LockArgs),
    /// Accept calls to a floor from everyone again (audited)
    #[command(
        after_help = "Example: liftmesh floors unlock 5 --operator kovac --data-dir /var/lib/liftmesh"
    )]
    Unlock(LockArgs),
    /// Let anyone in the node's own car ride to a locked floor, for a few seconds
    #[command(
        after_help = "Example: liftmesh floors release 5 --seconds 20 --data-dir /var/lib/liftmesh"
    )]
    Release(ReleaseArgs),
    /// Show the locked floors, and how many calls the node refused
    #[command(
        arg = refused_url(),
        after_help = "Example: liftmesh floors show --data-dir /var/lib/liftmesh"
    )]
    Show(NodeArgs),
}

/// Which floor, and who commands it.
#[derive(Debug, Clone, Args)]
pub(crate) struct LockArgs {
    /// The floor, from 0 at the bottom
    #[arg(value_parser = value_parser!(u8).try_map(Floor::try_from))]
    pub(crate) floor: Floor,
    /// Who and why
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Which floor, and for how long.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReleaseArgs {
    /// The floor, from 0 at the bottom
    #[arg(value_parser = value_parser!(u8).try_map(Floor::try_from))]
    pub(crate) floor: Floor,
    /// How long its button in the car works, in seconds: 1 to 60. A restart of the node ends it
    #[arg(long, default_value_t = 10, value_parser = value_parser!(u8).range(1..=60))]
    pub(crate) seconds: u8,
    /// The node of the car
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Or one at another computer
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

impl FloorsArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        match &self.command {
            FloorsCommand::Lock(args) => args.set(true, "locked"),
            FloorsCommand::Unlock(args) => args.set(false, "unlocked"),
            FloorsCommand::Release(ReleaseArgs { floor, seconds, node, remote }) => {
                remote.connect(node)?.release(*floor, *seconds)?;
                Ok(output::print(&format!("floor {floor} released for {seconds} s\n"))?)
            }
            FloorsCommand::Show(node) => {
                let status = node.connect()?.status()?;
                Ok(output::print(&page(&status.access))?)
            }
        }
    }
}

impl LockArgs {
    fn set(&self, locked: bool, what: &str) -> Result<(), CommandError> {
        self.who.give(&Command::FloorLock { floor: self.floor, locked })?;
        Ok(output::print(&format!("floor {} {what}\n", self.floor))?)
    }
}

/// What is locked, a line each.
pub(super) fn page(access: &AccessStatus) -> String {
    let mut page = String::new();
    let floors = |floors: Vec<String>| match floors.as_slice() {
        [] => "none".to_owned(),
        floors => floors.join(", "),
    };
    let locked = floors(access.locked.iter().map(ToString::to_string).collect());
    let mut write = || -> std::fmt::Result {
        writeln!(page, "locked floors: {locked}")?;
        if !access.released.is_empty() {
            let left = |it: &elevator_fleet::node::ReleaseStatus| {
                format!("{} for {:.0} s", it.floor, it.left.as_secs_f64())
            };
            let released = floors(access.released.iter().map(left).collect());
            writeln!(page, "released in this car: {released}")?;
        }
        writeln!(page, "calls refused by this node: {}", access.refused)
    };
    write().unwrap_or_else(|error| unreachable!("{error}"));
    page
}
