use clap::{Args, Subcommand, value_parser};
use elevator_fleet::node::{AccessStatus, Command, ReleaseStatus};

use super::mode::Who;
use super::status::list;
use super::{AnyNodeArgs, CommandError, NodeArgs, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh floors lock 5 --operator 'J. Kovac' --reason 'server room' --data-dir /var/lib/liftmesh
  liftmesh floors release 5 --seconds 20 --data-dir /var/lib/liftmesh
  liftmesh floors show --data-dir /var/lib/liftmesh

Any running node takes the command; it applies to all cars. A lock survives restarts and lasts until
the floor is unlocked. It refuses orders to the floor without a right of access, which a token of
scope `access` gives, or `liftmesh order car A 5 --access`. Hall calls are accepted at every floor,
so that people can leave. Locks do not apply in a car in independent or fire service.";

#[derive(Debug, Clone, Args)]
pub(crate) struct FloorsArgs {
    #[command(subcommand)]
    pub(crate) command: FloorsCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum FloorsCommand {
    /// Accept calls to a floor only with a right of access (audited)
    Lock(LockArgs),
    /// Accept calls to a floor from everyone again (audited)
    Unlock(LockArgs),
    /// Let anyone in the node's own car ride to a locked floor, for a few seconds
    Release(ReleaseArgs),
    /// Show the locked floors, and how many calls the node refused
    Show(NodeArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct LockArgs {
    /// The label of the floor
    pub(crate) floor: String,
    #[command(flatten)]
    pub(crate) who: Who,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReleaseArgs {
    /// The label of the floor
    pub(crate) floor: String,
    /// How long its button in the car works, in seconds: 1 to 60. A restart of the node ends it
    #[arg(long, default_value_t = 10, value_parser = value_parser!(u8).range(1..=60))]
    pub(crate) seconds: u8,
    #[command(flatten)]
    pub(crate) node: AnyNodeArgs,
}

impl FloorsArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        match &self.command {
            FloorsCommand::Lock(args) => args.set(true, "locked"),
            FloorsCommand::Unlock(args) => args.set(false, "unlocked"),
            FloorsCommand::Release(ReleaseArgs { floor, seconds, node }) => {
                node.connect()?.release(floor.parse()?, *seconds)?;
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
        self.who.give(|| Ok(Command::FloorLock { floor: self.floor.parse()?, locked }))?;
        Ok(output::print(&format!("floor {} {what}\n", self.floor))?)
    }
}

/// What is locked, a line each.
pub(super) fn page(access: &AccessStatus) -> String {
    let locked = if access.locked.is_empty() { "none".to_owned() } else { list(&access.locked) };
    let left = |it: &ReleaseStatus| format!("{} for {:.0} s", it.floor, it.left.as_secs_f64());
    let mut released = list(access.released.iter().map(left));
    if !released.is_empty() {
        released = format!("released in this car: {released}\n");
    }
    format!("locked floors: {locked}\n{released}calls refused by this node: {}\n", access.refused)
}
