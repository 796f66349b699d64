//! The fittest site leads, even if it has to replace a working master: the bully algorithm.
//!
//! ```text
//!             starts (B7)                   nobody answers within T, nobody to ask (B3)
//!   Sleep ───────────────▶ Candidate ────────────────────────────────────▶ Master
//!                          │ ▲  ▲  │                                         │  │
//!                          │ │  └──┘ answered, and nobody has                │  │
//!                          │ │       announced itself in time (B4)           │  │
//!                          │ └───────────────────────────────────────────────┘  │
//!                          │ ▲  another master, or a lower site asks, and       │
//!                          │ │  there is a higher one to ask (B6, B10)          │
//!            master (B5)   │ │                                                  │
//!                          ▼ │  master lost, own estimate clearly higher,       │
//!                          Lost  a lower site asks (B2, B6, B10)                │
//!                            ▲                                                  │
//!                            └──────────────────────────────────────────────────┘
//!                               a higher site's master (B5)
//! ```
//!
//! A site asks every site with a higher estimate (*election*), a site that is asked answers
//! (*answer*), and a new master announces itself to every site with a lower estimate
//! (*master*) (B1 to B5). With equal estimates the higher name ranks higher. An estimate of 0
//! bars a site: it neither answers nor leads (B6). An election with no site to ask is over at once.
//!
//! # What it adds to the source
//!
//! - *Election* is repeated within T, because it may be lost. A candidate that hears of another
//!   higher site asks it too, and waits for T again. Once the mesh has lost every higher site,
//!   there is nothing to wait for (C5).
//! - An election by itself interrupts no service. A site that votes while a master works
//!   continues under it, and a master stays master, until another site has announced itself.
//! - *Master* carries a term, so that a late one changes nothing (E7). Of two with the same
//!   term the higher site counts.
//! - A follower whose master reports that it is no longer master starts an election. A site
//!   that waits for a master which dies after its *answer* begins again (B4, B8).
//! - A master that a lower site asks, and that no site outranks, announces itself to that site
//!   alone, because the others follow it already.
//! - With estimates by health, a master's estimate gets a bonus: the hysteresis less 1 while a
//!   node follows it, otherwise 1. A fitter follower starts an election only after it has exceeded
//!   the master by the hysteresis for the hold-off (B10). Decision 10 has the reasons.
//!   Configured numbers rank unchanged.

mod settings;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    Candidate, Detail, Election, ElectionTimer, Input, Message as Letter, Output, Preferred,
    Profile,
};
use crate::model::{NodeId, Term};
use crate::wire::NodeState;

pub use settings::{Estimate, Settings};

/// What sites say to each other (B1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To every site with a higher estimate: will you lead?
    Election,
    /// I live, and will see to it.
    Answer,
    /// To every site with a lower estimate: I lead.
    Coordinator {
        /// The highest term that the master knows.
        term: Term,
    },
}

/// The timers of `bully`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// T is over: nobody has answered (B3).
    Answer,
    /// *Election* may have been lost.
    Ask,
    /// Nobody has announced itself (B4).
    Coordinator,
    /// The master has been silent for too long (B2).
    Silence,
    /// This site's estimate has exceeded the master's for long enough (B10).
    HoldOff,
}

impl From<Timer> for ElectionTimer {
    fn from(timer: Timer) -> Self {
        Self::Bully(timer)
    }
}

impl From<Message> for Letter {
    fn from(message: Message) -> Self {
        Self::Bully(message)
    }
}

const PROFILE: Profile = Profile { preferred: Preferred::Fittest, ..Profile::USUAL };

/// The `bully` protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bully {
    settings: Settings,
    node: NodeId,
    /// How fit it is, without the master's bonus.
    fitness: u32,
    /// The highest term known.
    term: Term,
    /// The other sites, and their estimates.
    sites: BTreeMap<NodeId, u32>,
    /// The sites that say that they follow this one, where the bonus depends on it.
    followers: BTreeSet<NodeId>,
    state: State,
}

