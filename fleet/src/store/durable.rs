//! Durability of orders: what is on disk.

use super::{Change, Effect, Holding, Lsn, Record, RecordState, Store, admission};
use crate::directives::{Directive, Key};
use crate::model::{FlightRecord, Term, Timestamp};

impl Store {
    /// Everything up to and including this batch is on disk.
    pub(crate) fn handle_durable(&mut self, lsn: Lsn, now: Timestamp) {
        for dot in self.ledger.written(lsn, now) {
            if self.orders.get(dot).is_some() {
                self.promise.record(dot, &self.own.node, Holding::Durable);
                self.replication.acknowledge(dot);
                self.hurry();
            }
        }
    }

    /// The disk has failed (P5).
    pub(crate) fn lose_disk(&mut self) {
        if !self.ledger.failed() {
            self.ledger.fail();
            self.promise.doubt_own();
            self.effects.push_back(Effect::DiskFailed);
        }
    }

    /// The disk works again, and holds these records: what the node did not know of them, it takes in.
    /// Then the disk gets everything, and counts once it has it (P5).
    pub(crate) fn regain_disk(&mut self, records: &[Record], is_recalled: bool, now: Timestamp) {
        if !self.ledger.failed() {
            return;
        }
        let floors = self.own.floors;
        let possible = || records.iter().filter(move |it| admission::is_possible(it, floors));
        for record in possible() {
            let mut record = record.clone();
            // As if it had been there when the node learned of a recall that is over.
            if let RecordState::Open { recall, .. } = &mut record.state
                && !is_recalled
            {
                *recall = self.orders.recalls().max(*recall);
            }
            self.merge_record(&record, None, now);
        }
        // What the disk has and the store does not is dropped from the disk.
        let on_disk = possible().map(|record| record.dot);
        let known = self.orders.records(now).map(|record| record.dot);
        self.ledger.recover(known.chain(on_disk).collect());
    }

    /// The car has learned the duration of a leg.
    pub(crate) fn note_flight_times(&mut self, record: FlightRecord) {
        self.ledger.note_flight_times(record);
    }

    /// These directives have changed, and then those of these keys were dropped.
    pub(crate) fn note_directives<'a>(
        &mut self,
        changed: impl IntoIterator<Item = &'a Directive>,
        dropped: impl IntoIterator<Item = Key>,
    ) {
        for directive in changed {
            let change = Change::Directive(directive.clone());
            self.ledger.note_directive(directive.setting.key(), change);
        }
        for key in dropped {
            self.ledger.note_directive(key.clone(), Change::ForgetDirective(key));
        }
    }

    /// Whether all directives are on disk.
    pub(crate) fn are_directives_durable(&self) -> bool {
        self.ledger.are_directives_durable()
    }

    /// The next batch to write, if any. The node knows this term.
    pub(crate) fn batch(&mut self, term: Term, now: Timestamp) -> Option<(Lsn, Vec<Change>)> {
        self.ledger.note_term(term);
        if self.ledger.hangs(now) {
            self.lose_disk();
        }
        let (lsn, dots, others) = self.ledger.batch(now)?;
        let presses = dots.into_iter().map(|dot| match self.orders.record(dot, now) {
            Some(record) => Change::Record(record),
            None => Change::Forget(dot),
        });
        Some((lsn, others.into_iter().chain(presses).collect()))
    }
}
