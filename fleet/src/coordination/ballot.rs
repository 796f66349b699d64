//! A regular leader, and votes among its followers while it is away (V1 to V12).
//!
//! ```text
//!                       silence                        highest vote
//!   start ──▶ Waiting ────────────▶ Voting ───────────────────────────▶ Leading ◀── start of the
//!             ▲  │  ▲                ▲ │ │ ▲                              │  ▲      regular leader
//!             │  │  └── lower vote ──┘ │ └─┘ tie: fresh numbers           │  │
//!             │  │                     │                                  │  │
//!             │  │ control, reset      │ control, reset       another     │  │ highest vote
//!             │  ▼                     ▼                      leads too   ▼  │
//!             │ Following ◀────────────┴──────────────────────────────── Voting, in office
//!             │  │  └───────────── leader lost, vote heard ──────▶ Voting
//!             └──┘ leader leads no more
//! ```
//!
//! The leader broadcasts control packets; who misses them broadcasts its vote, a fresh random
//! number, and the others answer with theirs, unless it can't win. A round lasts a fixed time.
//! Packets carry no round: rounds are told apart by time alone (V5). The regular leader does not
//! vote: it answers votes with a reset, and leads.
//!
//! Completions of what the source leaves open:
//!
//! - A stand-in leader answers a vote with a control packet, as the regular leader does with a
//!   reset; so a follower that missed a few packets unseats nobody. Its other followers take part
//!   in that vote, but stand by their leader until they lose it or the round has a winner.
//! - Two stand-in leaders that hear each other both vote, in office (V12). The loser yields.
//! - While beacons of a leader arrive by which it leads, its control packets may be missing for
//!   longer ([`Settings::patience`]): lost packets are no lost leader. A leader whose beacon says
//!   that it leads no more is waited for no longer.
//! - The reset of the switch-on reaches nobody who is not known yet; so the regular leader repeats
//!   it to each node that it comes to know, and to each that takes the lead.
//! - Of two regular leaders the one whose name comes first leads; the other follows it, and says
//!   so. It does not vote.
//! - A loser stays out of the next vote that it hears: only the tied take part in it (V5).

pub mod packet;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Candidate, Carrier, Detail, Election, ElectionTimer, Input, Output};
use crate::model::{NodeId, Role};
use crate::wire::Standing;

/// The rules and times of `ballot`; alike on every node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Between two control packets of the leader (V2). Default 100 ms.
    pub control_period: Duration,
    /// A leader of which no control packet came for so long is lost (V2); so long is one waited
    /// for after a lost vote (V6). Default 200 ms; at least two `control_period`s, and longer than
    /// `round`.
    pub lost_after: Duration,
    /// How long a round of votes lasts (V5). Default 100 ms; at least twice the longest delay of
    /// the network: a vote has to get to everybody, and the answers back.
    pub round: Duration,
    /// While a leader's beacons say that it leads, so many times `lost_after` may pass without a
    /// control packet of it before it counts as lost. Default 5. Counts with `mesh_detection`
    /// alone.
    pub patience: u32,
    /// The mesh's loss of the leader counts as the protocol's own, and its beacons for
    /// `patience`. Default true; false is the source's letter (C5).
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
    /// C3: links are made and the leader's loss is noticed, then a few votes decide, should
    /// packets of the first ones get lost.
    pub(super) fn bound(&self) -> Duration {
        Duration::from_secs(2) + (self.lost_after + self.round) * 4
    }
}

/// What candidates say to each other. The control packet is
/// [`SensorRequest`](super::Message::SensorRequest).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A vote for its sender (V3).
    Vote(u32),
    /// The regular leader is there (V7).
    Reset,
}

/// The timers of `ballot`; each state has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The leader's next control packet is due.
    Control,
    /// The leader has not been heard for too long.
    Silence,
    /// The round of votes is over.
    Round,
}

impl From<Timer> for ElectionTimer {
    fn from(timer: Timer) -> Self {
        Self::Ballot(timer)
    }
}

impl From<Message> for super::Message {
    fn from(message: Message) -> Self {
        Self::Ballot(message)
    }
}

/// The `ballot` protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ballot {
    name: NodeId,
    /// It leads by right.
    regular: bool,
    settings: Settings,
    peers: BTreeMap<NodeId, Peer>,
    state: State,
}

/// Another node, as it last described itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Peer {
    regular: bool,
    leads: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    /// For a control packet (V6).
    Waiting {
        /// A leader that may still be there.
        held: Option<NodeId>,
        /// It has lost a vote, and stays out of the next one.
        out: bool,
    },
    Following {
        leader: NodeId,
        word: Word,
        /// How often `lost_after` has passed without a control packet.
        missed: u32,
    },
    Voting {
        held: Held,
        own: u32,
        /// The highest vote of another.
        best: Option<u32>,
    },
    Leading,
}

