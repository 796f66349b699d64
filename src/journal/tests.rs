mod golden;
mod power_cuts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::model::{Call, Dot, HallCall};
use elevator_fleet::node::{FleetKeysStatus, Lsn};
use elevator_fleet::orders::{Record, RecordState, Service};
use redb::ReadableTable;
use tempfile::TempDir;

use super::audit::{MOST_RECORDS, UNREADABLE};
use super::writer::WRITE_QUEUE;
use super::*;

/// A wall clock that has not been set: ages stay as they were written.
const UNSET: SystemTime = SystemTime::UNIX_EPOCH;

fn node() -> NodeId {
    NodeId::new("car-1").expect("a name")
}

fn floor(index: u8) -> Floor {
    FloorCount::new(9).and_then(|floors| floors.floor(index)).expect("a floor")
}

fn record(journal: JournalId, sequence: u64, index: u8, state: RecordState) -> Record {
    Record {
        dot: Dot { journal, sequence },
        origin: node(),
        call: Call::Hall(HallCall::new(floor(index), Direction::Up)),
        state,
    }
}

fn open_order(journal: JournalId, sequence: u64, index: u8) -> Record {
    let waited = Duration::from_secs(3);
    record(journal, sequence, index, RecordState::Open { waited })
}

fn open(directory: &TempDir) -> (Journal, Restored) {
    Journal::open(directory.path(), &node()).expect("a journal")
}

/// Whether a record is what was written a moment ago, a little older now.
fn is_same(found: &Record, written: &Record) -> bool {
    const MOMENT: Duration = Duration::from_mins(1);
    let is_as_old = match (&found.state, &written.state) {
        (RecordState::Open { waited }, RecordState::Open { waited: before }) => {
            (*before..*before + MOMENT).contains(waited)
        }
        (RecordState::Served(found), RecordState::Served(written)) => found == written,
        (RecordState::Open { .. }, RecordState::Served(_))
        | (RecordState::Served(_), RecordState::Open { .. }) => false,
    };
    let state = found.state.clone();
    is_as_old && *found == Record { state, ..written.clone() }
}

async fn durable(writer: &mut JournalWriter, lsn: Lsn) {
    let reached = async { while writer.progress().await.durable < lsn {} };
    tokio::time::timeout(Duration::from_secs(20), reached).await.expect("on disk in time");
}

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
    let later = record(id, 2, 3, RecordState::Served(None));
    let writer = JournalWriter::start(journal).expect("a thread");
    let first = vec![Change::Record(open_order(id, 1, 3))];
    writer.submit(Lsn(1), first).expect("room");
    let second = vec![Change::Record(later.clone())];
    writer.submit(Lsn(2), second).expect("room");
    assert_eq!(writer.finish().await.durable, Lsn(2));
    assert_eq!(open(&directory).1.records, [later]);
}

/// P1: the batches that wait behind the first are written in the same transaction, and all of them
/// are durable when the writer says so.
#[test]
fn batches_that_wait_are_committed_together() {
    let directory = TempDir::new().expect("a directory");
    let (journal, restored) = open(&directory);
    let (report, mut progress) = tokio::sync::watch::channel(Progress::default());
    let (batches, queue) = std::sync::mpsc::sync_channel(WRITE_QUEUE);
    for lsn in 1..=40 {
        let record = open_order(restored.journal, lsn, u8::try_from(lsn % 8).expect("small"));
        let changes = vec![Change::Record(record)];
        batches.send(writer::Work::Write(writer::Batch { lsn: Lsn(lsn), changes })).expect("room");
    }
    drop(batches);
    let commits = writer::write_all(&journal, &queue, &report, None);
    assert_eq!(commits, 1);
    assert_eq!(progress.borrow_and_update().durable, Lsn(40));
    drop(journal);
    assert_eq!(open(&directory).1.records.len(), 8);
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
    let old = [
        open_order(first.journal, 3, 1),
        record(first.journal, u64::MAX, 2, RecordState::Served(None)),
    ];
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

fn journal_with_orders(directory: &TempDir) -> JournalId {
    let (journal, restored) = open(directory);
    let orders: Vec<Change> = (0..8)
        .map(|index| Change::Record(open_order(restored.journal, u64::from(index) + 1, index)))
        .collect();
    tables::write(&journal.database, &orders, UNSET).expect("written");
    restored.journal
}

/// O4
#[test]
fn a_damaged_file_is_set_aside_and_a_new_journal_made() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join(FILE);
    let mut ids = vec![journal_with_orders(&directory)];
    for round in 1..=2 {
        let garbage = vec![round; 10_000];
        fs::write(&path, &garbage).expect("written");
        let (_, restored) = open(&directory);
        assert!(!ids.contains(&restored.journal), "a fresh identity");
        assert_eq!(restored.records, []);
        let aside = directory.path().join(format!("{DAMAGED}-{round}"));
        assert_eq!(fs::read(aside).expect("set aside"), garbage);
        ids.push(restored.journal);
    }
}

