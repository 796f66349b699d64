//! Two holders that hear each other: one gives its token up (T8, T9).

use super::TokenRing;
use super::message::{Exchange, Message, Survivor, Token};
use super::state::{Member, Phase, State, Timer};
use crate::election::reaction::Reaction;
use crate::model::{NodeId, NodeState};
use crate::seeded::{SeededBug, is_seeded};

impl TokenRing {
    /// Another holder is heard: freezes, and sends it *wait*, if it is the first (T9).
    pub(super) fn ask(&mut self, with: &Member, out: &mut Reaction<'_>) {
        if is_seeded(SeededBug::HoldersNeverMeet) {
            return;
        }
        let asked = Exchange(self.exchange.0.saturating_add(1));
        if let State::Holding { phase, .. } = &mut self.state
            && !matches!(phase, Phase::Frozen { .. })
        {
            *phase = Phase::Frozen {
                with: with.clone(),
                asked: Some(asked),
                agreed: None,
                behind: None,
            };
            self.exchange = asked;
            out.send(&with.node, Message::Wait(asked));
            let limit = self.settings.exchange_limit(out.draw);
            out.arm(Timer::Exchange, limit);
        }
    }

    pub(super) fn on_wait(&mut self, from: &Member, exchange: Exchange, out: &mut Reaction<'_>) {
        let limit = self.settings.exchange_limit(out.draw);
        let mac = self.own.mac;
        let answer = match &mut self.state {
            State::Holding { token, phase } => {
                let agrees = Message::Agreed { exchange, mac, count: token.count };
                match phase {
                    Phase::Frozen { with, agreed, .. } if with == from => {
                        *agreed = Some(exchange);
                        agrees
                    }
                    Phase::Frozen { .. } => Message::Busy(exchange),
                    Phase::Resting | Phase::Searching { .. } | Phase::Alone => {
                        *phase = Phase::Frozen {
                            with: from.clone(),
                            asked: None,
                            agreed: Some(exchange),
                            behind: None,
                        };
                        out.arm(Timer::Exchange, limit);
                        agrees
                    }
                }
            }
            State::Passing { .. } => Message::Busy(exchange),
            State::Waiting { .. }
            | State::Deferring { .. }
            | State::Missing { .. }
            | State::Claiming { .. } => Message::NoLongerHolder(exchange),
        };
        out.send(&from.node, answer);
    }

    /// The other is frozen too: the smaller pair gives its token up, or of equal ones by name.
    pub(super) fn on_agreed(
        &mut self,
        from: Member,
        exchange: Exchange,
        count: u64,
        out: &mut Reaction<'_>,
    ) {
        let State::Holding { token, phase: Phase::Frozen { with, asked: Some(asked), .. } } =
            &self.state
        else {
            return;
        };
        if with.node != from.node || *asked != exchange {
            return;
        }
        if (token.count, &self.own) > (count, &from) {
            out.send(&from.node, Message::Result { exchange, survivor: Survivor::Asker });
            self.survive(&from, out);
        } else {
            let result = Message::Result { exchange, survivor: Survivor::Asked };
            self.give_up(from, result, out);
        }
    }

    pub(super) fn on_result(
        &mut self,
        from: Member,
        exchange: Exchange,
        survivor: Survivor,
        out: &mut Reaction<'_>,
    ) {
        if let State::Holding { phase: Phase::Frozen { with, agreed: Some(agreed), .. }, .. } =
            &self.state
            && *with == from
            && *agreed == exchange
        {
            match survivor {
                Survivor::Asker => self.give_up(from, Message::NoLongerHolder(exchange), out),
                Survivor::Asked => self.survive(&from, out),
            }
        }
    }

    /// *No longer holder* from the other: nothing more is done.
    pub(super) fn on_no_longer_holder(
        &mut self,
        from: &Member,
        exchange: Exchange,
        out: &mut Reaction<'_>,
    ) {
        if let State::Holding { phase, .. } = &mut self.state
            && let Phase::Frozen { with, asked: Some(asked), behind, .. } = phase
            && with.node == from.node
            && *asked == exchange
        {
            let behind = behind.take().filter(|ahead| ahead.node != from.node);
            *phase = Phase::Resting;
            out.arm(Timer::Hold, self.settings.hold);
            self.mark(&from.node, false);
            self.stay_behind(behind, out);
        }
    }

