//! Orders of which a service was refused (O1).
//!
//! Who refuses a service keeps the order open, but the peer that told of it holds it as served, and
//! so do those that believed it. If the master or the car's node is among them, nobody may ever
//! serve it. So the order is *placed again*: as a fresh press of the same call, which is as old as
//! the order, and open for everybody.
//!
//! One fresh press is enough where many refuse, so they place it one after the other, by address,
//! and not at all where an open press of the call is known of which no service was refused. So all
//! nodes together place a call again once in [`WAIT`], whatever is told, and each has one register
//! for it.
//!
//! Once the call is really served, so is every press that waited by then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Node;
use super::plausible::Credit;
use crate::model::{Call, Dot, NodeId, Order, Timestamp};
use crate::orders::{Record, Service, State};

/// The time from the refusal to the fresh press: a service that did happen may yet show.
const WAIT: Duration = Duration::from_secs(2);

/// The time between one node that places a fresh press and the next, by address: longer than a
/// press takes to spread.
const STAGGER: Duration = Duration::from_millis(100);

/// The open orders that others hold as served, as far as they have said so.
#[derive(Debug, Clone, Default)]
pub(super) struct Contested(BTreeMap<Dot, Contest>);

#[derive(Debug, Clone)]
struct Contest {
    /// Since the refusal, or since its call was last placed again.
    since: Timestamp,
    /// Who has told of a service.
    tellers: BTreeSet<NodeId>,
}

impl Contested {
    pub(super) fn add(&mut self, dot: Dot, teller: &NodeId, now: Timestamp) {
        let contest = self.0.entry(dot).or_insert_with(|| Contest {
            since: now,
            tellers: BTreeSet::new(),
        });
        contest.tellers.insert(teller.clone());
    }

    /// Whether this peer told that the order was served.
    pub(super) fn is_told_by(&self, dot: Dot, peer: &NodeId) -> bool {
        let contest = self.0.get(&dot);
        contest.is_some_and(|contest| contest.tellers.contains(peer))
    }

    pub(super) fn contains(&self, dot: Dot) -> bool {
        self.0.contains_key(&dot)
    }

    pub(super) fn lost(&mut self, peer: &NodeId) {
        for contest in self.0.values_mut() {
            contest.tellers.remove(peer);
        }
    }
}

impl Node {
    /// Places the calls again of which every open order is contested for long enough.
    pub(super) fn place_contested(&mut self, now: Timestamp) {
        if self.contested.0.is_empty() {
            return;
        }
        let orders = &self.orders;
        let contested = &mut self.contested.0;
        contested.retain(|dot, _| orders.get(*dot).is_some());
        let mut latest: BTreeMap<&Call, Timestamp> = BTreeMap::new();
        for (dot, contest) in &self.contested.0 {
            let Some(order) = self.orders.get(*dot) else {
                continue;
            };
            let since = latest.entry(&order.call).or_insert(contest.since);
            *since = contest.since.max(*since);
        }
        let is_due = |call: &Call, since: Timestamp| {
            let mut orders = self.orders.of_call(call);
            now >= since + self.turn_to_place() && orders.all(|o| self.contested.contains(o.dot))
        };
        latest.retain(|call, since| is_due(call, *since));
        let due: Vec<Call> = latest.into_keys().cloned().collect();
        for call in due {
            for order in self.orders.of_call(&call) {
                if let Some(contest) = self.contested.0.get_mut(&order.dot) {
                    contest.since = now;
                }
            }
            self.place(call, now);
        }
    }

    /// How long after the refusal it is this node's turn to place a fresh press.
    fn turn_to_place(&self) -> Duration {
        let own = (self.hello.address, &self.hello.node);
        let peers = self.membership.peers();
        let before = peers.filter(|(name, peer)| (peer.hello.address, *name) < own);
        WAIT + STAGGER * u32::try_from(before.count()).unwrap_or(u32::MAX)
    }

    /// An order that was open has been served as this peer tells: what waited then and is contested
    /// was served with it, if that car can have done so.
    pub(super) fn close_contested(
        &mut self,
        peer: &NodeId,
        closed: &Order,
        service: &Service,
        now: Timestamp,
    ) {
        let served_at = (closed.placed + service.waited).min(now);
        let of_call = self.orders.of_call(&closed.call);
        let contested = of_call.filter(|order| self.contested.contains(order.dot));
        let waited_then = contested.filter(|order| order.placed <= served_at);
        let orders: Vec<Order> = waited_then.cloned().collect();
        for order in orders {
            let service = Service {
                waited: served_at.since(order.placed),
                car: service.car.clone(),
            };
            let record = Record {
                dot: order.dot,
                origin: order.origin,
                call: order.call,
                state: State::Served(Some(service)),
            };
            if self.credit(peer, &record) == Credit::Taken {
                self.merge_record(&record, None, now);
            }
        }
    }
}
