//! Deltas, digests and state transfers: what goes over links and comes from peers.

use crate::model::{CarView, NodeId, Shut, Timestamp};
use crate::node::{Action, LinkId, Node, Report};
use crate::seeded::{SeededBug, is_seeded};
use crate::store::{Effect, Purpose};
use crate::wire::{Beacon, Delta, Frame, StoreDigest};

impl Node {
    pub(in crate::node) fn route_store(&mut self, now: Timestamp) {
        while let Some(effect) = self.store.poll_effect() {
            match effect {
                Effect::Set(changed) => self.on_set(changed, now),
                Effect::Report(report) => self.report(report),
                Effect::Hurry => self.peers.hurry(),
                Effect::Changed => self.orders_have_changed(),
                Effect::LampsChanged => self.cabin.invalidate(),
                Effect::Opened(call) => self.dispatching.on_opened(call),
                Effect::Closed(call) => self.dispatching.plan.forget(call),
            }
        }
    }

    pub(in crate::node) fn orders_have_changed(&mut self) {
        self.dispatching.invalidate();
        self.cabin.invalidate_stops();
        self.cabin.invalidate();
    }

    pub(in crate::node) fn on_delta(&mut self, peer: &NodeId, delta: &Delta, now: Timestamp) {
        self.on_car_view(peer, delta, now);
        self.on_records(peer, delta, now);
        if self.leadership.follows(peer)
            || is_seeded(SeededBug::PlanOfAnybody)
            || (is_seeded(SeededBug::PlanOfFormerMaster) && self.leadership.has_followed(peer))
        {
            for entry in &delta.plan {
                self.on_assignment(entry.clone());
            }
        }
    }

    fn on_car_view(&mut self, peer: &NodeId, delta: &Delta, now: Timestamp) {
        let car = delta.car.filter(|car| car.is_within(self.hello.floors));
        if let Some(view) = car {
            let shown = |view: &CarView| (view.availability, view.locked_out, view.floor.is_some());
            let before = self.peers.membership.get(peer).and_then(|known| known.car);
            // A hung node ends (F9). An older beacon may be overtaken by what came over the link.
            if before.is_some_and(|(before, _)| before.availability.is_hung())
                && !view.availability.is_hung()
            {
                return;
            }
            if before.is_none_or(|(before, _)| shown(&before) != shown(&view)) {
                // A kiosk may show the car.
                self.cabin.invalidate();
            }
            self.dispatching.note_view(peer, &view);
            let known = before.map(|(before, _)| before.shut);
            let shut = known.unwrap_or_else(|| Shut::of(self.building(), peer.as_str()));
            if let Some(known) = self.peers.membership.get_mut(peer) {
                known.car = Some((CarView { shut, ..view }, now));
            }
        }
    }

    /// Handles settings, records and acknowledgements, which stay true even if the beacon was
    /// reordered.
    pub(in crate::node) fn on_records(&mut self, peer: &NodeId, delta: &Delta, now: Timestamp) {
        self.store.handle_delta(peer, delta, now);
        self.route_store(now);
    }

    /// Compares digests. Equal ones acknowledge everything; a lasting difference is repaired (O7).
    pub(in crate::node) fn compare(&mut self, beacon: &Beacon, now: Timestamp) {
        let (node, digest) = (&beacon.hello.node, beacon.digest);
        if digest == self.store.digest() {
            let is_new = self.peers.note_equal(node, digest, beacon.durable);
            self.store.settle_all(node);
            if is_new {
                self.store.note_equal(node, beacon.durable);
            }
        } else if self.peers.is_repair_due(node, now)
            && let Some(link) = self.peers.links.to(node)
        {
            self.peers.note_repair(node, digest, now);
            self.report(Report::Repair { node: node.clone() });
            self.store.transfers.begin(link, Purpose::Repair, now);
        }
    }

    /// Handles a peer's digest on a fresh link. Unless stores are equal, each side sends its own.
    pub(in crate::node) fn on_digest(&mut self, link: LinkId, told: StoreDigest, now: Timestamp) {
        self.leadership.terms.hear(told.term);
        let Some(peer) = self.peers.links.get(link).map(|link| link.peer.clone()) else {
            return;
        };
        match self.peers.links.equals(link, told.digest) {
            None => {}
            Some(false) if !is_seeded(SeededBug::JoinWithoutTransfer) => {
                self.store.transfers.begin(link, Purpose::Join, now);
            }
            Some(_) => {
                if told.digest == self.store.digest() {
                    self.store.note_equal(&peer, told.durable);
                }
                self.on_state_received(link, now);
            }
        }
    }

    pub(in crate::node) fn on_state_received(&mut self, link: LinkId, now: Timestamp) {
        self.actions.push_back(Action::Send { link, frame: Frame::Synced });
        if self.peers.links.state_received(link) {
            self.synced(link, now);
        }
    }

    pub(in crate::node) fn send_states(&mut self, now: Timestamp) {
        let (links, term) = (&self.peers.links, self.leadership.terms.known());
        let stands = |link| links.get(link).is_some();
        for (link, state) in self.store.states_due(stands, term, now) {
            let frame = Frame::State(state);
            self.actions.push_back(Action::Send { link, frame });
        }
    }

    /// Sends over each link what was not sent over it yet.
    pub(in crate::node) fn send_deltas(&mut self, now: Timestamp) {
        let links = self.peers.links.synced();
        let synced: Vec<(LinkId, NodeId)> =
            links.map(|(link, peer)| (link, peer.clone())).collect();
        if synced.is_empty() {
            return;
        }
        let car = self.cabin.delta(now);
        for (link, peer) in synced {
            for delta in self.store.deltas_for(&peer, car, now) {
                let frame = Frame::Delta(delta);
                self.actions.push_back(Action::Send { link, frame });
            }
        }
    }
}
