//! `liftmesh token`: who may change something over HTTP.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use elevator_fleet::settings::{Setting, Words};

use super::{CommandError, NodeArgs, output};
use crate::client::{Client, ClientError};
use crate::journal::Account;
use crate::offline::Offline;
use crate::operator::words::operator;
use crate::tokens::{self, Change, Scope, TokenHash, TokenName};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh token create --name audit --scope view --expires 30d --data-dir /var/lib/liftmesh
  liftmesh token revoke --name kiosk --operator 'J. Kovac' --data-dir /var/lib/liftmesh

A token works at every node of the fleet until it is revoked, or expires by that node's clock. Any
node takes the command, running or not; a stopped node passes the change on once it runs. A token is
printed once and never stored; the nodes keep only its hash.";

#[derive(Debug, Clone, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
    /// Who gives the command, for the audit log [default: your account name]
    #[arg(long, value_name = "NAME", value_parser = operator, global = true)]
    operator: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, Clone, Subcommand)]
enum TokenCommand {
    /// Create a token and print it
    Create {
        /// The token's name: 1 to 32 letters, digits, dots, dashes or underscores
        #[arg(long)]
        name: TokenName,
        /// What its bearer may do
        #[arg(long, value_parser = scopes())]
        scope: Scope,
        /// How long it is valid, such as `90d` or `8h`: up to 10 years [default: until revoked]
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        expires: Option<Duration>,
    },
    /// List tokens
    List,
    /// Revoke a token
    Revoke {
        /// The token's name
        #[arg(long)]
        name: TokenName,
    },
}

fn scopes() -> impl TypedValueParser<Value = Scope> {
    let known = Scope::ALL.map(|scope| {
        PossibleValue::new(scope.name()).help(match scope {
            Scope::View => "Read",
            Scope::Call => "Also place calls",
            Scope::Access => "Also place calls to locked floors, and release them in a car",
            Scope::Operate => "Also give operator commands",
        })
    });
    let named = |name: String| Scope::ALL.into_iter().find(|scope| scope.name() == name);
    PossibleValuesParser::new(known).try_map(move |name| named(name).ok_or("no scope"))
}

impl TokenArgs {
    pub(super) fn execute(self) -> Result<(), CommandError> {
        let operator = self.operator.unwrap_or_else(account_name);
        let mut keeper = Keeper::find(&self.node)?;
        match self.command {
            TokenCommand::Create { name, scope, expires } => {
                let token = tokens::draw().map_err(CommandError::Random)?;
                let hash = TokenHash::of(&token);
                let lifetime_s = expires.map(|lifetime| lifetime.as_secs());
                let change = Change::Create { name, scope, hash, lifetime_s };
                keeper.change(&change, &operator)?;
                output::print(&format!("{}\n", token.as_str()))?;
            }
            TokenCommand::List => {
                let heading = ["name", "scope", "created", "expires", "by"];
                output::print(&output::table(heading, keeper.tokens()?))?;
            }
            TokenCommand::Revoke { name } => {
                keeper.change(&Change::Revoke { name: name.clone() }, &operator)?;
                let missing = keeper.not_reached()?;
                output::print(&format!("token {name} is revoked{missing}\n"))?;
            }
        }
        Ok(())
    }
}

/// Who keeps the tokens: the running node, or else its journal.
enum Keeper {
    Node(Box<Client>),
    Journal(Box<Offline>),
}

impl Keeper {
    fn find(node: &NodeArgs) -> Result<Self, CommandError> {
        let (data_dir, name) = node.place()?;
        match Client::connect(&data_dir) {
            Ok(client) => Ok(Self::Node(Box::new(client))),
            Err(ClientError::NoNode(_)) => {
                Ok(Self::Journal(Box::new(Offline::open(&data_dir, name)?)))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn change(&mut self, change: &Change, operator: &str) -> Result<(), CommandError> {
        match self {
            Self::Node(client) => Ok(client.change_token(change, operator)?),
            Self::Journal(offline) => {
                Ok(offline.change(change, operator, Account::of_process())?)
            }
        }
    }

    /// Whom a revocation has not reached, in words.
    fn not_reached(&mut self) -> Result<String, CommandError> {
        let Self::Node(client) = self else {
            return Ok(" here; the other nodes learn of it once this one runs".to_owned());
        };
        let status = client.status()?;
        let peers = status.peers.iter().filter(|peer| !peer.synced);
        let nodes: Vec<_> = (status.lost.iter().map(|lost| (&lost.node, lost.address)))
            .chain(peers.map(|peer| (&peer.node, peer.address)))
            .map(|(node, address)| format!("{node} ({address})"))
            .collect();
        if nodes.is_empty() {
            return Ok(String::new());
        }
        Ok(format!(
            ", but not yet at: {}. It works there, and at their caretakers, until they run and are \
             linked; or revoke it on the computer of each, with --data-dir",
            nodes.join(", ")
        ))
    }

    /// A row for each, with who made or revoked it.
    fn tokens(&mut self) -> Result<Vec<[String; 5]>, CommandError> {
        let row = |setting: &Setting, operator: &Words| {
            let [name, scope, created, expires] = tokens::listed(setting)?;
            Some([name, scope, created, expires, operator.to_string()])
        };
        Ok(match self {
            Self::Node(client) => {
                let settings = client.status()?.settings;
                settings.iter().filter_map(|it| row(&it.setting, &it.operator)).collect()
            }
            Self::Journal(offline) => {
                let settings = offline.settings().iter();
                settings.filter_map(|it| row(&it.setting, &it.operator)).collect()
            }
        })
    }
}

/// The name of the account that gives the command, as the system says.
fn account_name() -> String {
    let Account { uid, sudo_user, .. } = Account::of_process();
    let name = sudo_user.or_else(|| {
        let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid));
        user.ok().flatten().map(|user| user.name)
    });
    name.and_then(|name| operator(&name).ok()).unwrap_or_else(|| format!("user {uid}"))
}
