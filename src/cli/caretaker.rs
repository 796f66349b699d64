//! `liftmesh caretaker`.

use clap::Args;

use super::{CommandError, ConfigArgs, Next, die_with};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh caretaker --config /etc/liftmesh/node.toml
  liftmesh caretaker --config node.toml && liftmesh run --config node.toml

Give it the settings of the node, as its user, after the node has ended with 3 or 4. It serves at the
node's http.address: the web panel, which shows the car that hung, and the request that clears the
hang with a token with scope `operate`. It has no panel line and starts no node. It ends with 0 once
the hang was cleared there, so that a supervisor starts the node (see liftmesh-caretaker.service);
with 2 if there is no latch, or if it was cleared by other means; with 4 if it is told to stop.";

/// The arguments of `liftmesh caretaker`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CaretakerArgs {
    /// Where the configuration of the node is
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// End when the process with this number, which started this one, is gone
    #[arg(long, hide = true, value_name = "PID")]
    pub(crate) die_with_parent: Option<u32>,
}

impl CaretakerArgs {
    pub(super) fn execute(&self) -> Result<Next, CommandError> {
        let (_, settings) = self.config.sources().check()?;
        if let Some(parent) = self.die_with_parent {
            die_with(parent)?;
        }
        Ok(Next::TakeCare(Box::new(settings)))
    }
}
