//! The thread that writes: its queue, and a disk that takes no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::journal::writer::{Batch, WRITE_QUEUE, Work};

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
        batches.send(Work::Write(Batch { lsn: Lsn(lsn), changes })).expect("room");
    }
    drop(batches);
    let commits = writer::write_all(&journal, &queue, &report, None);
    assert_eq!(commits, 1);
    assert_eq!(progress.borrow_and_update().durable, Lsn(40));
    drop(journal);
    assert_eq!(open(&directory).1.records.len(), 8);
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
    let mut writer = JournalWriter::start(Journal { database, place: None }).expect("a thread");
    let order = |sequence| vec![Change::Record(open_order(id, sequence, 3))];
    writer.submit(Lsn(1), order(1)).expect("room");
    durable(&mut writer, Lsn(1)).await;
    full.store(true, Ordering::Relaxed);
    writer.submit(Lsn(2), order(2)).expect("room");
    assert_eq!(failure(&mut writer).await.durable, Lsn(1));
    full.store(false, Ordering::Relaxed);
    // It may take a moment for the thread to be gone; what it took in then is not written.
    let refused = writer.submit(Lsn(3), order(3));
    assert!(matches!(refused, Ok(()) | Err(SubmitError::Ended)));
    assert_eq!(writer.finish().await.durable, Lsn(1));
}

/// P1, P5
#[tokio::test]
async fn a_journal_that_was_deleted_or_replaced_is_a_failed_disk() {
    for replaced in [false, true] {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join(FILE);
        let (journal, restored) = open(&directory);
        let mut writer = JournalWriter::start(journal).expect("a thread");
        fs::remove_file(&path).expect("deleted");
        if replaced {
            fs::write(&path, "another file").expect("written");
        } else {
            let order = Change::Record(open_order(restored.journal, 1, 3));
            writer.submit(Lsn(1), vec![order]).expect("room");
        }
        let progress = failure(&mut writer).await;
        assert_eq!(progress.durable, Lsn(0), "it vouches for nothing");
        let reason = progress.failure.expect("a reason");
        assert!(reason.contains("journal.redb"), "{reason}");
    }
}

/// Waits until the disk has failed.
async fn failure(writer: &mut JournalWriter) -> Progress {
    let failed = async {
        loop {
            let progress = writer.progress().await;
            if progress.failure.is_some() {
                return progress;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), failed).await.expect("told in time")
}
