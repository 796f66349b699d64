//! Orders of which a service was refused (O1).
//!
//! A node that refuses a service keeps the order open, but the peer that reported the service holds
//! it as served, and so do the nodes that believed it. If the master or the car's node is among
//! them, nobody may ever serve it. So the order is *placed again*: as a fresh press of the same
//! call, which is as old as the order and open for everybody.
//!
//! One fresh press is enough if many nodes refuse. They place it one after the other, by address,
//! and not at all if an open press of the call is known of which no service was refused. If nobody
//! announces the journal of that press, it has to be held by all who reported a service: they may
//! have no room for it. Where each fresh press is contested in turn, all nodes together place the
//! call once per [`WAIT`], and each of them once more per 10 s. Each has one register for it.
//!
//! If the car is heard, its node is asked. If it does not answer, the service counts as refused
//! after [`ANSWER_LIMIT`]. If it is lost meanwhile, it can't answer, and those that reported the
//! service are asked once more.
//!
//! Once the call is really served, so is every press that was waiting then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Knowledge;
use crate::model::{Call, Dot, NodeId, Order, Timestamp};
use crate::orders::{Record, RecordState, Service};
use crate::wire::Hello;

/// The time from the refusal to the fresh press. News of a service that did happen may still
/// arrive.
const WAIT: Duration = Duration::from_secs(2);

/// The time between one node that places a fresh press and the next, by address: longer than a
/// press takes to spread.
const STAGGER: Duration = Duration::from_millis(100);

/// The longest delay of a fresh press. Each further contested press of a journal that is announced
/// delays it: it may have been another node's turn. One that a liar has invented is nobody's turn.
/// So short that a master which holds the call as served usually gets the fresh press before it would
/// be distrusted for leaving the call without a car (E8). It does not if a member presses the call
/// anew every 100 ms, or names a car that is heard, or if 20 peers have lower addresses.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// How long a car's node may take to answer whether it has served an order, before the service
/// counts as refused. It answers within milliseconds unless it is held up.
pub(in crate::node::orders) const ANSWER_LIMIT: Duration = Duration::from_secs(6);

/// How many calls are placed again at a time, the longest contested first.
const MOST_AT_ONCE: usize = 16;

/// The open orders that peers hold as served, as far as they have said so.
#[derive(Debug, Clone, Default)]
pub(super) struct Contested {
    orders: BTreeMap<Dot, Contest>,
    /// The earliest time at which a call may have to be placed again; `None` if nothing is
    /// contested.
    due: Option<Timestamp>,
}

#[derive(Debug, Clone)]
struct Contest {
    /// When the service was refused, or the call was last placed again.
    since: Timestamp,
    /// The peers that reported a service.
    reporters: BTreeSet<NodeId>,
    /// The nodes that were asked whether their cars have served the order.
    asked: BTreeSet<NodeId>,
}

/// When the orders of a call came to be contested.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: Timestamp,
    /// Of those whose journals are announced.
    latest: Option<Timestamp>,
}

impl Contested {
    /// A peer says that an open order was served; the service counts as refused from `since` on.
    ///
    /// Only hall calls and calls of this node's own car are placed again; the node of another car
    /// does so for its own. So peers can add only a bounded number of registers to this node's
    /// journal.
    pub(super) fn add(
        &mut self,
        call: &Call,
        open: Dot,
        reporter: &NodeId,
        own: &Hello,
        since: Timestamp,
    ) {
        let is_answerable = match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => *car == own.node,
        };
        if !is_answerable {
            return;
        }
        let contest = self.orders.entry(open).or_insert_with(|| Contest {
            since,
            reporters: BTreeSet::new(),
            asked: BTreeSet::new(),
        });
        contest.since = contest.since.min(since);
        contest.reporters.insert(reporter.clone());
        let due = since + WAIT;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    /// The node of this car was asked whether it has served the order.
    pub(super) fn note_question(&mut self, open: Dot, car: &NodeId) {
        if let Some(contest) = self.orders.get_mut(&open) {
            contest.asked.insert(car.clone());
        }
    }

    /// Whether this peer said that the order was served.
    pub(super) fn is_contested_by(&self, dot: Dot, peer: &NodeId) -> bool {
        let contest = self.orders.get(&dot);
        contest.is_some_and(|contest| contest.reporters.contains(peer))
    }

    pub(super) fn contains(&self, dot: Dot) -> bool {
        self.orders.contains_key(&dot)
    }

