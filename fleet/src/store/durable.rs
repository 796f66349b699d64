//! What goes to the disk, and what comes back from it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Holding, Item, Record, RecordState, Store, admission};
use crate::model::{Counters, Dot, FlightRecord, Term, Timestamp};
use crate::report::Report;
use crate::settings::{Key, Register};

/// The sequence number of a batch of changes for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

/// One change of what is on disk. Writing a change twice does no harm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    Record(Record),
    /// The node no longer keeps this press.
    Forget(Dot),
    /// The node knows this term, or may learn of it without another write (E3).
    Term(Term),
    /// The learned duration of one leg of this node's car.
    FlightTimes(FlightRecord),
    Setting(Register),
    ForgetSetting(Key),
    /// What this node's car has done.
    Counters(Counters),
}

/// The contents of the journal when the node starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// The highest term that the node has known (E3).
    pub term: Term,
    /// Every press on disk, with its present age.
    pub records: Vec<Record>,
    /// The learned durations of the legs of the node's car.
    pub flight_times: Vec<FlightRecord>,
    pub settings: Vec<Register>,
    /// What the node's car has done; `None` if nothing was counted.
    pub counters: Option<Counters>,
}

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

    /// The disk works again, and holds this. It gets everything else before it counts (P5).
    pub(crate) fn regain_disk(&mut self, restored: &Restored, now: Timestamp) {
        let Restored { records, settings, .. } = restored;
        self.merge_settings(settings, None);
        let is_recalled = self.settings.is_fire_recalled();
        let building = Arc::clone(&self.building);
        let possible = || records.iter().filter(|it| admission::is_possible(it, &building));
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
