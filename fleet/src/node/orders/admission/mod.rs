//! Which records of peers this node accepts, and what it does about the others.
//!
//! ```text
//!   records of a peer ──▶ gate ──▶ plausible? ──▶ Journals: room? ──▶ (OrderStore)
//!                           │          │             │
//!                           ▼          ▼             ▼
//!                        Refusals   Contested     Refusals, journals to collect
//!                                      └──▶ calls to place again
//! ```
//!
//! A record that is not accepted counts as never received: it is not merged, acknowledged, written
//! or passed on.
//!
//! Admission changes no store. It judges records by the node's [`Knowledge`] and returns what
//! [`Orders`](super::Orders) has to do; [`poll_report`](Admission::poll_report) returns what
//! operators should learn of it.

mod contested;
mod early;
mod gate;
mod journals;
mod plausible;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use self::contested::Contested;
use self::early::Early;
use self::gate::Refusals;
use self::journals::Journals;
use self::plausible::{Credit, Witness};
use super::Fleet;
use super::ledger::Ledger;
use crate::model::{Call, Dot, JournalId, NodeId, Order, Timestamp};
use crate::node::{RefusedStatus, Report};
use crate::orders::{OrderStore, Promise, Record, Service};
use crate::wire::Hello;

pub(super) use self::contested::{ANSWER_LIMIT, MOST_AT_ONCE, MOST_TRIPS};
pub(super) use self::gate::is_possible;
pub(in crate::node) use self::gate::rubbish;
pub(in crate::node) use self::journals::MOST_OPEN_TRIPS;

/// Refusals, contested orders, and the bookkeeping of journals.
#[derive(Debug)]
pub(super) struct Admission {
    refusals: Refusals,
    journals: Journals,
    contested: Contested,
    early: Early,
    witness: Witness,
    reports: VecDeque<Report>,
}

/// What the node knows when it judges records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knowledge<'a> {
    /// This node.
    own: &'a Hello,
    store: &'a OrderStore,
    promise: &'a Promise,
    /// The journal under which this node places orders.
    journal: JournalId,
    /// The highest sequence of that journal that may be in use.
    reached: u64,
    fleet: Fleet<'a>,
}

impl<'a> Knowledge<'a> {
    pub(super) fn new(
        own: &'a Hello,
        store: &'a OrderStore,
        promise: &'a Promise,
        ledger: &Ledger,
        fleet: Fleet<'a>,
    ) -> Self {
        let (journal, reached) = (ledger.journal(), ledger.reached());
        Self { own, store, promise, journal, reached, fleet }
    }
}

/// What to do about records that arrived together.
#[derive(Debug, Default)]
pub(super) struct Admitted<'a> {
    /// The records to merge, if there is room for them.
    pub(super) records: Vec<&'a Record>,
    /// Open orders that the peer no longer holds as open, whatever it said before.
    pub(super) disowned: Vec<Dot>,
    /// Nodes to ask whether their car has served an order, by sending them the order.
    pub(super) questions: Vec<(NodeId, Dot)>,
    /// Services by an earlier process of this node, which may have happened: to merge once another
    /// press of the call is promised.
    pub(super) unconfirmed: Vec<Unconfirmed<'a>>,
    /// Why this node has to replace its journal.
    pub(super) renewal: Option<String>,
}

/// A service that nobody here can confirm.
#[derive(Debug)]
pub(super) struct Unconfirmed<'a> {
    pub(super) record: &'a Record,
    /// The press is open here.
    pub(super) is_open: bool,
}

impl Admission {
    pub(super) fn new() -> Self {
        Self {
            refusals: Refusals::default(),
            journals: Journals::default(),
            contested: Contested::default(),
            early: Early::default(),
            witness: Witness::default(),
            reports: VecDeque::new(),
        }
    }

