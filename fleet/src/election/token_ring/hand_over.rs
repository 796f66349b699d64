//! The token goes on: search, pass, acknowledgement (T2 to T5).

use std::collections::BTreeSet;

use super::message::{Generation, Message, Stamp, Token};
use super::state::{Member, Phase, State, Timer};
use super::{Output, TokenRing};
use crate::model::bounds::bounded;

impl TokenRing {
    /// Keeps the token for its hold time, and sends a sign of life (T6).
    pub(super) fn rest(&mut self, token: Token, outputs: &mut Vec<Output>) {
        self.update_seen(&token.stamp, token.count);
        self.state = State::Holding { token, phase: Phase::Resting };
        Self::arm(Timer::Hold, self.settings.hold, outputs);
        self.broadcast_life(outputs);
    }

    pub(super) fn search(&mut self, attempt: u8, outputs: &mut Vec<Output>) {
        if let State::Holding { phase, .. } = &mut self.state {
            *phase = Phase::Searching { attempt, answers: BTreeSet::new() };
            outputs.push(Output::Broadcast(Message::Search.into()));
            Self::arm(Timer::Search, self.settings.search_wait, outputs);
        }
    }

    /// A node has answered a search. Once all that are heard have, no more is waited for.
    pub(super) fn on_here(&mut self, from: Member, outputs: &mut Vec<Output>) {
        let tries = self.settings.search_tries;
        let State::Holding { phase, .. } = &mut self.state else {
            return;
        };
        match phase {
            Phase::Searching { answers, .. } => {
                answers.insert(from);
                if self.settings.mesh_detection && answers.len() >= self.peers.len() {
                    self.pass_on(outputs);
                }
            }
            Phase::Alone => {
                *phase = Phase::Searching { attempt: tries, answers: BTreeSet::from([from]) };
                Self::arm(Timer::Search, self.settings.search_wait, outputs);
            }
            Phase::Resting | Phase::Frozen { .. } => {}
        }
    }

    /// The time for answers is over, or a node that serves alone looks for others again.
    pub(super) fn search_over(&mut self, draw: u64, outputs: &mut Vec<Output>) {
        let State::Holding { phase, .. } = &mut self.state else {
            return;
        };
        match phase {
            Phase::Searching { answers, .. } if !answers.is_empty() => self.pass_on(outputs),
            Phase::Searching { attempt, .. } if *attempt < self.settings.search_tries => {
                let next = attempt.saturating_add(1);
                self.search(next, outputs);
            }
            Phase::Searching { .. } => {
                *phase = Phase::Alone;
                Self::arm(Timer::Hold, self.settings.computation(), outputs);
                Self::arm(Timer::Search, self.settings.next_search(draw), outputs);
                self.broadcast_life(outputs);
            }
            Phase::Alone => {
                outputs.push(Output::Broadcast(Message::Search.into()));
                Self::arm(Timer::Search, self.settings.next_search(draw), outputs);
            }
            Phase::Resting | Phase::Frozen { .. } => {}
        }
    }

    /// A holder that serves alone has computed once more.
    pub(super) fn compute_alone(&mut self, outputs: &mut Vec<Output>) {
        if let State::Holding { token, phase: Phase::Alone } = &mut self.state {
            token.count = token.count.saturating_add(1);
            self.count = self.count.max(token.count);
            Self::arm(Timer::Hold, self.settings.computation(), outputs);
        }
    }

    /// Sends the token off to the next of those that have answered: the first above this node, or
    /// the lowest of all (T3).
    fn pass_on(&mut self, outputs: &mut Vec<Output>) {
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
        let pass = Message::Pass(token.clone()).into();
        outputs.push(Output::HandOver(to.node.clone(), pass));
        Self::arm(Timer::Acknowledgement, self.settings.acknowledgement_wait, outputs);
        self.state = State::Passing { token, to };
    }

    /// A token arrives. What came with it has been merged whatever becomes of it.
    pub(super) fn on_pass(&mut self, from: &Member, token: &Token, outputs: &mut Vec<Output>) {
        let stamp = token.stamp.clone();
        let own = self.token().cloned();
        let frozen = matches!(self.state, State::Holding { phase: Phase::Frozen { .. }, .. });
        if stamp <= self.seen {
            // A hop goes to one node alone: one of this token that is known was accepted here.
            let repeated = stamp.generation == self.seen.generation;
            let answer = if repeated {
                Message::Accepted(stamp)
            } else {
                let seen = self.seen.clone();
                Message::Refused { stamp, seen }
            };
            Self::send(from, answer, outputs);
        } else if stamp != self.bounded(&stamp) {
            // A sender this far ahead catches up after a few tries.
            self.update_seen(&stamp, 0);
            let seen = self.seen.clone();
            Self::send(from, Message::Refused { stamp, seen }, outputs);
        } else if frozen {
            let seen = self.seen.clone();
            Self::send(from, Message::Refused { stamp, seen }, outputs);
        } else {
            // Two tokens that meet in one node become one.
            let count = own.map_or(0, |own| own.count).max(bounded(self.count, token.count));
            let token = Token { stamp: stamp.clone(), count: count.saturating_add(1) };
            self.unmark(from);
            Self::send(from, Message::Accepted(stamp), outputs);
            self.rest(token, outputs);
        }
    }

    /// Whoever hands over is no holder.
    pub(super) fn unmark(&mut self, peer: &Member) {
        if let Some(peer) = self.peers.get_mut(&peer.node) {
            peer.leads = false;
        }
    }

    /// The next node has the token.
    pub(super) fn on_accepted(&mut self, from: &Member, stamp: &Stamp, outputs: &mut Vec<Output>) {
        if let State::Passing { token, to } = &self.state
            && token.stamp == *stamp
            && to.node == from.node
        {
            self.follow_holder(stamp, to.clone(), outputs);
        }
    }

    fn follow_holder(&mut self, stamp: &Stamp, holder: Member, outputs: &mut Vec<Output>) {
        self.update_seen(stamp, 0);
        if let Some(peer) = self.peers.get_mut(&holder.node) {
            peer.leads = true;
        }
        self.follow(Some(holder), outputs);
    }

    /// The next node does not take the token: it stays here for another hold time, so that two
    /// nodes that disagree don't pass it to and fro.
    pub(super) fn on_refused(
        &mut self,
        from: &Member,
        stamp: &Stamp,
        seen: &Stamp,
        outputs: &mut Vec<Output>,
    ) {
        self.update_seen(seen, 0);
        if let State::Passing { token, to } = &self.state
            && token.stamp == *stamp
            && to.node == from.node
        {
            let token = token.clone();
            let token = self.renewed(&token);
            self.rest(token, outputs);
        }
    }

    /// The hand-over has failed: it starts again from the search (T5).
    pub(super) fn pass_failed(&mut self, outputs: &mut Vec<Output>) {
        if let State::Passing { token, .. } = &self.state {
            let token = token.clone();
            let token = self.renewed(&token);
            self.rest(token, outputs);
            self.search(1, outputs);
            outputs.push(Output::Disarm(Timer::Hold.into()));
        }
    }

    /// The token under a generation of this node's own, later than all that it knows. The one
    /// under the former generation may have arrived elsewhere.
    pub(super) fn renewed(&mut self, token: &Token) -> Token {
        self.update_seen(&token.stamp, token.count);
        let generation: Generation = self.fresh_generation();
        let stamp = Stamp { generation, hop: token.stamp.hop };
        self.update_seen(&stamp, token.count);
        Token { stamp, count: token.count }
    }
}
