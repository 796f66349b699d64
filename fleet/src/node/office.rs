//! What the election wants, and what a change of standing brings with it.

use core::net::SocketAddrV4;

use super::{Action, LinkId, Node, Report};
use crate::coordination::{Input, Output};
use crate::model::{NodeId, Term, Timestamp};
use crate::wire::Standing;

impl Node {
    pub(super) fn elect(&mut self, input: Input<'_>, now: Timestamp) {
        let mut outputs = Vec::new();
        let draw = self.random.u64(..);
        self.election.handle(input, draw, &mut outputs);
        let to = self.election.standing();
        if to != self.standing {
            self.stand(to, now);
        }
        for output in outputs {
            match output {
                Output::Arm(timer, wait) => {
                    self.election_timers.insert(timer, now + wait);
                }
                Output::Dial(peer) => self.dial(peer, now),
                Output::HangUp(peer) => {
                    if let Some(link) = self.links.to(&peer) {
                        self.hang_up(link, now);
                    }
                }
                Output::HangUpAllBut(peer) => {
                    for link in self.links.all_but(&peer) {
                        self.hang_up(link, now);
                    }
                }
            }
        }
    }

    pub(super) fn hang_up(&mut self, link: LinkId, now: Timestamp) {
        self.actions.push_back(Action::Close(link));
        if let Some(link) = self.links.close(link) {
            self.part(&link.peer, now);
        }
    }

    pub(super) fn dial(&mut self, peer: NodeId, now: Timestamp) {
        match self
            .membership
            .get(&peer)
            .map(|known| (known.hello.address, known.link_port))
        {
            Some((address, port)) => {
                let address = SocketAddrV4::new(address, port);
                self.actions.push_back(Action::Dial { peer, address });
            }
            None => self.elect(Input::Parted { peer: &peer }, now),
        }
    }

    /// Takes another standing; a master takes office under a term of its own (E3).
    pub(super) fn stand(&mut self, to: Standing, _now: Timestamp) {
        if to == Standing::Master {
            self.term = Term::next(self.term);
        }
        let from = std::mem::replace(&mut self.standing, to.clone());
        self.plan.clear();
        self.clock.hurry();
        self.stale.plan = true;
        self.stale.stops = true;
        self.report(Report::Standing {
            from,
            to,
            term: self.term,
        });
    }
}
