//! A regular leader, and votes among its followers while it is away (V1 to V12).
//!
//! ```text
//!                     silence, vote heard              highest vote
//!   start ──▶ Waiting ────────────▶ Voting ───────────────────────────▶ Leading ◀── start of the
//!             ▲  │  ▲                ▲ │ │ ▲                              │  ▲      regular leader
//!             │  │  └── lower vote ──┘ │ └─┘ tie: fresh numbers           │  │
//!             │  │                     │                                  │  │
//!             │  │ control, reset      │ control, reset       another     │  │ highest vote
//!             │  │                     │                      leads too   ▼  │
//!             │  │                     │◀──────────────────────────── Voting as leader
//!             │  ▼                     │
//!             │ Following ◀────────────┘
//!             │  │  └───────────── leader lost, vote heard ──────▶ Voting
//!             └──┘ leader no longer leads
//! ```
//!
//! The leader broadcasts control packets. A follower that misses them broadcasts its vote, a fresh
//! random number; the others answer with theirs, unless it can't win. A round lasts a fixed time
//! (V5). The regular leader answers votes with a reset, and leads. A node answers votes at most
//! once a round, so a round costs O(n) messages.
//!
//! # What it adds to the source
//!
//! - A stand-in leader answers a vote with a control packet, because the source has no packet for
//!   it: a follower that missed a few packets unseats nobody. The other followers of the stand-in
//!   take part in that vote, but keep following it until they lose it or the round has a winner.
//! - Two stand-in leaders that hear each other both vote while they lead (V12); their followers
//!   stay out of that vote.
//! - While the beacons of a leader report that it leads, its control packets may be missing for
//!   longer ([`Settings::patience`]); when one reports that it no longer leads, nobody waits for
//!   it.
//! - The regular leader repeats its reset to each node that it discovers, and to each that becomes
//!   leader. Of two regular leaders the lower name leads; the other follows it, and does not vote.
//! - Packets count only from the addresses of nodes that the mesh knows: they are not
//!   authenticated.

pub mod packet;
mod transitions;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reaction::Reaction;
use super::{
    Candidate, Carrier, Detail, Election, ElectionTimer, Input, Output, Preferred, Profile, Rules,
};
use crate::model::{NodeId, NodeState, Nonce, Protocol, Role};

/// The messages between candidates. The control packet is
/// [`SensorRequest`](super::Message::SensorRequest).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A vote for its sender (V3).
    Vote(u32),
    /// The regular leader is there (V7).
    Reset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    Control,
    /// The leader has not been heard for too long.
    Silence,
    /// The round of votes is over: nothing that is heard later belongs to it.
    Round,
}

const PROFILE: Profile = Profile {
    preferred: Preferred::Designated,
    carrier: Carrier::Packet,
    requests_sensor_data: true,
    ..Profile::USUAL
};

/// The settings of `ballot`. For operators, `src/config/tables/elections.rs` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Between two control packets of the leader (V2).
    pub control_period: Duration,
    /// A leader that sends no control packet for this time is lost (V2); a node that lost a vote
    /// waits as long for the winner (V6).
    pub lost_after: Duration,
    /// How long a round of votes lasts (V5).
    pub round: Duration,
    /// So many times `lost_after` may pass while a leader's beacons report that it leads.
    pub patience: u32,
    /// Whether the mesh's reports of losses count (C5), and `patience`.
    pub mesh_detection: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            control_period: Duration::from_millis(100),
            lost_after: Duration::from_millis(200),
            round: Duration::from_millis(100),
            patience: 5,
            mesh_detection: true,
        }
    }
}

impl Settings {
    /// As in the source: a leader is lost after two periods without a control packet (V2), whatever
    /// the mesh reports. The source gives no figures for period and round: they are the fleet's.
    #[must_use]
    pub fn source() -> Self {
        let control_period = Duration::from_millis(100);
        Self {
            control_period,
            lost_after: control_period * 2,
            round: Duration::from_millis(100),
            patience: 1,
            mesh_detection: false,
        }
    }
}

impl Rules for Settings {
    fn protocol(&self) -> Protocol {
        Protocol::Ballot
    }

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    /// Links are made, the loss is noticed, then a few votes decide, should packets get lost.
    fn bound(&self, linked_within: Duration, _nodes: usize) -> Duration {
        linked_within + (self.lost_after + self.round) * 4
    }

    /// The source takes the network for reliable: two lost control packets are a lost leader.
    fn bears_loss(&self) -> bool {
        self.mesh_detection
    }

