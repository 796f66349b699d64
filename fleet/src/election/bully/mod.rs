//! The fittest node leads, even if it has to replace a working master: the bully algorithm. With
//! estimates by health a node that restarts replaces only a master that is clearly less fit, so B7
//! holds with configured numbers and as in the source.
//!
//! ```text
//!             starts (B7)                   nobody answers within T, nobody to ask (B3)
//!   Sleep ───────────────▶ Candidate ────────────────────────────────────▶ Master
//!                          │ ▲  ▲  │                                         │  │
//!                          │ │  └──┘ answered, and nobody has                │  │
//!                          │ │       announced itself in time (B4)           │  │
//!                          │ └───────────────────────────────────────────────┘  │
//!                          │ ▲  another master, or a lower node asks, and       │
//!                          │ │  there is a higher one to ask (B6, B10)          │
//!            master (B5)   │ │                                                  │
//!                          ▼ │  master lost, own estimate clearly higher,       │
//!                          Lost  a lower node asks (B2, B6, B10)                │
//!                            ▲                                                  │
//!                            └──────────────────────────────────────────────────┘
//!                               a higher node's master (B5)
//! ```
//!
//! A node asks every node with a higher estimate (*election*), a node that is asked answers
//! (*answer*), and a new master announces itself to every node with a lower estimate (*master*) (B1
//! to B5). With equal estimates the higher name ranks higher. An estimate of 0 bars a node (B6).
//!
//! # What it adds to the source
//!
//! As in the source ([`Settings::source`]) too, because it could not run otherwise:
//!
//! - A candidate that hears of another higher node asks it too: no node has a list of all.
//! - *Master* carries a term, so that a late one changes nothing (E7). One of a later term than the
//!   present master's is followed at once, also from a lower node: that node has missed the present
//!   master (B5). Of two with the same term the higher node counts.
//! - An election interrupts no service: until another node has announced itself, a master stays
//!   master, and a node that votes continues under a master that works.
//! - A master that nobody outranks announces itself to those that ask it, or lead too (B10).
//! - A follower that is asked within T of its last election holds no other: otherwise the death of
//!   a master would cost n³ messages.
//!
//! With [`Settings::mesh_detection`] a node that misses the master also lets the higher ones
//! announce themselves for a moment before it asks (usually an election then costs n messages),
//! beacons count as *master*, *election* is repeated, and with estimates by health a master has a
//! bonus (B10, decision 10).

mod settings;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::reaction::Reaction;
use super::{
    Candidate, Detail, Election, ElectionTimer, Input, Message as Any, Output, Preferred, Profile,
};
use crate::model::{NodeId, NodeState, Term};
use crate::seeded::{SeededBug, is_seeded};

pub use settings::{Estimate, Settings};

/// The messages between nodes (B1). The source calls a node *site* and the master *coordinator*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To every node with a higher estimate: will you lead?
    Election,
    /// The answer: I am alive and hold an election myself.
    Answer,
    /// To every node with a lower estimate: I lead; with the highest term that the master knows.
    Master { term: Term },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// T is over: nobody has answered (B3).
    Answer,
    /// *Election* may have been lost.
    Ask,
    /// No master has announced itself (B4).
    Announcement,
    /// The master has been silent for too long (B2).
    Silence,
    /// This node's estimate has exceeded the master's for long enough (B10).
    HoldOff,
    /// The higher nodes have had their time to announce themselves.
    HeadStart,
    /// As in the source: the last election is over for T.
    Pause,
}

const PROFILE: Profile = Profile { preferred: Preferred::Fittest, ..Profile::USUAL };

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bully {
    settings: Settings,
    node: NodeId,
    /// How fit it is, without the master's bonus.
    fitness: u32,
    /// The highest term heard here or taken. The node's own may be higher.
    term: Term,
    peers: BTreeMap<NodeId, u32>,
    /// The nodes that follow this one by their beacons, where the bonus depends on it.
    followers: BTreeSet<NodeId>,
    state: State,
}

/// B9
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    Sleep,
    Candidate(Stage, Interim),
    /// It has lost, and follows who won.
    Lost {
        of: Mastership,
        comparison: Comparison,
        ended: Ended,
    },
    Master,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Comparison {
    Trails,
    /// Clearly higher, until the hold-off is over or it is so no more.
    Exceeds,
}

