//! The head of the audit log beside the journal: a log that was cut off or added to shows.

use super::chain::{tamper, tamper_links};
use super::*;
use crate::journal::audit;
use crate::journal::head::HeadFile;

/// Truncates the log behind a record, with its links.
fn cut_off(journal: &Journal, last: u64) {
    tamper(journal, |log| log.retain(|number, _| number <= last).expect("removed"));
    tamper_links(journal, |links| links.retain(|number, _| number <= last).expect("removed"));
}

fn kinds(journal: &Journal) -> Vec<String> {
    let records = journal.audit().expect("read").records;
    let kind = |record| serde_json::to_value(record).expect("JSON")["kind"].to_string();
    records.iter().map(kind).map(|kind| kind.trim_matches('"').to_owned()).collect()
}

#[test]
fn an_audit_log_that_was_cut_off_shows_and_says_so_for_ever() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let short = journal.record(&[hang("1"), hang("2")]).expect("on disk");
    let noted = journal.record(&[hang("3")]).expect("on disk");
    cut_off(&journal, 2);
    let chain = journal.audit().expect("read").chain;
    assert_eq!((chain.broken_at, &chain.head), (None, &Some(short.link)));
    assert_eq!(chain.kept, Some(HeadMismatch::Other(noted)));
    // A restart does not hide it, nor does the next record.
    drop(journal);
    assert!(audit_of(directory.path()).expect("read").chain.kept.is_some());
    let (journal, _) = open(&directory);
    assert!(journal.audit().expect("read").chain.kept.is_some());
    journal.record(&[hang("4")]).expect("on disk");
    assert_eq!(kinds(&journal), ["hang", "hang", "head-mismatch", "hang"]);
    let chain = journal.audit().expect("read").chain;
    assert_eq!((chain.broken_at, chain.kept), (Some(3), None));
}

/// An intruder who knows how can make a right link, but not the head that is kept.
#[test]
fn a_record_that_was_added_with_its_link_shows() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let noted = journal.record(&[hang("1")]).expect("on disk");
    audit::append(&journal.database, None, &[hang("2")]).expect("on disk");
    let chain = journal.audit().expect("read").chain;
    assert_eq!((chain.broken_at, chain.kept), (None, Some(HeadMismatch::Other(noted))));
}

#[test]
fn a_head_that_is_gone_or_is_none_shows() {
    type Change = fn(&Path);
    let changes: [(Change, HeadMismatch); 3] = [
        (|file| fs::remove_file(file).expect("removed"), HeadMismatch::Missing),
        (|file| fs::write(file, "records = 1").expect("written"), HeadMismatch::Malformed),
        (|file| fs::write(file, [0xff; 9]).expect("written"), HeadMismatch::Malformed),
    ];
    for (change, expected) in changes {
        let directory = TempDir::new().expect("a directory");
        let (journal, _) = open(&directory);
        journal.record(&[hang("1")]).expect("on disk");
        change(&directory.path().join(HEAD_FILE));
        drop(journal);
        let (journal, _) = open(&directory);
        assert_eq!(journal.audit().expect("read").chain.kept, Some(expected));
        journal.record(&[hang("2")]).expect("on disk");
        let log = journal.audit().expect("read");
        assert_eq!((log.chain.broken_at, log.chain.kept), (Some(2), None));
        assert_eq!(kinds(&journal), ["hang", "head-mismatch", "hang"]);
    }
}

/// Makes a file that nobody can read, whatever its rights: a link to itself.
fn lock_away(file: &Path) {
    fs::remove_file(file).expect("removed");
    std::os::unix::fs::symlink(file, file).expect("a link");
}

/// Rights that were lost are no sign that the log was changed.
#[test]
fn a_head_that_cant_be_read_is_no_tampering_and_is_on_record() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let file = directory.path().join(HEAD_FILE);
    journal.record(&[hang("1")]).expect("on disk");
    lock_away(&file);
    drop(journal);
    let (journal, _) = open(&directory);
    let chain = journal.audit().expect("read").chain;
    assert_eq!((chain.broken_at, chain.kept), (None, None));
    assert!(chain.unread.is_some());
    journal.record(&[hang("2")]).expect("on disk");
    journal.record(&[hang("3")]).expect("on disk");
    assert_eq!(kinds(&journal), ["hang", "head-unread", "hang", "hang"]);
    let chain = journal.audit().expect("read").chain;
    assert_eq!((chain.broken_at, chain.kept, chain.unread), (None, None, None));
    cut_off(&journal, 3);
    assert!(journal.audit().expect("read").chain.kept.is_some(), "it is kept again");
}

