//! Which running node a command is for.

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use elevator_fleet::model::NodeId;
use zeroize::Zeroizing;

use super::CommandError;
use crate::client::{Client, ClientError, NodeUrl};
use crate::config::{self, HTTP_PORT, Sources};
use crate::credentials;
use crate::latch;
use crate::operator::LatchedNode;

pub(super) const URL: &str = "LIFTMESH_URL";

const HEADING: &str = "Node on another computer";

/// Which running node of this machine is meant.
#[derive(Debug, Clone, Args)]
pub(crate) struct NodeArgs {
    /// The node's data directory (or set `LIFTMESH__DATA_DIR`)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data_dir: Option<String>,
    /// The node's configuration file, which names its data directory [default: `$LIFTMESH_CONFIG`,
    /// or /etc/liftmesh/node.toml]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
}

impl NodeArgs {
    pub(super) fn is_given(&self) -> bool {
        self.data_dir.is_some() || self.config.is_some()
    }

    /// Connects to the running node. The error names a latch that keeps it from running.
    pub(super) fn connect(&self) -> Result<Client, CommandError> {
        let (data_dir, name) = self.place()?;
        match Client::connect(&data_dir) {
            Err(ClientError::NoNode(path)) => Err(match latch::find(&data_dir) {
                Some(latch) => CommandError::Latched(Box::new(LatchedNode {
                    running: false,
                    node: latch::owner(&data_dir).or(name),
                    remedy: latch::remedy(&data_dir),
                    data_dir,
                    latch,
                })),
                None => ClientError::NoNode(path).into(),
            }),
            connected => Ok(connected?.with_labels()),
        }
    }

    /// The data directory and, if configured, the node's name.
    pub(super) fn place(&self) -> Result<(PathBuf, Option<NodeId>), CommandError> {
        let values = self.sources().read()?;
        let name = values.get("car").or_else(|| values.get("unit"));
        let name = name.and_then(|name| NodeId::new(&name.value).ok());
        // A node at another computer is meant, and has its data directory there.
        let is_elsewhere = values.get("data_dir").is_none()
            && !self.is_given()
            && env::var_os(URL).is_some_and(|url| !url.is_empty());
        if is_elsewhere {
            return Err(CommandError::Elsewhere);
        }
        Ok((values.data_dir()?, name))
    }

    /// The port at which the other nodes of the fleet probably serve HTTP, and whether with TLS: as
    /// the node at this address, or as the one that is configured here.
    pub(super) fn http_of_peers(&self, url: Option<&NodeUrl>) -> Result<(u16, bool), CommandError> {
        if let Some(url) = url {
            return Ok((url.port, url.is_encrypted));
        }
        let values = self.sources().read()?;
        let address = values.get("http.address").and_then(|it| it.value.parse().ok());
        let port = address.map_or(HTTP_PORT, |address: SocketAddr| address.port());
        Ok((port, values.get("http.certificate").is_some()))
    }

    /// The file is looked for only if nothing else names a node.
    pub(super) fn sources(&self) -> Sources {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_named = self.is_given() || ["LIFTMESH__DATA_DIR", URL].into_iter().any(is_set);
        let file = self.config.clone();
        let flags = self.data_dir.iter().map(|path| ("data_dir", path.clone())).collect();
        Sources::of_process(if is_named { file } else { config::find(file) }, flags)
    }
}

/// The same, or with `--url` one on another computer.
#[derive(Debug, Clone, Args)]
pub(crate) struct AnyNodeArgs {
    #[command(flatten)]
    pub(crate) here: NodeArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

impl AnyNodeArgs {
    /// The address, if a node on another computer is meant.
    pub(super) fn url(&self) -> Result<Option<NodeUrl>, CommandError> {
        self.remote.url(self.here.is_given())
    }

    pub(super) fn connect(&self) -> Result<Client, CommandError> {
        match self.url()? {
            Some(url) => Ok(self.remote.client(url)?.with_labels()),
            None => self.here.connect(),
        }
    }
}

/// The same, for a command that only reads.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(crate) here: NodeArgs,
    /// The node's read-only socket, instead of its data directory
    #[arg(long, value_name = "PATH", conflicts_with_all = ["data_dir", "config"])]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

impl ReadArgs {
    /// On this machine by the socket for reading if it is given, or the other one is refused.
    pub(super) fn connect(&self) -> Result<Client, CommandError> {
        if let Some(url) = self.remote.url(self.socket.is_some() || self.here.is_given())? {
            return Ok(self.remote.client(url)?.with_labels());
        }
        if let Some(socket) = &self.socket {
            return Ok(Client::connect_to(socket.clone())?.with_labels());
        }
        match self.here.connect() {
            Err(CommandError::Client(refused @ ClientError::Socket { .. })) => {
                let values = self.here.sources().read()?;
                let socket = values.get("operator.read_only_socket").ok_or(refused)?;
                Ok(Client::connect_to(socket.value.clone().into())?.with_labels())
            }
            connected => connected,
        }
    }
}

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

impl RemoteArgs {
    /// The address, if a node at another computer is meant.
    fn url(&self, names_one_here: bool) -> Result<Option<NodeUrl>, CommandError> {
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
}
