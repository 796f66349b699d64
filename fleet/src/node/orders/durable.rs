//! Durability of orders: what is on disk, and the journal under which orders are placed.

use fastrand::Rng;

use super::{Orders, admission};
use crate::car::FlightRecord;
use crate::directives::Directive;
use crate::model::{Call, JournalId, Term, Timestamp};
use crate::node::{Change, Lsn, Renewed, Report};
use crate::orders::{Holding, Record};

impl Orders {
    /// Starts the orders. If the disk has hardly any sequences left, they continue under a new
    /// journal.
    pub(in crate::node) fn start(&mut self, random: &mut Rng, now: Timestamp) {
        if self.ledger.is_spent() {
            self.renew_journal("its disk holds sequences that can't be", random, now);
        }
    }

    /// Everything up to and including this batch is on disk.
    pub(in crate::node) fn handle_durable(&mut self, lsn: Lsn, now: Timestamp) {
        for dot in self.ledger.written(lsn, now) {
            if self.store.get(dot).is_some() {
                self.promise.record(dot, &self.own.node, Holding::Durable);
                self.replication.acknowledge(dot);
                self.hurry();
            }
        }
        self.place_again(now);
    }

    /// The disk has failed: orders continue under this journal, which is not written (P5).
    pub(in crate::node) fn lose_disk(&mut self, fresh: JournalId, now: Timestamp) {
        if !self.ledger.failed() {
            self.ledger.fail(fresh);
            self.promise.doubt_own();
            self.report(Report::DiskFailed);
            self.place_again(now);
        }
    }

    /// The disk works again, and holds these records: what the node did not know of them, it takes in.
    /// Then the disk gets everything, and counts once it has it (P5).
    pub(in crate::node) fn regain_disk(&mut self, records: &[Record], now: Timestamp) {
        if !self.ledger.failed() {
            return;
        }
        for record in records {
            let is_dropped = self.ledger.is_collected(record.dot.journal);
            if !is_dropped && admission::is_possible(record, self.own.floors) {
                self.ledger.know(record.dot);
                self.merge_record(record, None, now);
            }
        }
        let registers = self.store.records(now).map(|record| record.dot).collect();
        self.ledger.recover(registers);
    }

    /// The car has learned the duration of a leg.
    pub(in crate::node) fn note_flight_times(&mut self, record: FlightRecord) {
        self.ledger.note_flight_times(record);
    }

    /// The directives have changed: these are all of them.
    pub(in crate::node) fn note_directives(&mut self, directives: Vec<Directive>) {
        self.ledger.note_directives(directives);
    }

    /// Whether all directives are on disk.
    pub(in crate::node) fn are_directives_durable(&self) -> bool {
        self.ledger.are_directives_durable()
    }

    /// The next batch to write, if any. The node knows this term.
    pub(in crate::node) fn batch(
        &mut self,
        term: Term,
        random: &mut Rng,
        now: Timestamp,
    ) -> Option<(Lsn, Vec<Change>)> {
        self.ledger.note_term(term);
        if self.ledger.hangs(now) {
            let fresh = JournalId(random.u64(1..));
            self.lose_disk(fresh, now);
        }
        let (lsn, dots, others) = self.ledger.batch(now)?;
        let records = dots.into_iter().filter_map(|dot| self.store.record(dot, now));
        let changes = others.into_iter().chain(records.map(Change::Record));
        Some((lsn, changes.collect()))
    }

    /// An operator replaces the journal.
    pub(in crate::node) fn repair(&mut self, random: &mut Rng, now: Timestamp) -> Renewed {
        let old = self.ledger.journal();
        self.renew_journal("an operator asked for it", random, now);
        Renewed { old, fresh: self.ledger.journal() }
    }

    /// Goes on under a fresh journal: others may know presses of the present one that were never
    /// made, and would take this node's for earlier ones.
    ///
    /// Its open orders are placed again under the fresh one. Those of the old one keep their
    /// promise and stay open until they are served or a later press, real or not, takes their
    /// place: there is no moment without an open order that is on a disk, and so no lamp that goes
    /// dark.
    pub(super) fn renew_journal(&mut self, reason: &str, random: &mut Rng, now: Timestamp) {
        let (old, fresh) = (self.ledger.journal(), JournalId(random.u64(1..)));
        self.ledger.renew(fresh);
        self.report(Report::Conflict(format!("journal {old} is given up for {fresh}: {reason}")));
        let open = self.store.orders().filter(|order| order.dot.journal == old);
        let open: Vec<Call> = open.map(|order| order.call.clone()).collect();
        for call in open {
            self.ledger.postpone(call);
        }
        self.place_again(now);
    }
}
