//! What is to be written to disk, and what is on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::car::FlightRecord;
use crate::directives::Directive;
use crate::model::bounds::JUMP;
use crate::model::{Call, Dot, JournalId, MOST_SEQUENCE, Term, Timestamp};
use crate::node::{Change, Lsn, Restored};
use crate::seeded::{SeededBug, is_seeded};

/// How many sequences are reserved at a time. A crash leaves the rest of a block unused.
const BLOCK: u64 = 256;

/// How many batches may be in flight to the disk. Further changes wait and share the next batch, so
/// that no number of messages fills the writer's queue, which would count as a failed disk.
const MOST_UNWRITTEN: u64 = 16;

/// How long a batch may be in flight. A disk that hangs is detected by this time, because the queue
/// does not fill.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// How far ahead terms are written under a protocol that rotates the mastership: it uses about one
/// per second, and the disk should not be written to as often.
const TERMS_AHEAD: u64 = 1024;

/// The journal from the brain's point of view: sequences to use, and batches in flight to the disk.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    journal: JournalId,
    /// The disk does not know that journal yet.
    renewed: bool,
    next: u64,
    reserved: u64,
    /// Calls that wait for a sequence.
    unplaced: BTreeSet<Call>,
    /// The reservation in flight: its batch, and the highest sequence it reserves.
    reserving: Option<(Lsn, u64)>,
    lsn: Lsn,
    /// The latest batch that is on disk.
    durable: Lsn,
    /// Since when the disk has made no progress although there is something to write.
    waiting_since: Option<Timestamp>,
    /// Registers that changed since the last batch.
    changed: BTreeSet<Dot>,
    /// The batch with the latest change of each register that is not on disk yet.
    unwritten: BTreeMap<Dot, Lsn>,
    /// The journals that have registers on disk or in flight.
    written: BTreeSet<JournalId>,
    /// The journals that the disk has yet to drop.
    collected: BTreeSet<JournalId>,
    /// The term on disk or in flight; it covers every term that the node knows.
    term: Term,
    /// How many terms are written ahead.
    ahead: u64,
    /// The term is not in a batch yet.
    raised: bool,
    /// What the car has learned since the last batch.
    flight_times: Vec<FlightRecord>,
    /// All directives, if they have changed since the last batch.
    directives: Option<Vec<Directive>>,
    /// The latest batch with directives.
    directed: Lsn,
    failed: bool,
}

impl Ledger {
    pub(super) fn new(restored: &Restored, rotates: bool) -> Self {
        Self {
            journal: restored.journal,
            renewed: false,
            next: if is_seeded(SeededBug::SequencesReused) {
                1
            } else {
                restored.used.saturating_add(1)
            },
            reserved: restored.reserved.max(restored.used),
            unplaced: BTreeSet::new(),
            reserving: None,
            lsn: Lsn::default(),
            durable: Lsn::default(),
            waiting_since: None,
            changed: BTreeSet::new(),
            unwritten: BTreeMap::new(),
            written: restored.records.iter().map(|r| r.dot.journal).collect(),
            collected: BTreeSet::new(),
            term: restored.term.restored(),
            ahead: if rotates { TERMS_AHEAD } else { 0 },
            raised: false,
            flight_times: Vec::new(),
            directives: None,
            directed: Lsn::default(),
            failed: false,
        }
    }

    /// Takes an unused dot, or `None` while the disk has not reserved any more sequences (O4).
    pub(super) fn dot(&mut self) -> Option<Dot> {
        if self.next > self.reserved && !self.failed {
            return None;
        }
        let sequence = self.next;
        self.next = self.next.saturating_add(1);
        Some(Dot { journal: self.journal, sequence })
    }

    /// A press of this call could not get a sequence yet.
    pub(super) fn postpone(&mut self, call: Call) {
        self.unplaced.insert(call);
    }

