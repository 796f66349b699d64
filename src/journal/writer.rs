//! The thread that writes the journal.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use elevator_fleet::node::{Change, Lsn};
pub(crate) use prometheus::Histogram as CommitTimes;
use prometheus::HistogramOpts;
use tokio::sync::{oneshot, watch};
use tracing::warn;

use super::{AuditRecord, Group, Journal, JournalError};
use crate::statistics::Changes;

/// How many batches and questions may be queued for the disk. One that lets more pile up counts as
/// failed (P5): the brain has at most 16 batches in flight, and each client one question.
pub(crate) const WRITE_QUEUE: usize = 256;

/// How often the thread looks whether the journal's file is still there, at least.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// The bounds of the histogram of commits, in seconds: from a fast disk to a failing one.
const COMMIT_TIMES: [f64; 14] =
    [0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0];

pub(crate) fn commit_times() -> Result<CommitTimes, prometheus::Error> {
    let (name, help) = ("liftmesh_journal_commit_seconds", "Time the disk took to commit orders.");
    CommitTimes::with_opts(HistogramOpts::new(name, help).buckets(COMMIT_TIMES.to_vec()))
}

/// How far the writer has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Every batch up to this one is on disk.
    pub durable: Lsn,
    /// The disk has failed, and why. Nothing more is written; what is durable stays so.
    pub(crate) failure: Option<String>,
}

/// Why a batch was not taken. It is not on disk, and none after it will be: the node must treat the
/// disk as failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// [`WRITE_QUEUE`] batches wait already.
    #[error("{WRITE_QUEUE} batches are waiting for the disk")]
    Full,
    #[error("the disk has failed")]
    Ended,
}

pub(crate) enum Work {
    Write(Lsn, Vec<Change>),
    Record(Box<AuditRecord>),
    KeepStatistics(Changes),
    Question(Box<dyn FnOnce(&Journal) + Send>),
}

/// Writes on a separate thread, in order, all that waits in one transaction.
///
/// After the first failed write it writes nothing more: a disk that lost one batch can't be trusted
/// with the next. Dropping it lets the thread write its queue and end.
#[derive(Debug)]
pub struct JournalWriter {
    work: SyncSender<Work>,
    submitted: AtomicU64,
    progress: watch::Receiver<Progress>,
    thread: JoinHandle<()>,
}

impl JournalWriter {
    /// Starts the thread, which counts its commits.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(journal: Journal, times: Option<CommitTimes>) -> io::Result<Self> {
        let (work, queue) = sync_channel(WRITE_QUEUE);
        let (report, progress) = watch::channel(Progress::default());
        let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || {
            write_all(&journal, &queue, &report, times.as_ref());
            // Who sees the report end may open the journal again.
            drop(journal);
            drop(report);
        })?;
        Ok(Self { work, submitted: AtomicU64::new(0), progress, thread })
    }

    /// Hands over a batch. Never waits.
    ///
    /// # Errors
    /// [`SubmitError`]: the batch is dropped.
    pub fn submit(&self, lsn: Lsn, changes: Vec<Change>) -> Result<(), SubmitError> {
        self.queue(Work::Write(lsn, changes))?;
        self.submitted.store(lsn.0, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn queued(&self) -> u64 {
        let durable = self.progress.borrow().durable.0;
        self.submitted.load(Ordering::Relaxed).saturating_sub(durable)
    }

    /// Queues work. Never waits; [`finish`](Self::finish) does.
    pub(crate) fn queue(&self, work: Work) -> Result<(), SubmitError> {
        self.work.try_send(work).map_err(|error| match error {
            TrySendError::Full(_) => SubmitError::Full,
            TrySendError::Disconnected(_) => SubmitError::Ended,
        })
    }

    /// Asks for something in the journal, after what waits. If it can't be read, drops the answer.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        answer: oneshot::Sender<T>,
        read: fn(&Journal) -> Result<T, JournalError>,
    ) -> Result<(), SubmitError> {
        self.queue(Work::Question(Box::new(move |journal| {
            // The one that asked may be gone.
            if answer.is_closed() {
                return;
            }
            match read(journal) {
                Ok(found) => drop(answer.send(found)),
                Err(error) => warn!(%error, "a query of the journal can't be answered"),
            }
        })))
    }

    /// Waits for the next progress. Cancel-safe.
    pub async fn progress(&mut self) -> Progress {
        let ended = self.progress.changed().await.is_err();
        let mut progress = self.progress.borrow_and_update().clone();
        if ended && progress.failure.is_none() {
            progress.failure = Some("the journal's thread has ended".to_owned());
        }
        progress
    }

    /// Writes the queue and closes the journal. Returns how far it came.
    ///
    /// Takes as long as the disk does. To give up, drop the future; the thread ends by itself.
    pub async fn finish(self) -> Progress {
        let Self { work, submitted: _, mut progress, thread } = self;
        drop(work);
        while progress.changed().await.is_ok() {}
        // The thread has nothing left to do; its panic was reported where it happened.
        drop(thread.join());
        progress.borrow().clone()
    }
}

/// Writes until every sender is dropped or the disk fails.
pub(super) fn write_all(
    journal: &Journal,
    queue: &Receiver<Work>,
    report: &watch::Sender<Progress>,
    times: Option<&CommitTimes>,
) {
    loop {
        let first = match queue.recv_timeout(CHECK_PERIOD) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let (mut group, mut last, mut questions) = (Group::default(), None, Vec::new());
        for work in first.into_iter().chain(queue.try_iter().take(WRITE_QUEUE)) {
            match work {
                Work::Write(lsn, changes) => {
                    last = last.max(Some(lsn));
                    group.changes.extend(changes);
                }
                Work::Record(record) => group.records.push(*record),
                Work::KeepStatistics(changes) => group.statistics.push(changes),
                Work::Question(question) => questions.push(question),
            }
        }
        let began = Instant::now();
        if let Err(error) =
            journal.commit(&group, SystemTime::now()).and_then(|_| Ok(journal.check_place()?))
        {
            report.send_modify(|progress| progress.failure = Some(error.to_string()));
            return;
        }
        if let Some(last) = last {
            if let Some(times) = times {
                times.observe(began.elapsed().as_secs_f64());
            }
            report.send_modify(|progress| progress.durable = progress.durable.max(last));
        }
        for question in questions {
            question(journal);
        }
    }
}