/// What the leader's beacons say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Word {
    /// Not yet that it leads: they may be older than its control packet.
    None,
    /// That it leads, but not lately.
    Stale,
    /// That it leads.
    Fresh,
}

/// What a node has while the vote is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Held {
    Nothing,
    /// A leader that it has not lost.
    Leader(NodeId),
    /// The lead.
    Office,
}

/// An input in the words of the protocol; the sender is known.
#[derive(Debug, Clone, Copy)]
enum Event<'a> {
    Start,
    Control(&'a NodeId),
    Vote {
        from: &'a NodeId,
        vote: u32,
    },
    Reset(&'a NodeId),
    Says {
        peer: &'a NodeId,
        leads: bool,
        /// It has not said so before, or was not known.
        news: bool,
    },
    Lost(&'a NodeId),
    Fired(Timer),
}

impl State {
    fn timer(&self) -> Timer {
        match self {
            Self::Waiting { .. } | Self::Following { .. } => Timer::Silence,
            Self::Voting { .. } => Timer::Round,
            Self::Leading => Timer::Control,
        }
    }
}

impl Ballot {
    /// A node before its start.
    #[must_use]
    pub fn new(own: Candidate, settings: Settings) -> Self {
        Self {
            name: own.node,
            regular: own.role == Role::ControlUnit,
            settings,
            peers: BTreeMap::new(),
            state: State::Waiting {
                held: None,
                out: false,
            },
        }
    }

    /// Takes note of who there is. What strangers say does not count (V12), nor a reset from
    /// anybody but a regular leader (V7).
    fn event<'a>(&mut self, input: &Input<'a>) -> Option<Event<'a>> {
        match *input {
            Input::Start => Some(Event::Start),
            Input::Heard { peer, standing, .. } => {
                let leads = *standing == Standing::Master;
                let regular = peer.role == Role::ControlUnit;
                let before = self
                    .peers
                    .insert(peer.node.clone(), Peer { regular, leads });
                let news = before.is_none_or(|before| leads && !before.leads);
                let peer = &peer.node;
                Some(Event::Says { peer, leads, news })
            }
            Input::Lost { peer } => {
                self.peers.remove(peer);
                Some(Event::Lost(peer))
            }
            Input::Message { from, message } => self.meaning(from, message),
            Input::Fired(ElectionTimer::Ballot(timer)) => Some(Event::Fired(*timer)),
            Input::Fired(_) | Input::Joined { .. } | Input::Parted { .. } | Input::Estimate(_) => {
                None
            }
        }
    }

    fn meaning<'a>(&self, from: &'a NodeId, message: &super::Message) -> Option<Event<'a>> {
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

    /// The transitions: of each state, a total match over the events.
    fn next(&self, event: Event<'_>, draw: u32, outputs: &mut Vec<Output>) -> State {
        match (self.state.clone(), event) {
            (_, Event::Start) if self.regular => self.take_over(outputs),
            (_, Event::Start) => self.wait(None, false, outputs),
            // It was set for a state that is gone.
            (state, Event::Fired(timer)) if timer != state.timer() => state,
            (State::Waiting { held, out }, event) => self.waiting(held, out, event, draw, outputs),
            (State::Following { leader, .. }, event) => {
                self.following(leader, event, draw, outputs)
            }
            (State::Voting { held, own, best }, event) => {
                self.voting(held, own, best, event, draw, outputs)
            }
            (State::Leading, event) => self.leading(event, draw, outputs),
        }
    }

    fn waiting(
        &self,
        held: Option<NodeId>,
        out: bool,
        event: Event<'_>,
        draw: u32,
        outputs: &mut Vec<Output>,
    ) -> State {
        match event {
            Event::Control(from) | Event::Reset(from) => self.follow(from, outputs),
            Event::Vote { .. } if out => self.wait(held, out, outputs),
            Event::Vote { vote, .. } => self.answer(held.into(), vote, draw, outputs),
            Event::Fired(_) => self.vote(Held::Nothing, draw, outputs),
            Event::Says { peer, leads, .. } if !leads && self.settings.mesh_detection => {
                let held = held.filter(|leader| leader != peer);
                State::Waiting { held, out }
            }
            Event::Lost(peer) if self.settings.mesh_detection => {
                let held = held.filter(|leader| leader != peer);
                State::Waiting { held, out }
            }
            Event::Start | Event::Says { .. } | Event::Lost(_) => State::Waiting { held, out },
        }
    }

    fn following(
        &self,
        leader: NodeId,
        event: Event<'_>,
        draw: u32,
        outputs: &mut Vec<Output>,
    ) -> State {
        match event {
            Event::Control(from) if *from == leader => self.heard_of(outputs),
            Event::Control(from) | Event::Reset(from) if self.outranks(from, &leader) => {
                self.follow(from, outputs)
            }
            Event::Reset(from) if *from == leader => self.heard_of(outputs),
            Event::Vote { vote, .. } if !self.regular => {
                self.answer(Held::Leader(leader), vote, draw, outputs)
            }
            Event::Says { peer, leads, .. } if *peer == leader => self.told(leads, outputs),
            Event::Lost(peer) if *peer == leader && self.settings.mesh_detection => {
                self.lost(draw, outputs)
            }
            Event::Fired(_) => self.silence(draw, outputs),
            Event::Start
            | Event::Control(_)
            | Event::Vote { .. }
            | Event::Reset(_)
            | Event::Says { .. }
            | Event::Lost(_) => self.state.clone(),
        }
    }

    fn voting(
        &self,
        held: Held,
        own: u32,
        best: Option<u32>,
        event: Event<'_>,
        draw: u32,
        outputs: &mut Vec<Output>,
    ) -> State {
        match event {
            Event::Control(from) if self.ends_vote(from, &held) => self.follow(from, outputs),
            Event::Reset(from) => self.follow(from, outputs),
            Event::Vote { vote, .. } => {
                let best = best.max(Some(vote));
                State::Voting { held, own, best }
            }
            Event::Fired(_) if best < Some(own) => self.take_over(outputs),
            // The tied vote again (V5).
            Event::Fired(_) if best == Some(own) => self.vote(held, draw, outputs),
            Event::Fired(_) => match held {
                Held::Leader(leader) => self.wait(Some(leader), true, outputs),
                Held::Nothing | Held::Office => self.wait(None, true, outputs),
            },
            Event::Says { peer, leads, .. } if !leads && self.settings.mesh_detection => {
                let held = held.without(peer);
                State::Voting { held, own, best }
            }
            Event::Lost(peer) if self.settings.mesh_detection => {
                let held = held.without(peer);
                State::Voting { held, own, best }
            }
            Event::Start | Event::Control(_) | Event::Says { .. } | Event::Lost(_) => {
                State::Voting { held, own, best }
            }
        }
    }

    fn leading(&self, event: Event<'_>, draw: u32, outputs: &mut Vec<Output>) -> State {
        match event {
            Event::Control(from) | Event::Reset(from) if self.yields_to(from) => {
                self.follow(from, outputs)
            }
            Event::Control(_) | Event::Reset(_) | Event::Vote { .. } if self.regular => {
                outputs.push(Output::Broadcast(Message::Reset.into()));
                State::Leading
            }
            Event::Says { peer, news, .. } if self.regular && news && !self.yields_to(peer) => {
                outputs.push(Output::Broadcast(Message::Reset.into()));
                State::Leading
            }
            // Two stand-ins: both vote (V12).
            Event::Control(_) => self.vote(Held::Office, draw, outputs),
            Event::Vote { from, vote } if self.leads(from) => {
                self.answer(Held::Office, vote, draw, outputs)
            }
            Event::Vote { .. } => {
                outputs.push(Output::Broadcast(super::Message::SensorRequest));
                State::Leading
            }
            Event::Fired(_) => self.lead(outputs),
            Event::Start | Event::Reset(_) | Event::Says { .. } | Event::Lost(_) => State::Leading,
        }
    }

    /// A control packet or reset of the leader has come.
    fn heard_of(&self, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Silence, outputs);
        let mut state = self.state.clone();
        if let State::Following { missed, .. } = &mut state {
            *missed = 0;
        }
        state
    }

    /// The leader's beacon says whether it leads.
    fn told(&self, leads: bool, outputs: &mut Vec<Output>) -> State {
        let mut state = self.state.clone();
        if !self.settings.mesh_detection {
            return state;
        }
        match &mut state {
            State::Following { word, .. } if leads => *word = Word::Fresh,
            State::Following {
                word: Word::Stale | Word::Fresh,
                ..
            } if self.regular => return self.take_over(outputs),
            State::Following {
                word: Word::Stale | Word::Fresh,
                ..
            } => return self.wait(None, false, outputs),
            State::Following { .. }
            | State::Waiting { .. }
            | State::Voting { .. }
            | State::Leading => {}
        }
        state
    }

    /// No control packet has come for `lost_after`.
    fn silence(&self, draw: u32, outputs: &mut Vec<Output>) -> State {
        match self.state.clone() {
            State::Following {
                leader,
                word: Word::Fresh,
                missed,
            } if missed + 1 < self.settings.patience => {
                self.arm(Timer::Silence, outputs);
                State::Following {
                    leader,
                    word: Word::Stale,
                    missed: missed + 1,
                }
            }
            State::Following { .. }
            | State::Waiting { .. }
            | State::Voting { .. }
            | State::Leading => self.lost(draw, outputs),
        }
    }

    /// The leader is lost: a vote (V3), unless this node leads by right.
    fn lost(&self, draw: u32, outputs: &mut Vec<Output>) -> State {
        if self.regular {
            self.take_over(outputs)
        } else {
            self.vote(Held::Nothing, draw, outputs)
        }
    }

    fn wait(&self, held: Option<NodeId>, out: bool, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Silence, outputs);
        State::Waiting { held, out }
    }

    fn follow(&self, leader: &NodeId, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Silence, outputs);
        State::Following {
            leader: leader.clone(),
            word: Word::None,
            missed: 0,
        }
    }

    /// Opens a round with its own vote.
    fn vote(&self, held: Held, own: u32, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Round, outputs);
        outputs.push(Output::Broadcast(Message::Vote(own).into()));
        let best = None;
        State::Voting { held, own, best }
    }

    /// Takes part in the round of another; its own vote is sent only if it may win (V4).
    fn answer(&self, held: Held, heard: u32, own: u32, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Round, outputs);
        if own > heard {
            outputs.push(Output::Broadcast(Message::Vote(own).into()));
        }
        let best = Some(heard);
        State::Voting { held, own, best }
    }

    /// Leads from here on; the regular leader says so by a reset (V7).
    fn take_over(&self, outputs: &mut Vec<Output>) -> State {
        if self.regular {
            outputs.push(Output::Broadcast(Message::Reset.into()));
        }
        self.lead(outputs)
    }

    fn lead(&self, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Control, outputs);
        outputs.push(Output::Broadcast(super::Message::SensorRequest));
        State::Leading
    }

    fn arm(&self, timer: Timer, outputs: &mut Vec<Output>) {
        let wait = match timer {
            Timer::Control => self.settings.control_period,
            Timer::Silence => self.settings.lost_after,
            Timer::Round => self.settings.round,
        };
        outputs.push(Output::Arm(timer.into(), wait));
    }

    fn leads(&self, peer: &NodeId) -> bool {
        self.peers.get(peer).is_some_and(|peer| peer.leads)
    }

    fn is_regular(&self, peer: &NodeId) -> bool {
        self.peers.get(peer).is_some_and(|peer| peer.regular)
    }

    /// Whether the control packet of this node ends a vote of this one.
    fn ends_vote(&self, from: &NodeId, held: &Held) -> bool {
        match held {
            Held::Nothing => true,
            Held::Leader(leader) => leader == from || self.is_regular(from),
            Held::Office => self.is_regular(from),
        }
    }

    /// A regular leader goes before a stand-in, and of two regular leaders the first by name.
    fn outranks(&self, peer: &NodeId, leader: &NodeId) -> bool {
        self.is_regular(peer) && (!self.is_regular(leader) || peer < leader)
    }

    fn yields_to(&self, peer: &NodeId) -> bool {
        self.is_regular(peer) && (!self.regular || *peer < self.name)
    }
}