    /// The exchange is over, or has taken too long: the holder sends *life* at once (T9);
    /// or, while another that acts is ahead of it, begins the next exchange with that one.
    pub(super) fn thaw(&mut self, out: &mut Reaction<'_>) {
        if let State::Holding { token, .. } = &self.state {
            let token = token.clone();
            self.go_on(token, out);
        }
    }

    fn go_on(&mut self, token: Token, out: &mut Reaction<'_>) {
        let mut ahead = None;
        if let State::Holding { phase: Phase::Frozen { behind, .. }, .. } = &mut self.state {
            ahead = behind.take();
        }
        let ahead = ahead.filter(|ahead| self.acts(ahead));
        if ahead.is_none() {
            self.rest(token, out);
        } else {
            self.state = State::Holding { token, phase: Phase::Resting };
        }
        self.stay_behind(ahead, out);
    }

    /// A thawed holder that was behind one that still acts freezes again.
    fn stay_behind(&mut self, ahead: Option<Member>, out: &mut Reaction<'_>) {
        let Some(ahead) = ahead.filter(|ahead| self.acts(ahead)) else {
            return;
        };
        self.ask(&ahead, out);
        if let State::Holding { phase: Phase::Frozen { behind, .. }, .. } = &mut self.state {
            *behind = Some(ahead);
        }
    }

    fn acts(&self, holder: &Member) -> bool {
        self.settings.mesh_detection && self.leads(&holder.node)
    }

    /// Of several holders that hear each other the one with the greatest pair acts: a smaller one
    /// stays behind it until the exchange has decided. As in the source both act until then.
    pub(super) fn rank(&mut self, other: &Member, count: u64, out: &mut Reaction<'_>) {
        let State::Holding { token, phase } = &mut self.state else {
            return;
        };
        let greater = (token.count, &self.own) > (count, other);
        if greater {
            self.present(other, out);
        } else if self.settings.mesh_detection
            && let Phase::Frozen { behind, .. } = phase
        {
            behind.get_or_insert_with(|| other.clone());
        }
    }

    /// Shows another holder this one's pair, if this one acts.
    fn present(&self, to: &Member, out: &mut Reaction<'_>) {
        if let Some(life) = self.life() {
            out.send(&to.node, Message::Life(life));
        }
    }

    pub(super) fn on_beacon_beside(
        &mut self,
        peer: &Member,
        node_state: &NodeState,
        out: &mut Reaction<'_>,
    ) {
        let acts = *node_state == NodeState::Master;
        let follows = match node_state {
            NodeState::Slave { master } if self.leads(master) => self.member(master),
            NodeState::Slave { .. } | NodeState::Master | NodeState::Seeking => None,
        };
        if acts {
            self.present(peer, out);
        }
        let State::Holding { phase, .. } = &mut self.state else {
            return;
        };
        match phase {
            Phase::Frozen { with, asked, behind, .. } => {
                if !acts && behind.as_ref() == Some(peer) {
                    *behind = follows;
                }
                if with == peer {
                    let next = Exchange(self.exchange.0.saturating_add(1));
                    let exchange = *asked.get_or_insert(next);
                    self.exchange = self.exchange.max(exchange);
                    out.send(&peer.node, Message::Wait(exchange));
                }
            }
            Phase::Resting | Phase::Searching { .. } | Phase::Alone if acts => {
                self.ask(peer, out);
            }
            // The search, or its answer, may be lost.
            Phase::Searching { answers, .. } if !answers.contains(peer) => {
                out.send(&peer.node, Message::Search);
            }
            Phase::Resting | Phase::Searching { .. } | Phase::Alone => {}
        }
    }

    fn member(&self, node: &NodeId) -> Option<Member> {
        let peer = self.peers.get(node)?;
        Some(Member { mac: peer.mac, node: node.clone() })
    }

    /// This node's token stays. If the other's was of a later generation, or a later one is known,
    /// those who know it would refuse this one: it goes on under a generation of its own.
    fn survive(&mut self, over: &Member, out: &mut Reaction<'_>) {
        if let State::Holding { token, phase } = &mut self.state {
            if let Phase::Frozen { behind, .. } = phase {
                behind.take_if(|ahead| ahead == over);
            }
            let token = token.clone();
            let token = if self.seen > token.stamp { self.renewed(&token) } else { token };
            self.go_on(token, out);
        }
    }

    /// This node's token goes, and its data into the other's.
    fn give_up(&mut self, to: Member, word: Message, out: &mut Reaction<'_>) {
        out.hand_over(&to.node, word);
        self.mark(&to.node, true);
        self.follow(Some(to), out);
    }
}
