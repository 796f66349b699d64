//! The mastership rotates: the holder of the token is master (T1 to T9).
//!
//! ```text
//!                 T without a holder        grace, then its rank's turn
//!   start ─▶ Waiting ───────────────▶ Missing ─────────────────────────▶ Claiming
//!             ▲ ▲ ▲                      │                                │   │
//!             │ │ └──────────────────────┘◀───────────────────────────────┘   │
//!             │ │     a holder is heard, an objection, a better claim         │ nobody objects:
//!             │ │                                                             │ makes a token
//!    accepted │ │ the other's pair is greater                                 ▼
//!             │ └──────────────────────────────────────────────────────── Holding ◀─┐
//!             │                                                             │       │
//!             └──────────────────────────── Passing ◀───────────────────────┘       │
//!                                              │   the next node has answered       │
//!                                              └────────────────────────────────────┘
//!                                               not acknowledged in time, refused, or broken
//!   Holding:
//!                 hold time          an answer            ─▶ Passing
//!       Resting ────────────▶ Searching ────────▶ …
//!          ▲ ▲                   │ nobody answers, several times
//!          │ │                   ▼
//!          │ │                 Alone ── an answer ──▶ Searching
//!          │ └─ limit, result ──────── Frozen ◀── hears another holder, or gets *wait* (T8)
//!          └─ no longer holder ───────┘           (from Resting, Searching and Alone)
//! ```
//!
//! A waiting node that hears a claim waits for its outcome (`Deferring`, not drawn), and one that
//! receives a token holds it, in any of these states. A holder is master. A sender is slave of the
//! next node between *pass* and its acknowledgement.
//!
//! # What it adds to the source
//!
//! - Of several holders one acts at a time, the one with the greatest pair of count and address: a
//!   frozen holder that knows of a greater one follows it as a slave until their exchange has
//!   decided, and sends its signs of life to that one alone. So an exchange that loses messages
//!   prolongs two tokens, not two masters. As in the source ([`Settings::source`]) both act until
//!   then.
//! - A token has a generation (number, creator, incarnation of its creator) and counts its hops: no
//!   two nodes ever hold a token with the same stamp, so a stale hand-over is recognised (E7). A
//!   sender whose hand-over failed continues under a new generation; T8 removes the extra token.
//! - What is lost of a search, a hand-over or an exchange is repeated at beacons of the other side.
//! - The open orders travel with *pass*, as far as they fit; nothing relies on them. The plan
//!   travels with the mastership, so a car keeps its calls while the token moves.

mod exchange;
mod hand_over;
mod message;
mod recovery;
mod settings;
mod state;

use std::collections::BTreeMap;

use super::reaction::Reaction;
use super::{Candidate, Detail, Election, ElectionTimer, Input, Output, Profile};
use crate::model::bounds::bounded;
use crate::model::{Mac, NodeId, NodeState, Nonce};
use state::{Member, Phase, State};

pub use message::{Exchange, Generation, Life, Message, Stamp, Survivor, Token};
pub use settings::Settings;
pub use state::Timer;

