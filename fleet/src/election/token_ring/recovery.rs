//! Signs of life of the holder, and what follows when they stay away (T6, T7).

use std::time::Duration;

use super::TokenRing;
use super::message::{Generation, Life, Message, Stamp, Token};
use super::state::{Member, Phase, State, Timer};
use crate::election::reaction::Reaction;

impl TokenRing {
    pub(super) fn follow(&mut self, holder: Option<Member>, out: &mut Reaction<'_>) {
        self.state = State::Waiting { holder };
        out.arm(Timer::Watch, self.settings.t);
    }

    pub(super) fn broadcast_life(&self, out: &mut Reaction<'_>) {
        if let Some(life) = self.life() {
            out.broadcast(Message::Life(life));
        } else if let State::Holding { token, phase: Phase::Frozen { behind: Some(ahead), .. } } =
            &self.state
        {
            let (stamp, count) = (token.stamp.clone(), token.count);
            out.send(&ahead.node, Message::Life(Life { stamp, count, solo: false }));
        }
        out.arm(Timer::Life, self.settings.t);
    }

    /// The sign of life of a holder that acts; one behind another sends it to that one alone.
    pub(super) fn life(&self) -> Option<Life> {
        let State::Holding { token, phase } = &self.state else {
            return None;
        };
        let acts = !matches!(phase, Phase::Frozen { behind: Some(_), .. });
        acts.then(|| Life {
            stamp: token.stamp.clone(),
            count: token.count,
            solo: *phase == Phase::Alone,
        })
    }

    pub(super) fn on_life(&mut self, from: Member, life: &Life, out: &mut Reaction<'_>) {
        let later = life.stamp >= self.seen;
        if self.is_past(&life.stamp) {
            return;
        }
        self.mark(&from.node, true);
        self.update_seen(&life.stamp, life.count);
        match &self.state {
            State::Waiting { holder } => {
                let follows = later || self.may_replace(holder.as_ref(), &from);
                let holder = if follows { Some(from) } else { holder.clone() };
                self.follow(holder, out);
            }
            State::Deferring { .. } | State::Missing { .. } | State::Claiming { .. } => {
                self.follow(Some(from), out);
            }
            State::Passing { token, .. } => {
                let arrived = life.stamp.generation == token.stamp.generation
                    && life.stamp.hop >= token.stamp.hop;
                if arrived {
                    self.follow(Some(from), out);
                }
            }
            State::Holding { .. } => {
                self.ask(&from, out);
                self.rank(&from, life.count, out);
            }
        }
    }

    /// Whether a token of this generation has come further: its holder of then has handed it over.
    fn is_past(&self, stamp: &Stamp) -> bool {
        let past = |of: &Stamp| of.generation == stamp.generation && stamp.hop < of.hop;
        past(&self.seen) || self.token().is_some_and(|token| past(&token.stamp))
    }

    /// How long after the first in the ring behind the last holder it is this node's turn to claim.
    pub(super) fn turn_after(&self, holder: Option<&Member>) -> Duration {
        let before = |member: &Member| {
            let behind = holder.is_some_and(|holder| member > holder);
            let own_behind = holder.is_some_and(|holder| self.own > *holder);
            (!behind, member) < (!own_behind, &self.own)
        };
        let rank = self
            .peers
            .iter()
            .map(|(node, peer)| Member { mac: peer.mac, node: node.clone() })
            .filter(|member| holder != Some(member) && before(member))
            .count();
        self.settings.claim_wait_per_rank * u32::try_from(rank).unwrap_or(u32::MAX)
    }

    pub(super) fn miss(&mut self, holder: Option<Member>, wait: Duration, out: &mut Reaction<'_>) {
        self.state = State::Missing { holder };
        out.arm(Timer::Claim, wait);
    }

    pub(super) fn claim(&mut self, out: &mut Reaction<'_>) {
        let generation = self.fresh_generation();
        let claim = Message::Claim { mac: self.own.mac, generation: generation.clone() };
        out.broadcast(claim);
        out.arm(Timer::Listen, self.settings.claim_wait);
        self.state = State::Claiming { generation };
    }

    /// Another node claims. A holder ends that, and who heard one lately, and a better claim.
    pub(super) fn on_claim(
        &mut self,
        from: &Member,
        generation: &Generation,
        out: &mut Reaction<'_>,
    ) {
        match &self.state {
            State::Waiting { holder: Some(holder) }
                if holder.node != from.node && self.leads(&holder.node) =>
            {
                out.send(&from.node, Message::Objection);
            }
            // A recovery is under way.
            State::Waiting { .. } | State::Deferring { .. } | State::Missing { .. } => {
                self.defer_to(from, out);
            }
            State::Claiming { generation: own } => {
                let number = own.number;
                let better =
                    number < generation.number || (number == generation.number && *from < self.own);
                if better {
                    self.defer_to(from, out);
                } else {
                    let claim = Message::Claim { mac: self.own.mac, generation: own.clone() };
                    out.send(&from.node, claim);
                }
            }
            State::Holding { .. } | State::Passing { .. } => {
                let objection = self.life().map_or(Message::Objection, Message::Life);
                out.send(&from.node, objection);
            }
        }
    }

    /// Another is about to make a token: a claim is due here only if nothing comes of that.
    fn defer_to(&mut self, claimant: &Member, out: &mut Reaction<'_>) {
        let claimant = claimant.clone();
        self.state = State::Deferring { claimant };
        let wait = self.settings.claim_wait + self.settings.grace;
        out.arm(Timer::Watch, wait);
    }

    /// Another has heard a holder: unless one is heard here, the claim is made again soon.
    pub(super) fn on_objection(&mut self, out: &mut Reaction<'_>) {
        if let State::Claiming { .. } = &self.state {
            self.state = State::Missing { holder: None };
            out.arm(Timer::Claim, self.settings.claim_wait);
        }
    }

    /// Nobody has objected: a token goes on from the highest count that was heard.
    pub(super) fn make_token(&mut self, out: &mut Reaction<'_>) {
        let stamp = Stamp { generation: self.fresh_generation(), hop: 0 };
        let count = self.count.saturating_add(1);
        self.rest(Token { stamp, count }, out);
    }
}
