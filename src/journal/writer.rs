//! The thread that writes the journal.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use elevator_fleet::node::{Change, Lsn};
use tokio::sync::watch;

use super::{Journal, tables};

/// How many batches may wait to be written. A disk that lets so many pile up counts as failing
/// (P5): [`SubmitError::Full`].
pub const WRITE_QUEUE: usize = 256;

/// How far the writer has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Every batch up to this one is on disk.
    pub durable: Lsn,
    /// The disk has failed, and why. Nothing is written any more; what was durable stays so.
    pub failure: Option<String>,
}

/// Why a batch was not taken. It is not on disk, and none after it will be: the node must treat the
/// disk as failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// [`WRITE_QUEUE`] batches wait already.
    #[error("{WRITE_QUEUE} batches wait for the disk")]
    Full,
    /// The writer has ended after a failure.
    #[error("the disk has failed")]
    Ended,
}

#[derive(Debug)]
pub(super) struct Batch {
    pub(super) lsn: Lsn,
    pub(super) changes: Vec<Change>,
}

/// Writes batches on a thread of its own, in order, all that wait in one transaction.
///
/// After the first write that fails it writes nothing more: a disk that dropped one batch can't
/// vouch for the next. Dropping it lets the thread write what waits and end.
#[derive(Debug)]
pub struct JournalWriter {
    batches: SyncSender<Batch>,
    progress: watch::Receiver<Progress>,
    thread: JoinHandle<()>,
}

impl JournalWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(journal: Journal) -> io::Result<Self> {
        let (batches, queue) = sync_channel(WRITE_QUEUE);
        let (report, progress) = watch::channel(Progress::default());
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                write_all(&journal, &queue, &report);
                // Who sees the report end may open the journal again.
                drop(journal);
                drop(report);
            })?;
        Ok(Self::over(batches, progress, thread))
    }

    pub(super) fn over(
        batches: SyncSender<Batch>,
        progress: watch::Receiver<Progress>,
        thread: JoinHandle<()>,
    ) -> Self {
        Self {
            batches,
            progress,
            thread,
        }
    }

    /// Hands over a batch. Never waits.
    ///
    /// # Errors
    /// [`SubmitError`]: the batch is dropped.
    pub fn submit(&self, lsn: Lsn, changes: Vec<Change>) -> Result<(), SubmitError> {
        let batch = Batch { lsn, changes };
        self.batches.try_send(batch).map_err(|error| match error {
            TrySendError::Full(_) => SubmitError::Full,
            TrySendError::Disconnected(_) => SubmitError::Ended,
        })
    }

    /// Waits for the next progress. Safe to drop and call again.
    pub async fn progress(&mut self) -> Progress {
        let ended = self.progress.changed().await.is_err();
        let mut progress = self.progress.borrow_and_update().clone();
        if ended && progress.failure.is_none() {
            progress.failure = Some("the journal's thread has ended".to_owned());
        }
        progress
    }

    /// Writes what waits and closes the journal. Hands back how far it came.
    ///
    /// Takes as long as the disk does: whoever can't wait drops the future, and the thread ends by
    /// itself.
    pub async fn finish(self) -> Progress {
        let Self {
            batches,
            mut progress,
            thread,
        } = self;
        drop(batches);
        while progress.changed().await.is_ok() {}
        // The thread has nothing left to do; a panic of it was reported where it happened.
        drop(thread.join());
        progress.borrow().clone()
    }
}

/// Writes until nobody can submit any more, or the disk fails. Hands back how often it committed.
pub(super) fn write_all(
    journal: &Journal,
    queue: &Receiver<Batch>,
    report: &watch::Sender<Progress>,
) -> usize {
    let mut commits = 0;
    while let Ok(first) = queue.recv() {
        let group: Vec<Batch> = std::iter::once(first)
            .chain(queue.try_iter().take(WRITE_QUEUE))
            .collect();
        let changes = group.iter().flat_map(|batch| &batch.changes);
        match tables::write(&journal.database, changes) {
            Ok(()) => {
                commits += 1;
                let last = group.iter().map(|batch| batch.lsn).max();
                report.send_modify(|progress| {
                    progress.durable = progress.durable.max(last.unwrap_or_default());
                });
            }
            Err(error) => {
                report.send_modify(|progress| progress.failure = Some(error.to_string()));
                return commits;
            }
        }
    }
    commits
}
