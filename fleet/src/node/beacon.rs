//! What goes into a beacon, and when one is due.

use core::net::Ipv4Addr;
use std::time::Duration;

use serde::Serialize;

use super::membership::pace;
use super::{Action, Node};
use crate::model::{Dot, Timestamp};
use crate::wire::codec::{DATAGRAM_BODY, size};
use crate::wire::{Ack, Beacon, News};

/// The most echoes in a beacon; in a larger fleet the peers take turns.
pub(super) const MOST_ECHOES: usize = 32;

/// How many of those are for strangers, if there are any: a node that restarts is one until it is
/// echoed, and others may only pretend to be there.
pub(super) const STRANGERS_ECHOED: usize = 4;

/// The bytes by which the lengths of a beacon's lists can grow as they fill.
const LENGTHS: usize = 8;

/// The most beacons ahead of time in one period, because of news, of all the peers together. What
/// the nodes of a large fleet have to say goes over links as well.
const MOST_EARLY_OF_ALL: usize = 16;

/// A single node may send this many in any case.
const MOST_EARLY: usize = 2;

/// When this node's beacons go out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BeaconClock {
    sequence: u64,
    last: Option<Timestamp>,
    /// How soon after the last one the next was said to follow.
    told: Duration,
    /// How many beacons have gone out ahead of time since one was due.
    early: usize,
    /// There is news that should not wait for the period.
    urgent: bool,
}

impl BeaconClock {
    pub(super) fn hurry(&mut self) {
        self.urgent = true;
    }

    /// Notes that one goes out.
    fn send(&mut self, period: Duration, now: Timestamp) {
        let is_due = self.last.is_none_or(|last| last + self.told <= now);
        self.early = if is_due {
            0
        } else {
            self.early.saturating_add(1)
        };
        (self.last, self.told, self.urgent) = (Some(now), period, false);
    }
}

/// The bytes that a beacon still has for what is added to it.
#[derive(Debug)]
struct Room(usize);

impl Room {
    fn left_by(beacon: &Beacon) -> Self {
        Self(DATAGRAM_BODY.saturating_sub(size(beacon) + LENGTHS))
    }

    /// Adds this to one of the beacon's lists, if it fits; tells whether it did.
    fn add<T: Serialize>(&mut self, list: &mut Vec<T>, part: T) -> bool {
        let bytes = size(&part);
        let fits = bytes <= self.0;
        if fits {
            self.0 -= bytes;
            list.push(part);
        }
        fits
    }
}

impl Node {
    /// When the next beacon is due.
    pub(super) fn beacon_due(&self) -> Timestamp {
        let Some(last) = self.clock.last else {
            return Timestamp::START;
        };
        let clock = &self.clock;
        let peers = self.membership.count().max(1);
        let most_early = (MOST_EARLY_OF_ALL / peers).max(MOST_EARLY);
        last + if clock.urgent && clock.early < most_early {
            self.settings.mesh.beacon_gap
        } else {
            // The peers count on what they were told.
            self.beacon_period().min(clock.told)
        }
    }

    /// Between two beacons without news. In a large fleet only a node that others depend on, as it
    /// leads them, keeps that of the settings.
    fn beacon_period(&self) -> Duration {
        let times = &self.settings.mesh;
        let leads = self.leadership.leads() && self.links.joined().next().is_some();
        if leads {
            times.beacon_period
        } else {
            pace::period(self.membership.count(), times)
        }
    }

    pub(super) fn broadcast_if_due(&mut self, now: Timestamp) {
        if self.started && self.beacon_due() <= now {
            self.clock.send(self.beacon_period(), now);
            let mut beacon = self.plain_beacon(now);
            beacon.echoes = self.membership.echoes(MOST_ECHOES);
            self.add_news(&mut beacon, now);
            self.actions.push_back(Action::Broadcast(beacon));
        }
    }

    /// A sign of life to one node. News goes to all: what is told once, as acknowledgements are,
    /// would be lost to the others.
    pub(super) fn unicast(&mut self, to: Ipv4Addr, probe: bool, now: Timestamp) {
        let mut beacon = self.plain_beacon(now);
        beacon.probe = probe;
        beacon.echoes = self.membership.echoes_for(to);
        self.actions.push_back(Action::Unicast { to, beacon });
    }

    /// Who this node is, where it stands, and what its car does.
    pub(super) fn plain_beacon(&mut self, now: Timestamp) -> Beacon {
        self.clock.sequence = self.clock.sequence.saturating_add(1);
        let period = self.clock.told;
        self.membership.sent(self.clock.sequence, period, now);
        Beacon {
            hello: self.hello.clone(),
            link_port: self.settings.identity.link_port,
            sequence: self.clock.sequence,
            period: u16::try_from(period.as_millis()).unwrap_or(u16::MAX),
            standing: self.leadership.standing().clone(),
            term: self.leadership.term(),
            estimate: self.leadership.told_estimate(),
            digest: self.orders.digest(),
            durable: self.ledger.all_durable(),
            journal: self.ledger.journal(),
            probe: false,
            echoes: Vec::new(),
            news: News {
                car: self.cabin.view(now),
                ..News::default()
            },
            letter: None,
        }
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
