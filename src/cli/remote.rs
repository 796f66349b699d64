//! A node at another computer.

use std::env;
use std::path::PathBuf;

use clap::{Arg, Args};
use zeroize::Zeroizing;

use super::{CommandError, NodeArgs, ReadArgs};
use crate::client::{Client, ClientError, NodeUrl};
use crate::credentials;

/// The variable that names the node at another computer.
pub(super) const URL: &str = "LIFTMESH_URL";

/// Above these flags in the help.
const HEADING: &str = "Node on another computer";

/// A node at another computer.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RemoteArgs {
    /// Its address, such as `https://192.168.1.11:7080` (or set `LIFTMESH_URL`)
    #[arg(long, value_name = "URL", global = true, help_heading = HEADING)]
    pub(crate) url: Option<NodeUrl>,
    /// File with the token, unreadable to others (or set `LIFTMESH_TOKEN` to the token)
    #[arg(long, value_name = "FILE", global = true, help_heading = HEADING)]
    pub(crate) token_file: Option<PathBuf>,
    /// Trusted certificate authorities, in PEM (or set `LIFTMESH_CA`) [default: the system's]
    #[arg(long, value_name = "FILE", global = true, help_heading = HEADING)]
    pub(crate) ca: Option<PathBuf>,
}

/// `--url` at a command for the node's own computer only, whose error says so.
pub(super) fn refused_url() -> Arg {
    Arg::new("url").long("url").value_name("URL").global(true).hide(true).value_parser(refuse)
}

fn refuse(_url: &str) -> Result<NodeUrl, Elsewhere> {
    Err(Elsewhere("--url"))
}

/// The command has to be given where the node is; the variable or the flag names a node elsewhere.
#[derive(Debug, thiserror::Error)]
#[error(
    "this command works only on the node's own computer, but {0} names another one: run it there, \
     with --data-dir or --config"
)]
pub struct Elsewhere(pub(crate) &'static str);

impl RemoteArgs {
    /// The client, if a node at another computer is meant.
    pub(super) fn remote(&self, names_one_here: bool) -> Result<Option<Client>, CommandError> {
        self.url(names_one_here)?.map(|url| self.client(url)).transpose()
    }

    /// The address, if a node at another computer is meant.
    pub(super) fn url(&self, names_one_here: bool) -> Result<Option<NodeUrl>, CommandError> {
        let Self { url, token_file, ca } = self;
        match url {
            Some(_) if names_one_here => Err(CommandError::TwoNodes),
            Some(url) => Ok(Some(url.clone())),
            None => match env::var(URL) {
                Ok(url) if !names_one_here && !url.is_empty() => Ok(Some(url.parse()?)),
                _ if token_file.is_some() || ca.is_some() => Err(CommandError::NoUrl),
                Ok(_) | Err(_) => Ok(None),
            },
        }
    }

    /// The client of the node at this address, with the token.
    pub(super) fn client(&self, url: NodeUrl) -> Result<Client, CommandError> {
        let Self { token_file, ca, .. } = self;
        let token = match token_file {
            Some(path) => Some(credentials::password(path).map_err(ClientError::Token)?),
            None => env::var("LIFTMESH_TOKEN").ok().map(Zeroizing::new),
        };
        let ca = ca.clone().or_else(|| env::var_os("LIFTMESH_CA").map(PathBuf::from));
        Ok(Client::at(url, token.as_ref(), ca.as_deref())?)
    }

    /// Connects to the node that is meant, for a command that changes something.
    pub(super) fn connect(&self, node: &NodeArgs) -> Result<Client, CommandError> {
        self.remote(node.is_given())?.map_or_else(|| node.connect(), Ok)
    }

    /// The same, for a command that only reads.
    pub(super) fn connect_to_read(&self, node: &ReadArgs) -> Result<Client, CommandError> {
        let names_one_here = node.socket.is_some() || node.node.is_given();
        self.remote(names_one_here)?.map_or_else(|| node.connect(), Ok)
    }
}
