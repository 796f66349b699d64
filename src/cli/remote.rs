//! A node at another computer, which is reached by its HTTP API, and what commands do at either kind
//! of node.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args};
use elevator_driver::Floor;
use elevator_fleet::model::{Call, Mode, NodeId};
use elevator_fleet::node::{Access, FleetStatus, FloorLock, OrderStatus, Taken};
use zeroize::Zeroizing;

use super::{CommandError, NodeArgs, ReadArgs};
use crate::mqtt::access;
use crate::operator::{Client, ClientError, Notice, Recall, Watch};
use crate::remote::{NodeUrl, Remote, RemoteError, RemoteWatch};

/// The variable that names the node at another computer.
pub(super) const URL: &str = "LIFTMESH_URL";

/// Above these flags in the help.
const HEADING: &str = "A node at another computer";

/// A node at another computer.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RemoteArgs {
    /// Its address, such as `https://192.168.1.11:7080` (or set `LIFTMESH_URL`)
    #[arg(long, value_name = "URL", global = true, help_heading = HEADING,
          value_hint = clap::ValueHint::Url)]
    pub(crate) url: Option<NodeUrl>,
    /// A file with the token, which others can't read (or set `LIFTMESH_TOKEN` to the token)
    #[arg(long, value_name = "FILE", global = true, help_heading = HEADING)]
    pub(crate) token_file: Option<PathBuf>,
    /// The authorities whose certificates count, in PEM (or set `LIFTMESH_CA`) [default: the system's]
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
    "this command works only on the computer of its node, and {0} names a node at another one: give \
     it there, with --data-dir or --config"
)]
pub struct Elsewhere(pub(crate) &'static str);

/// Where a command goes.
pub(crate) enum Target {
    /// By the operator's socket.
    Here(Client),
    /// Over HTTP.
    There(Remote),
}

/// The events of a node.
pub(crate) enum Events {
    Here(Watch),
    There(RemoteWatch),
}

impl RemoteArgs {
    /// The client, if a node at another computer is meant.
    pub(super) fn remote(&self, names_one_here: bool) -> Result<Option<Remote>, CommandError> {
        let Self { url, token_file, ca } = self;
        let url = match url {
            Some(_) if names_one_here => return Err(CommandError::TwoNodes),
            Some(url) => url.clone(),
            None => match env::var(URL) {
                Ok(url) if !names_one_here && !url.is_empty() => url.parse()?,
                _ if token_file.is_some() || ca.is_some() => return Err(CommandError::NoUrl),
                Ok(_) | Err(_) => return Ok(None),
            },
        };
        let token = match token_file {
            Some(path) => Some(access::password(path).map_err(RemoteError::Token)?),
            None => env::var("LIFTMESH_TOKEN").ok().map(Zeroizing::new),
        };
        let ca = ca.clone().or_else(|| env::var_os("LIFTMESH_CA").map(PathBuf::from));
        Ok(Some(Remote::new(url, token.as_ref(), ca.as_deref())?))
    }

    /// Connects to the node that is meant, for a command that changes something.
    pub(super) fn connect(&self, node: &NodeArgs) -> Result<Target, CommandError> {
        Ok(match self.remote(node.is_given())? {
            Some(remote) => Target::There(remote),
            None => Target::Here(node.connect()?),
        })
    }

    /// The same, for a command that only reads.
    pub(super) fn connect_to_read(&self, node: &ReadArgs) -> Result<Target, CommandError> {
        Ok(match self.remote(node.socket.is_some() || node.node.is_given())? {
            Some(remote) => Target::There(remote),
            None => Target::Here(node.connect()?),
        })
    }
}

impl Target {
    pub(super) fn order(&mut self, call: &Call, access: Access) -> Result<Taken, CommandError> {
        Ok(match self {
            Self::Here(client) => client.order_with(call, access)?,
            Self::There(remote) => remote.order(call, access)?,
        })
    }

    /// The open order of a call, if there is one.
    pub(super) fn open_order(&mut self, call: &Call) -> Result<Option<OrderStatus>, CommandError> {
        Ok(match self {
            Self::Here(client) => client.status()?.order(call).cloned(),
            Self::There(remote) => remote.open_order(call)?,
        })
    }

    pub(super) fn set_mode(
        &mut self,
        car: &NodeId,
        mode: Mode,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        match self {
            Self::Here(client) => client.set_mode(car, mode, operator, reason)?,
            Self::There(remote) => remote.set_mode(car, mode, operator, reason)?,
        }
        Ok(())
    }

    pub(super) fn set_fire_recall(
        &mut self,
        recall: Recall,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        match self {
            Self::Here(client) => client.set_fire_recall(recall, operator, reason)?,
            Self::There(remote) => remote.set_fire_recall(recall, operator, reason)?,
        }
        Ok(())
    }

    pub(super) fn send_with_priority(
        &mut self,
        car: Option<&NodeId>,
        floor: u8,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<String, CommandError> {
        Ok(match self {
            Self::Here(client) => client.send_with_priority(car, floor, operator, reason)?,
            Self::There(remote) => remote.send_with_priority(car, floor, operator, reason)?,
        })
    }

    pub(super) fn end_priority(
        &mut self,
        car: Option<&NodeId>,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        match self {
            Self::Here(client) => client.end_priority(car, operator, reason)?,
            Self::There(remote) => remote.end_priority(car, operator, reason)?,
        }
        Ok(())
    }

    pub(super) fn set_emergency_power(
        &mut self,
        power: Recall,
        car: Option<&NodeId>,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        match self {
            Self::Here(client) => client.set_emergency_power(power, car, operator, reason)?,
            Self::There(remote) => remote.set_emergency_power(power, car, operator, reason)?,
        }
        Ok(())
    }

    pub(super) fn set_floor_lock(
        &mut self,
        floor: Floor,
        lock: FloorLock,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        match self {
            Self::Here(client) => client.set_floor_lock(floor, lock, operator, reason)?,
            Self::There(remote) => remote.set_floor_lock(floor, lock, operator, reason)?,
        }
        Ok(())
    }

    pub(super) fn release(&mut self, floor: Floor, seconds: u8) -> Result<(), CommandError> {
        match self {
            Self::Here(client) => client.release(floor, seconds)?,
            Self::There(remote) => remote.release(floor, seconds)?,
        }
        Ok(())
    }

    /// The whole fleet, as the node sees it.
    pub(super) fn fleet(&mut self) -> Result<FleetStatus, CommandError> {
        Ok(match self {
            Self::Here(client) => FleetStatus::from(&client.status()?),
            Self::There(remote) => remote.fleet()?,
        })
    }

    /// Every event from here on.
    pub(super) fn watch(self) -> Result<Events, CommandError> {
        Ok(match self {
            Self::Here(client) => Events::Here(client.watch()?),
            Self::There(remote) => Events::There(remote.watch()?),
        })
    }
}

impl Events {
    /// The next line.
    pub(super) fn next(&mut self) -> Result<Notice, CommandError> {
        Ok(match self {
            Self::Here(watch) => watch.next().unwrap_or(Err(ClientError::Ended))?,
            Self::There(watch) => watch.next()?,
        })
    }

    /// The next line, or `None` when none has come within this time.
    pub(super) fn next_within(&mut self, limit: Duration) -> Result<Option<Notice>, CommandError> {
        Ok(match self {
            Self::Here(watch) => watch.next_within(limit)?,
            Self::There(watch) => watch.next_within(limit)?,
        })
    }
}