/// Whichever part of the file is hit: either the journal is whole, or it is set aside untouched.
#[test]
fn a_journal_with_flipped_bytes_is_whole_or_set_aside() {
    let directory = TempDir::new().expect("a directory");
    let id = journal_with_orders(&directory);
    let sound = fs::read(directory.path().join(FILE)).expect("the file");
    let mut random = fastrand::Rng::with_seed(7);
    let mut set_aside = 0;
    for round in 0..60 {
        let directory = TempDir::new().expect("a directory");
        let mut hurt = sound.clone();
        for _ in 0..=random.usize(..4) {
            let end = if round % 2 == 0 { 64 * 1024 } else { hurt.len() };
            let at = random.usize(..end.min(hurt.len()));
            hurt[at] ^= random.u8(1..);
        }
        fs::write(directory.path().join(FILE), &hurt).expect("written");
        let (_, restored) = open(&directory);
        if restored.journal == id {
            assert_eq!(restored.records.len(), 8);
        } else {
            set_aside += 1;
            assert_eq!(restored.records, []);
            let aside = directory.path().join(format!("{DAMAGED}-1"));
            assert!(aside.exists(), "set aside");
        }
    }
    assert!(set_aside > 0, "no damage was found in 60 rounds");
}

#[test]
fn the_journal_of_another_node_is_refused_and_left_alone() {
    let directory = TempDir::new().expect("a directory");
    let id = journal_with_orders(&directory);
    let other = NodeId::new("car-2").expect("a name");
    let error = Journal::open(directory.path(), &other).expect_err("refused");
    assert!(
        matches!(&error, JournalError::Foreign { owner, node, .. }
            if owner.as_str() == "car-1" && *node == other),
        "{error:?}"
    );
    let (_, restored) = open(&directory);
    assert_eq!((restored.journal, restored.records.len()), (id, 8));
}

#[test]
fn a_journal_that_is_open_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let (_journal, _) = open(&directory);
    let error = Journal::open(directory.path(), &node()).expect_err("refused");
    assert!(matches!(error, JournalError::InUse { .. }), "{error:?}");
}

#[test]
fn a_directory_that_cannot_be_used_is_named_with_the_right_it_takes() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    for unusable in [file.clone(), file.join("below")] {
        let error = Journal::open(&unusable, &node()).expect_err("refused");
        assert!(
            matches!(&error, JournalError::Directory { path, .. } if *path == unusable),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(text.contains(&format!("data_dir = {unusable:?}")), "{text}");
        assert!(text.contains("right to read, write"), "{text}");
    }
}

/// P5
#[test]
fn a_queue_that_is_full_is_told_and_so_is_a_writer_that_has_ended() {
    let (batches, queue) = std::sync::mpsc::sync_channel(1);
    let (_report, progress) = tokio::sync::watch::channel(Progress::default());
    let thread = std::thread::spawn(|| {});
    let writer = writer::JournalWriter::over(batches, progress, thread);
    assert_eq!(writer.submit(Lsn(1), Vec::new()), Ok(()));
    assert_eq!(writer.submit(Lsn(2), Vec::new()), Err(SubmitError::Full));
    drop(queue);
    assert_eq!(writer.submit(Lsn(3), Vec::new()), Err(SubmitError::Ended));
}