    /// The calls that wait for a sequence.
    pub(super) fn postponed(&self) -> &BTreeSet<Call> {
        &self.unplaced
    }

    /// Takes the calls that wait for a sequence, to try again.
    pub(super) fn take_postponed(&mut self) -> BTreeSet<Call> {
        std::mem::take(&mut self.unplaced)
    }

    /// A peer knows this press. If this journal has not used its sequence yet, the disk has lost
    /// its latest state, for example because an old copy was restored. Used sequences stay used
    /// (O4).
    pub(super) fn know(&mut self, dot: Dot) {
        if dot.journal == self.journal && !is_seeded(SeededBug::SequencesReused) {
            self.next = self.next.max(dot.sequence.saturating_add(1));
        }
    }

    /// The journal under which orders are placed.
    pub(super) fn journal(&self) -> JournalId {
        self.journal
    }

    /// The highest sequence of the current journal that may be in use.
    pub(super) fn reached(&self) -> u64 {
        self.next.saturating_sub(1).max(self.reserved)
    }

    /// Whether the journal has hardly any sequences left. No node gets there by itself: the disk
    /// has records from before such records were refused.
    pub(super) fn is_spent(&self) -> bool {
        self.reached() > MOST_SEQUENCE - JUMP
    }

    /// Switches to this journal. Earlier orders are unaffected.
    pub(super) fn renew(&mut self, fresh: JournalId) {
        self.journal = fresh;
        self.renewed = !self.failed;
        self.next = 1;
        self.reserved = 0;
        self.reserving = None;
    }

    /// A register has changed.
    pub(super) fn note(&mut self, dot: Dot) {
        if !self.failed {
            self.changed.insert(dot);
        }
    }

    /// The registers of a journal are no longer kept: they need not be written, and the disk drops
    /// them.
    pub(super) fn collect(&mut self, journal: JournalId, dots: &[Dot]) {
        for dot in dots {
            self.changed.remove(dot);
            self.unwritten.remove(dot);
        }
        if self.written.remove(&journal) {
            self.collected.insert(journal);
        }
    }

    /// The node knows this term (E3).
    pub(super) fn note_term(&mut self, term: Term) {
        if term > self.term && !self.failed {
            self.term = Term(term.0.saturating_add(self.ahead));
            self.raised = true;
        }
    }

    /// The car has learned the duration of a leg. The next batch carries it; if it is lost, it is
    /// learned again.
    pub(super) fn note_flight_times(&mut self, record: FlightRecord) {
        self.flight_times.retain(|known| known.leg != record.leg);
        self.flight_times.push(record);
    }

    /// The directives have changed: these are all of them.
    pub(super) fn note_directives(&mut self, directives: Vec<Directive>) {
        if !self.failed {
            self.directives = Some(directives);
        }
    }

    /// The next batch, if there is anything to write and the disk keeps up: its number, the
    /// registers, and the changes to write before them.
    pub(super) fn batch(&mut self, now: Timestamp) -> Option<(Lsn, BTreeSet<Dot>, Vec<Change>)> {
        let low = self.reserved < self.next.saturating_add(BLOCK / 2) && self.reserving.is_none();
        let idle = self.changed.is_empty()
            && self.collected.is_empty()
            && self.directives.is_none()
            && !low
            && !self.raised;
        if self.failed || idle {
            return None;
        }
        if self.lsn.0 - self.durable.0 >= MOST_UNWRITTEN {
            return None;
        }
        self.waiting_since.get_or_insert(now);
        self.lsn = Lsn(self.lsn.0 + 1);
        let reserve = low.then(|| {
            let up_to = self.next.saturating_add(BLOCK);
            self.reserving = Some((self.lsn, up_to));
            Change::Reserve(up_to)
        });
        let renewed = std::mem::take(&mut self.renewed).then_some(Change::Journal(self.journal));
        let raised = std::mem::take(&mut self.raised);
        let term = raised.then_some(Change::Term(self.term));
        let dots = std::mem::take(&mut self.changed);
        self.written.extend(dots.iter().map(|dot| dot.journal));
        // If a dropped journal has come back since, it is written after the drop.
        let collected = std::mem::take(&mut self.collected);
        let collected = collected.into_iter().map(Change::Collect);
        self.unwritten.extend(dots.iter().map(|dot| (*dot, self.lsn)));
        let learned = std::mem::take(&mut self.flight_times);
        let learned = learned.into_iter().map(Change::FlightTimes);
        let others = renewed.into_iter().chain(reserve).chain(term);
        let directives = self.directives.take().map(Change::Directives);
        if directives.is_some() {
            self.directed = self.lsn;
        }
        let others = others.chain(learned).chain(directives).chain(collected).collect();
        Some((self.lsn, dots, others))
    }

