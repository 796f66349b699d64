//! Who a node is, and what it is in its fleet.

use core::net::Ipv4Addr;
use std::fmt;

use elevator_driver::{Building, FloorCount};
use serde::{Deserialize, Serialize};

use super::{FleetName, Mac, NodeId, Role, named};

/// The identity of one incarnation of a node's process: a random number drawn at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Nonce(pub u64);

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

named! {
    "an election protocol"
    pub struct UnknownProtocol;

    /// The protocol that elects the master (C1). The same on all nodes of a fleet.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Protocol {
        /// The master with the lowest IPv4 address (F3).
        LowestIp = "lowest-ip",
        /// The node with the highest estimate (B1).
        Bully = "bully",
        /// The unit with the highest MAC address, or the control unit (M1).
        Senior = "senior",
        /// A regular master, and votes while it is away (V1).
        Ballot = "ballot",
        /// The node with the token, which rotates (T1 to T9).
        TokenRing = "token-ring",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NodeState {
    /// It has no master and serves alone.
    Seeking,
    Slave {
        master: NodeId,
    },
    /// It assigns the calls. Under `lowest-ip` a beacon with this state is an announcement (F2).
    Master,
}

impl NodeState {
    /// Whether it is that of a slave of this node.
    #[must_use]
    pub fn follows(&self, node: &NodeId) -> bool {
        matches!(self, Self::Slave { master } if master == node)
    }
}

impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seeking => f.pad("seeking"),
            Self::Slave { master } => f.pad(&format!("slave of {master}")),
            Self::Master => f.pad("master"),
        }
    }
}

/// The identity of a node: the first frame on a link, in both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The fleet; a node of another fleet is refused.
    pub fleet: FleetName,
    pub node: NodeId,
    pub address: Ipv4Addr,
    pub nonce: Nonce,
    /// The number of floors of its shaft; a node with another number is refused.
    pub floors: FloorCount,
    /// Its building; a node with another one is refused.
    pub building: BuildingHash,
    /// Its election protocol; a node with another protocol is refused.
    pub protocol: Protocol,
    pub mac: Mac,
    pub role: Role,
}

/// What two nodes compare their buildings by: 16 hashes of two bytes, each over every sixteenth line
/// of [`Building::lines`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BuildingHash([[u8; 2]; Self::PARTS]);

impl BuildingHash {
    const PARTS: usize = 16;

    #[must_use]
    pub fn of(building: &Building) -> Self {
        let mut parts = [[0; 2]; Self::PARTS];
        for (number, line) in building.lines().enumerate() {
            let hash = blake3::hash(format!("{number} {line}").as_bytes());
            for (part, byte) in parts[number % Self::PARTS].iter_mut().zip(hash.as_bytes()) {
                *part ^= byte;
            }
        }
        Self(parts)
    }

    /// The lines of the own building, with this hash, that the other one may not have.
    #[must_use]
    pub(crate) fn differences(self, other: Self, own: &Building) -> Vec<String> {
        let differs = |number: usize| self.0[number % Self::PARTS] != other.0[number % Self::PARTS];
        let lines = own.lines().enumerate();
        lines.filter(|(number, _)| differs(*number)).map(|(_, line)| line).collect()
    }
}
