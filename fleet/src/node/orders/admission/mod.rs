//! Which records of peers this node accepts, and what it does about the others.
//!
//! ```text
//!   records of a peer ──▶ gate ──▶ Journals: room? ──▶ (OrderStore)
//!                           │             │
//!                           ▼             ▼
//!                        Refusals   Refusals, journals to collect
//! ```
//!
//! A record that is not accepted counts as never received: it is not merged, acknowledged, written
//! or passed on. Nobody judges whether a record is true.
//!
//! Admission changes no store. It judges records by the node's [`Knowledge`] and returns what
//! [`Orders`](super::Orders) has to do; [`poll_report`](Admission::poll_report) returns what
//! operators should learn of it.

mod gate;
mod journals;

use std::collections::VecDeque;
use std::time::Duration;

use self::gate::Refusals;
use self::journals::Journals;
use super::ledger::Ledger;
use crate::model::{Dot, JournalId, NodeId, Timestamp};
use crate::node::peers::Membership;
use crate::node::{RefusedStatus, Report};
use crate::orders::{OrderStore, Record};
use crate::wire::Hello;

pub(in crate::node) use self::gate::garbage;
pub(super) use self::gate::is_possible;
pub(in crate::node) use self::journals::MOST_OPEN_TRIPS;

/// Refusals, and the bookkeeping of journals.
#[derive(Debug)]
pub(super) struct Admission {
    refusals: Refusals,
    journals: Journals,
    reports: VecDeque<Report>,
}

/// What the node knows when it judges records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knowledge<'a> {
    own: &'a Hello,
    store: &'a OrderStore,
    /// The journal under which this node places orders.
    journal: JournalId,
    /// The highest sequence of that journal that may be in use.
    reached: u64,
    members: &'a Membership,
}

impl<'a> Knowledge<'a> {
    pub(super) fn new(
        own: &'a Hello,
        store: &'a OrderStore,
        ledger: &Ledger,
        members: &'a Membership,
    ) -> Self {
        let (journal, reached) = (ledger.journal(), ledger.reached());
        Self { own, store, journal, reached, members }
    }
}

/// What to do about records that arrived together.
#[derive(Debug, Default)]
pub(super) struct Admitted<'a> {
    /// The records to merge, if there is room for them.
    pub(super) records: Vec<&'a Record>,
    /// Why this node has to replace its journal.
    pub(super) renewal: Option<String>,
}

impl Admission {
    pub(super) fn new() -> Self {
        Self {
            refusals: Refusals::default(),
            journals: Journals::default(),
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
        let mut unknown = None;
        for record in records {
            let dot = record.dot;
            if !is_possible(record, known.own.floors) {
                self.refuse(peer, dot, known.members, now);
                continue;
            }
            if dot.journal == known.journal
                && (known.is_out_of_reach(dot) || known.is_of_another_call(record))
            {
                unknown = unknown.or(Some(dot));
                self.refuse(peer, dot, known.members, now);
                continue;
            }
            if dot.sequence > known.limit(dot.journal) || known.is_ahead_of_recalls(record) {
                self.refuse(peer, dot, known.members, now);
                continue;
            }
            admitted.records.push(record);
        }
        if let Some(dot) = unknown
            && self.refusals.may_renew(now)
        {
            let reason = format!("node {peer} knows {dot} of it, a press that was never made");
            admitted.renewal = Some(reason);
        }
        admitted
    }

    /// Counts an impossible record as refused, and reports it once a minute.
    pub(super) fn refuse(&mut self, peer: &NodeId, dot: Dot, members: &Membership, now: Timestamp) {
        self.reports.extend(self.refusals.refuse(peer, dot, members, now));
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
        let has_room = self.journals.find_room(record, known, now);
        if !has_room {
            self.reports.extend(self.refusals.refuse_for_room(peer, record.dot, now));
        }
        has_room
    }

    /// A record was taken in, whose order is open.
    pub(super) fn note_open(&mut self, record: &Record, now: Timestamp) {
        self.journals.note_open(record.dot.journal, now);
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

    /// These journals were collected.
    pub(super) fn on_collected(&mut self, collected: &[JournalId]) {
        self.journals.on_collected(collected.len());
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

    pub(super) fn peer_lost(&mut self, peer: &NodeId) {
        self.refusals.peer_lost(peer);
    }
}
