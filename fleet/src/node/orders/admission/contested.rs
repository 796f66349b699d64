//! Orders of which a service was refused (O1).
//!
//! A node that refuses a service keeps the order open, but the peer that reported the service holds
//! it as served, and so do the nodes that believed it. If the master or the car's node is among
//! them, nobody may ever serve it. So the order is *placed again*: as a fresh press of the same
//! call, which is as old as the order and open for everybody.
//!
//! One fresh press is enough if many nodes refuse. They place it one after the other, by address,
//! and not at all while an open press of the call is known of which no service was refused and that
//! *counts*: a member announces its journal, or all who reported a service hold it. (They may have
//! no room for what nobody announces.) Once a service of that press is refused too, it may have been
//! the turn of another node, and the next turn is counted from then. All that ends after
//! [`LONGEST_WAIT`], so that a member which invents presses keeps no sound master without the call.
//! Where each fresh press is contested in turn, all nodes together place the call once per [`WAIT`],
//! and each of them once more per 10 s. Each has one register for it.
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
use crate::node::leadership::BELIEVED_FOR;
use crate::orders::{Record, RecordState, Service};

/// The time from the refusal to the fresh press. News of a service that did happen may still
/// arrive.
const WAIT: Duration = Duration::from_secs(2);

/// The time between one node that places a fresh press and the next, by address: longer than a
/// press takes to spread.
const STAGGER: Duration = Duration::from_millis(100);

/// For how long other presses may put off a fresh one.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The longest time between the first node that places a press after [`LONGEST_WAIT`] and the last.
/// With this, a master that holds the call as served gets the press before its slaves would distrust
/// it for leaving the call without a car (E8).
const MOST_STAGGER: Duration = Duration::from_secs(1);

const _: () = assert!(
    LONGEST_WAIT.as_millis() + WAIT.as_millis() + MOST_STAGGER.as_millis()
        < BELIEVED_FOR.as_millis(),
    "a sound master would be distrusted"
);

/// How long a car's node may take to answer whether it has served an order, before the service
/// counts as refused. It answers within milliseconds unless it is held up.
pub(in crate::node::orders) const ANSWER_LIMIT: Duration = Duration::from_secs(6);

/// How many calls are placed again at a time, the longest contested first.
const MOST_AT_ONCE: usize = 16;

/// The open orders that peers hold as served, as far as they have said so.
#[derive(Debug, Clone, Default)]
pub(super) struct Contested {
    orders: BTreeMap<Dot, Contest>,
    /// When to look whether a call has to be placed again; `None` if nothing is contested.
    look_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
struct Contest {
    /// When a peer first said that the order was served, or the call was last placed again.
    told: Timestamp,
    /// When the service was refused, or the call was last placed again.
    since: Timestamp,
    /// Whether the order kept the call from being placed again until then.
    delays: bool,
    /// The peers that reported a service.
    reporters: BTreeSet<NodeId>,
    /// The nodes that were asked whether their cars have served the order.
    asked: BTreeSet<NodeId>,
}

/// When the orders of a call came to be contested.
#[derive(Debug, Clone, Copy)]
struct Span {
    told: Timestamp,
    first: Timestamp,
    /// Of those that delay.
    latest: Option<Timestamp>,
}

impl Span {
    /// When it is this node's turn.
    fn due(&self, stagger: Duration) -> Timestamp {
        let counted_from = self.latest.unwrap_or(self.first);
        (counted_from + WAIT + stagger).min(self.latest_due(stagger))
    }

