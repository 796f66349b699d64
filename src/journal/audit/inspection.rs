//! What the audit log has, and whether it is what was recorded.

use std::collections::BTreeMap;

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableError};
use serde::{Deserialize, Serialize};

use super::{
    AUDIT, AuditEvent, AuditRecord, Head, LINKS, Link, MOST_RECORDS, ROOT, hexadecimal, link,
    of_entry,
};
use crate::journal::error::ReadError;
use crate::journal::head::{Comparison, HeadFile, HeadMismatch};
use crate::journal::tables;

/// The audit log.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AuditLog {
    /// Every record, the oldest first.
    pub(crate) records: Vec<AuditRecord>,
    /// Whether they are what was recorded.
    pub(crate) chain: Chain,
}

/// Whether the records of the audit log are what was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Chain {
    /// The last link, as 64 hexadecimal digits, if there is one. While nothing is broken, the same head
    /// means the same records.
    pub(crate) head: Option<String>,
    /// The first record that does not fit the chain, counted from 1: it was changed, removed or put
    /// there by something else than this program, or it says that the log did not fit its kept head.
    pub(crate) broken_at: Option<u64>,
    /// How many records were dropped because there are newer ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) dropped: u64,
    /// What is kept beside the journal, where that is another head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kept: Option<HeadMismatch>,
    /// Why what is kept there can't be read, if so: then it says nothing of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unread: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Checks that the log, if there is one, has a version that this program reads.
pub(in crate::journal) fn check(transaction: &ReadTransaction) -> Result<(), ReadError> {
    match transaction.open_table(AUDIT) {
        Ok(_) | Err(TableError::TableDoesNotExist(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The whole log, compared with the head that is kept beside the journal.
pub(in crate::journal) fn read(
    database: &Database,
    kept: Option<&HeadFile>,
) -> Result<AuditLog, ReadError> {
    let transaction = database.begin_read()?;
    let keeps_head = tables::keeps_head(&transaction)?;
    let links = match transaction.open_table(LINKS) {
        Ok(links) => {
            links.iter()?.map(|entry| Ok(of_entry(entry?))).collect::<Result<_, ReadError>>()?
        }
        Err(TableError::TableDoesNotExist(_)) => BTreeMap::new(),
        Err(error) => return Err(error.into()),
    };
    let mut records = Vec::new();
    let mut inspection = Inspection::new(&links, keeps_head);
    inspection.broken_at = tables::audit_broken_at(&transaction)?;
    match transaction.open_table(AUDIT) {
        Ok(table) => {
            let owner = tables::owner(&transaction)?;
            for entry in table.iter()? {
                let (number, bytes) = entry?;
                let (number, bytes) = (number.value(), bytes.value());
                let record = serde_json::from_slice(bytes).ok();
                inspection.add(number, bytes, record.as_ref());
                records.push(
                    record.unwrap_or_else(|| AuditRecord::unreadable(owner.clone(), number, bytes)),
                );
            }
        }
        // Nothing was ever recorded.
        Err(TableError::TableDoesNotExist(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let mut chain = inspection.finish();
    if let Some(kept) = kept.filter(|_| keeps_head) {
        match kept.compare(&Head::of(links.last_key_value())) {
            Comparison::Fits => {}
            Comparison::Mismatch(kept) => chain.kept = Some(kept),
            Comparison::Unread(error) => chain.unread = Some(error),
        }
    }
    Ok(AuditLog { records, chain })
}

/// The comparison of the records with their links.
pub(super) struct Inspection<'a> {
    links: &'a BTreeMap<u64, Link>,
    /// A chain was begun: no record is without a link.
    is_chained: bool,
    count: u64,
    /// The number that the next record has to have.
    next: u64,
    /// The link that the record before has to have.
    before: Link,
    dropped: u64,
    pub(super) broken_at: Option<u64>,
}

impl<'a> Inspection<'a> {
    pub(super) fn new(links: &'a BTreeMap<u64, Link>, keeps_head: bool) -> Self {
        let is_chained = keeps_head || !links.is_empty();
        Self { links, is_chained, count: 0, next: 1, before: ROOT, dropped: 0, broken_at: None }
    }

    /// Compares the next record; `None` if its bytes can't be read.
    pub(super) fn add(&mut self, number: u64, bytes: &[u8], record: Option<&AuditRecord>) {
        if self.count == 0 {
            self.begin(number);
        }
        self.count += 1;
        self.before = link(&self.before, number, bytes);
        let is_linked = !self.is_chained || self.links.get(&number) == Some(&self.before);
        // No program leaves out a number, whether it makes links or not.
        let fits = number == self.next && is_linked;
        let is_verdict =
            record.is_some_and(|record| matches!(record.event, AuditEvent::HeadMismatch { .. }));
        if !fits || is_verdict {
            self.broken_at.get_or_insert(self.next);
        }
        self.next += 1;
    }

    /// The chain begins behind the records that were dropped.
    fn begin(&mut self, first: u64) {
        if let Some((dropped, link)) = self.links.range(..first).next_back() {
            (self.before, self.next, self.dropped) = (*link, dropped + 1, *dropped);
        }
    }

    /// The first record that was removed behind those that were dropped, if any: the link of a record
    /// that gives way goes with the next one that does.
    pub(super) fn cut(&self) -> Option<u64> {
        let (oldest, _) = self.links.first_key_value()?;
        (*oldest < self.dropped).then(|| oldest + 1)
    }

    fn finish(mut self) -> Chain {
        // A record gives way only to newer ones.
        let is_short = self.dropped > 0 && self.count < MOST_RECORDS;
        let oldest = self.links.first_key_value().map(|(number, _)| *number);
        if let Some(place) = oldest.filter(|_| is_short).or(self.cut()) {
            self.broken_at = Some(self.broken_at.map_or(place, |found| found.min(place)));
        }
        if self.links.range(self.next..).next().is_some() {
            self.broken_at.get_or_insert(self.next);
        }
        let head = self.links.last_key_value().map(|(_, link)| hexadecimal(link));
        Chain { head, broken_at: self.broken_at, dropped: self.dropped, kept: None, unread: None }
    }
}
