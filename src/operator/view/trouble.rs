//! What is wrong around a node: lost peers, nodes that do not fit, and a node that does not run.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use elevator_fleet::node::{ConflictKind, ConflictStatus, LossCause, LostStatus};
use serde::{Deserialize, Serialize};

use super::seconds;
use crate::latch::Latch;

/// A node that was a peer and is not heard any more. It is listed until it comes back, a day at
/// most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LostView {
    /// Its name.
    pub node: String,
    /// What it is there for.
    pub role: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// How long ago it was last heard.
    pub silent: f64,
    /// Why it was lost, as far as that is known.
    pub cause: LossView,
}

/// What is known of the reason for a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossView {
    /// It fell silent.
    Silent,
    /// Its car hung.
    Hung,
    /// It did not do what it is there for, and is treated as gone for a while.
    Distrusted,
}

/// A node that is heard and does not go together with this one. It is listed while it shows, and
/// for a minute after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConflictView {
    /// In which way.
    pub kind: ConflictKindView,
    /// The same in words.
    pub what: String,
    /// How long ago it first showed.
    pub since: f64,
    /// How long ago it last showed.
    pub last: f64,
}

/// How nodes do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKindView {
    /// Two nodes have one name.
    Name,
    /// Two nodes have one address.
    Address,
    /// Another number of floors.
    Floors,
    /// Another election protocol.
    Election,
    /// Another version of the wire protocol.
    Version,
    /// Another fleet on this network, which may be as it should be.
    Fleet,
}

/// What `liftmesh status --json` prints in place of a status when the node does not run because it
/// is latched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatchedView {
    /// Always false; a status has no such field.
    pub running: bool,
    /// The node's name, where the latch or the configuration has it.
    pub node: Option<String>,
    /// Its data directory.
    pub data_dir: PathBuf,
    /// The latch: `cause` is `hang`, `journal-lost` or `unreadable`; a hang has `at` and
    /// `evidence`.
    pub latch: Latch,
    /// The command that clears it.
    pub remedy: String,
}

impl From<&LostStatus> for LostView {
    fn from(lost: &LostStatus) -> Self {
        Self {
            node: lost.node.to_string(),
            role: lost.role.to_string(),
            address: lost.address,
            silent: seconds(lost.silent),
            cause: match lost.cause {
                LossCause::Silent => LossView::Silent,
                LossCause::Hung => LossView::Hung,
                LossCause::Distrusted => LossView::Distrusted,
            },
        }
    }
}

impl fmt::Display for LossView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Silent => "fell silent",
            Self::Hung => "its car hung",
            Self::Distrusted => "not trusted for a time",
        })
    }
}

impl From<&ConflictStatus> for ConflictView {
    fn from(conflict: &ConflictStatus) -> Self {
        Self {
            kind: conflict.kind.into(),
            what: conflict.what.clone(),
            since: seconds(conflict.since),
            last: seconds(conflict.last),
        }
    }
}

impl From<ConflictKind> for ConflictKindView {
    fn from(kind: ConflictKind) -> Self {
        match kind {
            ConflictKind::Name => Self::Name,
            ConflictKind::Address => Self::Address,
            ConflictKind::Floors => Self::Floors,
            ConflictKind::Election => Self::Election,
            ConflictKind::Version => Self::Version,
            ConflictKind::Fleet => Self::Fleet,
        }
    }
}

impl fmt::Display for ConflictKindView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Name => "name",
            Self::Address => "address",
            Self::Floors => "floors",
            Self::Election => "election",
            Self::Version => "version",
            Self::Fleet => "fleet",
        })
    }
}
