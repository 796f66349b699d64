//! The thread that writes: its queue, and a disk that takes no more.

use std::sync::mpsc::sync_channel;

use super::torn_disk::TornDisk;
use super::*;
use crate::journal::writer::WRITE_QUEUE;

/// P1, P5: the batches that wait behind the first are written in the same transaction, and all of
/// them are durable when the writer says so. A queue that is full is told.
#[tokio::test]
async fn batches_that_wait_are_committed_together() {
    let directory = TempDir::new().expect("a directory");
    let times = commit_times().expect("a histogram");
    let (journal, _) = open(&directory);
    let writer = JournalWriter::start(journal, Some(times.clone())).expect("a thread");
    let ((entered, waits), (go_on, gate)) = (sync_channel(1), sync_channel::<()>(1));
    let held_up = move |_: &Journal| {
        entered.send(()).expect("the test waits");
        gate.recv().expect_err("the gate opens");
    };
    writer.queue(Work::Question(Box::new(held_up))).expect("room");
    waits.recv().expect("the thread is busy");
    let submit = |lsn| writer.submit(Lsn(lsn), vec![Change::Record(open_order(lsn))]);
    for lsn in 1..=WRITE_QUEUE as u64 {
        assert_eq!(submit(lsn), Ok(()));
    }
    assert_eq!(submit(999), Err(SubmitError::Full));
    assert_eq!(writer.queued(), WRITE_QUEUE as u64);
    drop(go_on);
    assert_eq!(writer.finish().await.durable, Lsn(WRITE_QUEUE as u64));
    assert_eq!(times.get_sample_count(), 1);
    assert_eq!(open(&directory).1.records.len(), WRITE_QUEUE);
}

/// P5
#[tokio::test]
async fn a_full_disk_is_told_once_and_vouches_for_nothing_more() {
    let disk = TornDisk::new(Vec::new(), u32::MAX);
    let path = Path::new("the disk");
    let (database, found) = open_database(|| Ok(disk.clone()), path, None).expect("a database");
    let (journal, _) = Journal::begin(database, found, &node(), path).expect("a journal");
    let mut writer = JournalWriter::start(journal, None).expect("a thread");
    let order = |sequence| vec![Change::Record(open_order(sequence))];
    writer.submit(Lsn(1), order(1)).expect("room");
    while writer.progress().await.durable < Lsn(1) {}
    disk.set_fuse(0);
    writer.submit(Lsn(2), order(2)).expect("room");
    assert_eq!(failure(&mut writer).await.durable, Lsn(1));
    disk.set_fuse(u32::MAX);
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
        let mut writer = JournalWriter::start(open(&directory).0, None).expect("a thread");
        fs::remove_file(&path).expect("deleted");
        if replaced {
            fs::write(&path, "another file").expect("written");
        } else {
            writer.submit(Lsn(1), vec![Change::Record(open_order(1))]).expect("room");
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
