//! What peers tell of their orders and cars, and what this node tells them over links.

use super::orders::{Effect, Fleet, Purpose};
use super::peers::Handshake;
use super::{Action, LinkId, Node, Report};
use crate::model::{NodeId, Timestamp};
use crate::wire::{Beacon, Delta, Frame, StateTransfer, StoreDigest};

impl Node {
    /// Passes on what has come of the latest call to the orders.
    pub(super) fn route_orders(&mut self, now: Timestamp) {
        while let Some(effect) = self.orders.poll_effect() {
            match effect {
                Effect::Report(report) => self.report(report),
                Effect::Hurry => self.peers.hurry(),
                Effect::Changed => self.orders_have_changed(),
                Effect::LampsChanged => self.cabin.invalidate(),
                Effect::Served { call, by } => {
                    if self.dispatching.on_served(call, by.as_ref()) {
                        self.leadership.note_kept_assignment(now);
                    }
                }
            }
        }
    }

    /// The set of open orders is another one.
    pub(super) fn orders_have_changed(&mut self) {
        self.dispatching.invalidate();
        self.cabin.invalidate_stops();
        self.cabin.invalidate();
    }

    pub(super) fn on_delta(&mut self, peer: &NodeId, delta: &Delta, now: Timestamp) {
        self.on_car_view(peer, delta, now);
        self.on_records(peer, delta, now);
        if self.leadership.follows(peer) {
            for entry in &delta.plan {
                self.on_assignment(entry.clone());
            }
        }
    }

    fn on_car_view(&mut self, peer: &NodeId, delta: &Delta, now: Timestamp) {
        let car = delta.car.filter(|car| car.is_within(self.hello.floors));
        if let Some(view) = car
            && self.peers.note_car(peer, view, now)
        {
            self.dispatching.invalidate();
        }
    }

    /// Takes in what stays true whatever overtakes it: records and acknowledgements.
    pub(super) fn on_records(&mut self, peer: &NodeId, delta: &Delta, now: Timestamp) {
        let fleet = Fleet::new(&self.peers, &self.leadership, &self.cabin);
        let random = &mut self.random;
        self.orders.handle_delta(peer, delta, fleet, random, now);
        self.route_orders(now);
    }

    pub(super) fn on_state(&mut self, peer: &NodeId, state: &StateTransfer, now: Timestamp) {
        self.leadership.hear_term(state.term);
        let fleet = Fleet::new(&self.peers, &self.leadership, &self.cabin);
        let random = &mut self.random;
        self.orders.handle_state(peer, state, fleet, random, now);
        self.route_orders(now);
    }

    /// Holds the peer's store against this node's: equal digests acknowledge everything at once, a
    /// difference that stands is repaired (O7).
    pub(super) fn compare(&mut self, beacon: &Beacon, now: Timestamp) {
        let (node, digest) = (&beacon.hello.node, beacon.digest);
        if digest == self.orders.store().digest() {
            if let Some(is_new) = self.peers.note_equal(node, digest, beacon.durable) {
                self.orders.settle_all(node);
                if is_new {
                    self.orders.vouch(node, beacon.durable);
                }
            }
        } else if let Some(difference) = self.peers.note_difference(node, now)
            && difference.stood >= self.orders.repair_after(node, difference.repair_after, now)
            && let Some(link) = self.peers.links().to(node)
        {
            self.peers.note_repair(node, digest, now);
            self.report(Report::Repair { node: node.clone() });
            self.orders.begin_transfer(link, Purpose::Repair, now);
        }
    }

    /// Tells the peer over a fresh link what this node's store is.
    pub(super) fn send_digest(&mut self, link: LinkId) {
        let digest = self.orders.told_digest(self.leadership.term());
        let frame = Frame::Digest(digest);
        self.actions.push_back(Action::Send { link, frame });
    }

    /// The peer has said over a fresh link what its store is. Equal stores count as exchanged;
    /// otherwise each side sends its own.
    pub(super) fn on_digest(&mut self, link: LinkId, told: StoreDigest, now: Timestamp) {
        self.leadership.hear_term(told.term);
        let Some(peer) = self.peers.links().get(link).map(|link| link.peer.clone()) else {
            return;
        };
        match self.peers.compare_digests(link, told.digest) {
            None => {}
            Some(false) => self.orders.begin_transfer(link, Purpose::Join, now),
            Some(true) => {
                if told.digest == self.orders.store().digest() {
                    self.orders.vouch(&peer, told.durable);
                }
                self.on_state_received(link, now);
            }
        }
    }

    /// All of the peer's state is known here.
    pub(super) fn on_state_received(&mut self, link: LinkId, now: Timestamp) {
        self.actions.push_back(Action::Send { link, frame: Frame::Synced });
        if self.peers.state_received(link) == Handshake::Done {
            self.synced(link, now);
        }
    }

    /// Sends the parts of states that are due.
    pub(super) fn send_states(&mut self, now: Timestamp) {
        let (links, term) = (self.peers.links(), self.leadership.term());
        let stands = |link| links.get(link).is_some();
        for (link, state) in self.orders.states_due(stands, term, now) {
            let frame = Frame::State(state);
            self.actions.push_back(Action::Send { link, frame });
        }
    }

    /// Sends over each link what its peer has not been told over it.
    pub(super) fn send_deltas(&mut self, now: Timestamp) {
        let links = self.peers.links().synced();
        let synced: Vec<(LinkId, NodeId)> =
            links.map(|(link, peer)| (link, peer.clone())).collect();
        if synced.is_empty() {
            return;
        }
        let car = self.cabin.delta(now);
        for (link, peer) in synced {
            for delta in self.orders.deltas_for(&peer, car, now) {
                let frame = Frame::Delta(delta);
                self.actions.push_back(Action::Send { link, frame });
            }
        }
    }
}