    /// Returns the next report, oldest first.
    pub(super) fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// Judges records that arrived together. Each is compared with what was known before all of
    /// them, so that one message can't raise a journal's sequence step by step.
    pub(super) fn admit<'a>(
        &mut self,
        peer: &NodeId,
        records: &'a [Record],
        known: &Knowledge<'_>,
        now: Timestamp,
    ) -> Admitted<'a> {
        let mut admitted =
            Admitted { records: Vec::with_capacity(records.len()), ..Admitted::default() };
        let mut forged = None;
        for record in records {
            let dot = record.dot;
            // No sound node has accepted an impossible record.
            if !is_possible(record, known.own.floors) {
                self.refuse(peer, dot, known.fleet, now);
                continue;
            }
            if dot.journal == known.journal
                && (known.is_out_of_reach(dot) || known.is_of_another_call(record))
            {
                forged = forged.or(Some(dot));
                self.refuse(peer, dot, known.fleet, now);
                continue;
            }
            if dot.sequence > known.limit(dot.journal) {
                self.refuse(peer, dot, known.fleet, now);
                continue;
            }
            match plausible::credit(peer, record, known, &self.witness, now) {
                Credit::Accepted => admitted.records.push(record),
                Credit::Hearsay { car, open } => {
                    admitted.disowned.push(open);
                    self.contested.add(&record.call, open, peer, known, (now, ANSWER_LIMIT));
                    self.contested.note_question(open, &car);
                    admitted.questions.push((car, open));
                }
                Credit::Unconfirmed { open } => {
                    if let Some(open) = open {
                        admitted.disowned.push(open);
                        self.contested.add(&record.call, open, peer, known, (now, Duration::ZERO));
                    }
                    let is_open = open.is_some();
                    admitted.unconfirmed.push(Unconfirmed { record, is_open });
                }
                Credit::Early => self.early.keep(peer, record),
                Credit::Refused { open, why } => {
                    admitted.disowned.push(open);
                    self.contested.add(&record.call, open, peer, known, (now, Duration::ZERO));
                    let refusals = &mut self.refusals;
                    let report =
                        refusals.refuse_service(peer, &record.call, &why, known.fleet, now);
                    self.reports.extend(report);
                }
            }
        }
        if let Some(dot) = forged
            && self.refusals.may_renew(now)
        {
            let reason = format!("node {peer} knows {dot} of it, a press that was never made");
            admitted.renewal = Some(reason);
        }
        admitted
    }

    /// Counts an impossible record as refused, and reports it once a minute.
    pub(super) fn refuse(&mut self, peer: &NodeId, dot: Dot, fleet: Fleet<'_>, now: Timestamp) {
        self.reports.extend(self.refusals.refuse(peer, dot, fleet, now));
    }

    /// Whether there is room for a record: whether its journal is, or becomes, one of those that
    /// are kept. What is refused is reported once a minute.
    pub(super) fn has_room(
        &mut self,
        peer: &NodeId,
        record: &Record,
        known: &Knowledge<'_>,
        now: Timestamp,
    ) -> bool {
        let has_room = self.journals.find_room(peer, record, known, now);
        if !has_room {
            self.reports.extend(self.refusals.refuse_for_room(peer, record.dot, now));
        }
        has_room
    }

    /// A record was taken in, whose order is open.
    pub(super) fn note_open(&mut self, record: &Record, known: &Knowledge<'_>, now: Timestamp) {
        if known.can_be_served(&record.call) {
            self.journals.note_open(record.dot.journal, now);
        }
    }

    /// Notes which journals have open orders, now and then; whether it has done so now.
    pub(super) fn check(&mut self, known: &Knowledge<'_>, now: Timestamp) -> bool {
        let is_due = self.journals.is_check_due(now);
        if is_due {
            self.journals.note_all_open(known, now);
        }
        is_due
    }

    /// The journals to collect, or `None` while the store is within its bounds.
    pub(super) fn surplus(&self, known: &Knowledge<'_>, now: Timestamp) -> Option<Vec<JournalId>> {
        self.journals.surplus(known, now)
    }

    /// These journals were collected, which this store no longer has.
    pub(super) fn on_collected(&mut self, collected: &[JournalId], store: &OrderStore) {
        self.journals.on_collected(collected.len(), store);
        self.witness.forget(collected);
    }

    /// A peer reports a service by an earlier process of this node, and the call does not stay open
    /// yet: it is judged again soon.
    pub(super) fn keep_unconfirmed(&mut self, peer: &NodeId, record: &Record, now: Timestamp) {
        self.early.keep_unconfirmed(peer, record, now);
    }

    /// The records that came too early to be judged, by the peer that sent them, once this node has
    /// listened for long enough.
    pub(super) fn take_early(&mut self, now: Timestamp) -> BTreeMap<NodeId, Vec<Record>> {
        self.early.take(self.witness.attentive_since(), now)
    }

    /// The calls to place again now, which have been contested for long enough: the longest
    /// contested come first.
    pub(super) fn due_calls(&mut self, known: &Knowledge<'_>, now: Timestamp) -> Vec<Call> {
        self.contested.due_calls(known, now)
    }

    /// This contested call has been placed again.
    pub(super) fn on_placed_again(&mut self, call: &Call, store: &OrderStore, now: Timestamp) {
        self.contested.begin_anew(call, store, now);
    }

    /// A peer says that an order was served which was open here. Returns the records that close the
    /// contested orders of the same call that the service also served.
    pub(super) fn served_with(
        &self,
        peer: &NodeId,
        closed: &Order,
        service: &Service,
        known: &Knowledge<'_>,
        now: Timestamp,
    ) -> Vec<Record> {
        let mut records = self.contested.served_with(closed, service, known, now);
        records.retain(|record| {
            plausible::credit(peer, record, known, &self.witness, now) == Credit::Accepted
        });
        records
    }

    /// The stores of this peer and this node are equal.
    pub(super) fn note_equal(&mut self, peer: &NodeId, known: &Knowledge<'_>) {
        self.witness.note_equal(peer, known);
    }

    /// A fire recall was begun or ended, as this node learns just now.
    pub(super) fn note_recall(&mut self, now: Timestamp) {
        self.witness.note_recall(now);
    }

    /// Whether this peer said that the order was served.
    pub(super) fn is_contested_by(&self, dot: Dot, peer: &NodeId) -> bool {
        self.contested.is_contested_by(dot, peer)
    }

    /// Whether a service of this open order was refused.
    pub(super) fn is_contested(&self, dot: Dot) -> bool {
        self.contested.contains(dot)
    }

    /// How many records were refused since the start.
    pub(super) fn refused_counts(&self) -> RefusedStatus {
        self.refusals.counts()
    }

    /// How many journals have been collected since the start.
    pub(super) fn collected(&self) -> u64 {
        self.journals.collected()
    }

    /// How long the stores of this peer and this node have to differ before a repair, where `usual`
    /// applies to a peer of which nothing was refused.
    pub(super) fn repair_after(&self, peer: &NodeId, usual: Duration, now: Timestamp) -> Duration {
        self.refusals.repair_after(peer, usual, now)
    }

    /// The node starts, or did not run until now: what was sent before may have been missed.
    pub(super) fn on_resumed(&mut self, now: Timestamp) {
        self.witness.on_resumed(now);
    }

    /// A peer is lost. Returns the nodes to ask about orders about which it was asked in vain, by
    /// sending them the order.
    pub(super) fn peer_lost(&mut self, peer: &NodeId) -> Vec<(NodeId, Dot)> {
        self.refusals.peer_lost(peer);
        self.contested.peer_lost(peer)
    }
}
