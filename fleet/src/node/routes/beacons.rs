//! The contents of this node's beacons: orders, plan and car.

use core::net::Ipv4Addr;

use crate::model::Timestamp;
use crate::node::{Action, Node};
use crate::peers::Facts;
use crate::wire::{Beacon, Room};

impl Node {
    pub(in crate::node) fn facts(&self, now: Timestamp) -> Facts {
        Facts {
            node_state: self.leadership.node_state().clone(),
            term: self.leadership.term(),
            led: self.leadership.terms.led(),
            estimate: self.leadership.election().estimate(),
            digest: self.store.digest(),
            power: self.settings().power_digest(),
            durable: self.store.all_durable(),
            car: self.cabin.view(now),
        }
    }

    pub(in crate::node) fn broadcast_if_due(&mut self, now: Timestamp) {
        let leads = self.leadership.leads();
        if self.leadership.has_started() && self.peers.beacon_due(leads) <= now {
            let facts = self.facts(now);
            let mut beacon = self.peers.broadcast(facts, leads, now);
            self.add_delta(&mut beacon, now);
            self.actions.push_back(Action::Broadcast(beacon));
        }
    }

    pub(in crate::node) fn unicast(&mut self, to: Ipv4Addr, probe: bool, now: Timestamp) {
        let facts = self.facts(now);
        let beacon = self.peers.unicast(facts, to, probe, now);
        self.actions.push_back(Action::Unicast { to, beacon });
    }

    /// Adds the open orders, oldest first, and then the plan, as far as they fit.
    pub(in crate::node) fn enclose_orders(&self, beacon: &mut Beacon, now: Timestamp) {
        let mut room = Room::left_by(beacon);
        self.store.enclose(&mut beacon.delta, &mut room, now);
        for entry in self.dispatching.plan.bequeath() {
            if !room.add(&mut beacon.delta.plan, entry) {
                break;
            }
        }
    }

    /// Adds what fits into a datagram of what is owed, and then of the plan.
    fn add_delta(&mut self, beacon: &mut Beacon, now: Timestamp) {
        let plans = self.leadership.leads() && !self.dispatching.plan.is_empty();
        if !self.store.has_unsent() && !plans {
            return;
        }
        let mut room = Room::left_by(beacon);
        let delta = &mut beacon.delta;
        self.store.fill_delta(delta, &mut room, now);
        if plans {
            self.dispatching.plan.offer_entries(|entry| room.add(&mut delta.plan, entry.clone()));
        }
    }
}
