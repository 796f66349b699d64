//! The chain of the audit log: what was changed in the file shows.

use redb::ReadableTable;

use super::head::forget_head;
use super::*;
use crate::journal::audit::{self, MOST_RECORDS};

/// What changes the log in the file, beside the program.
pub(super) fn tamper(
    journal: &Journal,
    change: impl FnOnce(&mut redb::Table<'_, u64, &'static [u8]>),
) {
    let transaction = journal.database.begin_write().expect("a transaction");
    {
        let table = redb::TableDefinition::<u64, &[u8]>::new("audit");
        change(&mut transaction.open_table(table).expect("a table"));
    }
    transaction.commit().expect("on disk");
}

#[test]
fn an_audit_log_that_was_tampered_with_shows_where() {
    type Change = fn(&mut redb::Table<'_, u64, &'static [u8]>);
    let changes: [(Change, u64); 8] = [
        (|log| drop(log.insert(2, b"{}".as_slice()).expect("changed")), 2),
        (|log| drop(log.remove(1).expect("removed")), 1),
        (|log| drop(log.remove(3).expect("removed")), 3),
        (
            |log| {
                let first = log.get(1).expect("read").expect("there").value().to_vec();
                let second = log.insert(2, first.as_slice()).expect("changed");
                let second = second.expect("there").value().to_vec();
                drop(log.insert(1, second.as_slice()).expect("changed"));
            },
            1,
        ),
        // A record at the end without a link.
        (|log| drop(log.insert(4, b"{}".as_slice()).expect("added")), 4),
        // No program leaves out a number.
        (|log| drop(log.insert(5, b"{}".as_slice()).expect("added")), 4),
        (
            |log| {
                drop(log.remove(3).expect("removed"));
                drop(log.insert(4, b"{}".as_slice()).expect("added"));
            },
            3,
        ),
        (
            |log| {
                for number in 1..=3 {
                    drop(log.remove(number).expect("removed"));
                }
            },
            1,
        ),
    ];
    for (change, place) in changes {
        let directory = TempDir::new().expect("a directory");
        let (journal, _) = open(&directory);
        journal.record(&[hang("1"), hang("2")]).expect("on disk");
        journal.record(&[hang("3")]).expect("on disk");
        let whole = journal.audit().expect("read").chain;
        assert_eq!(whole.broken_at, None);
        tamper(&journal, change);
        let broken = journal.audit().expect("read").chain;
        assert_eq!(broken.broken_at, Some(place));
        // The next record does not hide it.
        journal.record(&[hang("4")]).expect("on disk");
        let later = journal.audit().expect("read").chain;
        assert_eq!(later.broken_at, Some(place));
        assert_ne!(later.head, whole.head);
    }
}

/// What changes the links in the file, beside the program.
pub(super) fn tamper_links(
    journal: &Journal,
    change: impl FnOnce(&mut redb::Table<'_, u64, [u8; 32]>),
) {
    let transaction = journal.database.begin_write().expect("a transaction");
    {
        let table = redb::TableDefinition::<u64, [u8; 32]>::new("audit-links");
        change(&mut transaction.open_table(table).expect("a table"));
    }
    transaction.commit().expect("on disk");
}

/// A record without a link is never given one, so it shows however many come after it.
#[test]
fn a_record_without_a_link_shows_for_ever() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    journal.record(&[hang("1"), hang("2")]).expect("on disk");
    let forged = serde_json::to_vec(&hang("forged")).expect("JSON");
    tamper(&journal, |log| drop(log.insert(3, forged.as_slice()).expect("inserted")));
    for records in 4..7 {
        assert_eq!(journal.audit().expect("read").chain.broken_at, Some(3));
        let head = journal.record(&[hang("next")]).expect("on disk");
        assert_eq!(head.records, records);
    }
    drop(journal);
    let (journal, _) = open(&directory);
    assert_eq!(journal.audit().expect("read").chain.broken_at, Some(3), "after a restart");
}

#[test]
fn an_audit_log_whose_chain_was_removed_is_no_older_one() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let noted = journal.record(&[hang("1"), hang("2")]).expect("on disk");
    let transaction = journal.database.begin_write().expect("a transaction");
    let links = redb::TableDefinition::<u64, [u8; 32]>::new("audit-links");
    assert!(transaction.delete_table(links).expect("deleted"));
    transaction.commit().expect("on disk");
    let removed = journal.audit().expect("read").chain;
    let kept = Some(HeadMismatch::Other(noted));
    assert_eq!(removed, Chain { broken_at: Some(1), kept, ..Chain::default() });
    journal.record(&[hang("3")]).expect("on disk");
    let later = journal.audit().expect("read").chain;
    assert_eq!((later.broken_at, later.kept), (Some(1), None));
}

