//! Orders of which a service was refused (O1).
//!
//! A node that refuses a service keeps the order open, but the peer that reported the service holds
//! it as served, and so do the nodes that believed it. If the master or the car's node is among
//! them, nobody may ever serve it. So the order is *placed again*: as a fresh press of the same
//! call, which is as old as the order and open for everybody.
//!
//! One fresh press is enough if many nodes refuse. They place it one after the other, by address,
//! and, at first, not at all while an open press of the call is known of which no service was
//! refused and that *counts*: a member announces its journal, or all who reported a service hold
//! it. (They may have no room for what nobody announces.) Once a service of that press is refused
//! too, it may have been the turn of another node, and the next turn is counted from then.
//!
//! A call is *in hand* if such a press is held by those of the reporters on whom its service
//! depends, the master and the node of its car; if there are any, it must have been open here for
//! [`WAIT`]. Presses that a member invents, and that are not in hand, put the fresh one off by
//! [`ANSWER_LIMIT`] at most, and by [`WAIT`] more if those nodes hold them for a while. So a sound
//! master that holds the call as served gets it before it would be distrusted, unless it is one of
//! more trips than there is room for.
//!
//! Where each fresh press is contested in turn, all nodes together place the call at most once per
//! [`WAIT`], and each of them once more per 8 s. If a service is reported before the others have
//! the press, or if so many calls are placed that the others do not hear of them in time, each
//! places it at most once per [`WAIT`]. Each has one register for it.
//!
//! If the car is heard, its node is asked. If it does not answer, the service counts as refused
//! after [`ANSWER_LIMIT`]. If it is lost meanwhile, it can't answer, and those that reported the
//! service are asked once more.
//!
//! Once the call is really served, so is every press that was waiting then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::FloorCount;

use super::{Knowledge, MOST_OPEN_TRIPS};
use crate::model::{Call, Dot, NodeId, Order, Timestamp};
use crate::node::leadership::BELIEVED_FOR;
use crate::orders::{OrderStore, Record, RecordState, Service};

/// The time from the refusal to the fresh press. News of a service that did happen may still
/// arrive.
const WAIT: Duration = Duration::from_secs(2);

/// The time between one node that places a fresh press and the next, by address: longer than a
/// press takes to spread.
const STAGGER: Duration = Duration::from_millis(100);

/// How long a car's node may take to answer whether it has served an order, before the service
/// counts as refused. It answers within milliseconds unless it is held up. Other presses put off a
/// fresh one for no longer than that, as they are worth no more than an answer.
pub(in crate::node::orders) const ANSWER_LIMIT: Duration = Duration::from_secs(6);

/// The longest time between the first node and the last that place a press because the longest wait
/// is over; those with more than ten lower addresses do so at once. With this, a master that holds
/// the call as served gets the press before its slaves would distrust it for leaving the call
/// without a car (E8).
const MOST_STAGGER: Duration = Duration::from_secs(1);

/// How many calls are placed again at a look: about as many as the beacons tell of until the next.
pub(in crate::node::orders) const MOST_AT_ONCE: usize = 128;

/// The most trips of this node that are open while it places contested ones again: passengers keep
/// the rest of the room.
pub(in crate::node::orders) const MOST_TRIPS: usize = MOST_OPEN_TRIPS / 2;

/// In so many looks at most, a node places every call that it may place: trips, two hall calls for
/// each floor, and the calls of its own car.
const MOST_LOOKS: u128 = (MOST_TRIPS + 3 * FloorCount::MAX as usize).div_ceil(MOST_AT_ONCE) as u128;

const _: () = assert!(
    ANSWER_LIMIT.as_millis()
        + WAIT.as_millis() * 2
        + MOST_STAGGER.as_millis()
        + (MOST_LOOKS + 1) * STAGGER.as_millis()
        < BELIEVED_FOR.as_millis(),
    "a sound master would be distrusted"
);

/// The open orders that peers hold as served, as far as they have said so.
#[derive(Debug, Clone, Default)]
pub(super) struct Contested {
    orders: BTreeMap<Dot, Contest>,
    /// When to look which calls are in hand, and which have to be placed again; `None` if nothing
    /// is contested.
    look_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
struct Contest {
    /// When a peer first said that the order was served, or the call was last placed again or in
    /// hand.
    told: Timestamp,
    /// When the service was refused, or the call was last placed again or in hand.
    since: Timestamp,
    /// Whether the order counted until then. The first one does, as nobody has reported anything
    /// yet.
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
        self.latest.unwrap_or(self.first) + WAIT + stagger
    }

    /// When it is at the latest, unless the call is in hand. An order that those responsible hold
    /// may be another node's fresh press: it has time to prove that it lasts.
    fn due_at_last(&self, stagger: Duration, is_held: bool) -> Timestamp {
        let proof = if is_held { WAIT + STAGGER } else { Duration::ZERO };
        self.told + ANSWER_LIMIT + WAIT + proof + stagger.min(MOST_STAGGER)
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
        // The call may be in hand now, and no longer when its turn comes.
        self.look_at.get_or_insert(told + STAGGER);
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

    /// The calls to place again now, the longest contested first: those that have no open order
    /// that counts, or for which the longest wait is over while those responsible hold none that
    /// lasts. For those that are in hand, the waiting begins anew.
    pub(super) fn due_calls(&mut self, known: &Knowledge<'_>, now: Timestamp) -> Vec<Call> {
        if self.look_at.is_none_or(|at| now < at) {
            return Vec::new();
        }
        self.orders.retain(|dot, _| known.store.get(*dot).is_some());
        let stagger = known.stagger();
        let calls = self.calls(known);
        self.look_at = (!calls.is_empty()).then(|| now + STAGGER);
        let (mut ripe, mut in_hand) = (Vec::new(), Vec::new());
        for (call, span) in calls {
            let reporters = self.reporters(call, known);
            let open = self.uncontested(call, &reporters, known);
            let responsible = known.fleet.responsible(call);
            let needed: Vec<_> = responsible.filter(|node| reporters.contains(node)).collect();
            let is_held = |order: &&&Order| needed.iter().all(|node| known.holds(node, order.dot));
            // A member may have invented what they hold, and say at any time that it was served.
            let lasts = |order: &Order| needed.is_empty() || now >= order.open_since + WAIT;
            let held: Vec<_> = open.iter().filter(is_held).collect();
            if held.iter().any(|order| lasts(order)) {
                in_hand.push(call.clone());
            } else if now >= span.due_at_last(stagger, !held.is_empty())
                || open.is_empty() && now >= span.due(stagger)
            {
                ripe.push((span.first, call.clone()));
            }
        }
        for call in &in_hand {
            self.begin_anew(call, known.store, now);
        }
        ripe.sort();
        ripe.into_iter().map(|(_, call)| call).collect()
    }

    /// The call has been placed again, or is in hand: its next turn is counted from now.
    pub(super) fn begin_anew(&mut self, call: &Call, store: &OrderStore, now: Timestamp) {
        for order in store.of_call(call) {
            if let Some(contest) = self.orders.get_mut(&order.dot) {
                contest.told = now;
                contest.since = contest.since.max(now);
            }
        }
    }

    /// The open orders of this call that count and of which no service was refused.
    fn uncontested<'a>(
        &self,
        call: &Call,
        reporters: &BTreeSet<&NodeId>,
        known: &Knowledge<'a>,
    ) -> Vec<&'a Order> {
        let orders = known.store.of_call(call);
        let is_one =
            |order: &&Order| !self.contains(order.dot) && counts(order.dot, reporters, known);
        orders.filter(is_one).collect()
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