    fn request_period(&self) -> Option<Duration> {
        Some(self.control_period)
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(Ballot::new(own, *self))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ballot {
    name: NodeId,
    /// It is a regular leader: a designated master.
    regular: bool,
    settings: Settings,
    peers: BTreeMap<NodeId, Peer>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Peer {
    regular: bool,
    leads: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    /// For a control packet (V6); the `held` leader may still be there.
    Waiting {
        held: Option<NodeId>,
    },
    Following(Follower),
    /// `best` is the highest vote of another.
    Voting {
        held: Held,
        own: u32,
        best: Option<u32>,
    },
    Leading(Round),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Follower {
    leader: NodeId,
    reported: Reported,
    /// How often `lost_after` has passed without a control packet.
    missed: u32,
    round: Round,
}

/// What a leader or follower has done in the round of votes that is open, if one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Round {
    Quiet,
    /// It has answered a vote: a leader with a control packet, a follower with its own vote, which
    /// a leader has ended. Further votes of the round get no answer.
    Answered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Reported {
    /// Nothing yet: they may be older than its control packet.
    None,
    /// That it leads, but not lately.
    Stale,
    Fresh,
}

/// What a node keeps while a vote is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Held {
    Nothing,
    /// A leader that it has not lost.
    Leader(NodeId),
    Mastership,
}

/// An input as far as it concerns the protocol; the sender is known.
#[derive(Debug, Clone, Copy)]
enum Event<'a> {
    Start,
    Control(&'a NodeId),
    Vote {
        from: &'a NodeId,
        vote: u32,
    },
    Reset(&'a NodeId),
    /// `is_change`: it was not known, or has just begun to lead.
    Heard {
        peer: &'a NodeId,
        leads: bool,
        is_change: bool,
    },
    Lost(&'a NodeId),
    Fired(Timer),
}

impl State {
    fn timers(&self) -> &'static [Timer] {
        match self {
            Self::Waiting { .. } => &[Timer::Silence],
            Self::Following(of) if of.round == Round::Quiet => &[Timer::Silence],
            Self::Following(_) => &[Timer::Silence, Timer::Round],
            Self::Voting { .. } => &[Timer::Round],
            Self::Leading(Round::Quiet) => &[Timer::Control],
            Self::Leading(Round::Answered) => &[Timer::Control, Timer::Round],
        }
    }
}

impl Ballot {
    #[must_use]
    pub fn new(own: Candidate, settings: Settings) -> Self {
        Self {
            name: own.node,
            regular: own.role == Role::ControlUnit,
            settings,
            peers: BTreeMap::new(),
            state: State::Waiting { held: None },
        }
    }

    /// Updates the peers. Messages from unknown nodes do not count, nor cabins' resets (V7, V12).
    fn event<'a>(&mut self, input: &Input<'a>) -> Option<Event<'a>> {
        match *input {
            Input::Start => Some(Event::Start),
            Input::Heard { peer, node_state, .. } => {
                let leads = *node_state == NodeState::Master;
                let regular = peer.role == Role::ControlUnit;
                let before = self.peers.insert(peer.node.clone(), Peer { regular, leads });
                let is_change = before.is_none_or(|before| leads && !before.leads);
                let peer = &peer.node;
                Some(Event::Heard { peer, leads, is_change })
            }
            Input::Lost { peer } => {
                self.peers.remove(peer);
                Some(Event::Lost(peer))
            }
            Input::Message { from, message } => self.on_message(from, message),
            Input::Fired(ElectionTimer::Ballot(timer)) => Some(Event::Fired(*timer)),
            Input::Fired(_)
            | Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Estimate(_) => None,
        }
    }

    fn on_message<'a>(&self, from: &'a NodeId, message: &super::Message) -> Option<Event<'a>> {
        let sender = self.peers.get(from)?;
        if let super::Message::Ballot(message) = message {
            match message {
                Message::Vote(vote) => Some(Event::Vote { from, vote: *vote }),
                Message::Reset => sender.regular.then_some(Event::Reset(from)),
            }
        } else {
            (*message == super::Message::SensorRequest).then_some(Event::Control(from))
        }
    }

    fn leads(&self, peer: &NodeId) -> bool {
        self.peers.get(peer).is_some_and(|peer| peer.leads)
    }

    fn is_regular(&self, peer: &NodeId) -> bool {
        self.peers.get(peer).is_some_and(|peer| peer.regular)
    }
}

impl Election for Ballot {
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>) {
        let out = &mut Reaction { draw, outputs };
        if let Some(event) = self.event(&input) {
            let next = self.next(event, out);
            let before = std::mem::replace(&mut self.state, next);
            out.disarm_but(before.timers(), self.state.timers());
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::Leading(_) | State::Voting { held: Held::Mastership, .. } => NodeState::Master,
            State::Following(Follower { leader: master, .. })
            | State::Waiting { held: Some(master) }
            | State::Voting { held: Held::Leader(master), .. } => {
                NodeState::Slave { master: master.clone() }
            }
            State::Waiting { held: None } | State::Voting { held: Held::Nothing, .. } => {
                NodeState::Seeking
            }
        }
    }

    /// Stand-ins vote (V12).
    fn outranks(&self, master: &Candidate) -> bool {
        self.regular && (master.role != Role::ControlUnit || self.name < master.node)
    }

    fn details(&self) -> Vec<Detail> {
        let doing = match &self.state {
            State::Waiting { .. } => "waiting for a control packet",
            State::Following(_) => "following",
            State::Voting { .. } => "voting",
            State::Leading(_) if self.regular => "regular leader",
            State::Leading(_) => "stand-in leader",
        };
        let mut details = vec![Detail::new("ballot", doing)];
        if let State::Voting { own, best, .. } = &self.state {
            details.push(Detail::new("own vote", own));
            details.extend(best.map(|best| Detail::new("highest vote heard", best)));
        }
        let others = self.peers.iter().filter(|(_, peer)| peer.regular);
        let others: Vec<&str> = others.map(|(name, _)| name.as_str()).collect();
        if self.regular && !others.is_empty() {
            details.push(Detail::new("other regular leaders", others.join(", ")));
        }
        details
    }
}
