//! What a journal restores, and which sequences it reserves.

use super::*;

/// F13, P3
#[tokio::test]
async fn what_was_durable_is_there_after_the_next_start() {
    let directory = TempDir::new().expect("a directory");
    let (journal, restored) = open(&directory);
    assert_eq!(restored.records, []);
    let mine = open_order(restored.journal, 1, 3);
    let theirs = open_order(JournalId(77), 5, 4);
    let mut writer = JournalWriter::start(journal).expect("a thread");
    for (lsn, record) in [(1, &mine), (2, &theirs)] {
        let changes = vec![Change::Record(record.clone())];
        writer.submit(Lsn(lsn), changes).expect("room");
    }
    durable(&mut writer, Lsn(2)).await;
    writer.finish().await;

    let (_, again) = open(&directory);
    assert_eq!(again.journal, restored.journal);
    for record in [&mine, &theirs] {
        let found = again.records.iter().find(|found| found.dot == record.dot);
        assert!(found.is_some_and(|found| is_same(found, record)), "{record:?} is lost");
    }
    assert_eq!(again.records.len(), 2);
}

/// O6
#[tokio::test]
async fn a_register_is_replaced_by_its_later_record() {
    let directory = TempDir::new().expect("a directory");
    let (journal, restored) = open(&directory);
    let id = restored.journal;
    let later = record(id, 2, 3, served());
    let writer = JournalWriter::start(journal).expect("a thread");
    let first = vec![Change::Record(open_order(id, 1, 3))];
    writer.submit(Lsn(1), first).expect("room");
    let second = vec![Change::Record(later.clone())];
    writer.submit(Lsn(2), second).expect("room");
    assert_eq!(writer.finish().await.durable, Lsn(2));
    assert_eq!(open(&directory).1.records, [later]);
}

/// O4: whatever the process was doing when it ended.
#[tokio::test]
async fn a_reserved_sequence_is_never_handed_out_again() {
    let directory = TempDir::new().expect("a directory");
    let (journal, first) = open(&directory);
    assert_eq!((first.used, first.reserved), (0, FIRST_BLOCK));
    drop(journal);
    let (journal, second) = open(&directory);
    assert_eq!(second.used, first.reserved);
    assert_eq!(second.reserved, second.used + FIRST_BLOCK);
    let writer = JournalWriter::start(journal).expect("a thread");
    for (lsn, upto) in [(1, 9000), (2, 5)] {
        writer.submit(Lsn(lsn), vec![Change::Reserve(upto)]).expect("room");
    }
    writer.finish().await;
    assert_eq!(open(&directory).1.used, 9000);
}

/// O4: a journal in which nothing is left to reserve is given up; what stood in it stays.
#[tokio::test]
async fn a_renewed_journal_starts_with_its_own_sequences() {
    let directory = TempDir::new().expect("a directory");
    let (journal, first) = open(&directory);
    let old = [open_order(first.journal, 3, 1), record(first.journal, u64::MAX, 2, served())];
    let mut changes: Vec<Change> = old.iter().cloned().map(Change::Record).collect();
    changes.push(Change::Reserve(u64::MAX));
    let fresh = JournalId(first.journal.0 ^ 1);
    let writer = JournalWriter::start(journal).expect("a thread");
    writer.submit(Lsn(1), changes).expect("room");
    writer.finish().await;
    let (journal, spent) = open(&directory);
    assert_eq!((spent.journal, spent.used), (first.journal, u64::MAX));
    let writer = JournalWriter::start(journal).expect("a thread");
    let changes = vec![Change::Journal(fresh), Change::Reserve(257)];
    writer.submit(Lsn(1), changes).expect("room");
    writer.finish().await;
    let (_, renewed) = open(&directory);
    assert_eq!((renewed.journal, renewed.used), (fresh, 257));
    assert_eq!(renewed.records.len(), 2);
}

/// O4: the file as it stands on disk at the moment of a crash, not after an orderly end.
#[tokio::test]
async fn a_crash_leaves_what_was_durable() {
    let directory = TempDir::new().expect("a directory");
    let crashed = TempDir::new().expect("a directory");
    let (journal, restored) = open(&directory);
    let order = open_order(restored.journal, 1, 3);
    let mut writer = JournalWriter::start(journal).expect("a thread");
    let changes = vec![Change::Record(order.clone())];
    writer.submit(Lsn(1), changes).expect("room");
    durable(&mut writer, Lsn(1)).await;
    let copy = crashed.path().join(FILE);
    fs::copy(directory.path().join(FILE), copy).expect("a copy");
    let (_, after) = open(&crashed);
    assert_eq!(after.records.len(), 1);
    assert!(is_same(&after.records[0], &order), "{:?}", after.records);
    assert_eq!(after.used, restored.reserved);
}
