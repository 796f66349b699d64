//! What is to be written to disk, and what is on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Change, Item, Lsn, Restored};
use crate::model::{Counters, Dot, FlightRecord, Term, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

/// How many batches may be in flight to the disk. Further changes share the next batch.
const MOST_UNWRITTEN: u64 = 16;

/// How long a batch may be in flight. Then the disk hangs.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// How far ahead terms are written under a protocol that rotates the mastership: it uses about one
/// per second, and the disk should not be written to as often.
const TERMS_AHEAD: u64 = 1024;

/// How long the car's counters wait for another change, in whose batch they are written.
const COUNTERS_WAIT: Duration = Duration::from_secs(10);

/// The journal from the brain's point of view: batches in flight to the disk.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    lsn: Lsn,
    /// The latest batch that is on disk.
    durable: Lsn,
    /// Since when the disk has made no progress although there is something to write.
    waiting_since: Option<Timestamp>,
    /// What has changed, or gone, since the last batch.
    changed: BTreeSet<Item>,
    /// The batch with the latest change of each item that is not on disk yet.
    unwritten: BTreeMap<Item, Lsn>,
    /// The term on disk or in flight; it covers every term that the node knows.
    term: Term,
    /// How many terms are written ahead.
    ahead: u64,
    /// The term is not in a batch yet.
    raised: bool,
    /// What the car has learned since the last batch.
    flight_times: Vec<FlightRecord>,
    /// What the car has counted, and since when that waits.
    counters: Option<(Counters, Timestamp)>,
    counters_wait: Duration,
    failed: bool,
}

impl Ledger {
    pub(super) fn new(restored: &Restored, rotates: bool) -> Self {
        Self {
            lsn: Lsn::default(),
            durable: Lsn::default(),
            waiting_since: None,
            changed: BTreeSet::new(),
            unwritten: BTreeMap::new(),
            term: restored.term.restored(),
            ahead: if rotates { TERMS_AHEAD } else { 0 },
            raised: false,
            flight_times: Vec::new(),
            counters: None,
            counters_wait: COUNTERS_WAIT,
            failed: false,
        }
    }

    /// Something has changed, or was dropped.
    pub(super) fn note(&mut self, item: Item) {
        if !self.failed {
            self.changed.insert(item);
        }
    }

    /// The node knows this term (E3).
    pub(super) fn note_term(&mut self, term: Term) {
        if term > self.term && !self.failed {
            self.term = Term(term.0.saturating_add(self.ahead));
            self.raised = true;
        }
    }

    /// The car has learned the duration of a leg. If the next batch is lost, it is learned again.
    pub(crate) fn note_flight_times(&mut self, record: FlightRecord) {
        self.flight_times.retain(|known| known.leg != record.leg);
        self.flight_times.push(record);
    }

    /// The car has counted this, since counting began: what a lost batch had, the next one has.
    pub(crate) fn note_counters(&mut self, counters: Counters, now: Timestamp) {
        let since = self.counters.take().map_or(now, |(_, since)| since);
        self.counters = Some((counters, since));
    }

    /// The process is about to end: nothing waits for another change any more.
    pub(crate) fn close(&mut self) {
        self.counters_wait = Duration::ZERO;
    }

    /// The next batch, if there is anything to write and the disk keeps up: its number, what has
    /// changed of the store, and the changes to write before that.
    pub(super) fn batch(&mut self, now: Timestamp) -> Option<(Lsn, BTreeSet<Item>, Vec<Change>)> {
        let waited = self.counters.as_ref().map(|(_, since)| now.since(*since));
        let counted = waited.is_some_and(|waited| waited >= self.counters_wait);
        let idle = self.changed.is_empty() && !self.raised && !counted;
        if self.failed || idle {
            return None;
        }
        if self.lsn.0 - self.durable.0 >= MOST_UNWRITTEN {
            return None;
        }
        self.waiting_since.get_or_insert(now);
        self.lsn = Lsn(self.lsn.0 + 1);
        let raised = std::mem::take(&mut self.raised);
        let term = raised.then_some(Change::Term(self.term));
        let changed = std::mem::take(&mut self.changed);
        self.unwritten.extend(changed.iter().map(|item| (item.clone(), self.lsn)));
        let learned = std::mem::take(&mut self.flight_times);
        let learned = learned.into_iter().map(Change::FlightTimes);
        let counters = self.counters.take().map(|(counters, _)| Change::Counters(counters));
        Some((self.lsn, changed, term.into_iter().chain(learned).chain(counters).collect()))
    }

    /// Everything up to `lsn` is on disk; returns the presses that are now durable.
    pub(super) fn written(&mut self, lsn: Lsn, now: Timestamp) -> Vec<Dot> {
        self.durable = self.durable.max(lsn).min(self.lsn);
        self.waiting_since = (self.durable < self.lsn).then_some(now);
        let done = self.unwritten.iter().filter_map(|(item, batch)| match item {
            Item::Press(dot) if *batch <= lsn && !self.changed.contains(item) => Some(*dot),
            Item::Press(_) | Item::Setting(_) => None,
        });
        let done: Vec<Dot> = done.collect();
        self.unwritten.retain(|_, batch| *batch > lsn);
        if self.failed { Vec::new() } else { done }
    }

    /// Whether the disk hangs: it has taken too long to write a batch (P5).
    pub(super) fn hangs(&self, now: Timestamp) -> bool {
        let since = self.waiting_since.filter(|_| !self.failed);
        since.is_some_and(|since| now.since(since) >= WRITE_LIMIT)
    }

