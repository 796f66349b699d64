use serde::{Deserialize, Serialize};

use crate::election::Message;
use crate::model::{
    CarPlan, CarView, Dot, HallCall, Hello, NodeId, NodeState, Nonce, Record, Term,
};
use crate::settings::{Key, Register};
use crate::wire::codec::{CHUNK, DATAGRAM_BODY, size};

/// A link, as numbered by the driver of the brain. Numbers are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// A datagram that every node broadcasts periodically, and immediately after changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beacon {
    pub hello: Hello,
    /// The TCP port on which the sender listens for links.
    pub link_port: u16,
    /// The sequence number of the beacon, from 1.
    pub sequence: u64,
    /// When the next one follows at the latest, in milliseconds.
    pub period: u16,
    pub node_state: NodeState,
    /// The term of the sender's mastership; if it is not master, the highest that it knows (E3).
    pub term: Term,
    /// The term of the sender's latest mastership since it started; 0 without one (E3).
    pub led: Term,
    /// The sender's fitness to lead; used under `bully` only (B1).
    pub estimate: u32,
    pub digest: u64,
    /// The digest of what it knows of emergency power; 0 if nothing.
    pub power: u64,
    /// Whether the whole store is on the sender's disk.
    pub durable: bool,
    /// Asks the receiver for a beacon in return, at once.
    pub probe: bool,
    /// The last beacon received from each peer, which thus knows that it is heard.
    pub echoes: Vec<Echo>,
    /// Changes of settings, orders, plan and car.
    pub delta: Delta,
    /// A message of the election or the climate.
    pub piggybacked: Option<Piggybacked>,
}

/// A message carried by a beacon. It is handled once, however often the beacon arrives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piggybacked {
    /// The addressee, or `None` for all nodes.
    pub to: Option<NodeId>,
    pub message: Message,
}

/// The last beacon received from a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Echo {
    pub nonce: Nonce,
    pub sequence: u64,
}

/// The most entries of a plan in a frame: each takes 29 bytes at most.
const ENTRIES_IN_A_FRAME: usize = CHUNK / 29;

/// Incremental changes, by datagram or link. What is absent is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Delta {
    pub car: Option<CarView>,
    /// Settings that some peer has not acknowledged.
    pub settings: Vec<Register>,
    /// Orders that some peer has not acknowledged.
    pub records: Vec<Record>,
    /// Acknowledgements of settings and orders that the sender has accepted from others.
    pub acks: Vec<Ack>,
    /// The master's assignments, as far as they fit.
    pub plan: Vec<PlanEntry>,
}

impl Delta {
    /// These entries of a plan, in parts that fit a frame.
    pub(crate) fn of_plan(mut entries: Vec<PlanEntry>) -> impl Iterator<Item = Self> {
        std::iter::from_fn(move || {
            let rest = entries.split_off(entries.len().min(ENTRIES_IN_A_FRAME));
            let plan = std::mem::replace(&mut entries, rest);
            (!plan.is_empty()).then(|| Self { plan, ..Self::default() })
        })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.car.is_none()
            && self.settings.is_empty()
            && self.records.is_empty()
            && self.acks.is_empty()
            && self.plan.is_empty()
    }
}

/// An acknowledgement: what the sender has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ack {
    Press {
        dot: Dot,
        /// It is not open at the sender: it was served, recalled, or a later one has its place.
        served: bool,
        /// Whether that is on the sender's disk.
        durable: bool,
        /// The recall number under which the sender has it open, or how many recalls it knows.
        recall: u64,
    },
    Setting {
        key: Key,
        /// The hash of what the sender has under this key.
        hash: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// The version within the master's term; a higher one wins.
    pub version: u64,
    pub call: HallCall,
    pub car: NodeId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    Hello(Hello),
    /// A part of the store: on a fresh link, or when digests stay different.
    State(StateTransfer),
    /// The sender has received the peer's whole state.
    Synced,
    Delta(Delta),
    /// Asks for [`Alive`](Self::Alive).
    Probe,
    /// Answers [`Probe`](Self::Probe).
    Alive,
    /// The digest of the sender's store. If the two are equal, no state follows.
    Digest(StoreDigest),
    /// The sender has received a part of the peer's state and is ready for the next.
    Next,
    /// What the master wants the receiver's car to do besides its calls, while the link stands.
    CarPlan(CarPlan),
}

impl Frame {
    #[must_use]
    pub fn into_hello(self) -> Option<Hello> {
        if let Self::Hello(hello) = self { Some(hello) } else { None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateTransfer {
    pub term: Term,
    /// Some of the settings, by key. Records follow once all have been sent.
    pub settings: Vec<Register>,
    /// Some of the registers: those with the greatest dots that have not been sent yet.
    pub records: Vec<Record>,
    /// Whether the sender's whole store is on its disk.
    pub durable: bool,
    /// Whether there are registers left. The next part is sent on request.
    pub more: bool,
}

/// The digest of a store, and what goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreDigest {
    pub term: Term,
    pub digest: u64,
    /// Whether that whole store is on the sender's disk.
    pub durable: bool,
}

/// By how many bytes the lengths of a beacon's lists can grow as they fill.
const LENGTHS: usize = 8;

/// What still fits into a beacon, in bytes.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    pub(crate) fn left_by(beacon: &Beacon) -> Self {
        Self(DATAGRAM_BODY.saturating_sub(size(beacon) + LENGTHS))
    }

    /// Adds an item to one of the beacon's lists; `true` if it fits.
    pub(crate) fn add<T: Serialize>(&mut self, list: &mut Vec<T>, part: T) -> bool {
        let bytes = size(&part);
        let fits = bytes <= self.0;
        if fits {
            self.0 -= bytes;
            list.push(part);
        }
        fits
    }
}
