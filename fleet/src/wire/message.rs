//! The messages.

use core::net::Ipv4Addr;
use std::fmt;
use std::str::FromStr;

use elevator_driver::FloorCount;
use serde::{Deserialize, Serialize};

use crate::election::Message;
use crate::model::{CarView, Dot, FleetName, HallCall, JournalId, Mac, NodeId, Role, Term};
use crate::orders::Record;

/// The identity of one incarnation of a node's process: random, made at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Nonce(pub u64);

/// Which protocol elects the master (C1). All nodes of a fleet are configured alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The master with the lowest IPv4 address (F3).
    LowestIp,
    /// The node with the highest estimate (B1).
    Bully,
    /// The unit with the highest MAC address, or the control unit (M1).
    Senior,
    /// A regular leader, and votes while it is away (V1).
    Ballot,
    /// Whoever holds the token, which goes round (T1 to T9).
    TokenRing,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 5] =
        [Self::LowestIp, Self::Bully, Self::Senior, Self::Ballot, Self::TokenRing];
}

/// Text that names no protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no election protocol; there are {names}", names = Protocol::ALL.map(|known| known.to_string()).join(", "))]
pub struct UnknownProtocol(String);

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|known| known.to_string() == text)
            .ok_or_else(|| UnknownProtocol(text.to_owned()))
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::LowestIp => "lowest-ip",
            Self::Bully => "bully",
            Self::Senior => "senior",
            Self::Ballot => "ballot",
            Self::TokenRing => "token-ring",
        })
    }
}

/// The state of a node, as it announces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeState {
    /// It has no master yet and serves alone.
    Seeking,
    /// It follows a master.
    Slave {
        /// The master's name.
        master: NodeId,
    },
    /// It assigns the calls. Under `lowest-ip` a beacon with this state is an announcement (F2).
    Master,
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

/// Who a node is: the first frame on a link, in both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The fleet; a node of another fleet is refused.
    pub fleet: FleetName,
    /// The node's name.
    pub node: NodeId,
    /// Its address.
    pub address: Ipv4Addr,
    /// The incarnation of its process.
    pub nonce: Nonce,
    /// The floors of its shaft; a node with another number is refused.
    pub floors: FloorCount,
    /// How it elects; a node with another protocol is refused.
    pub protocol: Protocol,
    /// The address of its interface.
    pub mac: Mac,
    /// What it is there for.
    pub role: Role,
}

/// A datagram: every node sends one at a fixed period, and at once when it has changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beacon {
    /// The sender.
    pub hello: Hello,
    /// The TCP port on which the sender listens for links.
    pub link_port: u16,
    /// Counts the sender's beacons from 1.
    pub sequence: u64,
    /// How soon its next one follows at the latest, in milliseconds.
    pub period: u16,
    /// Where it stands.
    pub node_state: NodeState,
    /// The highest term it knows.
    pub term: Term,
    /// How fit it is to lead; counts under `bully` alone (B1).
    pub estimate: u32,
    /// The digest of its order store.
    pub digest: u64,
    /// Everything in that store is on its disk.
    pub durable: bool,
    /// The journal under which it places orders; the registers of that are kept by all.
    pub journal: JournalId,
    /// The receiver is asked for a beacon in return, at once.
    pub probe: bool,
    /// The last beacon heard of each peer; a peer that finds its present nonce and a recent
    /// sequence here knows that it is heard.
    pub echoes: Vec<Echo>,
    /// What it has to tell.
    pub delta: Delta,
    /// What the election, or the care for the indicators, has to say.
    pub piggybacked: Option<Piggybacked>,
}

/// A message that a beacon carries. It is taken in once, however often the beacon arrives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piggybacked {
    /// For whom it is, if not for everybody.
    pub to: Option<NodeId>,
    /// The message.
    pub message: Message,
}

/// The last beacon heard of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Echo {
    /// The peer's nonce.
    pub nonce: Nonce,
    /// The beacon's sequence.
    pub sequence: u64,
}

/// What a node tells, by datagram and over links alike. Every part may be incomplete: it says
/// nothing of what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Delta {
    /// The sender's car.
    pub car: Option<CarView>,
    /// Orders that some peer has not acknowledged yet.
    pub records: Vec<Record>,
    /// Orders of others that the sender has taken in.
    pub acks: Vec<Ack>,
    /// The master's assignments, as far as they fit.
    pub plan: Vec<PlanEntry>,
}

impl Delta {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.car.is_none()
            && self.records.is_empty()
            && self.acks.is_empty()
            && self.plan.is_empty()
    }
}

/// A node has taken in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// The press.
    pub dot: Dot,
    /// It knows the press as served, or knows a later one in its place.
    pub served: bool,
    /// It has what it knows on its disk.
    pub durable: bool,
}

/// One line of the master's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// The plan's number within the master's term; a later one wins.
    pub version: u64,
    /// The call.
    pub call: HallCall,
    /// Who serves it.
    pub car: NodeId,
}

/// What travels over a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    /// Who is there.
    Hello(Hello),
    /// A part of the store: at the start of a link, unless the stores are equal, and when digests
    /// stay different.
    State(StateTransfer),
    /// The peer's state has been taken in: it may count on the sender.
    Synced,
    /// What is new.
    Delta(Delta),
    /// A sign of life is asked for.
    Probe,
    /// The sign of life.
    Alive,
    /// What the sender's store is: the first frame after the hello. Where the two digests are equal
    /// no state follows.
    Digest(StoreDigest),
    /// A part of the peer's state has been taken in: the next one may come.
    Next,
}

/// A part of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateTransfer {
    /// The highest term that the sender knows.
    pub term: Term,
    /// Some of the registers: those with the greatest dots that have not been sent yet.
    pub records: Vec<Record>,
    /// All of the store is on the sender's disk.
    pub durable: bool,
    /// There are registers left: the next part is sent on request.
    pub more: bool,
}

/// A store, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreDigest {
    /// The highest term that the sender knows.
    pub term: Term,
    /// The digest of its order store.
    pub digest: u64,
    /// Everything in that store is on its disk.
    pub durable: bool,
}
