//! Two holders that hear each other: one gives its token up (T8, T9).

use super::message::{Exchange, Message, Survivor};
use super::state::{Member, Phase, State, Timer};
use super::{Output, TokenRing};

impl TokenRing {
    /// Another holder is heard: freezes, and tells it to wait. A frozen holder talks to the first
    /// that it heard only (T9).
    pub(super) fn ask(&mut self, with: &Member, draw: u64, outputs: &mut Vec<Output>) {
        let asked = Exchange(self.exchange.0.saturating_add(1));
        if let State::Holding { phase, .. } = &mut self.state
            && !matches!(phase, Phase::Frozen { .. })
        {
            *phase = Phase::Frozen {
                with: with.clone(),
                asked: Some(asked),
                agreed: None,
            };
            self.exchange = asked;
            Self::say(with, Message::Wait(asked), outputs);
            let limit = self.settings.exchange_limit(draw);
            Self::arm(Timer::Exchange, limit, outputs);
        }
    }

    /// Another holder says *wait*.
    pub(super) fn asked(
        &mut self,
        from: &Member,
        exchange: Exchange,
        draw: u64,
        outputs: &mut Vec<Output>,
    ) {
        let limit = self.settings.exchange_limit(draw);
        let mac = self.own.mac;
        let answer = match &mut self.state {
            State::Holding { token, phase } => {
                let agrees = Message::Agreed {
                    exchange,
                    mac,
                    count: token.count,
                };
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
                        };
                        Self::arm(Timer::Exchange, limit, outputs);
                        agrees
                    }
                }
            }
            State::Passing { .. } => Message::Busy(exchange),
            State::Waiting { .. } | State::Missing { .. } | State::Claiming { .. } => {
                Message::NoLongerHolder(exchange)
            }
        };
        Self::say(from, answer, outputs);
    }

    /// The other is frozen too: compares the pairs, and the smaller gives its token up. The name
    /// decides between equal addresses.
    pub(super) fn agreed(
        &mut self,
        from: Member,
        exchange: Exchange,
        count: u64,
        outputs: &mut Vec<Output>,
    ) {
        let State::Holding {
            token,
            phase:
                Phase::Frozen {
                    with,
                    asked: Some(asked),
                    ..
                },
        } = &self.state
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
                Self::say(&from, result, outputs);
                self.survive(outputs);
            }
            Survivor::Asked => self.give_up(from, result, outputs),
        }
    }

    /// The asker has compared.
    pub(super) fn decided(
        &mut self,
        from: Member,
        exchange: Exchange,
        survivor: Survivor,
        outputs: &mut Vec<Output>,
    ) {
        let State::Holding {
            phase:
                Phase::Frozen {
                    with,
                    agreed: Some(agreed),
                    ..
                },
            ..
        } = &self.state
        else {
            return;
        };
        if *with != from || *agreed != exchange {
            return;
        }
        match survivor {
            Survivor::Asker => self.give_up(from, Message::NoLongerHolder(exchange), outputs),
            Survivor::Asked => self.survive(outputs),
        }
    }

    /// The other says *no longer holder*: nothing more is done.
    pub(super) fn left_alone(
        &mut self,
        from: &Member,
        exchange: Exchange,
        outputs: &mut Vec<Output>,
    ) {
        if let State::Holding { phase, .. } = &mut self.state
            && let Phase::Frozen {
                with,
                asked: Some(asked),
                ..
            } = phase
            && with.node == from.node
            && *asked == exchange
        {
            *phase = Phase::Resting;
            Self::arm(Timer::Hold, self.settings.hold, outputs);
        }
    }

    /// The exchange is over, or has taken too long: the holder says at once that it lives (T9).
    pub(super) fn thaw(&mut self, outputs: &mut Vec<Output>) {
        if let State::Holding { token, .. } = &self.state {
            let token = token.clone();
            self.rest(token, outputs);
        }
    }

    /// This node's token stays. If the other's was of a later generation, or a later one is known,
    /// those who know it would refuse this one: it goes on under a generation of its own.
    fn survive(&mut self, outputs: &mut Vec<Output>) {
        if let State::Holding { token, .. } = &self.state {
            let token = token.clone();
            let token = if self.seen > token.stamp {
                self.renewed(&token)
            } else {
                token
            };
            self.rest(token, outputs);
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
