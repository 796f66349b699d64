//! Two holders that hear each other: one gives its token up (T8, T9).

use super::message::{Exchange, Message, Survivor, Token};
use super::state::{Member, Phase, State, Timer};
use super::{Output, TokenRing};
use crate::model::{NodeId, NodeState};
use crate::seeded::{SeededBug, is_seeded};

impl TokenRing {
    /// Another holder is heard: freezes, and sends it *wait*. A frozen holder talks only to the
    /// first that it heard (T9).
    pub(super) fn ask(&mut self, with: &Member, draw: u64, outputs: &mut Vec<Output>) {
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
            Self::send(with, Message::Wait(asked), outputs);
            let limit = self.settings.exchange_limit(draw);
            Self::arm(Timer::Exchange, limit, outputs);
        }
    }

    /// The other of an exchange lives and has not answered: *wait* may be lost (completion).
    pub(super) fn ask_again(&self, with: &Member, outputs: &mut Vec<Output>) {
        if let State::Holding {
            phase: Phase::Frozen { with: other, asked: Some(asked), .. }, ..
        } = &self.state
            && other == with
            && self.settings.mesh_detection
        {
            Self::send(with, Message::Wait(*asked), outputs);
        }
    }

    /// *Wait* from another holder.
    pub(super) fn on_wait(
        &mut self,
        from: &Member,
        exchange: Exchange,
        draw: u64,
        outputs: &mut Vec<Output>,
    ) {
        let limit = self.settings.exchange_limit(draw);
        let mac = self.own.mac;
        let mut is_repeated = false;
        let answer = match &mut self.state {
            State::Holding { token, phase } => {
                let agrees = Message::Agreed { exchange, mac, count: token.count };
                match phase {
                    Phase::Frozen { with, agreed, .. } if with == from => {
                        is_repeated = agreed.replace(exchange) == Some(exchange);
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
                        Self::arm(Timer::Exchange, limit, outputs);
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
        Self::send(from, answer, outputs);
        if is_repeated && self.settings.mesh_detection {
            // Something was lost: the smaller of the two is to stop acting nevertheless.
            self.present(from, outputs);
        }
    }

    /// The other is frozen too: compares the pairs, and the smaller gives its token up. The name
    /// decides between equal addresses.
    pub(super) fn on_agreed(
        &mut self,
        from: Member,
        exchange: Exchange,
        count: u64,
        draw: u64,
        outputs: &mut Vec<Output>,
    ) {
        let State::Holding { token, phase: Phase::Frozen { with, asked: Some(asked), .. } } =
            &self.state
        else {
            return;
        };
        if with.node != from.node || *asked != exchange {
            return;
        }
        let survivor = if (token.count, &self.own) > (count, &from) {
            Survivor::Asker
        } else {
            Survivor::Asked
        };
        let result = Message::Result { exchange, survivor };
        match survivor {
            Survivor::Asker => {
                Self::send(&from, result, outputs);
                self.survive(&from, draw, outputs);
            }
            Survivor::Asked => self.give_up(from, result, outputs),
        }
    }

    /// The asker has compared.
    pub(super) fn on_result(
        &mut self,
        from: Member,
        exchange: Exchange,
        survivor: Survivor,
        draw: u64,
        outputs: &mut Vec<Output>,
    ) {
        let State::Holding { phase: Phase::Frozen { with, agreed: Some(agreed), .. }, .. } =
            &self.state
        else {
            return;
        };
        if *with != from || *agreed != exchange {
            return;
        }
        match survivor {
            Survivor::Asker => self.give_up(from, Message::NoLongerHolder(exchange), outputs),
            Survivor::Asked => self.survive(&from, draw, outputs),
        }
    }

    /// *No longer holder* from the other: nothing more is done.
    pub(super) fn on_no_longer_holder(
        &mut self,
        from: &Member,
        exchange: Exchange,
        draw: u64,
        outputs: &mut Vec<Output>,
    ) {
        if let State::Holding { phase, .. } = &mut self.state
            && let Phase::Frozen { with, asked: Some(asked), behind, .. } = phase
            && with.node == from.node
            && *asked == exchange
        {
            let behind = behind.take().filter(|ahead| ahead.node != from.node);
            *phase = Phase::Resting;
            Self::arm(Timer::Hold, self.settings.hold, outputs);
            self.unmark(from);
            self.stay_behind(behind, draw, outputs);
        }
    }

    /// The exchange is over, or has taken too long: the holder sends *life* at once (T9);
    /// or, while another that acts is ahead of it, begins the next exchange with that one.
    pub(super) fn thaw(&mut self, draw: u64, outputs: &mut Vec<Output>) {
        if let State::Holding { token, .. } = &self.state {
            let token = token.clone();
            self.go_on(token, draw, outputs);
        }
    }

    /// A frozen holder goes on, with this token.
    fn go_on(&mut self, token: Token, draw: u64, outputs: &mut Vec<Output>) {
        let ahead = match &self.state {
            State::Holding { phase: Phase::Frozen { behind, .. }, .. } => {
                behind.clone().filter(|ahead| self.acts(ahead))
            }
            State::Waiting { .. }
            | State::Deferring { .. }
            | State::Missing { .. }
            | State::Claiming { .. }
            | State::Holding { .. }
            | State::Passing { .. } => None,
        };
        if ahead.is_none() {
            self.rest(token, outputs);
        } else {
            let phase = Phase::Resting;
            self.state = State::Holding { token, phase };
        }
        self.stay_behind(ahead, draw, outputs);
    }

    /// A thawed holder that was behind one that still acts freezes again.
    fn stay_behind(&mut self, ahead: Option<Member>, draw: u64, outputs: &mut Vec<Output>) {
        let Some(ahead) = ahead.filter(|ahead| self.acts(ahead)) else {
            return;
        };
        self.ask(&ahead, draw, outputs);
        if let State::Holding { phase: Phase::Frozen { behind, .. }, .. } = &mut self.state {
            *behind = Some(ahead);
        }
    }

    /// Whether the mesh knows that this holder acts.
    fn acts(&self, holder: &Member) -> bool {
        self.settings.mesh_detection && self.leads(&holder.node)
    }

    /// Of several holders that hear each other the one with the greatest pair acts: a smaller one
    /// stays behind it until the exchange has decided, and a smaller one that acts gets the greater
    /// pair (completion). As in the source both act until then.
    pub(super) fn rank(&mut self, other: &Member, count: u64, outputs: &mut Vec<Output>) {
        let State::Holding { token, phase } = &mut self.state else {
            return;
        };
        let greater = (token.count, &self.own) > (count, other);
        if greater {
            self.present(other, outputs);
        } else if self.settings.mesh_detection
            && let Phase::Frozen { behind, .. } = phase
        {
            behind.get_or_insert_with(|| other.clone());
        }
    }

    /// Shows another holder this one's pair, if this one acts.
    fn present(&self, to: &Member, outputs: &mut Vec<Output>) {
        if let Some(life) = self.life() {
            Self::send(to, Message::Life(life), outputs);
        }
    }

    /// A holder hears a peer's beacon, and repeats what was lost of an exchange with it
    /// (completion).
    pub(super) fn on_beacon_beside(
        &mut self,
        peer: &Member,
        node_state: &NodeState,
        draw: u64,
        outputs: &mut Vec<Output>,
    ) {
        let acts = *node_state == NodeState::Master;
        let follows = match node_state {
            NodeState::Slave { master } if self.leads(master) => self.member(master),
            NodeState::Slave { .. } | NodeState::Master | NodeState::Seeking => None,
        };
        if acts {
            self.present(peer, outputs);
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
                    Self::send(peer, Message::Wait(exchange), outputs);
                }
            }
            Phase::Resting | Phase::Searching { .. } | Phase::Alone if acts => {
                self.ask(peer, draw, outputs);
            }
            // The search, or its answer, may be lost.
            Phase::Searching { answers, .. } if !answers.contains(peer) => {
                Self::send(peer, Message::Search, outputs);
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
    fn survive(&mut self, over: &Member, draw: u64, outputs: &mut Vec<Output>) {
        if let State::Holding { token, phase } = &mut self.state {
            if let Phase::Frozen { behind, .. } = phase {
                behind.take_if(|ahead| ahead == over);
            }
            let token = token.clone();
            let token = if self.seen > token.stamp { self.renewed(&token) } else { token };
            self.go_on(token, draw, outputs);
        }
    }

    /// This node's token goes, and its data into the other's.
    fn give_up(&mut self, to: Member, word: Message, outputs: &mut Vec<Output>) {
        outputs.push(Output::HandOver(to.node.clone(), word.into()));
        if let Some(peer) = self.peers.get_mut(&to.node) {
            peer.leads = true;
        }
        self.follow(Some(to), outputs);
    }
}