/// When a follower's last election has ended; as in the source it holds no other for T.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ended {
    JustNow,
    LongAgo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stage {
    /// It lets the higher nodes announce themselves.
    Listening,
    Asking,
    Answered,
}

/// What a candidate does until the election is decided.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Interim {
    Alone,
    Follows(Mastership),
    Leads,
}

impl Interim {
    /// The same once the followed master, if any, is lost.
    fn without_master(self) -> Self {
        match self {
            Self::Alone | Self::Follows(_) => Self::Alone,
            Self::Leads => Self::Leads,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Started,
    HigherFound(NodeId),
    NobodyHigher,
    MasterAlive,
    MasterLost,
    AnotherMaster(NodeId),
    Compared(Comparison),
    Asked(NodeId),
    Answered,
    /// *Master*, no older than what is known.
    Announced(Mastership),
    TimedOut(Timer),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Mastership {
    master: NodeId,
    /// The highest term that the master has told.
    term: Term,
}

impl Bully {
    #[must_use]
    pub fn new(own: Candidate, settings: Settings) -> Self {
        Self {
            settings,
            node: own.node,
            fitness: own.estimate,
            term: Term::default(),
            peers: BTreeMap::new(),
            followers: BTreeSet::new(),
            state: State::Sleep,
        }
    }

    /// Updates what is known of the peers from an input, and returns the events it amounts to.
    fn events(&mut self, input: &Input<'_>) -> Vec<Event> {
        match input {
            Input::Start => vec![Event::Started],
            Input::Heard { peer, node_state, term } => {
                let is_recent = *term >= self.term;
                self.term = self.term.hear(*term);
                self.on_heard(peer, node_state, *term, is_recent)
            }
            Input::Lost { peer } => self.on_lost(peer),
            Input::Message { from, message: Any::Bully(message) } => {
                self.on_message(from, *message).into_iter().collect()
            }
            Input::Estimate(estimate) => {
                self.fitness = *estimate;
                self.compare().into_iter().collect()
            }
            Input::Fired(ElectionTimer::Bully(timer)) => vec![Event::TimedOut(*timer)],
            Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Message { .. }
            | Input::Fired(_) => Vec::new(),
        }
    }

    fn on_heard(
        &mut self,
        peer: &Candidate,
        node_state: &NodeState,
        term: Term,
        is_recent: bool,
    ) -> Vec<Event> {
        let was_higher = self.is_higher(&peer.node);
        self.peers.insert(peer.node.clone(), peer.estimate);
        let ours = matches!(node_state, NodeState::Slave { master } if *master == self.node);
        if ours && self.settings.estimate == Estimate::Health {
            self.followers.insert(peer.node.clone());
        } else {
            self.followers.remove(&peer.node);
        }
        let is_higher = self.is_higher(&peer.node);
        let leads = *node_state == NodeState::Master;
        let trusted = self.settings.mesh_detection;
        // A node that was cut off says so too: only its *master* says that it has won an election.
        let trails = self.follows().is_some_and(|of| self.rank(of) > self.rank(&peer.node));
        let mut events = Vec::new();
        if self.follows() == Some(&peer.node) {
            if leads {
                self.note_term(term);
                events.push(Event::MasterAlive);
                events.extend(self.compare());
            } else if trusted {
                events.push(Event::MasterLost);
            }
        } else if leads && trusted && is_higher && is_recent && !trails {
            return vec![Event::Announced(Mastership { master: peer.node.clone(), term })];
        } else if leads {
            events.push(Event::AnotherMaster(peer.node.clone()));
        }
        if is_higher && !was_higher {
            events.insert(0, Event::HigherFound(peer.node.clone()));
        }
        events
    }

    fn on_lost(&mut self, peer: &NodeId) -> Vec<Event> {
        let was_higher = self.is_higher(peer);
        self.followers.remove(peer);
        if !self.settings.mesh_detection {
            return Vec::new();
        }
        self.peers.remove(peer);
        let mut events = Vec::new();
        if self.follows() == Some(peer) {
            events.push(Event::MasterLost);
        }
        if was_higher && self.higher().next().is_none() {
            events.push(Event::NobodyHigher);
        }
        events
    }

    /// What a message amounts to; nothing if its sender is not known or it is too late.
    fn on_message(&mut self, from: &NodeId, message: Message) -> Option<Event> {
        if !self.peers.contains_key(from) {
            return None;
        }
        let higher = self.is_higher(from);
        match message {
            Message::Election => (!higher && !self.is_barred()).then(|| Event::Asked(from.clone())),
            Message::Answer => higher.then_some(Event::Answered),
            Message::Master { term } if term < self.term => None,
            Message::Master { term } => {
                self.term = self.term.hear(term);
                Some(Event::Announced(Mastership { master: from.clone(), term }))
            }
        }
    }

    /// Compares this node's estimate with that of its master, if it has one (B10).
    fn compare(&self) -> Option<Event> {
        let master = self.peers.get(self.follows()?)?;
        if !self.settings.challenges {
            return None;
        }
        let clearly = match self.settings.estimate {
            Estimate::Fixed(_) => self.settings.exceeds(self.fitness, *master),
            // The hysteresis is in the master's estimate.
            Estimate::Health => self.fitness > *master,
        };
        let exceeds = clearly && !self.is_barred();
        Some(Event::Compared(if exceeds { Comparison::Exceeds } else { Comparison::Trails }))
    }

    fn leads(&self) -> bool {
        matches!(self.state, State::Master | State::Candidate(_, Interim::Leads))
    }

    fn follows(&self) -> Option<&NodeId> {
        if let State::Lost { of, .. } | State::Candidate(_, Interim::Follows(of)) = &self.state {
            Some(&of.master)
        } else {
            None
        }
    }

    fn note_term(&mut self, term: Term) {
        if let State::Lost { of, .. } | State::Candidate(_, Interim::Follows(of)) = &mut self.state
        {
            of.term = of.term.max(term);
        }
    }

    fn higher(&self) -> impl Iterator<Item = &NodeId> {
        self.peers.keys().filter(|node| self.is_higher(node))
    }

    fn is_higher(&self, node: &NodeId) -> bool {
        let (rank, own) = (self.rank(node), Some((self.estimate(), &self.node)));
        if is_seeded(SeededBug::LeastFitWins) { rank.is_some() && rank < own } else { rank > own }
    }

    /// What ranks a node (B1); `None` if it is not known.
    fn rank<'a>(&self, node: &'a NodeId) -> Option<(u32, &'a NodeId)> {
        Some((*self.peers.get(node)?, node))
    }

    /// B6
    fn is_barred(&self) -> bool {
        self.fitness == 0
    }
}

impl Election for Bully {
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>) {
        for event in self.events(&input) {
            self.step(event, &mut Reaction { draw, outputs });
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::Sleep | State::Candidate(_, Interim::Alone) => NodeState::Seeking,
            State::Lost { of, .. } | State::Candidate(_, Interim::Follows(of)) => {
                NodeState::Slave { master: of.master.clone() }
            }
            State::Master | State::Candidate(_, Interim::Leads) => NodeState::Master,
        }
    }

    fn outranks(&self, master: &Candidate) -> bool {
        (self.estimate(), &self.node) > (master.estimate, &master.node)
    }

    /// A master gets a bonus, the larger one if a node follows it, so that it stays master.
    fn estimate(&self) -> u32 {
        if self.leads() {
            self.settings.as_master(self.fitness, !self.followers.is_empty())
        } else {
            self.fitness
        }
    }

    fn details(&self) -> Vec<Detail> {
        let (state, waits_for) = match &self.state {
            State::Sleep => ("sleep", None),
            State::Candidate(Stage::Asking, _) => ("candidate", Some("answer")),
            State::Candidate(Stage::Listening | Stage::Answered, _) => {
                ("candidate", Some("master"))
            }
            State::Lost { .. } => ("lost", None),
            State::Master => ("master", None),
        };
        let mut details =
            vec![Detail::new("state", state), Detail::new("estimate", self.estimate())];
        details.extend(waits_for.map(|what| Detail::new("waits for", what)));
        details.extend(self.follows().map(|node| Detail::new("follows", node)));
        details
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
