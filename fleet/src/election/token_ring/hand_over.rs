//! The token goes on: search, pass, acknowledgement (T2 to T5).

use std::collections::BTreeSet;

use super::TokenRing;
use super::message::{Generation, Message, Stamp, Token};
use super::state::{Member, Phase, State, Timer};
use crate::election::reaction::Reaction;
use crate::model::bounds::bounded;

impl TokenRing {
    /// Keeps the token for its hold time, and sends a sign of life (T6).
    pub(super) fn rest(&mut self, token: Token, out: &mut Reaction<'_>) {
        self.update_seen(&token.stamp, token.count);
        self.state = State::Holding { token, phase: Phase::Resting };
        out.arm(Timer::Hold, self.settings.hold);
        self.broadcast_life(out);
    }

    pub(super) fn search(&mut self, attempt: u8, out: &mut Reaction<'_>) {
        if let State::Holding { phase, .. } = &mut self.state {
            *phase = Phase::Searching { attempt, answers: BTreeSet::new() };
            out.broadcast(Message::Search);
            out.arm(Timer::Search, self.settings.search_wait);
        }
    }

    /// A node has answered a search. Once all that are heard have, no more is waited for.
    pub(super) fn on_here(&mut self, from: Member, out: &mut Reaction<'_>) {
        let tries = self.settings.search_tries;
        let State::Holding { phase, .. } = &mut self.state else {
            return;
        };
        match phase {
            Phase::Searching { answers, .. } => {
                answers.insert(from);
                if self.settings.mesh_detection && answers.len() >= self.peers.len() {
                    self.pass_on(out);
                }
            }
            Phase::Alone => {
                *phase = Phase::Searching { attempt: tries, answers: BTreeSet::from([from]) };
                out.arm(Timer::Search, self.settings.search_wait);
            }
            Phase::Resting | Phase::Frozen { .. } => {}
        }
    }

    pub(super) fn search_over(&mut self, out: &mut Reaction<'_>) {
        let State::Holding { phase, .. } = &mut self.state else {
            return;
        };
        match phase {
            Phase::Searching { answers, .. } if !answers.is_empty() => self.pass_on(out),
            Phase::Searching { attempt, .. } if *attempt < self.settings.search_tries => {
                let next = attempt.saturating_add(1);
                self.search(next, out);
            }
            Phase::Searching { .. } => {
                *phase = Phase::Alone;
                out.arm(Timer::Hold, self.settings.computation());
                out.arm(Timer::Search, self.settings.next_search(out.draw));
                self.broadcast_life(out);
            }
            Phase::Alone => {
                out.broadcast(Message::Search);
                out.arm(Timer::Search, self.settings.next_search(out.draw));
            }
            Phase::Resting | Phase::Frozen { .. } => {}
        }
    }

    pub(super) fn compute_alone(&mut self, out: &mut Reaction<'_>) {
        if let State::Holding { token, phase: Phase::Alone } = &mut self.state {
            token.count = token.count.saturating_add(1);
            self.count = self.count.max(token.count);
            out.arm(Timer::Hold, self.settings.computation());
        }
    }

    /// Sends the token to the first above this node that has answered, or the lowest of all (T3).
    fn pass_on(&mut self, out: &mut Reaction<'_>) {
        let State::Holding { token, phase: Phase::Searching { answers, .. } } = &self.state else {
            return;
        };
        let above = answers.iter().find(|answer| **answer > self.own);
        let Some(to) = above.or_else(|| answers.first()).cloned() else {
            return;
        };
        let stamp = Stamp {
            generation: token.stamp.generation.clone(),
            hop: token.stamp.hop.saturating_add(1),
        };
        let token = Token { stamp, count: token.count };
        out.hand_over(&to.node, Message::Pass(token.clone()));
        out.arm(Timer::Acknowledgement, self.settings.acknowledgement_wait);
        self.state = State::Passing { token, to };
    }

    /// A token arrives. What came with it has been merged whatever becomes of it.
    pub(super) fn on_pass(&mut self, from: &Member, token: &Token, out: &mut Reaction<'_>) {
        let stamp = token.stamp.clone();
        let is_later = stamp > self.seen;
        if !is_later && stamp.generation == self.seen.generation {
            // A hop goes to one node alone: one of this token that is known was accepted here.
            out.send(&from.node, Message::Accepted(stamp));
            return;
        }
        let is_far = is_later && stamp != self.bounded(&stamp);
        if is_far {
            // A sender this far ahead catches up after a few tries.
            self.update_seen(&stamp, 0);
        }
        let frozen = matches!(self.state, State::Holding { phase: Phase::Frozen { .. }, .. });
        if !is_later || is_far || frozen {
            let seen = self.seen.clone();
            out.send(&from.node, Message::Refused { stamp, seen });
            return;
        }
        // Two tokens that meet in one node become one.
        let own = self.token().map_or(0, |own| own.count);
        let count = own.max(bounded(self.count, token.count)).saturating_add(1);
        self.mark(&from.node, false);
        out.send(&from.node, Message::Accepted(stamp.clone()));
        self.rest(Token { stamp, count }, out);
    }

    pub(super) fn on_accepted(&mut self, from: &Member, stamp: &Stamp, out: &mut Reaction<'_>) {
        if let State::Passing { token, to } = &self.state
            && token.stamp == *stamp
            && to.node == from.node
        {
            let holder = to.clone();
            self.update_seen(stamp, 0);
            self.mark(&holder.node, true);
            self.follow(Some(holder), out);
        }
    }

    /// The next node does not take the token: it stays here for another hold time.
    pub(super) fn on_refused(
        &mut self,
        from: &Member,
        stamp: &Stamp,
        seen: &Stamp,
        out: &mut Reaction<'_>,
    ) {
        self.update_seen(seen, 0);
        if let State::Passing { token, to } = &self.state
            && token.stamp == *stamp
            && to.node == from.node
        {
            let token = token.clone();
            let token = self.renewed(&token);
            self.rest(token, out);
        }
    }

    /// The hand-over has failed: it starts again from the search (T5).
    pub(super) fn pass_failed(&mut self, out: &mut Reaction<'_>) {
        if let State::Passing { token, .. } = &self.state {
            let token = token.clone();
            let token = self.renewed(&token);
            self.rest(token, out);
            self.search(1, out);
            out.disarm(Timer::Hold);
        }
    }

    /// The token under a later generation: the former one may have arrived elsewhere.
    pub(super) fn renewed(&mut self, token: &Token) -> Token {
        self.update_seen(&token.stamp, token.count);
        let generation: Generation = self.fresh_generation();
        let stamp = Stamp { generation, hop: token.stamp.hop };
        self.update_seen(&stamp, token.count);
        Token { stamp, count: token.count }
    }
}
