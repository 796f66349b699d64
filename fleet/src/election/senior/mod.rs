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
//! - A master that waits for executors repeats *need executors*, because the first may have been
//!   lost, and shows what its own sensors read (C4).
//! - A waiting node also follows a sensor request, because the answer may have been lost.
//! - A node that already follows a master does not switch: a node that starts or comes back does
//!   not replace a master with a lower address, unless it is the control unit (E6). Only two
//!   masters that meet, after a partition, are ranked: the control unit wins, otherwise the higher
//!   MAC address. The stronger one sends *I am master* to the weaker one (M9). Therefore one wait,
//!   one loss or one late message costs at most a change that the next request corrects.
//! - Of two control units, or of two equal MAC addresses, the lower name wins. `liftmesh status`
//!   shows the conflict.

mod member;
mod settings;
mod transitions;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::reaction::Reaction;
use super::{Candidate, Detail, Election, ElectionTimer, Input, Output, Preferred, Profile};
use crate::model::{NodeId, NodeState};

use member::{Kind, Member};
pub use settings::Settings;

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
    /// No master has answered this attempt.
    Answer,
    /// The master has been silent for too long.
    MasterLoss,
    /// The master's next request is due.
    Request,
}

const PROFILE: Profile =
    Profile { preferred: Preferred::Designated, requests_sensor_data: true, ..Profile::USUAL };

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Senior {
    own: Member,
    settings: Settings,
    peers: BTreeMap<NodeId, Member>,
    state: State,
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
    /// Counts from 1.
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
    /// Another node has shown that it leads.
    Leads(Member, Sign),
    /// Another node has shown that it follows.
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
        let own = Member::of(own);
        let state = match own.kind {
            Kind::Control => State::WaitingForExecutors,
            Kind::Indicator => State::WaitingForMaster(Attempt::new(1)),
        };
        Self { own, settings, peers: BTreeMap::new(), state }
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
            Input::Fired(timer) => {
                if let ElectionTimer::Senior(timer) = timer {
                    Some(Event::Fired(*timer))
                } else {
                    None
                }
            }
            Input::Synced { .. } | Input::Disconnected { .. } | Input::Estimate(_) => None,
        }
    }

    /// What a message means. Only nodes that are heard count, and a node's own broadcasts do not
    /// (M4).
    fn on_message(&self, from: &NodeId, message: &super::Message) -> Option<Event> {
        let peer = self.peers.get(from).filter(|_| *from != self.own.node)?;
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

    /// What is wrong with the installation, as far as it concerns the ranks: the names of these
    /// nodes decide.
    fn conflicts(&self) -> impl Iterator<Item = Detail> {
        let names = |alike: &dyn Fn(&&Member) -> bool| {
            let names: Vec<&str> =
                self.peers.values().filter(alike).map(|peer| peer.node.as_str()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let control = |peer: &&Member| peer.kind == Kind::Control && self.own.kind == Kind::Control;
        let address = |peer: &&Member| peer.mac == self.own.mac;
        [("other control unit", names(&control)), ("same MAC address", names(&address))]
            .into_iter()
            .filter_map(|(name, peers)| Some(Detail::new(name, peers?)))
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
        details.push(Detail::new("MAC address", self.own.mac));
        details.extend(self.conflicts());
        details
    }

    fn profile(&self) -> &Profile {
        &PROFILE
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
