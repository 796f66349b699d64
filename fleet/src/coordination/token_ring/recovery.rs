//! Signs of life of the holder, and what follows when they stay away (T6, T7).

use std::time::Duration;

use super::message::{Generation, Life, Message, Stamp, Token};
use super::state::{Member, Phase, State, Timer};
use super::{Output, TokenRing};

impl TokenRing {
    /// Waits, for T from here on.
    pub(super) fn follow(&mut self, holder: Option<Member>, outputs: &mut Vec<Output>) {
        self.state = State::Waiting { holder };
        Self::arm(Timer::Watch, self.settings.t, outputs);
    }

    /// A holder says that it lives.
    pub(super) fn tell_life(&self, outputs: &mut Vec<Output>) {
        if let Some(life) = self.life() {
            outputs.push(Output::Broadcast(Message::Life(life).into()));
            Self::arm(Timer::Life, self.settings.t, outputs);
        }
    }

    fn life(&self) -> Option<Life> {
        match &self.state {
            State::Holding { token, phase } => Some(Life {
                stamp: token.stamp.clone(),
                count: token.count,
                solo: *phase == Phase::Alone,
            }),
            State::Waiting { .. }
            | State::Missing { .. }
            | State::Claiming { .. }
            | State::Passing { .. } => None,
        }
    }

    /// A holder is heard.
    pub(super) fn life_of(
        &mut self,
        from: Member,
        life: &Life,
        draw: u64,
        outputs: &mut Vec<Output>,
    ) {
        let later = life.stamp >= self.seen;
        if self.is_past(&life.stamp) {
            return;
        }
        if let Some(peer) = self.peers.get_mut(&from.node) {
            peer.leads = true;
        }
        self.saw(&life.stamp, life.count);
        match &self.state {
            State::Waiting { holder } => {
                let follows = later || self.may_replace(holder.as_ref(), &from);
                let holder = if follows { Some(from) } else { holder.clone() };
                self.follow(holder, outputs);
            }
            State::Missing { .. } | State::Claiming { .. } => self.follow(Some(from), outputs),
            State::Passing { token, .. } => {
                let arrived = life.stamp.generation == token.stamp.generation
                    && life.stamp.hop >= token.stamp.hop;
                if arrived {
                    self.follow(Some(from), outputs);
                }
            }
            State::Holding { .. } => self.ask(&from, draw, outputs),
        }
    }

    /// Whether a token has come further than this since, under the same generation: its holder of
    /// then has handed it over.
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
            .map(|(node, peer)| Member {
                mac: peer.mac,
                node: node.clone(),
            })
            .filter(|member| holder != Some(member) && before(member))
            .count();
        self.settings.claim_wait_per_rank * u32::try_from(rank).unwrap_or(u32::MAX)
    }

    /// There may be no holder: claims when it is this node's turn.
    pub(super) fn miss(
        &mut self,
        holder: Option<Member>,
        wait: Duration,
        outputs: &mut Vec<Output>,
    ) {
        self.state = State::Missing { holder };
        Self::arm(Timer::Claim, wait, outputs);
    }

    pub(super) fn claim(&mut self, outputs: &mut Vec<Output>) {
        let generation = self.fresh_generation();
        let claim = Message::Claim {
            mac: self.own.mac,
            generation: generation.clone(),
        };
        outputs.push(Output::Broadcast(claim.into()));
        Self::arm(Timer::Listen, self.settings.claim_wait, outputs);
        self.state = State::Claiming { generation };
    }

    /// Another node claims. A holder ends that, and who heard one lately, and a better claim.
    pub(super) fn claimed(
        &mut self,
        from: &Member,
        generation: &Generation,
        outputs: &mut Vec<Output>,
    ) {
        match &self.state {
            State::Waiting {
                holder: Some(holder),
            } if holder.node != from.node && self.leads(&holder.node) => {
                Self::say(from, Message::Objection, outputs);
            }
            // A recovery is under way.
            State::Waiting { .. } | State::Missing { .. } => self.follow(None, outputs),
            State::Claiming { generation: own } => {
                let number = own.number;
                let better =
                    number < generation.number || (number == generation.number && *from < self.own);
                if better {
                    self.follow(None, outputs);
                } else {
                    let claim = Message::Claim {
                        mac: self.own.mac,
                        generation: own.clone(),
                    };
                    Self::say(from, claim, outputs);
                }
            }
            State::Holding { .. } => {
                if let Some(life) = self.life() {
                    Self::say(from, Message::Life(life), outputs);
                }
            }
            State::Passing { .. } => Self::say(from, Message::Objection, outputs),
        }
    }

    pub(super) fn objected(&mut self, outputs: &mut Vec<Output>) {
        if let State::Claiming { .. } = &self.state {
            self.follow(None, outputs);
        }
    }

    /// Nobody has objected: there is a token again. It goes on from the highest count that was
    /// heard.
    pub(super) fn make_token(&mut self, outputs: &mut Vec<Output>) {
        let stamp = Stamp {
            generation: self.fresh_generation(),
            hop: 0,
        };
        let count = self.count.saturating_add(1);
        self.rest(Token { stamp, count }, outputs);
    }
}
