//! What this node's beacons tell of its orders, plan and car.

use core::net::Ipv4Addr;

use super::peers::{Facts, Room};
use super::{Action, Node};
use crate::model::{Dot, Timestamp};
use crate::wire::{Ack, Beacon};

impl Node {
    pub(super) fn facts(&self, now: Timestamp) -> Facts {
        Facts {
            standing: self.leadership.standing().clone(),
            term: self.leadership.term(),
            estimate: self.leadership.told_estimate(),
            digest: self.orders.digest(),
            durable: self.ledger.all_durable(),
            journal: self.ledger.journal(),
            car: self.cabin.view(now),
        }
    }

    pub(super) fn broadcast_if_due(&mut self, now: Timestamp) {
        let leads = self.leadership.leads();
        if self.started && self.peers.beacon_due(leads) <= now {
            let facts = self.facts(now);
            let mut beacon = self.peers.broadcast(facts, leads, now);
            self.add_news(&mut beacon, now);
            self.actions.push_back(Action::Broadcast(beacon));
        }
    }

    /// A sign of life to one node.
    pub(super) fn unicast(&mut self, to: Ipv4Addr, probe: bool, now: Timestamp) {
        let facts = self.facts(now);
        let beacon = self.peers.unicast(facts, to, probe, now);
        self.actions.push_back(Action::Unicast { to, beacon });
    }

    /// Adds the open orders, the oldest first, and the plan, as far as they fit.
    pub(super) fn enclose_orders(&self, beacon: &mut Beacon, now: Timestamp) {
        let mut room = Room::left_by(beacon);
        let mut orders: Vec<_> = self.orders.orders().collect();
        orders.sort_by_key(|order| order.placed);
        for order in orders {
            let Some(record) = self.orders.record(order.dot, now) else {
                continue;
            };
            if !room.add(&mut beacon.news.records, record) {
                break;
            }
        }
        for entry in self.dispatching.bequeath() {
            if !room.add(&mut beacon.news.plan, entry) {
                break;
            }
        }
    }

    /// Adds what there is to tell and fits a datagram: acknowledgements first, then orders, then
    /// the plan.
    fn add_news(&mut self, beacon: &mut Beacon, now: Timestamp) {
        let plans = self.leadership.leads() && !self.dispatching.is_empty();
        if !self.replication.is_waiting() && !plans {
            return;
        }
        let mut room = Room::left_by(beacon);
        let (orders, ledger, news) = (&self.orders, &self.ledger, &mut beacon.news);
        self.replication.take_acks(|dot| {
            let ack = Ack {
                dot,
                served: orders.get(dot).is_none(),
                durable: ledger.is_durable(dot),
            };
            room.add(&mut news.acks, ack)
        });
        self.replication.tell_records(|dot| {
            let record = orders.record(dot, now);
            record.is_none_or(|record| room.add(&mut news.records, record))
        });
        if plans {
            self.dispatching
                .tell(|entry| room.add(&mut news.plan, entry.clone()));
        }
    }

    pub(super) fn ack(&self, dot: Dot) -> Ack {
        let served = self.orders.get(dot).is_none();
        Ack {
            dot,
            served,
            durable: self.ledger.is_durable(dot),
        }
    }
}
