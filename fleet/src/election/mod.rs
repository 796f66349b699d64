//! Choosing the master: one interface, a directory per protocol (C1).
//!
//! ```text
//!   heard, lost, message, timer ──▶ Election ──▶ send, broadcast, arm a timer (dial, hang up)
//!                                      │
//!                                      ▼
//!                         State: seeking, slave of …, master
//! ```
//!
//! An election knows no time, no socket and no random source (C2): it arms named, relative timers,
//! and a random draw comes with every input. It sees a peer only while orders are exchanged with
//! it: a node that yields has handed its orders over already (E4), and no node follows a node that
//! it can't reach (F14). Only the source's form of `lowest-ip` opens and closes links itself (F3).

/// Calls a macro with every protocol: the name of its module, and of its variant of
/// [`Protocol`](crate::model::Protocol).
#[macro_export]
macro_rules! for_every_protocol {
    ($macro:ident) => {
        $macro! {
            lowest_ip: LowestIp,
            bully: Bully,
            senior: Senior,
            ballot: Ballot,
            token_ring: TokenRing
        }
    };
}

pub mod ballot;
pub mod bully;
pub mod experiment;
pub mod lowest_ip;
mod reaction;
pub(crate) mod redial;
pub mod senior;
#[cfg(test)]
pub(crate) mod testing;
pub mod token_ring;

use core::net::Ipv4Addr;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::climate::{DisplayData, Reading};
use crate::model::{Hello, Mac, MeshTimes, NodeId, NodeState, Nonce, Protocol, Role, Term};

pub use ballot::Ballot;
pub use bully::Bully;
pub use experiment::Experiment;
pub use lowest_ip::LowestIp;
pub use senior::Senior;
pub use token_ring::TokenRing;

/// A protocol that chooses the master.
pub trait Election: fmt::Debug + Send {
    /// Handles an input; appends what is to be done to `outputs`. `draw` is a random number.
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>);

    fn node_state(&self) -> NodeState;

    /// Whether the node has the mastership: of several tokens in a ring, one holder acts (T8).
    fn has_mastership(&self) -> bool {
        self.node_state() == NodeState::Master
    }

    /// Whether this node stays master when it meets this peer, another master. `false` where more
    /// than their ranks decides.
    fn outranks(&self, _master: &Candidate) -> bool {
        false
    }

    /// The estimate in the node's beacons (B1); 0 under a protocol that does not use it.
    fn estimate(&self) -> u32 {
        0
    }

    fn details(&self) -> Vec<Detail>;
}

/// What is fixed about a protocol, whatever its settings and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    pub preferred: Preferred,
    /// Whether the mastership goes from node to node while all is well.
    pub rotates: bool,
    pub link_rule: LinkRule,
    pub carrier: Carrier,
    /// Whether the protocol itself sends the master's sensor requests, not the node (C4).
    pub requests_sensor_data: bool,
    /// How many lines of 80 columns have room for the [details](Election::details).
    pub detail_lines: u16,
}

impl Profile {
    pub const USUAL: Self = Self {
        preferred: Preferred::Anybody,
        rotates: false,
        link_rule: LinkRule::EveryPair,
        carrier: Carrier::Beacon,
        requests_sensor_data: false,
        detail_lines: 2,
    };
}

/// Which node is master of a group whose nodes all hear each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preferred {
    LowestAddress,
    /// A node that no other [outranks](Rules::outranks).
    Fittest,
    /// The designated master; without one, any node.
    Designated,
    Anybody,
}

/// Who opens links, and to whom (C6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkRule {
    /// A slave dials its master when the election wants it, and there are no other links.
    FollowState,
    /// Each node keeps links to the two lower addresses that are the lowest it hears, usually the
    /// master and its heir, and to its master. A fleet of n nodes has 2n − 3 links.
    Standby,
    /// Each pair of nodes keeps a link; the higher address dials the lower.
    EveryPair,
}

