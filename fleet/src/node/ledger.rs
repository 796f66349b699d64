//! What has to reach the disk, and what has.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Lsn, Restored};
use crate::model::{Dot, JournalId};

/// How many sequences are reserved at a time: a crash leaves the rest of a block unused.
const BLOCK: u64 = 256;

/// The journal as the brain knows it: sequences to give out, and batches on their way to the disk.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    journal: JournalId,
    next: u64,
    reserved: u64,
    /// A reservation on its way: the batch it is in, and up to where.
    reserving: Option<(Lsn, u64)>,
    lsn: Lsn,
    /// Registers that changed since the last batch.
    changed: BTreeSet<Dot>,
    /// The batch that carries the latest change of each register that is not on disk yet.
    unwritten: BTreeMap<Dot, Lsn>,
    failed: bool,
}

impl Ledger {
    pub(super) fn new(restored: &Restored) -> Self {
        Self {
            journal: restored.journal,
            next: restored.used.saturating_add(1),
            reserved: restored.reserved.max(restored.used),
            reserving: None,
            lsn: Lsn::default(),
            changed: BTreeSet::new(),
            unwritten: BTreeMap::new(),
            failed: false,
        }
    }

    /// A fresh dot, or `None` while the disk has not reserved any more sequences (O4).
    pub(super) fn dot(&mut self) -> Option<Dot> {
        if self.next > self.reserved && !self.failed {
            return None;
        }
        let sequence = self.next;
        self.next = self.next.saturating_add(1);
        Some(Dot {
            journal: self.journal,
            sequence,
        })
    }

    /// A peer knows this press. If it is one of this journal's that has yet to be made, the disk
    /// has lost its latest state (an old copy was put back, say): what was used stays used (O4).
    pub(super) fn know(&mut self, dot: Dot) {
        if dot.journal == self.journal {
            self.next = self.next.max(dot.sequence.saturating_add(1));
        }
    }

    /// A register has changed.
    pub(super) fn note(&mut self, dot: Dot) {
        if !self.failed {
            self.changed.insert(dot);
        }
    }

    /// The next batch, if there is anything to write: its number, the registers, and up to where
    /// sequences are to be reserved.
    pub(super) fn batch(&mut self) -> Option<(Lsn, BTreeSet<Dot>, Option<Change>)> {
        let low = self.reserved < self.next.saturating_add(BLOCK / 2) && self.reserving.is_none();
        if self.failed || (self.changed.is_empty() && !low) {
            return None;
        }
        self.lsn = Lsn(self.lsn.0 + 1);
        let reserve = low.then(|| {
            let up_to = self.next.saturating_add(BLOCK);
            self.reserving = Some((self.lsn, up_to));
            Change::Reserve(up_to)
        });
        let dots = std::mem::take(&mut self.changed);
        self.unwritten
            .extend(dots.iter().map(|dot| (*dot, self.lsn)));
        Some((self.lsn, dots, reserve))
    }

    /// Everything up to `lsn` is on disk; hands back the registers that are from here on.
    pub(super) fn written(&mut self, lsn: Lsn) -> Vec<Dot> {
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

    /// The disk can't be relied on: presses go on under a journal that never reaches it (P5).
    pub(super) fn fail(&mut self, fresh: JournalId) {
        self.journal = fresh;
        self.next = 1;
        self.reserving = None;
        self.changed.clear();
        self.unwritten.clear();
        self.failed = true;
    }

    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// Whether the latest state of a register is on disk.
    pub(super) fn is_durable(&self, dot: Dot) -> bool {
        !self.failed && !self.changed.contains(&dot) && !self.unwritten.contains_key(&dot)
    }

    /// Whether everything is.
    pub(super) fn all_durable(&self) -> bool {
        !self.failed && self.changed.is_empty() && self.unwritten.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let journal = JournalId(1);
        Ledger::new(&Restored {
            journal,
            used: 40,
            reserved: 300,
            records: Vec::new(),
        })
    }

    /// O4
    #[test]
    fn sequences_start_after_all_that_may_have_been_used_and_end_with_the_reservation() {
        let mut ledger = ledger();
        let given: Vec<u64> = std::iter::from_fn(|| ledger.dot())
            .map(|dot| dot.sequence)
            .collect();
        assert_eq!((given.first(), given.last()), (Some(&41), Some(&300)));
        let (lsn, _, reserve) = ledger.batch().expect("a reservation");
        assert_eq!(reserve, Some(Change::Reserve(301 + BLOCK)));
        assert_eq!(ledger.dot(), None, "not before the disk has it");
        assert!(ledger.batch().is_none(), "asked for once");
        ledger.written(lsn);
        assert_eq!(ledger.dot().map(|dot| dot.sequence), Some(301));
    }

    /// O4
    #[test]
    fn what_a_peer_knows_of_this_journal_is_not_used_again() {
        let mut ledger = ledger();
        let journal = JournalId(1);
        ledger.know(Dot {
            journal,
            sequence: 280,
        });
        ledger.know(Dot {
            journal,
            sequence: 50,
        });
        ledger.know(Dot {
            journal: JournalId(2),
            sequence: 290,
        });
        assert_eq!(
            ledger.dot(),
            Some(Dot {
                journal,
                sequence: 281
            })
        );
    }

    /// P1: a change that overtakes the write of an earlier one waits for its own.
    #[test]
    fn a_register_is_durable_once_its_latest_change_is() {
        let mut ledger = ledger();
        let dot = ledger.dot().expect("reserved");
        ledger.note(dot);
        let (first, _, _) = ledger.batch().expect("a change");
        ledger.note(dot);
        assert_eq!(ledger.written(first), []);
        assert!(!ledger.is_durable(dot));
        let (second, _, _) = ledger.batch().expect("a change");
        assert_eq!(ledger.written(second), [dot]);
        assert!(ledger.is_durable(dot) && ledger.all_durable());
    }

    /// P5, O4
    #[test]
    fn presses_go_on_under_a_fresh_journal_when_the_disk_fails() {
        let mut ledger = ledger();
        let dot = ledger.dot().expect("reserved");
        ledger.note(dot);
        ledger.fail(JournalId(9));
        assert_eq!(
            ledger.dot(),
            Some(Dot {
                journal: JournalId(9),
                sequence: 1
            })
        );
        assert!(ledger.batch().is_none());
        assert!(!ledger.is_durable(dot) && !ledger.all_durable());
    }
}
