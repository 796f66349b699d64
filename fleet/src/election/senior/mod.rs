//! The node with the highest MAC address leads, or the control unit (M1 to M9).
//!
//! ```text
//!   an indicator unit starts                              a control unit starts
//!             │                                                     │
//!             ▼      N attempts unanswered, none above it heard     ▼
//!   ┌─▶ WaitingForMaster ────────────────────────────▶ WaitingForExecutors
//!   │         │                                             │       │
//!   │         │ a master is heard                           │       │ I am executor
//!   │         ▼                a master above it is heard   │       ▼
//!   │     Executor ◀────────────────────────────────────────┴──── Master
//!   │         │
//!   └─────────┘ no sensor request, or the master is lost or no longer leads;
//!               a control unit waits for executors instead
//! ```
//!
//! Questions go to all: *need master* (NM), *need executors* (NI), *sensor request* (ZDZ). Answers
//! go to the node that asked: *I am master* (`YaM`), *I am executor* (`YaI`), *sensor data* (ZDO).
//! A node is master in both states on the right. A node hears a master by its *need executors*, *I
//! am master* or *sensor request*.
//!
//! # What it adds to the source
//!
//! - A master that waits for executors repeats *need executors*, and a waiting node also follows a
//!   sensor request, because messages get lost.
//! - A node that already follows a master does not switch, unless it hears the control unit or a
//!   higher MAC address that leads (E6). Of two masters that meet the stronger sends *I am master*
//!   to the weaker one (M9).
//! - Of two control units, or of two equal MAC addresses, the lower name wins. `liftmesh status`
//!   shows the conflict.

mod transitions;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reaction::Reaction;
use super::{Candidate, Detail, Election, ElectionTimer, Input, Output, Preferred, Profile, Rules};
use crate::model::{Mac, NodeId, NodeState, Nonce, Protocol, Role};

/// The messages between nodes (M1), beside the three about sensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// NM, to all: is there a master?
    NeedMaster,
    /// NI, to all: here is a master without executors.
    NeedExecutors,
    /// `YaM`, the answer to a node that needs a master, or wrongly acts as one.
    IAmMaster,
    /// `YaI`, the answer to the master that needs executors.
    IAmExecutor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    Answer,
    /// The master has been silent for too long.
    MasterLoss,
    Request,
}

const PROFILE: Profile =
    Profile { preferred: Preferred::Designated, requests_sensor_data: true, ..Profile::USUAL };

/// The settings of `senior`. For operators, `src/config/tables/elections.rs` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// After this time without a sign of its master an executor looks for another (M3): several
    /// times `request_period`.
    pub master_loss: Duration,
    /// How long an attempt waits for a master's answer (M3, M6).
    pub answer_wait: Duration,
    /// How many attempts go unanswered before a node may lead (M6): longer than a start takes.
    pub attempts: u32,
    /// Between two requests of a master, for executors or for sensor data (M7).
    pub request_period: Duration,
    /// Whether the mesh's reports of losses count (C5); otherwise only `master_loss` does.
    pub mesh_detection: bool,
}

/// For a fleet of elevators on one LAN (M3).
impl Default for Settings {
    fn default() -> Self {
        Self {
            master_loss: Duration::from_millis(500),
            answer_wait: Duration::from_millis(100),
            attempts: 4,
            request_period: Duration::from_millis(50),
            mesh_detection: true,
        }
    }
}

impl Settings {
    /// As in the source: 5 minutes without a sensor request (M3), and no other sign of loss. The
    /// source gives no other figures (M6, M7): ten requests in the interval, as in the fleet.
    #[must_use]
    pub const fn source() -> Self {
        Self {
            master_loss: Duration::from_mins(5),
            answer_wait: Duration::from_secs(5),
            attempts: 3,
            request_period: Duration::from_secs(30),
            mesh_detection: false,
        }
    }

    /// The emulator of the source's author: 30 s without a sensor request (M3).
    #[must_use]
    pub const fn emulator() -> Self {
        Self {
            master_loss: Duration::from_secs(30),
            answer_wait: Duration::from_secs(1),
            attempts: 3,
            request_period: Duration::from_secs(3),
            mesh_detection: false,
        }
    }

    fn wait(&self, timer: Timer) -> Duration {
        match timer {
            Timer::Answer => self.answer_wait,
            Timer::MasterLoss => self.master_loss,
            Timer::Request => self.request_period,
        }
    }
}

impl Rules for Settings {
    fn protocol(&self) -> Protocol {
        Protocol::Senior
    }

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    /// The links are made, a master that is gone is missed, all attempts go unanswered, and one
    /// more wait and two periods leave room for what is lost on the way.
    fn bound(&self, linked_within: Duration, _nodes: usize) -> Duration {
        linked_within
            + self.master_loss
            + self.answer_wait * self.attempts.saturating_add(1)
            + self.request_period * 2
    }

    fn request_period(&self) -> Option<Duration> {
        Some(self.request_period)
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(Senior::new(&own, *self))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Senior {
    own: Member,
    mac: Mac,
    settings: Settings,
    peers: BTreeMap<NodeId, Member>,
    state: State,
}

/// A node as the protocol ranks it: the greater one prevails (M4, M9). A control unit is above
/// every indicator unit; then the higher MAC address counts, and between equals the lower name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Member {
    kind: Kind,
    /// Ranks indicator units only.
    mac: Option<Mac>,
    node: Reverse<NodeId>,
}

/// The two kinds of nodes (M2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Indicator,
    Control,
}