    /// Everything up to `lsn` is on disk; returns the registers that are now durable.
    pub(super) fn written(&mut self, lsn: Lsn, now: Timestamp) -> Vec<Dot> {
        self.durable = self.durable.max(lsn).min(self.lsn);
        self.waiting_since = (self.durable < self.lsn).then_some(now);
        if let Some((_, up_to)) = self.reserving.take_if(|(batch, _)| *batch <= lsn) {
            self.reserved = up_to;
        }
        let done: Vec<Dot> = self
            .unwritten
            .iter()
            .filter(|(dot, batch)| **batch <= lsn && !self.changed.contains(dot))
            .map(|(dot, _)| *dot)
            .collect();
        self.unwritten.retain(|_, batch| *batch > lsn);
        if self.failed { Vec::new() } else { done }
    }

    /// Whether the disk hangs: it has taken too long to write a batch (P5).
    pub(super) fn hangs(&self, now: Timestamp) -> bool {
        let since = self.waiting_since.filter(|_| !self.failed);
        since.is_some_and(|since| now.since(since) >= WRITE_LIMIT)
    }

    /// The whole process, including the disk's writer, did not run for `late`.
    pub(super) fn excuse(&mut self, late: Duration, now: Timestamp) {
        if let Some(since) = self.waiting_since.as_mut() {
            *since = (*since + late).min(now);
        }
    }

    /// The disk has failed: switches to this journal, which is not written until the disk
    /// [works again](Self::recover) (P5).
    pub(super) fn fail(&mut self, fresh: JournalId) {
        self.journal = fresh;
        self.renewed = false;
        self.next = 1;
        self.reserving = None;
        self.changed.clear();
        self.directives = None;
        self.unwritten.clear();
        self.raised = false;
        self.failed = true;
    }

    /// Whether the disk has yet to drop the registers of this journal.
    pub(super) fn is_collected(&self, journal: JournalId) -> bool {
        self.collected.contains(&journal)
    }

    /// The disk works again: it gets the journal in use, the term and these registers, which are all
    /// that the node has. Until they are written, nothing is durable (P5).
    pub(super) fn recover(&mut self, registers: BTreeSet<Dot>) {
        self.failed = false;
        self.durable = self.lsn;
        self.waiting_since = None;
        // It does not name this journal yet, or reserves too little of it.
        self.renewed = true;
        self.reserved = 0;
        self.changed = registers;
        self.raised = true;
    }

    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// Whether the latest state of a register is on disk.
    pub(super) fn is_durable(&self, dot: Dot) -> bool {
        if is_seeded(SeededBug::AckBeforeDisk)
            || self.failed && is_seeded(SeededBug::FailedDiskTrusted)
        {
            return true;
        }
        !self.failed && !self.changed.contains(&dot) && !self.unwritten.contains_key(&dot)
    }

    /// Whether everything is on disk.
    pub(super) fn all_durable(&self) -> bool {
        !self.failed && self.changed.is_empty() && self.unwritten.is_empty()
    }

    /// Whether all directives are on disk.
    pub(super) fn are_directives_durable(&self) -> bool {
        !self.failed && self.directives.is_none() && self.directed <= self.durable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        ledger_under(false)
    }

