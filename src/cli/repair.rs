//! `liftmesh repair`.

use clap::Args;

use super::{CommandError, NodeArgs, output};
use crate::operator::words::{operator, reason};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh repair --operator 'J. Kovac' --reason 'the others refuse its orders' \\
      --data-dir /var/lib/liftmesh
  sudo -u liftmesh liftmesh repair --operator kovac --reason 'restored from a copy' \\
      --config /etc/liftmesh/node.toml

The node goes on meanwhile, and no order is lost: its open orders are placed again under the fresh
identity. A node does this by itself when it notices that others hold wrong records of its journal,
or that its disk does; the command is for where it does not. A node that does not run is started
first.";

/// The arguments of `liftmesh repair`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RepairArgs {
    /// Who asks for it
    #[arg(long, value_name = "NAME", value_parser = operator)]
    pub(crate) operator: String,
    /// Why
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub(crate) reason: String,
    /// Which node
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

impl RepairArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let (old, fresh) = self.node.connect()?.repair(&self.operator, &self.reason)?;
        Ok(output::print(&format!("repaired: journal {fresh} in place of {old}\n"))?)
    }
}