/// B9
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    /// It has not taken a step.
    Sleep,
    /// It holds an election.
    Candidate(Stage, Office),
    /// It has lost, and follows who won.
    Lost { master: NodeId, comparison: Comparison },
    /// It has won.
    Coordinator,
}

/// A follower's estimate, beside its master's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Comparison {
    /// Not clearly higher.
    Trails,
    /// Clearly higher, until the hold-off is over or it is so no more.
    Exceeds,
}

/// How far an election has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stage {
    /// It waits for an *answer*, for at most T.
    Asking,
    /// It waits for *master*.
    Answered,
}

/// What a candidate does until the election is decided.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Office {
    /// There is no master: it serves alone.
    Vacant,
    /// It follows a master that works.
    Follows(NodeId),
    /// It leads.
    Leads,
}

impl Office {
    /// The master that it follows, if any, works no more.
    fn without_coordinator(self) -> Self {
        match self {
            Self::Vacant | Self::Follows(_) => Self::Vacant,
            Self::Leads => Self::Leads,
        }
    }
}

/// What an input comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Started,
    /// A site has turned up that outranks this one.
    HigherFound(NodeId),
    /// No site outranks this one any more.
    NobodyHigher,
    /// The master that this site follows works.
    CoordinatorWorks,
    /// The master that this site follows is gone, or leads no more.
    CoordinatorGone,
    /// Some other site says that it leads.
    AnotherLeads,
    /// This site's estimate has been held against its master's.
    Compared(Comparison),
    /// *Election* from a lower site.
    Asked(NodeId),
    /// *Answer* from a higher site.
    Answered,
    /// *Master*, no older than what is known.
    Announced(NodeId),
    TimedOut(Timer),
}

impl Bully {
    /// A site that has yet to start.
    #[must_use]
    pub fn new(own: Candidate, settings: Settings) -> Self {
        Self {
            settings,
            node: own.node,
            fitness: own.estimate,
            term: Term::default(),
            sites: BTreeMap::new(),
            followers: BTreeSet::new(),
            state: State::Sleep,
        }
    }

    /// Takes in what an input tells of the others, and says what it comes to.
    fn take(&mut self, input: &Input<'_>) -> Vec<Event> {
        match input {
            Input::Start => vec![Event::Started],
            Input::Heard { peer, node_state, term } => {
                self.term = self.term.hear(*term);
                self.heard(peer, node_state)
            }
            Input::Lost { peer } => self.lost(peer),
            Input::Message { from, message: Letter::Bully(message) } => {
                self.told(from, *message).into_iter().collect()
            }
            Input::Estimate(estimate) => {
                self.fitness = *estimate;
                self.compared().into_iter().collect()
            }
            Input::Fired(ElectionTimer::Bully(timer)) => vec![Event::TimedOut(*timer)],
            Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Message { .. }
            | Input::Fired(_) => Vec::new(),
        }
    }

    fn heard(&mut self, peer: &Candidate, node_state: &NodeState) -> Vec<Event> {
        let was_higher = self.is_higher(&peer.node);
        self.sites.insert(peer.node.clone(), peer.estimate);
        let ours = matches!(node_state, NodeState::Slave { master } if *master == self.node);
        if ours && self.settings.estimate == Estimate::Health {
            self.followers.insert(peer.node.clone());
        } else {
            self.followers.remove(&peer.node);
        }
        let found = !was_higher && self.is_higher(&peer.node);
        let mut events = Vec::new();
        if found {
            events.push(Event::HigherFound(peer.node.clone()));
        }
        let leads = *node_state == NodeState::Master;
        if self.follows() == Some(&peer.node) {
            if leads {
                events.push(Event::CoordinatorWorks);
                events.extend(self.compared());
            } else {
                events.push(Event::CoordinatorGone);
            }
        } else if leads {
            events.push(Event::AnotherLeads);
        }
        events
    }

    fn lost(&mut self, peer: &NodeId) -> Vec<Event> {
        let was_higher = self.is_higher(peer);
        self.followers.remove(peer);
        if !self.settings.mesh_detection {
            return Vec::new();
        }
        self.sites.remove(peer);
        let mut events = Vec::new();
        if self.follows() == Some(peer) {
            events.push(Event::CoordinatorGone);
        }
        if was_higher && self.higher().next().is_none() {
            events.push(Event::NobodyHigher);
        }
        events
    }