    /// The same, however much puts it off.
    fn latest_due(&self, stagger: Duration) -> Timestamp {
        (self.told + LONGEST_WAIT).max(self.first) + WAIT + stagger.min(MOST_STAGGER)
    }
}

impl Contested {
    /// A peer says that an open order was served; the service counts as refused after `delay`.
    ///
    /// Only hall calls and calls of this node's own car are placed again; the node of another car
    /// does so for its own. So peers can add only a bounded number of registers to this node's
    /// journal.
    pub(super) fn add(
        &mut self,
        call: &Call,
        open: Dot,
        reporter: &NodeId,
        known: &Knowledge<'_>,
        (told, delay): (Timestamp, Duration),
    ) {
        let is_answerable = match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => *car == known.own.node,
        };
        if !is_answerable {
            return;
        }
        let since = told + delay;
        let delays = counts(open, &self.reporters(call, known), known);
        let contest = self.orders.entry(open).or_insert_with(|| Contest {
            told,
            since,
            delays,
            reporters: BTreeSet::new(),
            asked: BTreeSet::new(),
        });
        contest.since = contest.since.min(since);
        contest.reporters.insert(reporter.clone());
        let look_at = since + WAIT;
        self.look_at = Some(self.look_at.map_or(look_at, |earlier| earlier.min(look_at)));
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
    /// that counts has been contested for long enough. Their next turn is counted from now.
    pub(super) fn due_calls(&mut self, known: &Knowledge<'_>, now: Timestamp) -> Vec<Call> {
        if self.look_at.is_none_or(|at| now < at) {
            return Vec::new();
        }
        let store = known.store;
        self.orders.retain(|dot, _| store.get(*dot).is_some());
        let stagger = known.stagger();
        let calls = self.calls(known);
        let is_ripe = |(call, span): &(&&Call, &Span)| {
            now >= span.due(stagger)
                && !self.is_blocked(call, now >= span.latest_due(stagger), known)
        };
        let mut ripe: Vec<(Timestamp, Call)> = calls
            .iter()
            .filter(is_ripe)
            .map(|(call, span)| (span.first, (*call).clone()))
            .collect();
        ripe.sort();
        ripe.truncate(MOST_AT_ONCE);
        self.look_at = (!calls.is_empty()).then(|| now + STAGGER);
        let ripe: Vec<Call> = ripe.into_iter().map(|(_, call)| call).collect();
        for order in ripe.iter().flat_map(|call| store.of_call(call)) {
            if let Some(contest) = self.orders.get_mut(&order.dot) {
                (contest.told, contest.since) = (now, now);
            }
        }
        ripe
    }

    /// Whether an open order that is not contested keeps the call from being placed again. After the
    /// longest wait none does that the master, which reported a service, does not hold.
    fn is_blocked(&self, call: &Call, has_waited: bool, known: &Knowledge<'_>) -> bool {
        let reporters = self.reporters(call, known);
        let master = known.fleet.master.filter(|master| has_waited && reporters.contains(master));
        let uncontested = known.store.of_call(call).filter(|order| !self.contains(order.dot));
        let mut orders = uncontested.map(|order| order.dot);
        orders.any(|order| {
            counts(order, &reporters, known) && master.is_none_or(|peer| known.holds(peer, order))
        })
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
                let (told, first) = (contest.told, contest.since);
                let span = calls.entry(&order.call).or_insert(Span { told, first, latest: None });
                span.told = span.told.min(told);
                span.first = span.first.min(first);
                span.latest = span.latest.max(contest.delays.then_some(contest.since));
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
    /// How long after the first node this one places a fresh press.
    fn stagger(&self) -> Duration {
        let own = (self.own.address, &self.own.node);
        let peers = self.fleet.members.peers();
        let before = peers.filter(|(name, peer)| (peer.hello.address, *name) < own);
        STAGGER * u32::try_from(before.count()).unwrap_or(u32::MAX)
    }

    /// Whether this peer holds an open order, as it has said.
    fn holds(&self, peer: &NodeId, order: Dot) -> bool {
        self.promise.holding(order, peer).is_some()
    }
}

/// Whether an open order will do for those who reported a service of the call. Everybody has room
/// for what a member announces.
fn counts(order: Dot, reporters: &BTreeSet<&NodeId>, known: &Knowledge<'_>) -> bool {
    known.is_announced(order.journal) || reporters.iter().all(|peer| known.holds(peer, order))
}
