//! `liftmesh caretaker`.

use clap::Args;

use super::{CommandError, ConfigArgs, Next, die_with};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh caretaker --config node.toml && liftmesh run --config node.toml

Run it with the node's configuration, as the node's user, after the node has exited with 3 or 4. It
serves the web panel at the node's http.address, and lets a token with scope `operate` clear the
hang. It exits with 0 once the hang is cleared there, so that a supervisor starts the node; with 2
if there is no latch, or it is cleared by other means; with 4 if it is told to stop.";

#[derive(Debug, Clone, Args)]
pub(crate) struct CaretakerArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Exit when the parent process, which has this id, is gone
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