const PROFILE: Profile = Profile { rotates: true, ..Profile::USUAL };

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenRing {
    settings: Settings,
    own: Member,
    /// The incarnation of this process: its tokens differ from those of its former one.
    nonce: Nonce,
    peers: BTreeMap<NodeId, Peer>,
    /// The latest token that was heard of.
    seen: Stamp,
    count: u64,
    exchange: Exchange,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Peer {
    mac: Mac,
    /// It is a holder by its latest message or beacon.
    leads: bool,
}

impl TokenRing {
    #[must_use]
    pub fn new(own: &Candidate, nonce: Nonce, settings: Settings) -> Self {
        let own = Member { mac: own.mac, node: own.node.clone() };
        let never = Stamp {
            generation: Generation { number: 0, creator: own.node.clone(), nonce },
            hop: 0,
        };
        Self {
            settings,
            own,
            nonce,
            peers: BTreeMap::new(),
            seen: never,
            count: 0,
            exchange: Exchange::default(),
            state: State::Waiting { holder: None },
        }
    }

    #[must_use]
    pub fn token(&self) -> Option<&Token> {
        if let State::Holding { token, .. } = &self.state { Some(token) } else { None }
    }

    /// A peer's beacon. Its state stands in for a lost sign of life of a holder, and shows a
    /// sender whether its hand-over has arrived (completion).
    fn on_heard(&mut self, peer: &Candidate, node_state: &NodeState, out: &mut Reaction<'_>) {
        let peer_leads = *node_state == NodeState::Master;
        let trusted = self.settings.mesh_detection;
        let known =
            self.peers.entry(peer.node.clone()).or_insert(Peer { mac: peer.mac, leads: false });
        known.mac = peer.mac;
        if !trusted {
            return;
        }
        let begins = peer_leads && !known.leads;
        known.leads = peer_leads;
        let peer = Member { mac: peer.mac, node: peer.node.clone() };
        match &self.state {
            State::Waiting { holder } => {
                if peer_leads && self.may_replace(holder.as_ref(), &peer) {
                    self.follow(Some(peer), out);
                }
            }
            State::Deferring { .. } | State::Missing { .. } | State::Claiming { .. } => {
                if peer_leads {
                    self.follow(Some(peer), out);
                }
            }
            State::Passing { token, to } if *to == peer => {
                if begins {
                    self.follow(Some(peer), out);
                } else if !peer_leads {
                    out.hand_over(&peer.node, Message::Pass(token.clone()));
                }
            }
            State::Passing { .. } => {}
            State::Holding { .. } => self.on_beacon_beside(&peer, node_state, out),
        }
    }

    fn may_replace(&self, holder: Option<&Member>, by: &Member) -> bool {
        holder.is_none_or(|holder| holder == by || !self.leads(&holder.node))
    }

    fn leads(&self, peer: &NodeId) -> bool {
        self.peers.get(peer).is_some_and(|peer| peer.leads)
    }

    fn mark(&mut self, peer: &NodeId, leads: bool) {
        if let Some(known) = self.peers.get_mut(peer) {
            known.leads = leads;
        }
    }

    fn on_lost(&mut self, peer: &NodeId, out: &mut Reaction<'_>) {
        match (&mut self.state, self.settings.mesh_detection) {
            (
                State::Waiting { holder: Some(holder) }
                | State::Missing { holder: Some(holder), .. },
                true,
            ) if holder.node == *peer => {
                let holder = holder.clone();
                self.peers.remove(peer);
                let wait = self.turn_after(Some(&holder));
                self.miss(None, wait, out);
            }
            (State::Deferring { claimant }, true) if claimant.node == *peer => {
                self.peers.remove(peer);
                self.miss(None, self.turn_after(None), out);
            }
            (State::Passing { to, .. }, _) if to.node == *peer => self.pass_failed(out),
            (State::Holding { phase: Phase::Frozen { with, behind, .. }, .. }, true) => {
                if behind.as_ref().is_some_and(|ahead| ahead.node == *peer) {
                    *behind = None;
                }
                if with.node == *peer {
                    self.peers.remove(peer);
                    self.thaw(out);
                }
            }
            (State::Holding { phase: Phase::Searching { answers, .. }, .. }, _) => {
                answers.retain(|answer| answer.node != *peer);
            }
            _ => {}
        }
        self.peers.remove(peer);
    }

    fn on_message(&mut self, from: &NodeId, message: &Message, out: &mut Reaction<'_>) {
        let Some(peer) = self.peers.get(from) else {
            return;
        };
        let from = Member { mac: peer.mac, node: from.clone() };
        match message {
            Message::Search => out.send(&from.node, Message::Here(self.own.mac)),
            Message::Here(mac) => {
                let from = Member { mac: *mac, ..from };
                self.on_here(from, out);
            }
            Message::Life(life) => self.on_life(from, life, out),
            Message::Pass(token) => self.on_pass(&from, token, out),
            Message::Accepted(stamp) => self.on_accepted(&from, stamp, out),
            Message::Refused { stamp, seen } => self.on_refused(&from, stamp, seen, out),
            Message::Wait(exchange) => self.on_wait(&from, *exchange, out),
            Message::Agreed { exchange, mac, count } => {
                let from = Member { mac: *mac, ..from };
                self.on_agreed(from, *exchange, *count, out);
            }
            Message::NoLongerHolder(exchange) => {
                self.on_no_longer_holder(&from, *exchange, out);
            }
            // T9: a refused node waits until its time is over, then sends *life*.
            Message::Busy(_) => {}
            Message::Result { exchange, survivor } => {
                self.on_result(from, *exchange, *survivor, out);
            }
            Message::Claim { mac, generation } => {
                let from = Member { mac: *mac, ..from };
                self.on_claim(&from, generation, out);
            }
            Message::Objection => self.on_objection(out),
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Reaction<'_>) {
        match (&self.state, timer) {
            (State::Waiting { holder }, Timer::Watch) => {
                let holder = holder.clone();
                let wait = self.settings.grace + self.turn_after(holder.as_ref());
                self.miss(holder, wait, out);
            }
            (State::Deferring { .. }, Timer::Watch) => {
                self.miss(None, self.turn_after(None), out);
            }
            (State::Missing { .. }, Timer::Claim) => self.claim(out),
            (State::Claiming { .. }, Timer::Listen) => self.make_token(out),
            (State::Passing { .. }, Timer::Acknowledgement) => self.pass_failed(out),
            (State::Holding { .. }, Timer::Life) => self.broadcast_life(out),
            (State::Holding { phase, .. }, timer) => match (phase, timer) {
                (Phase::Resting, Timer::Hold) => self.search(1, out),
                (Phase::Alone, Timer::Hold) => self.compute_alone(out),
                (Phase::Searching { .. } | Phase::Alone, Timer::Search) => {
                    self.search_over(out);
                }
                (Phase::Frozen { .. }, Timer::Exchange) => self.thaw(out),
                _ => {}
            },
            // It was set for a state that is gone.
            _ => {}
        }
    }

    /// Takes note of a token that was heard of, as far as it is [bounded](Self::bounded).
    fn update_seen(&mut self, stamp: &Stamp, count: u64) {
        if *stamp > self.seen {
            self.seen = self.bounded(stamp);
        }
        self.count = self.count.max(bounded(self.count, count));
    }

    /// A stamp no further ahead than may be, so that there is always a later one.
    fn bounded(&self, stamp: &Stamp) -> Stamp {
        let Generation { number, .. } = self.seen.generation;
        let generation = Generation {
            number: bounded(number, stamp.generation.number),
            ..stamp.generation.clone()
        };
        let known = if generation == self.seen.generation { self.seen.hop } else { 0 };
        let hop = bounded(known, stamp.hop);
        Stamp { generation, hop }
    }

    fn fresh_generation(&self) -> Generation {
        Generation {
            number: self.seen.generation.number.saturating_add(1),
            creator: self.own.node.clone(),
            nonce: self.nonce,
        }
    }
}

impl Election for TokenRing {
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>) {
        let before = self.state.timers();
        let out = &mut Reaction { draw, outputs };
        match input {
            Input::Start => self.follow(None, out),
            Input::Heard { peer, node_state, .. } => self.on_heard(peer, node_state, out),
            Input::Lost { peer } => self.on_lost(peer, out),
            Input::Message { from, message: super::Message::TokenRing(message) } => {
                self.on_message(from, message, out);
            }
            Input::Fired(ElectionTimer::TokenRing(timer)) => self.on_timer(*timer, out),
            Input::Message { .. }
            | Input::Fired(_)
            | Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Estimate(_) => {}
        }
        out.disarm_but(before, self.state.timers());
    }

    fn node_state(&self) -> NodeState {
        let slave = |of: &Member| NodeState::Slave { master: of.node.clone() };
        match &self.state {
            State::Waiting { holder } | State::Missing { holder, .. } => {
                holder.as_ref().map_or(NodeState::Seeking, slave)
            }
            State::Deferring { .. } | State::Claiming { .. } => NodeState::Seeking,
            State::Holding { phase: Phase::Frozen { behind: Some(ahead), .. }, .. } => slave(ahead),
            State::Holding { .. } => NodeState::Master,
            State::Passing { to, .. } => slave(to),
        }
    }

    fn has_mastership(&self) -> bool {
        self.token().is_some()
    }

    fn details(&self) -> Vec<Detail> {
        let (token, doing) = match &self.state {
            State::Waiting { .. } => (None, "elsewhere".to_owned()),
            State::Deferring { claimant } => (None, format!("claimed by {}", claimant.node)),
            State::Missing { .. } => (None, "missing".to_owned()),
            State::Claiming { .. } => (None, "claimed".to_owned()),
            State::Holding { token, phase } => {
                let doing = match phase {
                    Phase::Resting | Phase::Searching { .. } => "held".to_owned(),
                    Phase::Alone => "held alone".to_owned(),
                    Phase::Frozen { with, .. } => format!("frozen: {} holds one too", with.node),
                };
                (Some(token), doing)
            }
            State::Passing { token, to } => (Some(token), format!("on its way to {}", to.node)),
        };
        let mut details = Vec::new();
        if let Some(Token { stamp: Stamp { generation, hop }, count }) = token {
            let generation = format!("{} of {}", generation.number, generation.creator);
            details.push(Detail::new("generation", generation));
            details.push(Detail::new("hop", hop));
            details.push(Detail::new("computations", count));
        }
        details.push(Detail::new("token", doing));
        details.push(Detail::new("peers in the ring", self.peers.len()));
        details
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