impl From<Option<NodeId>> for Held {
    fn from(leader: Option<NodeId>) -> Self {
        leader.map_or(Self::Nothing, Self::Leader)
    }
}

impl Held {
    /// What is left once this leader is gone.
    fn without(self, peer: &NodeId) -> Self {
        match self {
            Self::Leader(leader) if leader == *peer => Self::Nothing,
            Self::Nothing | Self::Leader(_) | Self::Office => self,
        }
    }
}

impl Election for Ballot {
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>) {
        let [a, b, c, d, ..] = draw.to_le_bytes();
        let Some(event) = self.event(&input) else {
            return;
        };
        let next = self.next(event, u32::from_le_bytes([a, b, c, d]), outputs);
        let before = std::mem::replace(&mut self.state, next).timer();
        if before != self.state.timer() {
            outputs.push(Output::Disarm(before.into()));
        }
    }

    fn standing(&self) -> Standing {
        match &self.state {
            State::Leading
            | State::Voting {
                held: Held::Office, ..
            } => Standing::Master,
            State::Following { leader: master, .. }
            | State::Waiting {
                held: Some(master), ..
            }
            | State::Voting {
                held: Held::Leader(master),
                ..
            } => Standing::Slave {
                master: master.clone(),
            },
            State::Waiting { held: None, .. }
            | State::Voting {
                held: Held::Nothing,
                ..
            } => Standing::Seeking,
        }
    }

    fn details(&self) -> Vec<Detail> {
        let doing = match &self.state {
            State::Waiting { .. } => "waiting for a control packet",
            State::Following { .. } => "following",
            State::Voting { .. } => "voting",
            State::Leading if self.regular => "regular leader",
            State::Leading => "stand-in leader",
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

    fn carrier(&self) -> Carrier {
        Carrier::Packet
    }

    fn requests_sensor_data(&self) -> bool {
        true
    }
}