    /// A peer is lost. Returns the nodes to ask about orders about which it was asked in vain.
    pub(super) fn peer_lost(&mut self, peer: &NodeId) -> Vec<(NodeId, Dot)> {
        let mut questions = Vec::new();
        for (open, contest) in &mut self.orders {
            contest.reporters.remove(peer);
            if contest.asked.remove(peer) {
                let reporters = contest.reporters.iter();
                questions.extend(reporters.map(|reporter| (reporter.clone(), *open)));
            }
        }
        questions
    }

    /// The calls to place again now, the longest contested first: those of which every open order
    /// has been contested for long enough. One that is not contested counts, if nobody announces its
    /// journal, only where every reporter `holds` it. Their next turn is counted from now.
    pub(super) fn due_calls(
        &mut self,
        known: &Knowledge<'_>,
        holds: impl Fn(&NodeId, Dot) -> bool,
        now: Timestamp,
    ) -> Vec<Call> {
        if self.due.is_none_or(|due| now < due) {
            return Vec::new();
        }
        let store = known.store;
        self.orders.retain(|dot, _| store.get(*dot).is_some());
        let turn = known.turn_to_place();
        let calls = self.calls(known);
        let due =
            |span: &Span| span.latest.unwrap_or(span.first).min(span.first + LONGEST_WAIT) + turn;
        let is_blocked = |call: &Call| {
            let reporters = self.reporters(call, known);
            let mut uncontested = store.of_call(call).filter(|order| !self.contains(order.dot));
            // Everybody has room for what a member announces.
            let is_open = |order: &Order| {
                known.is_announced(order.dot.journal)
                    || reporters.iter().all(|peer| holds(peer, order.dot))
            };
            uncontested.any(is_open)
        };
        let mut ripe: Vec<(Timestamp, Call)> = calls
            .iter()
            .filter(|(call, span)| now >= due(span) && !is_blocked(call))
            .map(|(call, span)| (span.first, (*call).clone()))
            .collect();
        ripe.sort();
        ripe.truncate(MOST_AT_ONCE);
        self.due = calls.values().map(|span| due(span).max(now + STAGGER)).min();
        let ripe: Vec<Call> = ripe.into_iter().map(|(_, call)| call).collect();
        for order in ripe.iter().flat_map(|call| store.of_call(call)) {
            if let Some(contest) = self.orders.get_mut(&order.dot) {
                contest.since = now;
            }
        }
        ripe
    }

    /// The peers that reported a service of this call.
    fn reporters(&self, call: &Call, known: &Knowledge<'_>) -> BTreeSet<&NodeId> {
        let orders = known.store.of_call(call);
        let contests = orders.filter_map(|order| self.orders.get(&order.dot));
        contests.flat_map(|contest| &contest.reporters).collect()
    }

    fn calls<'a>(&self, known: &Knowledge<'a>) -> BTreeMap<&'a Call, Span> {
        let mut calls: BTreeMap<&Call, Span> = BTreeMap::new();
        for (dot, contest) in &self.orders {
            if let Some(order) = known.store.get(*dot) {
                let since = contest.since;
                let span = calls.entry(&order.call).or_insert(Span { first: since, latest: None });
                span.first = span.first.min(since);
                if known.is_announced(dot.journal) {
                    span.latest = span.latest.max(Some(since));
                }
            }
        }
        calls
    }

    /// An order that was open here has been served. Returns a record of the same service for each
    /// contested order of the call that was waiting at that moment.
    pub(super) fn served_with(
        &self,
        closed: &Order,
        service: &Service,
        known: &Knowledge<'_>,
        now: Timestamp,
    ) -> Vec<Record> {
        let served_at = (closed.placed + service.waited).min(now);
        let of_call = known.store.of_call(&closed.call);
        let contested = of_call.filter(|order| self.contains(order.dot));
        let waited_then = contested.filter(|order| order.placed <= served_at);
        let record = |order: &Order| Record {
            dot: order.dot,
            origin: order.origin.clone(),
            call: order.call.clone(),
            state: RecordState::Served(Some(Service {
                waited: served_at.since(order.placed),
                car: service.car.clone(),
            })),
        };
        waited_then.map(record).collect()
    }
}

impl Knowledge<'_> {
    /// How long after the refusal it is this node's turn to place a fresh press.
    fn turn_to_place(&self) -> Duration {
        let own = (self.own.address, &self.own.node);
        let peers = self.fleet.members.peers();
        let before = peers.filter(|(name, peer)| (peer.hello.address, *name) < own);
        WAIT + STAGGER * u32::try_from(before.count()).unwrap_or(u32::MAX)
    }
}