/// The oldest records give way, and the chain still shows what was changed, or removed besides.
#[test]
fn the_audit_log_keeps_its_latest_records() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let number = |number: u64| hang(&number.to_string());
    let many: Vec<_> = (1..=MOST_RECORDS + 5).map(number).collect();
    journal.record(&many).expect("on disk");
    let head = journal.record(&[hang("last")]).expect("on disk");
    assert_eq!(head.records, MOST_RECORDS + 6);
    drop(journal);
    let (journal, _) = open(&directory);
    let log = journal.audit().expect("read");
    assert_eq!(log.records.len() as u64, MOST_RECORDS);
    assert_eq!(log.records[0], number(7));
    let whole = Chain { head: Some(head.link), dropped: 6, ..Chain::default() };
    assert_eq!(log.chain, whole);
    let broken_at = || journal.audit().expect("read").chain.broken_at;
    let mut seventh = Vec::new();
    tamper(&journal, |log| {
        seventh = log.get(7).expect("read").expect("there").value().to_vec();
        drop(log.insert(7, b"{}".as_slice()).expect("changed"));
    });
    assert_eq!(broken_at(), Some(7));
    tamper(&journal, |log| drop(log.insert(7, seventh.as_slice()).expect("as before")));
    assert_eq!(broken_at(), None);
    // As if it had been dropped like the others.
    tamper(&journal, |log| drop(log.remove(7).expect("removed")));
    assert_eq!(broken_at(), Some(6));
    tamper_links(&journal, |links| drop(links.remove(6).expect("removed")));
    assert_eq!(broken_at(), Some(7));
}

/// A full log drops its oldest records, and what was wrong with them shows all the same.
#[test]
fn what_was_wrong_with_dropped_records_shows_for_ever() {
    type Change = fn(&Journal);
    let changes: [(Change, u64); 6] = [
        (
            |journal| {
                tamper(journal, |log| drop(log.insert(2, b"{}".as_slice()).expect("changed")));
            },
            2,
        ),
        (|journal| tamper(journal, |log| drop(log.insert(4, b"{}".as_slice()).expect("added"))), 4),
        // With its link, and the kept head says so.
        (|journal| drop(audit::append(&journal.database, None, &[hang("4")]).expect("on disk")), 5),
        (|journal| tamper(journal, |log| drop(log.remove(2).expect("removed"))), 2),
        // As if they had been dropped.
        (|journal| tamper(journal, |log| drop(log.remove(1).expect("removed"))), 1),
        (
            |journal| {
                tamper(journal, |log| log.retain(|number, _| number > 2).expect("removed"));
                tamper_links(journal, |links| {
                    links.retain(|number, _| number > 1).expect("removed");
                });
            },
            2,
        ),
    ];
    let many: Vec<_> = (0..MOST_RECORDS).map(|number| hang(&number.to_string())).collect();
    for (change, place) in changes {
        let directory = TempDir::new().expect("a directory");
        let (journal, _) = open(&directory);
        journal.record(&[hang("1"), hang("2"), hang("3")]).expect("on disk");
        change(&journal);
        let broken_at = || journal.audit().expect("read").chain.broken_at;
        journal.record(&many[..1]).expect("on disk");
        assert_eq!(broken_at(), Some(place));
        // One after the other gives way, and then all others.
        journal.record(&many[..many.len() - 3]).expect("on disk");
        for record in &many[..5] {
            journal.record(std::slice::from_ref(record)).expect("on disk");
        }
        assert_eq!(broken_at(), Some(place));
        journal.record(&many).expect("on disk");
        assert_eq!(broken_at(), Some(place));
    }
}

/// The same records have the same head, and no others do.
#[test]
fn the_head_of_the_audit_log_stands_for_its_records() {
    let head = |records: &[AuditRecord]| {
        let directory = TempDir::new().expect("a directory");
        let (journal, _) = open(&directory);
        for record in records {
            journal.record(std::slice::from_ref(record)).expect("on disk");
        }
        journal.audit().expect("read").chain.head
    };
    assert_eq!(head(&[]), None);
    let one = head(&[hang("1"), hang("2")]);
    assert_eq!(one.as_ref().map(String::len), Some(64));
    assert_eq!(head(&[hang("1"), hang("2")]), one);
    assert_ne!(head(&[hang("2"), hang("1")]), one);
    assert_ne!(head(&[hang("1")]), one);
}

/// The records of a program that made no chain get one with the first start.
#[test]
fn an_audit_log_of_an_older_program_is_chained_at_the_first_start() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    tamper(&journal, |log| {
        for (number, record) in (1..).zip([hang("1"), hang("2")]) {
            let bytes = serde_json::to_vec(&record).expect("JSON");
            drop(log.insert(number, bytes.as_slice()).expect("inserted"));
        }
    });
    forget_head(&directory, journal);
    let older = audit_of(directory.path()).expect("read");
    assert_eq!((older.records.len(), older.chain), (2, Chain::default()));
    let (journal, _) = open(&directory);
    let chained = journal.audit().expect("read").chain;
    assert!(chained.head.is_some());
    journal.record(&[hang("3")]).expect("on disk");
    let newer = journal.audit().expect("read");
    assert_eq!((newer.records.len(), newer.chain.broken_at, newer.chain.kept), (3, None, None));
    tamper(&journal, |log| drop(log.insert(1, b"{}".as_slice()).expect("changed")));
    assert_eq!(journal.audit().expect("read").chain.broken_at, Some(1));
}