/// A medium that takes no more from some moment on.
#[derive(Debug)]
struct FullDisk {
    memory: redb::backends::InMemoryBackend,
    full: Arc<AtomicBool>,
}

impl FullDisk {
    fn check(&self) -> io::Result<()> {
        if self.full.load(Ordering::Relaxed) {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }
}

impl redb::StorageBackend for FullDisk {
    fn len(&self) -> io::Result<u64> {
        self.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check().and_then(|()| self.memory.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check().and_then(|()| self.memory.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check().and_then(|()| self.memory.write(offset, data))
    }
}

/// P5
#[tokio::test]
async fn a_full_disk_is_told_once_and_vouches_for_nothing_more() {
    let full = Arc::new(AtomicBool::new(false));
    let disk = FullDisk { memory: redb::backends::InMemoryBackend::new(), full: Arc::clone(&full) };
    let database = Database::builder().create_with_backend(disk);
    let id = JournalId(1);
    let database = database.expect("a database");
    tables::make(&database, &node(), id).expect("made");
    let mut writer = JournalWriter::start(Journal { database, kept: None }).expect("a thread");
    let order = |sequence| vec![Change::Record(open_order(id, sequence, 3))];
    writer.submit(Lsn(1), order(1)).expect("room");
    durable(&mut writer, Lsn(1)).await;
    full.store(true, Ordering::Relaxed);
    writer.submit(Lsn(2), order(2)).expect("room");
    let failed = async {
        loop {
            let progress = writer.progress().await;
            if progress.failure.is_some() {
                return progress;
            }
        }
    };
    let progress = tokio::time::timeout(Duration::from_secs(20), failed).await;
    assert_eq!(progress.expect("told in time").durable, Lsn(1));
    full.store(false, Ordering::Relaxed);
    // It may take a moment for the thread to be gone; what it took in then is not written.
    let refused = writer.submit(Lsn(3), order(3));
    assert!(matches!(refused, Ok(()) | Err(SubmitError::Ended)));
    assert_eq!(writer.finish().await.durable, Lsn(1));
}

fn hang(at: &str) -> AuditRecord {
    AuditRecord::hang(&crate::latch::Hang {
        at: at.to_owned(),
        node: node(),
        program: "0.1.0".to_owned(),
        evidence: crate::latch::Evidence {
            floor: None,
            direction: Direction::Up,
            expected_s: 10.0,
            actual_s: 10.5,
            flights_off_target: None,
            not_stopped: false,
            last_sensor: Some(2),
        },
    })
}

/// H3
#[tokio::test]
async fn the_audit_log_is_kept_in_order_beside_the_orders() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    assert_eq!(journal.audit().expect("read").records, []);
    journal.record(&[hang("1"), hang("2")]).expect("on disk");
    let writer = JournalWriter::start(journal).expect("a thread");
    writer.record(hang("3")).expect("room");
    let (answer, records) = tokio::sync::oneshot::channel();
    writer.audit(answer).expect("room");
    let all = [hang("1"), hang("2"), hang("3")];
    assert_eq!(records.await.expect("an answer").records, all);
    writer.record(hang("4")).expect("room");
    writer.finish().await;
    assert_eq!(audit_of(directory.path()).expect("read").records.len(), 4);
    let (journal, restored) = open(&directory);
    assert_eq!(restored.records, []);
    assert_eq!(journal.audit().expect("read").records[..3], all);
}

#[test]
fn reading_the_audit_log_makes_nothing_and_sets_nothing_aside() {
    let directory = TempDir::new().expect("a directory");
    assert_eq!(audit_of(directory.path()).expect("read").records, []);
    assert!(!exists(directory.path()));
    let path = directory.path().join(FILE);
    fs::write(&path, [7; 4096]).expect("written");
    let refused = audit_of(directory.path());
    assert!(matches!(refused, Err(JournalError::Unreadable(_))), "{refused:?}");
    assert_eq!(fs::read(&path).expect("there"), [7; 4096]);
    fs::remove_file(&path).expect("removed");
    let (journal, _) = open(&directory);
    let refused = audit_of(directory.path());
    assert!(matches!(refused, Err(JournalError::InUse { .. })));
    drop(journal);
}

/// H3: a record of a later program is kept word by word, and one that is no record is shown.
#[test]
fn an_audit_record_of_another_program_is_kept_and_shown() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let later = [
        r#"{"at":"1","node":"car-1","program":"9.0.0","kind":"brake-test","passed":true,"runs":[1,2]}"#,
        r#"{"at":"2","node":"car-1","program":"9.0.0","kind":"hang","evidence":{"torque":7}}"#,
    ];
    let transaction = journal.database.begin_write().expect("a transaction");
    {
        let table = redb::TableDefinition::<u64, &[u8]>::new("audit");
        let mut table = transaction.open_table(table).expect("a table");
        for (number, text) in (1..).zip(later.into_iter().chain(["no JSON"])) {
            table.insert(number, text.as_bytes()).expect("inserted");
        }
    }
    transaction.commit().expect("on disk");
    journal.record(&[hang("3")]).expect("on disk");
    let records = journal.audit().expect("read").records;
    let kind = |record: &AuditRecord| match &record.event {
        AuditEvent::Other(other) => other.kind.clone(),
        event => format!("{event:?}"),
    };
    assert_eq!(kind(&records[0]), "brake-test");
    assert_eq!(kind(&records[1]), "hang");
    assert_eq!(kind(&records[2]), UNREADABLE);
    assert_eq!(records[3], hang("3"));
    for (record, text) in records.iter().zip(later) {
        let again = serde_json::to_value(record).expect("JSON");
        let before: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(again, before);
    }
    assert_eq!(uncleared(&records), Some(&hang("3")));
    assert_eq!(uncleared(&records[..3]), None);
}

#[test]
fn a_change_of_the_fleet_keys_is_an_event() {
    let keys = |sent, accepted: &[u8], accepts_anybody| FleetKeysStatus {
        sent,
        accepted: accepted.to_vec(),
        accepts_anybody,
        missing: None,
    };
    let unset = FleetKeysStatus::default();
    let key = keys(Some(7), &[7], false);
    let none = keys(None, &[], true);
    for (recorded, now) in [(&unset, &key), (&unset, &none), (&key, &none), (&none, &unset)] {
        let event = AuditEvent::change_of_keys(Some(recorded), now).expect("a change");
        let record = AuditRecord::now(node(), event, UNSET);
        assert_eq!(last_fleet_keys(&[record]), *now);
        assert_eq!(AuditEvent::change_of_keys(Some(now), now), None);
        // A disk that failed at the start does not say what was recorded.
        assert_eq!(AuditEvent::change_of_keys(None, now), None);
    }
    // What is missing is no key in use.
    let missing = |keys: &FleetKeysStatus| FleetKeysStatus {
        missing: Some("no such file".to_owned()),
        ..keys.clone()
    };
    assert_eq!(AuditEvent::change_of_keys(Some(&key), &missing(&key)), None);
    assert_eq!(
        AuditEvent::change_of_keys(Some(&unset), &missing(&key)),
        AuditEvent::change_of_keys(Some(&unset), &key)
    );
}

/// What changes the log in the file, beside the program.
fn tamper(journal: &Journal, change: impl FnOnce(&mut redb::Table<'_, u64, &'static [u8]>)) {
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
fn tamper_links(journal: &Journal, change: impl FnOnce(&mut redb::Table<'_, u64, [u8; 32]>)) {
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
    assert_eq!(removed, Chain { head: None, broken_at: Some(1), dropped: 0, kept });
    journal.record(&[hang("3")]).expect("on disk");
    let later = journal.audit().expect("read").chain;
    assert_eq!((later.broken_at, later.kept), (Some(1), None));
}

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
    let changes: [(Change, HeadMismatch); 2] = [
        (|file| fs::remove_file(file).expect("removed"), HeadMismatch::Missing),
        (|file| fs::write(file, "records = 1").expect("written"), HeadMismatch::Unreadable),
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
fn forget_head(directory: &TempDir, journal: Journal) {
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
    let whole = Chain { head: Some(head.link), broken_at: None, dropped: 6, kept: None };
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