    fn ledger_under(rotates: bool) -> Ledger {
        let restored = Restored {
            journal: JournalId(1),
            used: 40,
            reserved: 300,
            term: Term(7),
            records: Vec::new(),
            flight_times: Vec::new(),
            directives: Vec::new(),
        };
        Ledger::new(&restored, rotates)
    }

    /// The changes that the next batches carry beside registers.
    fn others(ledger: &mut Ledger, term: u64) -> Vec<Change> {
        ledger.note_term(Term(term));
        let batch = ledger.batch(Timestamp::START);
        let (lsn, others) =
            batch.map_or((Lsn::default(), Vec::new()), |(lsn, _, others)| (lsn, others));
        ledger.written(lsn, Timestamp::START);
        others
    }

    #[test]
    fn directives_are_durable_once_their_batch_is_written() {
        let mut ledger = ledger();
        let first = others(&mut ledger, 8);
        assert!(!first.is_empty() && ledger.are_directives_durable());
        ledger.note_directives(Vec::new());
        assert!(!ledger.are_directives_durable());
        let (lsn, ..) = ledger.batch(Timestamp::START).expect("a batch");
        assert!(!ledger.are_directives_durable());
        ledger.written(lsn, Timestamp::START);
        assert!(ledger.are_directives_durable());
        ledger.fail(JournalId(9));
        assert!(!ledger.are_directives_durable());
    }

    /// E3
    #[test]
    fn a_term_is_written_when_it_grows() {
        let mut ledger = ledger();
        assert_eq!(others(&mut ledger, 7), []);
        assert_eq!(others(&mut ledger, 8), [Change::Term(Term(8))]);
        assert_eq!(others(&mut ledger, 8), []);
        assert_eq!(others(&mut ledger, 6), []);
        assert_eq!(others(&mut ledger, 20), [Change::Term(Term(20))]);
        ledger.fail(JournalId(9));
        assert_eq!(others(&mut ledger, 21), []);
    }

    /// E3
    #[test]
    fn terms_of_a_protocol_that_rotates_are_written_ahead() {
        let mut ledger = ledger_under(true);
        let written = (8..8 + 3 * TERMS_AHEAD).flat_map(|term| others(&mut ledger, term));
        let written: Vec<Change> = written.collect();
        let terms = [8, 9 + TERMS_AHEAD, 10 + 2 * TERMS_AHEAD];
        assert_eq!(written, terms.map(|term| Change::Term(Term(term + TERMS_AHEAD))));
    }

    /// O4
    #[test]
    fn sequences_start_after_all_that_may_have_been_used_and_end_with_the_reservation() {
        let mut ledger = ledger();
        let given: Vec<u64> = std::iter::from_fn(|| ledger.dot()).map(|dot| dot.sequence).collect();
        assert_eq!((given.first(), given.last()), (Some(&41), Some(&300)));
        let (lsn, _, reserve) = ledger.batch(Timestamp::START).expect("a reservation");
        assert_eq!(reserve, [Change::Reserve(301 + BLOCK)]);
        assert_eq!(ledger.dot(), None, "not before the disk has it");
        assert!(ledger.batch(Timestamp::START).is_none(), "asked for once");
        ledger.written(lsn, Timestamp::START);
        assert_eq!(ledger.dot().map(|dot| dot.sequence), Some(301));
    }

    /// O4
    #[test]
    fn what_a_peer_knows_of_this_journal_is_not_used_again() {
        let mut ledger = ledger();
        let journal = JournalId(1);
        ledger.know(Dot { journal, sequence: 280 });
        ledger.know(Dot { journal, sequence: 50 });
        ledger.know(Dot { journal: JournalId(2), sequence: 290 });
        assert_eq!(ledger.dot(), Some(Dot { journal, sequence: 281 }));
    }