/// What carries an election's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A beacon: authentic, and never taken in twice.
    Beacon,
    /// A packet of its own on a UDP port of its own, which other makers' devices understand (V9).
    Packet,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<'a> {
    /// The node starts; the first input of all.
    Start,
    /// A beacon of a peer that this node hears, and that hears this node; the first of equal ones
    /// that arrive in a bunch. The term is that of its mastership, or the highest that it knows.
    Heard {
        peer: &'a Candidate,
        node_state: &'a NodeState,
        term: Term,
    },
    /// A peer is not heard any more, or its link is gone; not under [`LinkRule::FollowState`].
    Lost {
        peer: &'a NodeId,
    },
    /// A state transfer over a peer's link is complete (F14); [`LinkRule::FollowState`] only.
    Synced {
        peer: &'a NodeId,
        side: LinkSide,
    },
    /// A link is gone, or could not be made. An input under [`LinkRule::FollowState`] only.
    Disconnected {
        peer: &'a NodeId,
    },
    Message {
        from: &'a NodeId,
        message: &'a Message,
    },
    /// The node has become more or less fit to lead (B1).
    Estimate(u32),
    Fired(&'a ElectionTimer),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Candidate {
    pub node: NodeId,
    /// Ranks under `lowest-ip`.
    pub address: Ipv4Addr,
    /// Ranks under `senior` and `token-ring`.
    pub mac: Mac,
    pub role: Role,
    /// How fit it is to lead; ranks under `bully` (B1).
    pub estimate: u32,
}

impl Candidate {
    #[must_use]
    pub fn new(hello: &Hello, estimate: u32) -> Self {
        Self {
            node: hello.node.clone(),
            address: hello.address,
            mac: hello.mac,
            role: hello.role,
            estimate,
        }
    }
}

/// Which side of a link this node is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkSide {
    Dialled,
    Accepted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Arm(ElectionTimer, Duration),
    Disarm(ElectionTimer),
    /// Send a message to every node; it may be lost on the way.
    Broadcast(Message),
    /// Send a message to one node; it may be lost on the way.
    Send(NodeId, Message),
    /// Send a message to one node with the open orders and the plan, as far as they fit (T5).
    HandOver(NodeId, Message),
    /// Open a link to a peer. Answered by [`Input::Synced`] or [`Input::Disconnected`].
    Dial(NodeId),
    HangUp(NodeId),
    /// Close every link but the one to this peer.
    HangUpAllBut(NodeId),
}

/// The messages of elections. Those about sensors serve every protocol (C4).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To all units: *ZDZ* of `senior` (M1), the control packet of `ballot` (V2).
    SensorRequest,
    /// The answer, to the master alone: *ZDO* (M1), the answer packet (V9).
    SensorData(Reading),
    /// What every indicator shows: *display data* (M1), the information packet (V11).
    DisplayData(DisplayData),
    Bully(bully::Message),
    Senior(senior::Message),
    Ballot(ballot::Message),
    TokenRing(token_ring::Message),
    /// Of a protocol that is studied; never decoded.
    #[serde(skip_deserializing)]
    Experiment(experiment::Message),
}

impl Message {
    /// The message as a node sends it that knows this term.
    pub(crate) fn under(self, term: Term) -> Self {
        if let Self::Bully(bully::Message::Master { .. }) = self {
            bully::Message::Master { term }.into()
        } else {
            self
        }
    }

    /// Whether the node that sends this to all gathers readings then, and shows their average (C4):
    /// with a sensor request, and, as nobody answers it with a reading, with its own alone while a
    /// master under `senior` has no executors (M7).
    pub(crate) fn begins_gathering(&self) -> bool {
        *self == Self::SensorRequest || *self == senior::Message::NeedExecutors.into()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElectionTimer {
    LowestIp(lowest_ip::Timer),
    Bully(bully::Timer),
    Senior(senior::Timer),
    Ballot(ballot::Timer),
    TokenRing(token_ring::Timer),
    Experiment(experiment::Timer),
}

macro_rules! from_each {
    ($inner:ident to $outer:ident: $($module:ident $variant:ident,)+) => {
        $(
            impl From<$module::$inner> for $outer {
                fn from(inner: $module::$inner) -> Self {
                    Self::$variant(inner)
                }
            }
        )+
    };
}

from_each! {
    Message to Message:
    bully Bully, senior Senior, ballot Ballot, token_ring TokenRing, experiment Experiment,
}

from_each! {
    Timer to ElectionTimer:
    lowest_ip LowestIp, bully Bully, senior Senior, ballot Ballot, token_ring TokenRing,
    experiment Experiment,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElectionSettings {
    LowestIp(lowest_ip::Settings),
    Bully(bully::Settings),
    Senior(senior::Settings),
    Ballot(ballot::Settings),
    TokenRing(token_ring::Settings),
    Experiment(Experiment),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// For a fleet of elevators on one LAN; the default.
    Fleet,
    /// The figures and rules of the protocol's source, with only what it can't run without.
    Source,
}

impl Preset {
    pub const ALL: [Self; 2] = [Self::Fleet, Self::Source];
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fleet => "fleet",
            Self::Source => "source",
        })
    }
}