    /// What a message comes to; nothing, if it is from a site that is not known, or too late.
    fn told(&mut self, from: &NodeId, message: Message) -> Option<Event> {
        if !self.sites.contains_key(from) {
            return None;
        }
        let higher = self.is_higher(from);
        match message {
            Message::Election => (!higher && !self.is_barred()).then(|| Event::Asked(from.clone())),
            Message::Answer => higher.then_some(Event::Answered),
            Message::Coordinator { term } if term < self.term => None,
            Message::Coordinator { term } => {
                self.term = self.term.hear(term);
                Some(Event::Announced(from.clone()))
            }
        }
    }

    /// What came of holding this site's estimate against that of its master, if it has one
    /// (B10).
    fn compared(&self) -> Option<Event> {
        let master = self.sites.get(self.follows()?)?;
        let clearly = match self.settings.estimate {
            Estimate::Fixed(_) => self.settings.exceeds(self.fitness, *master),
            // The hysteresis is in the master's estimate.
            Estimate::Health => self.fitness > *master,
        };
        let exceeds = clearly && !self.is_barred();
        Some(Event::Compared(if exceeds { Comparison::Exceeds } else { Comparison::Trails }))
    }

    fn leads(&self) -> bool {
        matches!(self.state, State::Coordinator | State::Candidate(_, Office::Leads))
    }

    fn follows(&self) -> Option<&NodeId> {
        match &self.state {
            State::Lost { master, .. } | State::Candidate(_, Office::Follows(master)) => {
                Some(master)
            }
            State::Sleep
            | State::Candidate(_, Office::Vacant | Office::Leads)
            | State::Coordinator => None,
        }
    }

    fn higher(&self) -> impl Iterator<Item = &NodeId> {
        self.sites.keys().filter(|site| self.is_higher(site))
    }

    fn is_higher(&self, site: &NodeId) -> bool {
        self.rank(site) > Some((self.estimate(), &self.node))
    }

    /// What ranks a site (B1); `None` if it is not known.
    fn rank<'a>(&self, site: &'a NodeId) -> Option<(u32, &'a NodeId)> {
        Some((*self.sites.get(site)?, site))
    }

    /// B6
    fn is_barred(&self) -> bool {
        self.fitness == 0
    }
}

impl Election for Bully {
    fn handle(&mut self, input: Input<'_>, _draw: u64, outputs: &mut Vec<Output>) {
        for event in self.take(&input) {
            self.step(event, outputs);
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::Sleep | State::Candidate(_, Office::Vacant) => NodeState::Seeking,
            State::Lost { master, .. } | State::Candidate(_, Office::Follows(master)) => {
                NodeState::Slave { master: master.clone() }
            }
            State::Coordinator | State::Candidate(_, Office::Leads) => NodeState::Master,
        }
    }

    /// A master gets a bonus, the larger one if a site follows it: it stays master until another
    /// site is clearly fitter, whatever causes an election.
    fn estimate(&self) -> u32 {
        let office =
            if self.leads() { self.settings.office(!self.followers.is_empty()) } else { 0 };
        self.fitness.saturating_add(office)
    }

    fn details(&self) -> Vec<Detail> {
        let (state, waits_for) = match &self.state {
            State::Sleep => ("sleep", None),
            State::Candidate(Stage::Asking, _) => ("candidate", Some("answer")),
            State::Candidate(Stage::Answered, _) => ("candidate", Some("master")),
            State::Lost { .. } => ("lost", None),
            State::Coordinator => ("master", None),
        };
        let mut details =
            vec![Detail::new("state", state), Detail::new("estimate", self.estimate())];
        details.extend(waits_for.map(|what| Detail::new("waits for", what)));
        details.extend(self.follows().map(|site| Detail::new("follows", site)));
        details
    }

    fn profile(&self) -> &Profile {
        &PROFILE
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
pub(in crate::election) mod tests;
