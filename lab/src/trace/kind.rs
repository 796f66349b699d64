//! What a message is: its name, and what it is about.

use elevator_fleet::election::ballot::packet;
use elevator_fleet::election::{Message, ballot, bully, senior, token_ring};
use elevator_fleet::wire::{Beacon, Frame, NodeState, Protocol};

use crate::connection::Packet;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// What it is about, `election`, `link`, `orders`, `climate` or `beacon`.
    pub category: &'static str,
    /// Its name: `election`, `vote`, `dial`.
    pub name: &'static str,
}

const ELECTION: &str = "election";
/// Links: made, closed, reset, probed.
const LINK: &str = "link";
/// Orders, plans and cars.
const ORDERS: &str = "orders";
/// Sensor data and display data.
const CLIMATE: &str = "climate";
/// Periodic beacons that carry no message.
const BEACON: &str = "beacon";

/// What messages are about.
pub(super) const CATEGORIES: [&str; 5] = [ELECTION, LINK, ORDERS, CLIMATE, BEACON];

impl Kind {
    pub(crate) const DIAL: Self = Self::new(LINK, "dial");
    pub(crate) const ACCEPT: Self = Self::new(LINK, "accept");
    const CLOSE: Self = Self::new(LINK, "close");
    const RESET: Self = Self::new(LINK, "link reset");

    /// Whether it is how this protocol elects.
    pub(super) fn elects(self, protocol: Protocol) -> bool {
        let links = [Self::DIAL, Self::ACCEPT, Self::CLOSE, Self::RESET];
        self.category == ELECTION || protocol == Protocol::LowestIp && links.contains(&self)
    }

    const fn new(category: &'static str, name: &'static str) -> Self {
        Self { category, name }
    }

    pub(crate) fn of_beacon(beacon: &Beacon, protocol: Protocol) -> (Self, String) {
        if let Some(piggybacked) = &beacon.piggybacked {
            return Self::of_message(&piggybacked.message, protocol);
        }
        let says = format!("{}, term {}", beacon.node_state, beacon.term);
        // Under `lowest-ip` the beacons of masters are the protocol's only messages (F2).
        if protocol == Protocol::LowestIp && beacon.node_state == NodeState::Master {
            return (Self::new(ELECTION, "announcement"), says);
        }
        let name = if beacon.probe { "probe beacon" } else { "beacon" };
        (Self::new(BEACON, name), says)
    }

    /// The kind of a packet of `ballot`, and what it says.
    pub(crate) fn of_packet(bytes: &[u8]) -> (Self, String) {
        match packet::decode(bytes) {
            Ok(message) => Self::of_message(&message, Protocol::Ballot),
            Err(error) => (Self::new(ELECTION, "malformed"), error.to_string()),
        }
    }

    /// The kind of what ends a link that the other end does not know.
    pub(crate) fn reset() -> (Self, String) {
        (Self::RESET, String::new())
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
            Frame::Hello(_) => (LINK, "hello", String::new()),
            Frame::Probe => (LINK, "link probe", String::new()),
            Frame::Alive => (LINK, "alive", String::new()),
            Frame::Synced => (LINK, "synced", String::new()),
            Frame::Digest(digest) => (LINK, "digest", format!("term {}", digest.term)),
            Frame::Next => (LINK, "next part", String::new()),
            Frame::CarPlan(_) => (LINK, "car plan", String::new()),
            Frame::State(state) => (ORDERS, "state", format!("{} records", state.records.len())),
            Frame::Delta(delta) if !delta.settings.is_empty() && delta.records.is_empty() => {
                (LINK, "settings", format!("{} settings", delta.settings.len()))
            }
            Frame::Delta(delta) => {
                let (records, acks) = (delta.records.len(), delta.acks.len());
                let plan = delta.plan.len();
                let says = format!("{records} records, {acks} acknowledged, {plan} assignments");
                (ORDERS, "delta", says)
            }
        };
        (Self::new(category, name), says)
    }

    fn of_message(message: &Message, protocol: Protocol) -> (Self, String) {
        use token_ring::Message as Ring;
        use {ballot::Message as Ballot, bully::Message as Bully, senior::Message as Senior};
        // In `senior` and `ballot` the master's request is its sign of life.
        let (category, request) = match protocol {
            Protocol::Ballot => (ELECTION, "control"),
            Protocol::Senior => (ELECTION, "sensor request"),
            Protocol::LowestIp | Protocol::Bully | Protocol::TokenRing => {
                (CLIMATE, "sensor request")
            }
        };
        let (name, says) = match message {
            Message::SensorRequest => return (Self::new(category, request), String::new()),
            Message::SensorData(_) => {
                return (Self::new(CLIMATE, "sensor data"), String::new());
            }
            Message::DisplayData(_) => {
                return (Self::new(CLIMATE, "display data"), String::new());
            }
            Message::Bully(Bully::Election) => ("election", String::new()),
            Message::Bully(Bully::Answer) => ("answer", String::new()),
            Message::Bully(Bully::Master { term }) => ("master", format!("term {term}")),
            Message::Senior(Senior::NeedMaster) => ("need master", String::new()),
            Message::Senior(Senior::NeedExecutors) => ("need executors", String::new()),
            Message::Senior(Senior::IAmMaster) => ("I am master", String::new()),
            Message::Senior(Senior::IAmExecutor) => ("I am executor", String::new()),
            Message::Ballot(Ballot::Vote(vote)) => ("vote", vote.to_string()),
            Message::Ballot(Ballot::Reset) => ("reset", String::new()),
            Message::TokenRing(message) => match message {
                Ring::Search => ("search", String::new()),
                Ring::Here(mac) => ("here", mac.to_string()),
                Ring::Life(life) => ("life", format!("count {}", life.count)),
                Ring::Pass(token) => ("pass", format!("count {}", token.count)),
                Ring::Accepted(stamp) => ("accepted", format!("hop {}", stamp.hop)),
                Ring::Refused { stamp, .. } => ("refused", format!("hop {}", stamp.hop)),
                Ring::Wait(_) => ("wait", String::new()),
                Ring::Agreed { count, mac, .. } => ("agreed", format!("count {count}, {mac}")),
                Ring::NoLongerHolder(_) => ("no longer holder", String::new()),
                Ring::Busy(_) => ("busy", String::new()),
                Ring::Result { survivor, .. } => ("result", format!("{survivor:?} stays holder")),
                Ring::Claim { mac, .. } => ("claim", mac.to_string()),
                Ring::Objection => ("objection", String::new()),
            },
            Message::Experiment(message) => {
                let about = message.node.as_ref().map(|node| format!(", {node}"));
                (message.kind, format!("{}{}", message.number, about.unwrap_or_default()))
            }
        };
        (Self::new(ELECTION, name), says)
    }
}