/// What a protocol is, apart from its state machine. Implemented by the settings of each.
pub trait Rules: fmt::Debug {
    /// The protocol that these are the settings of; that which an experiment is most like.
    fn protocol(&self) -> Protocol;

    fn profile(&self) -> &'static Profile;

    /// C3: a group of at most this many nodes that all hear each other, on a network that has been
    /// whole and quiet for this time, has exactly one master, known to all of it. Any two nodes of
    /// it have a link after `linked_within`.
    fn bound(&self, linked_within: Duration, nodes: usize) -> Duration;

    /// Whether the bound holds, and no master changes, although 5 % of packets get lost.
    fn bears_loss(&self) -> bool {
        true
    }

    /// C3: how long all that hear a new master may take to follow it; 0 if none changes.
    fn settles_within(&self) -> Duration {
        Duration::ZERO
    }

    /// How often the protocol itself sends sensor requests, if it does.
    fn request_period(&self) -> Option<Duration> {
        None
    }

    /// The estimate of a node of this health (B1); 0 under a protocol that does not use it.
    fn estimate(&self, _health: u32) -> u32 {
        0
    }

    /// Whether a node should replace a master, by the estimates and names of both (B1, B10).
    fn outranks(&self, _node: (u32, &NodeId), _master: (u32, &NodeId)) -> bool {
        false
    }

    /// The election of this node, in this incarnation of its process. `redial_after` is the wait
    /// after a failed dial.
    fn elect(
        &self,
        own: Candidate,
        incarnation: Nonce,
        redial_after: Duration,
    ) -> Box<dyn Election>;
}

impl ElectionSettings {
    /// The protocol's defaults: those of [`Preset::Fleet`].
    #[must_use]
    pub fn of(protocol: Protocol) -> Self {
        Self::preset(protocol, Preset::Fleet)
    }

    #[must_use]
    pub fn preset(protocol: Protocol, preset: Preset) -> Self {
        macro_rules! either {
            ($($module:ident: $variant:ident),+) => {
                match (protocol, preset) {
                    $(
                        (Protocol::$variant, Preset::Fleet) => {
                            Self::$variant($module::Settings::default())
                        }
                        (Protocol::$variant, Preset::Source) => {
                            Self::$variant($module::Settings::source())
                        }
                    )+
                }
            };
        }
        for_every_protocol!(either)
    }

    /// [`Rules::bound`], with links as soon as this mesh makes them.
    #[must_use]
    pub fn bound(&self, mesh: &MeshTimes, nodes: usize) -> Duration {
        (**self).bound(redial::linked_within(mesh), nodes)
    }
}

impl Deref for ElectionSettings {
    type Target = dyn Rules;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::LowestIp(settings) => settings,
            Self::Bully(settings) => settings,
            Self::Senior(settings) => settings,
            Self::Ballot(settings) => settings,
            Self::TokenRing(settings) => settings,
            Self::Experiment(rules) => &**rules,
        }
    }
}

impl Protocol {
    #[must_use]
    pub fn profile(self) -> &'static Profile {
        ElectionSettings::of(self).profile()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Detail {
    /// What it is, in a word or two: `round`, `senior flag`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub name: Cow<'static, str>,
    pub value: String,
}

impl Detail {
    pub(crate) fn new(name: &'static str, value: impl fmt::Display) -> Self {
        Self { name: name.into(), value: value.to_string() }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.name, self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C3: the document has the bounds of a fleet of five.
    #[test]
    fn documented_bounds_are_those_of_the_defaults() {
        let document = include_str!("../../../docs/ELECTIONS.md");
        for protocol in Protocol::ALL {
            let bound = ElectionSettings::of(protocol).bound(&MeshTimes::default(), 5);
            let row = format!("| `{protocol}` | {} s |", bound.as_secs_f64());
            assert!(document.contains(&row), "{row}");
        }
    }
}