/// The file may be readable again before its head was replaced: that is no tampering, either.
#[test]
fn a_head_that_was_unreadable_for_a_while_is_no_tampering() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let file = directory.path().join(HEAD_FILE);
    journal.record(&[hang("1")]).expect("on disk");
    let old = fs::read(&file).expect("read");
    lock_away(&file);
    let in_the_way = directory.path().join("audit-head.toml.new");
    fs::create_dir(&in_the_way).expect("made");
    let refused = journal.record(&[hang("2")]);
    assert!(matches!(refused, Err(JournalError::Audit(AppendError::Head(_)))), "{refused:?}");
    fs::remove_file(&file).expect("removed");
    fs::write(&file, old).expect("written");
    fs::remove_dir(&in_the_way).expect("removed");
    journal.record(&[hang("3")]).expect("on disk");
    assert_eq!(kinds(&journal), ["hang", "hang"]);
}

/// The power may fail before the records are on disk, and after it, before the file says so.
#[test]
fn a_power_cut_between_journal_and_head_is_no_tampering() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let first = journal.record(&[hang("1")]).expect("on disk");
    let second = journal.record(&[hang("2"), hang("3")]).expect("on disk");
    let kept = HeadFile::of(directory.path());
    let mismatch = || journal.audit().expect("read").chain.kept;
    kept.write(first.clone(), Some(second.clone())).expect("written");
    assert_eq!(mismatch(), None, "the records are on disk");
    let planned = Head { records: 9, link: "7f".repeat(32) };
    kept.write(second, Some(planned)).expect("written");
    assert_eq!(mismatch(), None, "the records are not on disk");
    journal.record(&[hang("4")]).expect("on disk");
    assert_eq!(kinds(&journal), ["hang"; 4]);
    // More than one cut explains.
    kept.write(first, None).expect("written");
    assert!(mismatch().is_some());
}

/// What a cut leaves behind are two heads, and the next start leaves one: the log can't be cut off down
/// to the other.
#[test]
fn the_start_after_a_power_cut_keeps_one_head() {
    let directory = TempDir::new().expect("a directory");
    let kept = HeadFile::of(directory.path());
    let (journal, _) = open(&directory);
    let first = journal.record(&[hang("1")]).expect("on disk");
    let second = journal.record(&[hang("2")]).expect("on disk");
    kept.write(first.clone(), Some(second.clone())).expect("written");
    drop(journal);
    let (journal, _) = open(&directory);
    cut_off(&journal, 1);
    assert_eq!(
        journal.audit().expect("read").chain.kept,
        Some(HeadMismatch::Other(second.clone()))
    );
    // The records were not on disk yet.
    kept.write(first.clone(), Some(second)).expect("written");
    drop(journal);
    let (journal, _) = open(&directory);
    assert_eq!(journal.audit().expect("read").chain.kept, None);
    audit::append(&journal.database, None, &[hang("2")]).expect("on disk");
    assert_eq!(journal.audit().expect("read").chain.kept, Some(HeadMismatch::Other(first)));
}

/// P5: the records are lost, and the orders are not; nor are later records.
#[tokio::test]
async fn a_head_that_cant_be_written_fails_no_disk() {
    let directory = TempDir::new().expect("a directory");
    let (journal, restored) = open(&directory);
    journal.record(&[hang("1")]).expect("on disk");
    let in_the_way = directory.path().join("audit-head.toml.new");
    fs::create_dir(&in_the_way).expect("made");
    let mut writer = JournalWriter::start(journal).expect("a thread");
    writer.record(hang("2")).expect("room");
    let order = open_order(restored.journal, 1, 3);
    writer.submit(Lsn(1), vec![Change::Record(order)]).expect("room");
    durable(&mut writer, Lsn(1)).await;
    // What waits is written before the answer.
    let (answer, log) = tokio::sync::oneshot::channel();
    writer.audit(answer).expect("room");
    let AuditLog { records, chain } = log.await.expect("an answer");
    assert_eq!((&records[..], chain.broken_at, chain.kept), (&[hang("1")][..], None, None));
    fs::remove_dir(&in_the_way).expect("removed");
    writer.record(hang("3")).expect("room");
    assert_eq!(writer.finish().await, Progress { durable: Lsn(1), failure: None });
    let AuditLog { records, chain } = audit_of(directory.path()).expect("read");
    assert_eq!((&records[..], chain.kept), (&[hang("1"), hang("3")][..], None));
}

/// Makes a journal of a program that kept no head.
pub(super) fn forget_head(directory: &TempDir, journal: Journal) {
    let transaction = journal.database.begin_write().expect("a transaction");
    let numbers = redb::TableDefinition::<&str, u64>::new("numbers");
    transaction.open_table(numbers).expect("a table").remove("audit-head").expect("removed");
    transaction.commit().expect("on disk");
    drop(journal);
    fs::remove_file(directory.path().join(HEAD_FILE)).expect("removed");
}

#[test]
fn the_head_of_an_older_programs_log_is_kept_from_the_first_start_on() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    journal.record(&[hang("1"), hang("2")]).expect("on disk");
    forget_head(&directory, journal);
    assert_eq!(audit_of(directory.path()).expect("read").chain.kept, None);
    let (journal, _) = open(&directory);
    let chain = journal.audit().expect("read").chain;
    assert_eq!((chain.broken_at, chain.kept), (None, None));
    cut_off(&journal, 1);
    assert!(journal.audit().expect("read").chain.kept.is_some());
}