impl Member {
    fn of(candidate: &Candidate) -> Self {
        let (kind, mac) = match candidate.role {
            Role::ControlUnit => (Kind::Control, None),
            Role::Cabin | Role::Indicator => (Kind::Indicator, Some(candidate.mac)),
        };
        Self { kind, mac, node: Reverse(candidate.node.clone()) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    WaitingForMaster(Attempt),
    Executor { master: NodeId },
    WaitingForExecutors,
    Master,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Attempt {
    number: u32,
    /// The flag *I am senior*: no node above this one needs a master too.
    senior: bool,
    /// How many requests of nodes that need a master too have been heard.
    seen: u32,
}

impl Attempt {
    fn new(number: u32) -> Self {
        Self { number, senior: true, seen: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Start,
    NeedsMaster(Member),
    Leads(Member, Sign),
    Executes,
    /// The mesh has lost this node, or its beacon reports that it is not master.
    LeadsNoLonger(NodeId),
    Fired(Timer),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    NeedExecutors,
    IAmMaster,
    SensorRequest,
}

impl Senior {
    /// A node at its start: a control unit leads, an indicator unit looks for a master (M2).
    #[must_use]
    pub fn new(own: &Candidate, settings: Settings) -> Self {
        let (own, mac) = (Member::of(own), own.mac);
        let state = match own.kind {
            Kind::Control => State::WaitingForExecutors,
            Kind::Indicator => State::WaitingForMaster(Attempt::new(1)),
        };
        Self { own, mac, settings, peers: BTreeMap::new(), state }
    }

    fn event(&mut self, input: &Input<'_>) -> Option<Event> {
        match input {
            Input::Start => Some(Event::Start),
            Input::Heard { peer, node_state, .. } => {
                self.peers.insert(peer.node.clone(), Member::of(peer));
                let leads = **node_state == NodeState::Master;
                let is_loss = !leads && self.settings.mesh_detection;
                is_loss.then(|| Event::LeadsNoLonger(peer.node.clone()))
            }
            Input::Lost { peer } => {
                self.peers.remove(*peer);
                self.settings.mesh_detection.then(|| Event::LeadsNoLonger((*peer).clone()))
            }
            Input::Message { from, message } => self.on_message(from, message),
            Input::Fired(ElectionTimer::Senior(timer)) => Some(Event::Fired(*timer)),
            Input::Fired(_)
            | Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Estimate(_) => None,
        }
    }

    /// What a message means. Only nodes that are heard count, and not this one (M4).
    fn on_message(&self, from: &NodeId, message: &super::Message) -> Option<Event> {
        let peer = self.peers.get(from).filter(|_| *from != self.own.node.0)?;
        let leads = |sign| Some(Event::Leads(peer.clone(), sign));
        if let super::Message::Senior(message) = message {
            match message {
                Message::NeedMaster => Some(Event::NeedsMaster(peer.clone())),
                Message::NeedExecutors => leads(Sign::NeedExecutors),
                Message::IAmMaster => leads(Sign::IAmMaster),
                Message::IAmExecutor => Some(Event::Executes),
            }
        } else if *message == super::Message::SensorRequest {
            leads(Sign::SensorRequest)
        } else {
            None
        }
    }

    /// The nodes of the same rank, which is wrong: their names decide.
    fn conflict(&self) -> Option<Detail> {
        let name = match self.own.kind {
            Kind::Control => "other control unit",
            Kind::Indicator => "same MAC address",
        };
        let is_equal = |peer: &&Member| (peer.kind, peer.mac) == (self.own.kind, self.own.mac);
        let peers = self.peers.values().filter(is_equal).map(|peer| peer.node.0.as_str());
        let peers: Vec<&str> = peers.collect();
        (!peers.is_empty()).then(|| Detail::new(name, peers.join(", ")))
    }
}

impl Election for Senior {
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>) {
        if let Some(event) = self.event(&input) {
            self.step(event, &mut Reaction { draw, outputs });
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::WaitingForMaster(_) => NodeState::Seeking,
            State::Executor { master } => NodeState::Slave { master: master.clone() },
            State::WaitingForExecutors | State::Master => NodeState::Master,
        }
    }

    fn outranks(&self, master: &Candidate) -> bool {
        self.own > Member::of(master)
    }

    fn details(&self) -> Vec<Detail> {
        let mut details = match &self.state {
            State::WaitingForMaster(attempt) => {
                let of = format!("{} of {}", attempt.number, self.settings.attempts);
                let senior = if attempt.senior { "yes" } else { "no" };
                vec![
                    Detail::new("state", "waiting for master"),
                    Detail::new("attempt", of),
                    Detail::new("senior flag", senior),
                    Detail::new("units seen", attempt.seen),
                ]
            }
            State::Executor { .. } => vec![Detail::new("state", "executor")],
            State::WaitingForExecutors => vec![Detail::new("state", "waiting for executors")],
            State::Master => vec![Detail::new("state", "master")],
        };
        details.push(Detail::new("MAC address", self.mac));
        details.extend(self.conflict());
        details
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
