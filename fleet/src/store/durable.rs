//! Durability: what is on disk.

use super::{Change, Holding, Item, Lsn, RecordState, Restored, Store, admission};
use crate::model::{FlightRecord, Term, Timestamp};
use crate::report::Report;

impl Store {
    /// Everything up to and including this batch is on disk.
    pub(crate) fn handle_durable(&mut self, lsn: Lsn, now: Timestamp) {
        for dot in self.ledger.written(lsn, now) {
            if self.orders.get(dot).is_some() {
                self.promise.record(dot, &self.own.node, Holding::Durable);
                self.replication.acknowledge(&Item::Press(dot));
                self.hurry();
            }
        }
    }

    pub(crate) fn lose_disk(&mut self) {
        if !self.ledger.failed() {
            self.ledger.fail();
            self.promise.doubt_own();
            self.report(Report::DiskFailed);
        }
    }

    /// The disk works again, and holds this: what the node did not know of it, it takes in. Then the
    /// disk gets everything, and counts once it has it (P5).
    pub(crate) fn regain_disk(&mut self, restored: &Restored, now: Timestamp) {
        let Restored { records, settings, .. } = restored;
        self.merge_settings(settings, None);
        let is_recalled = self.settings.is_fire_recalled();
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
        let presses = self.orders.records(now).map(|record| record.dot).chain(on_disk);
        let settings = self.settings.all().chain(settings).map(|it| it.setting.key());
        let all = settings.map(Item::Setting).chain(presses.map(Item::Press));
        self.ledger.recover(all.collect());
    }

    /// The car has learned the duration of a leg.
    pub(crate) fn note_flight_times(&mut self, record: FlightRecord) {
        self.ledger.note_flight_times(record);
    }

    /// The next batch to write, if any. The node knows this term.
    pub(crate) fn batch(&mut self, term: Term, now: Timestamp) -> Option<(Lsn, Vec<Change>)> {
        self.ledger.note_term(term);
        if self.ledger.hangs(now) {
            self.lose_disk();
        }
        let (lsn, changed, others) = self.ledger.batch(now)?;
        let written = changed.into_iter().map(|item| match item {
            Item::Setting(key) => match self.settings.get(&key) {
                Some(register) => Change::Setting(register.clone()),
                None => Change::ForgetSetting(key),
            },
            Item::Press(dot) => match self.orders.record(dot, now) {
                Some(record) => Change::Record(record),
                None => Change::Forget(dot),
            },
        });
        Some((lsn, others.into_iter().chain(written).collect()))
    }
}
