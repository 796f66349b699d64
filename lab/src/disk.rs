//! One machine's disk.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::car::{FlightRecord, Leg};
use elevator_fleet::model::{Call, Counters, Dot, NodeId, Term};
use elevator_fleet::node::{Change, Lsn, Restored};
use elevator_fleet::settings::{Key, Register};
use elevator_fleet::store::{Record, RecordState};
use fastrand::Rng;

/// What is on the platter, and what is on its way there.
#[derive(Debug, Default)]
pub(super) struct Disk {
    term: Term,
    /// The presses, and when each was written.
    records: BTreeMap<Dot, (Record, Duration)>,
    flight_times: BTreeMap<Leg, FlightRecord>,
    settings: BTreeMap<Key, Register>,
    counters: Option<Counters>,
    /// What the machine's wall clock last showed.
    clock: Duration,
    /// The transaction that is being committed: all of it becomes durable, or nothing.
    committing: Vec<Batch>,
    waiting: Vec<Batch>,
    failed: bool,
    full: bool,
    /// The write of a batch failed for want of room. A process that starts finds it whole.
    ran_full: bool,
}

/// A restored order is at most this old, whatever the wall clock shows.
const OLDEST: Duration = Duration::from_hours(24);

type Batch = (Lsn, Vec<Change>);

impl Disk {
    pub(super) fn restored(&self) -> Restored {
        Restored {
            term: self.term,
            records: self.records.values().map(|kept| self.aged(kept)).collect(),
            flight_times: self.flight_times.values().cloned().collect(),
            settings: self.settings.values().cloned().collect(),
            counters: self.counters.clone(),
        }
    }

    /// The machine's wall clock, which gives a restored order its age.
    pub(super) fn set_clock(&mut self, now: Duration) {
        self.clock = now;
    }

    pub(super) fn term(&self) -> Term {
        self.term
    }

    fn aged(&self, (record, written): &(Record, Duration)) -> Record {
        let mut record = record.clone();
        if let RecordState::Open { waited, .. } = &mut record.state {
            *waited = (*waited + self.clock.saturating_sub(*written)).min(OLDEST);
        }
        record
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values().map(|(record, _)| record)
    }

    pub(super) fn holds(&self, call: &Call) -> bool {
        self.records().any(|record| record.call == *call && !record.state.is_served())
    }

    /// Whether an open press is on it that this one repeats.
    pub(super) fn repeats(&self, dot: Dot, call: &Call, origin: &NodeId) -> bool {
        let is_it = |it: &Record| (&it.call, &it.origin) == (call, origin) && it.dot != dot;
        let is_open = |record: &Record| !self.failed && !record.state.is_served();
        self.records.values().any(|(record, _)| is_it(record) && is_open(record))
    }

    /// Whether this press, or one that took its place, is on it, open or served.
    pub(super) fn knows(&self, dot: Dot, call: &Call) -> bool {
        self.records.values().any(|(record, _)| record.covers(dot, call))
    }

    /// Takes a batch; `true` if a transaction begins with it. A failed disk swallows it.
    pub(super) fn write(&mut self, lsn: Lsn, changes: Vec<Change>) -> bool {
        if self.failed {
            return false;
        }
        self.waiting.push((lsn, changes));
        self.committing.is_empty() && self.begin()
    }

    /// The transaction is durable: hands back its last batch, and whether another one begins.
    pub(super) fn committed(&mut self) -> Option<(Lsn, bool)> {
        let lsn = self.committing.last()?.0;
        self.apply();
        Some((lsn, self.begin()))
    }

    /// The machine stops in the middle of everything: the transaction has made it, or has not.
    pub(super) fn crash(&mut self, random: &mut Rng) {
        if random.bool() {
            self.apply();
        }
        self.tear();
    }

    /// The machine stops while the transaction is being written: it has not made it.
    pub(super) fn tear(&mut self) {
        self.committing.clear();
        self.waiting.clear();
    }

    pub(super) fn is_committing(&self) -> bool {
        !self.committing.is_empty()
    }

    /// There is no room from here on, or there is again.
    pub(super) fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// A write finds no room. Nothing of it, and of what waits, becomes durable.
    pub(super) fn runs_full(&mut self) {
        self.ran_full = true;
        self.fail();
    }

    /// A process starts: what failed for want of room works again if there is room. `true` if there
    /// is none, of which nothing was noticed so far.
    pub(super) fn open(&mut self) -> bool {
        let runs_full = self.full && !self.failed;
        if self.ran_full && !self.full {
            self.ran_full = false;
            self.failed = false;
        } else if runs_full {
            self.runs_full();
        }
        runs_full
    }

    pub(super) fn fail(&mut self) {
        self.failed = true;
        self.tear();
    }

    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    fn begin(&mut self) -> bool {
        self.committing = std::mem::take(&mut self.waiting);
        !self.committing.is_empty()
    }

    pub(super) fn apply(&mut self) {
        for (_, changes) in std::mem::take(&mut self.committing) {
            for change in changes {
                match change {
                    Change::Record(record) => {
                        self.records.insert(record.dot, (record, self.clock));
                    }
                    Change::Forget(dot) => drop(self.records.remove(&dot)),
                    Change::Term(term) => self.term = self.term.max(term),
                    Change::Setting(register) => {
                        self.settings.insert(register.setting.key(), register);
                    }
                    Change::ForgetSetting(key) => drop(self.settings.remove(&key)),
                    Change::Counters(counters) => self.counters = Some(counters),
                    Change::FlightTimes(record) => {
                        self.flight_times.insert(record.leg, record);
                    }
                }
            }
        }
    }
}
