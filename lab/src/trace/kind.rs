//! What a message is: its name, and what it is about.

use std::fmt;
use std::str::FromStr;

use elevator_fleet::election::ballot::packet;
use elevator_fleet::election::{Message, ballot, bully, senior, token_ring};
use elevator_fleet::wire::{Beacon, Frame, NodeState, Protocol};

use crate::connection::Packet;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// What it is about.
    pub category: Category,
    /// Its name: `election`, `vote`, `dial`.
    pub name: &'static str,
}

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// The election of the master.
    Election,
    /// Links: made, closed, reset, probed.
    Link,
    /// Orders, plans and cars.
    Orders,
    /// Sensor data and display data.
    Climate,
    /// Periodic beacons that carry no message.
    Beacon,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Election, Self::Link, Self::Orders, Self::Climate, Self::Beacon];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Election => "election",
            Self::Link => "link",
            Self::Orders => "orders",
            Self::Climate => "climate",
            Self::Beacon => "beacon",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Text that names no category.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no category of messages: {0:?}")]
pub struct UnknownCategory(String);

impl FromStr for Category {
    type Err = UnknownCategory;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|category| category.name() == text);
        known.ok_or_else(|| UnknownCategory(text.to_owned()))
    }
}

impl Kind {
    pub(crate) const DIAL: Self = Self::new(Category::Link, "dial");
    pub(crate) const ACCEPT: Self = Self::new(Category::Link, "accept");
    pub(crate) const CLOSE: Self = Self::new(Category::Link, "close");
    pub(crate) const RESET: Self = Self::new(Category::Link, "link reset");

    const fn new(category: Category, name: &'static str) -> Self {
        Self { category, name }
    }

    /// The kind of a beacon, and what it says.
    pub(crate) fn of_beacon(beacon: &Beacon, protocol: Protocol) -> (Self, String) {
        if let Some(piggybacked) = &beacon.piggybacked {
            return Self::of_message(&piggybacked.message, protocol);
        }
        let says = format!("{}, term {}", beacon.node_state, beacon.term);
        // Under `lowest-ip` the beacons of masters are the protocol's only messages (F2).
        if protocol == Protocol::LowestIp && beacon.node_state == NodeState::Master {
            return (Self::new(Category::Election, "announcement"), says);
        }
        let name = if beacon.probe { "probe beacon" } else { "beacon" };
        (Self::new(Category::Beacon, name), says)
    }

    /// The kind of a packet of `ballot`, and what it says.
    pub(crate) fn of_packet(bytes: &[u8]) -> (Self, String) {
        match packet::decode(bytes) {
            Ok(message) => Self::of_message(&message, Protocol::Ballot),
            Err(error) => (Self::new(Category::Election, "malformed"), error.to_string()),
        }
    }

    /// The kind of what goes over a link, and what it says.
    pub(crate) fn of_link_packet(packet: &Packet) -> (Self, String) {
        match packet {
            Packet::Frame(frame) => Self::of_frame(frame),
            Packet::Close => (Self::CLOSE, String::new()),
        }
    }

    fn of_frame(frame: &Frame) -> (Self, String) {
        let (category, name, says) = match frame {
            Frame::Hello(_) => (Category::Link, "hello", String::new()),
            Frame::Probe => (Category::Link, "link probe", String::new()),
            Frame::Alive => (Category::Link, "alive", String::new()),
            Frame::Synced => (Category::Link, "synced", String::new()),
            Frame::Digest(digest) => (Category::Link, "digest", format!("term {}", digest.term)),
            Frame::Next => (Category::Link, "next part", String::new()),
            Frame::CarPlan(_) => (Category::Link, "car plan", String::new()),
            Frame::Directives(_) => (Category::Link, "directives", String::new()),
            Frame::State(state) => {
                (Category::Orders, "state", format!("{} records", state.records.len()))
            }
            Frame::Delta(delta) => {
                let (records, acks) = (delta.records.len(), delta.acks.len());
                let plan = delta.plan.len();
                let says = format!("{records} records, {acks} acknowledged, {plan} assignments");
                (Category::Orders, "delta", says)
            }
        };
        (Self::new(category, name), says)
    }

    fn of_message(message: &Message, protocol: Protocol) -> (Self, String) {
        match message {
            Message::SensorRequest => (Self::of_request(protocol), String::new()),
            Message::SensorData(_) => (Self::new(Category::Climate, "sensor data"), String::new()),
            Message::DisplayData(_) => {
                (Self::new(Category::Climate, "display data"), String::new())
            }
            Message::Bully(message) => of_bully(message),
            Message::Senior(message) => (of_senior(*message), String::new()),
            Message::Ballot(message) => of_ballot(message),
            Message::TokenRing(message) => of_token_ring(message),
            Message::Experiment(message) => {
                let about = message.node.as_ref().map(|node| format!(", {node}"));
                election(message.kind, format!("{}{}", message.number, about.unwrap_or_default()))
            }
        }
    }

    /// In `senior` and `ballot` the master's request is its sign of life.
    fn of_request(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Ballot => Self::new(Category::Election, "control"),
            Protocol::Senior => Self::new(Category::Election, "sensor request"),
            Protocol::LowestIp | Protocol::Bully | Protocol::TokenRing => {
                Self::new(Category::Climate, "sensor request")
            }
        }
    }
}

fn election(name: &'static str, says: String) -> (Kind, String) {
    (Kind::new(Category::Election, name), says)
}

fn of_bully(message: &bully::Message) -> (Kind, String) {
    match message {
        bully::Message::Election => election("election", String::new()),
        bully::Message::Answer => election("answer", String::new()),
        bully::Message::Master { term } => election("master", format!("term {term}")),
    }
}

fn of_senior(message: senior::Message) -> Kind {
    Kind::new(
        Category::Election,
        match message {
            senior::Message::NeedMaster => "need master",
            senior::Message::NeedExecutors => "need executors",
            senior::Message::IAmMaster => "I am master",
            senior::Message::IAmExecutor => "I am executor",
        },
    )
}

fn of_ballot(message: &ballot::Message) -> (Kind, String) {
    match message {
        ballot::Message::Vote(vote) => election("vote", vote.to_string()),
        ballot::Message::Reset => election("reset", String::new()),
    }
}

fn of_token_ring(message: &token_ring::Message) -> (Kind, String) {
    use token_ring::Message as Ring;
    match message {
        Ring::Search => election("search", String::new()),
        Ring::Here(mac) => election("here", mac.to_string()),
        Ring::Life(life) => election("life", format!("count {}", life.count)),
        Ring::Pass(token) => election("pass", format!("count {}", token.count)),
        Ring::Accepted(stamp) => election("accepted", format!("hop {}", stamp.hop)),
        Ring::Refused { stamp, .. } => election("refused", format!("hop {}", stamp.hop)),
        Ring::Wait(_) => election("wait", String::new()),
        Ring::Agreed { count, mac, .. } => election("agreed", format!("count {count}, {mac}")),
        Ring::NoLongerHolder(_) => election("no longer holder", String::new()),
        Ring::Busy(_) => election("busy", String::new()),
        Ring::Result { survivor, .. } => election("result", format!("{survivor:?} stays holder")),
        Ring::Claim { mac, .. } => election("claim", mac.to_string()),
        Ring::Objection => election("objection", String::new()),
    }
}