    /// P1: a change that overtakes the write of an earlier one waits for its own.
    #[test]
    fn a_register_is_durable_once_its_latest_change_is() {
        let mut ledger = ledger();
        let dot = ledger.dot().expect("reserved");
        ledger.note(dot);
        let (first, _, _) = ledger.batch(Timestamp::START).expect("a change");
        ledger.note(dot);
        assert_eq!(ledger.written(first, Timestamp::START), []);
        assert!(!ledger.is_durable(dot));
        let (second, _, _) = ledger.batch(Timestamp::START).expect("a change");
        assert_eq!(ledger.written(second, Timestamp::START), [dot]);
        assert!(ledger.is_durable(dot) && ledger.all_durable());
    }

    /// O4: the disk hears of a fresh journal before any of its sequences is used.
    #[test]
    fn a_renewed_journal_is_written_before_it_is_used() {
        let mut ledger = ledger();
        assert!(!ledger.is_spent());
        let journal = JournalId(1);
        ledger.know(Dot { journal, sequence: u64::MAX });
        assert!(ledger.is_spent());
        let (old, _, _) = ledger.batch(Timestamp::START).expect("a reservation");
        ledger.renew(JournalId(9));
        ledger.written(old, Timestamp::START);
        assert_eq!(ledger.dot(), None, "what was reserved belongs to the old one");
        let (lsn, _, others) = ledger.batch(Timestamp::START).expect("a journal");
        let expected = [Change::Journal(JournalId(9)), Change::Reserve(1 + BLOCK)];
        assert_eq!(others, expected);
        assert_eq!(ledger.dot(), None, "not before the disk has it");
        ledger.written(lsn, Timestamp::START);
        let first = Dot { journal: JournalId(9), sequence: 1 };
        assert_eq!(ledger.dot(), Some(first));
        assert!(!ledger.is_spent());
    }

    /// P5, O4
    #[test]
    fn a_disk_that_works_again_gets_everything_before_it_counts() {
        let (mut ledger, now) = (ledger(), Timestamp::START);
        ledger.note(press(1));
        ledger.batch(now).expect("a change, which the disk does not take");
        ledger.collect(JournalId(2), &[press(1)]);
        ledger.fail(JournalId(9));
        assert!(ledger.batch(now).is_none() && !ledger.all_durable());
        let placed = ledger.dot().expect("a sequence");
        assert_eq!(placed, Dot { journal: JournalId(9), sequence: 1 });
        ledger.recover([placed].into());
        assert!(!ledger.all_durable() && !ledger.is_durable(placed));
        assert_eq!(ledger.dot(), None, "not before the disk has reserved it");
        ledger.note_term(Term(3));
        let (lsn, registers, others) = ledger.batch(now).expect("all of it");
        assert_eq!(registers, [placed].into());
        let up_to = placed.sequence + 1 + BLOCK;
        let expected = [
            Change::Journal(JournalId(9)),
            Change::Reserve(up_to),
            Change::Term(Term(7)),
            Change::Collect(JournalId(2)),
        ];
        assert_eq!(others, expected);
        assert_eq!(ledger.written(lsn, now), [placed]);
        assert!(ledger.all_durable() && ledger.is_durable(placed));
        assert_eq!(ledger.dot().map(|dot| dot.sequence), Some(placed.sequence + 1));
    }

    fn press(sequence: u64) -> Dot {
        let journal = JournalId(2);
        Dot { journal, sequence }
    }

    /// However many messages come while the disk writes, what they change waits for it.
    #[test]
    fn changes_wait_for_a_disk_that_is_behind_and_then_share_a_batch() {
        let (mut ledger, now) = (ledger(), Timestamp::START);
        let mut batches = Vec::new();
        for sequence in 0..10_000 {
            ledger.note(press(sequence));
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
        ledger.note(press(1));
        let (first, _, _) = ledger.batch(start).expect("a change");
        ledger.note(press(2));
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
