//! `liftmesh token`: who may change something over HTTP.

use clap::{Args, Subcommand};

use super::table::table;
use super::{CommandError, NodeArgs, output};
use crate::tokens::{Scope, TokenName, TokenStore};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh token create --name kiosk --scope call --data-dir /var/lib/liftmesh
  sudo -u liftmesh liftmesh token list --config /etc/liftmesh/node.toml
  liftmesh token revoke --name kiosk --data-dir /var/lib/liftmesh

A token counts at the node in whose data directory it was made, from the next request on, whether the
node runs already or not. It is printed once and stored nowhere; the node keeps its hash.";

/// The arguments of `liftmesh token`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
    /// Which node
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, Clone, Subcommand)]
enum TokenCommand {
    /// Make a token and print it
    Create {
        /// Whose it is: 1 to 32 letters, digits, dots, dashes or underscores
        #[arg(long)]
        name: TokenName,
        /// What its bearer may do
        #[arg(long, value_enum)]
        scope: Scope,
    },
    /// Show the tokens that there are
    List,
    /// Take a token back
    Revoke {
        /// Whose it is
        #[arg(long)]
        name: TokenName,
    },
}

impl TokenArgs {
    pub(super) fn execute(self) -> Result<(), CommandError> {
        let (data_dir, _) = self.node.place()?;
        let store = TokenStore::new(&data_dir);
        match self.command {
            TokenCommand::Create { name, scope } => {
                let token = store.create(name, scope)?;
                output::print(&format!("{}\n", token.as_str()))?;
            }
            TokenCommand::List => {
                let rows = store.list()?.into_iter();
                let rows = rows
                    .map(|token| [token.name.to_string(), token.scope.to_string(), token.created]);
                output::print(&table(["name", "scope", "created"], rows))?;
            }
            TokenCommand::Revoke { name } => {
                store.revoke(&name)?;
                output::print(&format!("the token {name} counts no more\n"))?;
            }
        }
        Ok(())
    }
}
