//! Peers that come and go, and the links to them.

use crate::election::Input;
use crate::model::{Hello, NodeId, NodeState, Timestamp};
use crate::node::{Action, LinkId, Node, Report};
use crate::peers::{Due, Heard};
use crate::wire::{Delta, Frame, PlanEntry};

impl Node {
    pub(in crate::node) fn on_heard(
        &mut self,
        verdict: &Heard,
        hello: &Hello,
        now: Timestamp,
    ) -> Acceptance {
        match verdict {
            Heard::Dropped(_) => Acceptance::None,
            Heard::Reordered => Acceptance::Orders,
            Heard::Conflict(what) => {
                self.report(Report::Conflict { text: what.clone() });
                Acceptance::None
            }
            Heard::Current { found, replaced } => {
                if *replaced {
                    self.lose(&hello.node, now);
                }
                if *found {
                    self.discovered(hello);
                    // Without detection by the mesh, the election keeps a lost master.
                    if self.leadership.follows(&hello.node) {
                        self.dispatching.plan.outdate();
                    }
                }
                Acceptance::Full
            }
        }
    }

    fn discovered(&mut self, hello: &Hello) {
        let node = hello.node.clone();
        self.store.peer_discovered(&node);
        self.peers.find(hello);
        self.report(Report::PeerDiscovered { node, address: hello.address });
    }

    pub(in crate::node) fn lose(&mut self, peer: &NodeId, now: Timestamp) {
        if let Some(link) = self.peers.lose(peer) {
            self.actions.push_back(Action::Close(link));
        }
        self.store.peer_lost(peer);
        self.forget_guidance(peer);
        // A kiosk may show its car.
        self.cabin.invalidate();
        self.report(Report::PeerLost { node: peer.clone() });
        self.step_election(Input::Lost { peer }, now);
        self.dispatching.invalidate();
    }

    /// As master: compares the state that a peer claims with its link.
    pub(in crate::node) fn reconcile(&mut self, peer: &NodeId, says: &NodeState, now: Timestamp) {
        let leads = self.leadership.leads();
        if let Some(link) = self.peers.reconcile(peer, says, leads, now) {
            self.hang_up(link, now);
        }
    }

    pub(in crate::node) fn synced(&mut self, link: LinkId, now: Timestamp) {
        let Some((peer, side)) =
            self.peers.links.get(link).map(|link| (link.peer.clone(), link.side))
        else {
            return;
        };
        self.store.peer_synced(&peer);
        self.report(Report::Synced { node: peer.clone() });
        self.peers.pairing.synced(&peer);
        if self.peers.keeps_links() {
            self.step_heard(&peer, now);
        } else {
            self.step_election(Input::Synced { peer: &peer, side }, now);
        }
        if self.leadership.leads() {
            let plan: Vec<PlanEntry> = self.dispatching.plan.entries().collect();
            let car = Delta { car: self.cabin.view(now), ..Delta::default() };
            let car = (!car.is_empty()).then_some(car);
            for delta in car.into_iter().chain(Delta::of_plan(plan)) {
                self.actions.push_back(Action::Send { link, frame: Frame::Delta(delta) });
            }
        }
        self.cabin.forget_sent();
        self.dispatching.invalidate();
    }

    fn disconnected(&mut self, peer: &NodeId, now: Timestamp) {
        self.store.replication.disconnected(peer);
        self.forget_guidance(peer);
        self.dial_failed(peer, now);
        if self.peers.keeps_links() && !self.may_follow(peer) {
            self.step_election(Input::Lost { peer }, now);
        }
        self.dispatching.invalidate();
    }

    pub(in crate::node) fn close(&mut self, link: LinkId, now: Timestamp) {
        if let Some(peer) = self.peers.close_link(link) {
            self.disconnected(&peer, now);
        }
    }

    pub(in crate::node) fn hang_up(&mut self, link: LinkId, now: Timestamp) {
        self.actions.push_back(Action::Close(link));
        self.close(link, now);
    }

    pub(in crate::node) fn dial(&mut self, peer: NodeId, now: Timestamp) {
        match self.peers.link_address(&peer) {
            Some(address) => self.actions.push_back(Action::Dial { peer, address }),
            None => self.dial_failed(&peer, now),
        }
    }

    /// A dial failed, or its link was not synced in time.
    pub(in crate::node) fn dial_failed(&mut self, peer: &NodeId, now: Timestamp) {
        if self.peers.keeps_links() {
            let draw = self.random.u64(..);
            self.peers.pairing.disconnected(peer, draw, now);
        } else {
            self.step_election(Input::Disconnected { peer }, now);
        }
    }

    /// Updates the choice of links, if necessary.
    pub(in crate::node) fn choose_links(&mut self) {
        self.peers.choose_links(self.leadership.master());
    }

    /// Dials the peers that are due (C6).
    pub(in crate::node) fn pair(&mut self, now: Timestamp) {
        self.choose_links();
        for due in self.peers.pairing.due(now) {
            match due {
                Due::Dial(peer) => self.dial(peer, now),
                Due::GiveUp(peer) => match self.peers.links.to(&peer) {
                    Some(link) => self.hang_up(link, now),
                    None => self.dial_failed(&peer, now),
                },
                Due::Doubt(peer) => self.step_election(Input::Lost { peer: &peer }, now),
            }
        }
    }
}

/// How much of a beacon is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::node) enum Acceptance {
    None,
    Orders,
    Full,
}