    /// The whole process, including the disk's writer, did not run for `late`.
    pub(crate) fn excuse(&mut self, late: Duration, now: Timestamp) {
        if let Some(since) = self.waiting_since.as_mut() {
            *since = (*since + late).min(now);
        }
    }

    /// The disk has failed: nothing is written until it [works again](Self::recover) (P5).
    pub(super) fn fail(&mut self) {
        self.changed.clear();
        self.unwritten.clear();
        self.raised = false;
        self.failed = true;
    }

    /// The disk works again: it gets the term, and all these. Until then, nothing is durable (P5).
    pub(super) fn recover(&mut self, items: BTreeSet<Item>) {
        self.failed = false;
        self.durable = self.lsn;
        self.waiting_since = None;
        self.changed = items;
        self.raised = true;
    }

    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    /// Whether the latest state of a press is on disk.
    pub(super) fn is_durable(&self, dot: Dot) -> bool {
        if is_seeded(SeededBug::AckBeforeDisk)
            || self.failed && is_seeded(SeededBug::FailedDiskTrusted)
        {
            return true;
        }
        let item = Item::Press(dot);
        !self.failed && !self.changed.contains(&item) && !self.unwritten.contains_key(&item)
    }

    pub(crate) fn all_durable(&self) -> bool {
        !self.failed && self.changed.is_empty() && self.unwritten.is_empty()
    }

    pub(super) fn are_settings_durable(&self) -> bool {
        let is_setting = |item: &Item| matches!(item, Item::Setting(_));
        !self.failed && !self.changed.iter().chain(self.unwritten.keys()).any(is_setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Nonce;

    fn ledger() -> Ledger {
        Ledger::new(&Restored::default(), false)
    }

    /// E3: far ahead under a protocol that rotates the mastership.
    #[test]
    fn a_term_is_written_when_it_grows() {
        let restored = Restored { term: Term(7), ..Restored::default() };
        for (rotates, ahead, grows) in [
            (false, 0, [false, true, false, true]),
            (true, TERMS_AHEAD, [false, true, false, false]),
        ] {
            let mut ledger = Ledger::new(&restored, rotates);
            for (term, grows) in [7, 8, 8, 9 + ahead / 2].into_iter().zip(grows) {
                ledger.note_term(Term(term));
                let batch = ledger.batch(Timestamp::START).map(|(_, _, changes)| changes);
                let expected = grows.then(|| vec![Change::Term(Term(term + ahead))]);
                assert_eq!(batch, expected, "{term}");
            }
            ledger.fail();
            ledger.note_term(Term(1 << 20));
            assert!(ledger.batch(Timestamp::START).is_none());
        }
    }

    /// P1: a change that overtakes the write of an earlier one waits for its own.
    #[test]
    fn a_press_is_durable_once_its_latest_change_is() {
        let mut ledger = ledger();
        let dot = press(1);
        ledger.note(Item::Press(dot));
        let (first, _, _) = ledger.batch(Timestamp::START).expect("a change");
        ledger.note(Item::Press(dot));
        assert_eq!(ledger.written(first, Timestamp::START), []);
        assert!(!ledger.is_durable(dot));
        let (second, _, _) = ledger.batch(Timestamp::START).expect("a change");
        assert_eq!(ledger.written(second, Timestamp::START), [dot]);
        assert!(ledger.is_durable(dot) && ledger.all_durable());
    }

    fn press(sequence: u64) -> Dot {
        Dot { incarnation: Nonce(2), sequence }
    }

    /// However many messages come while the disk writes, what they change waits for it.
    #[test]
    fn changes_wait_for_a_disk_that_is_behind_and_then_share_a_batch() {
        let (mut ledger, now) = (ledger(), Timestamp::START);
        let mut batches = Vec::new();
        for sequence in 0..10_000 {
            ledger.note(Item::Press(press(sequence)));
            batches.extend(ledger.batch(now).map(|(lsn, dots, _)| (lsn, dots.len())));
        }
        let expected = (1..=MOST_UNWRITTEN).map(|lsn| (Lsn(lsn), 1));
        assert_eq!(batches, expected.collect::<Vec<_>>());
        assert_eq!(ledger.written(Lsn(MOST_UNWRITTEN), now).len(), 16);
        let (_, rest, _) = ledger.batch(now).expect("the rest");
        assert_eq!(rest.len(), 10_000 - 16);
        assert!(ledger.batch(now).is_none());
    }

    /// P5: a disk that hangs is noticed by the time that it takes, and by nothing else.
    #[test]
    fn a_disk_that_hangs_is_noticed() {
        let (mut ledger, start) = (ledger(), Timestamp::START);
        assert!(!ledger.hangs(start + WRITE_LIMIT * 2), "nothing to write");
        ledger.note(Item::Press(press(1)));
        let (first, _, _) = ledger.batch(start).expect("a change");
        ledger.note(Item::Press(press(2)));
        let (second, _, _) = ledger.batch(start).expect("a change");
        ledger.written(first, start + WRITE_LIMIT / 2);
        let late = Duration::from_mins(1);
        ledger.excuse(late, start + WRITE_LIMIT / 2 + late);
        let since = start + WRITE_LIMIT / 2 + late;
        assert!(!ledger.hangs(since + WRITE_LIMIT * 9 / 10));
        assert!(ledger.hangs(since + WRITE_LIMIT));
        ledger.written(second, since + WRITE_LIMIT);
        assert!(!ledger.hangs(since + WRITE_LIMIT * 9));
    }
}
