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
//! Of a car that is heard its node is asked. Where it gives no answer, the service counts as refused
//! after [`ANSWER_LIMIT`].
//!
//! Once the call is really served, so is every press that waited by then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::plausible::Credit;
use super::{Fleet, Orders};
use crate::model::{Call, Dot, NodeId, Order, Timestamp};
use crate::orders::{Record, Service, State};

/// The time from the refusal to the fresh press: a service that did happen may yet show.
const WAIT: Duration = Duration::from_secs(2);

/// The time between one node that places a fresh press and the next, by address: longer than a
/// press takes to spread.
const STAGGER: Duration = Duration::from_millis(100);

/// Each further press that is contested puts the fresh one off, for a press of another node, which is
/// contested too, may be that node's turn; but not for longer than this.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The time that a car's node has to answer whether it has served an order, before that counts as
/// refused: it answers within milliseconds, or is held up.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(6);

/// At most this many calls are placed again at a time, the longest contested first.
const MOST_AT_ONCE: usize = 16;

/// The open orders that others hold as served, as far as they have said so.
#[derive(Debug, Clone, Default)]
pub(super) struct Contested {
    orders: BTreeMap<Dot, Contest>,
    /// No call has to be placed again before; `None` where nothing is contested.
    due: Option<Timestamp>,
}

#[derive(Debug, Clone)]
struct Contest {
    /// Since the refusal, or since its call was last placed again.
    since: Timestamp,
    /// Who has told of a service.
    tellers: BTreeSet<NodeId>,
}

/// When the orders of a call came to be contested.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: Timestamp,
    latest: Timestamp,
}

impl Contested {
    /// A peer tells that an open order was served; the service counts as refused from `since` on.
    fn add(&mut self, dot: Dot, teller: &NodeId, since: Timestamp) {
        let contest =
            self.orders.entry(dot).or_insert_with(|| Contest { since, tellers: BTreeSet::new() });
        contest.since = contest.since.min(since);
        contest.tellers.insert(teller.clone());
        let due = since + WAIT;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    /// Whether this peer told that the order was served.
    pub(super) fn is_told_by(&self, dot: Dot, peer: &NodeId) -> bool {
        let contest = self.orders.get(&dot);
        contest.is_some_and(|contest| contest.tellers.contains(peer))
    }

    pub(super) fn contains(&self, dot: Dot) -> bool {
        self.orders.contains_key(&dot)
    }

    pub(super) fn lost(&mut self, peer: &NodeId) {
        for contest in self.orders.values_mut() {
            contest.tellers.remove(peer);
        }
    }
}

impl Orders {
    /// A peer tells that an order was served which is open here; that counts as refused from `since`
    /// on.
    ///
    /// Only hall calls and calls of the own car are placed again: another car's node does so for its
    /// own. So what others tell adds a bounded number of registers to the own journal.
    pub(super) fn contest(&mut self, call: &Call, open: Dot, teller: &NodeId, since: Timestamp) {
        let is_answerable = match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => *car == self.own.node,
        };
        if is_answerable {
            self.contested.add(open, teller, since);
        }
    }

    /// Places the calls again of which every open order has been contested for long enough.
    pub(in crate::node) fn place_contested(&mut self, fleet: Fleet<'_>, now: Timestamp) {
        if self.contested.due.is_none_or(|due| now < due) {
            return;
        }
        let store = &self.store;
        self.contested.orders.retain(|dot, _| store.get(*dot).is_some());
        let turn = self.turn_to_place(fleet);
        let calls = self.contested_calls();
        let due = |span: &Span| (span.latest + turn).min(span.first + LONGEST_WAIT + turn);
        let is_blocked = |call: &Call| {
            let mut orders = self.store.of_call(call);
            orders.any(|order| !self.contested.contains(order.dot))
        };
        let mut ripe: Vec<(Timestamp, Call)> = calls
            .iter()
            .filter(|(call, span)| now >= due(span) && !is_blocked(call))
            .map(|(call, span)| (span.first, (*call).clone()))
            .collect();
        ripe.sort();
        ripe.truncate(MOST_AT_ONCE);
        let next = calls.values().map(|span| due(span).max(now + STAGGER)).min();
        self.contested.due = next;
        for (_, call) in ripe {
            for order in self.store.of_call(&call) {
                if let Some(contest) = self.contested.orders.get_mut(&order.dot) {
                    contest.since = now;
                }
            }
            self.place(call, now);
        }
    }

    fn contested_calls(&self) -> BTreeMap<&Call, Span> {
        let mut calls: BTreeMap<&Call, Span> = BTreeMap::new();
        for (dot, contest) in &self.contested.orders {
            if let Some(order) = self.store.get(*dot) {
                let (first, latest) = (contest.since, contest.since);
                let span = calls.entry(&order.call).or_insert(Span { first, latest });
                span.first = span.first.min(first);
                span.latest = span.latest.max(latest);
            }
        }
        calls
    }

    /// How long after the refusal it is this node's turn to place a fresh press.
    fn turn_to_place(&self, fleet: Fleet<'_>) -> Duration {
        let own = (self.own.address, &self.own.node);
        let peers = fleet.members.peers();
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
        fleet: Fleet<'_>,
        now: Timestamp,
    ) {
        let served_at = (closed.placed + service.waited).min(now);
        let of_call = self.store.of_call(&closed.call);
        let contested = of_call.filter(|order| self.contested.contains(order.dot));
        let waited_then = contested.filter(|order| order.placed <= served_at);
        let orders: Vec<Order> = waited_then.cloned().collect();
        for order in orders {
            let service =
                Service { waited: served_at.since(order.placed), car: service.car.clone() };
            let record = Record {
                dot: order.dot,
                origin: order.origin,
                call: order.call,
                state: State::Served(Some(service)),
            };
            if self.credit(peer, &record, fleet) == Credit::Taken {
                self.merge_record(&record, None, now);
            }
        }
    }
}
