//! The thread that writes the journal.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use elevator_fleet::node::{Change, Lsn};
use tokio::sync::{oneshot, watch};
use tracing::{debug, warn};

use super::place::{Displaced, Place};
use super::{AuditRecord, CommitTimes, Journal, audit, statistics, tables};
use crate::statistics::{Changes, Quarter, Slot};

/// How many batches and questions may be queued for the disk. A disk that lets this many pile up
/// counts as failed (P5): [`SubmitError::Full`]. The brain has at most 16 batches in flight, and
/// each client of the operator's socket one question, so a working disk never gets there.
pub(crate) const WRITE_QUEUE: usize = 256;

/// How often the thread looks whether the journal's file is still there, at least.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

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

/// What the thread is asked for.
#[derive(Debug)]
pub(super) enum Work {
    Write(Batch),
    Record(Box<AuditRecord>),
    Audit(oneshot::Sender<Vec<AuditRecord>>),
    KeepStatistics(Changes),
    ReadStatistics(oneshot::Sender<Vec<(Slot, Quarter)>>),
}

/// Writes batches on a thread of its own, in order, all that wait in one transaction.
///
/// After the first failed write it writes nothing more: a disk that lost one batch can't be trusted
/// with the next. Dropping it lets the thread write its queue and end.
#[derive(Debug)]
pub struct JournalWriter {
    work: SyncSender<Work>,
    /// The latest batch.
    submitted: AtomicU64,
    progress: watch::Receiver<Progress>,
    thread: JoinHandle<()>,
}

impl JournalWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(journal: Journal) -> io::Result<Self> {
        Self::start_counting(journal, None)
    }

    /// Starts the thread, which counts its commits.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start_counting(journal: Journal, times: Option<CommitTimes>) -> io::Result<Self> {
        let (work, queue) = sync_channel(WRITE_QUEUE);
        let (report, progress) = watch::channel(Progress::default());
        let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || {
            write_all(&journal, &queue, &report, times.as_ref());
            // Who sees the report end may open the journal again.
            drop(journal);
            drop(report);
        })?;
        Ok(Self::over(work, progress, thread))
    }

    pub(super) fn over(
        work: SyncSender<Work>,
        progress: watch::Receiver<Progress>,
        thread: JoinHandle<()>,
    ) -> Self {
        Self { work, submitted: AtomicU64::new(0), progress, thread }
    }

    /// Hands over a batch. Never waits.
    ///
    /// # Errors
    /// [`SubmitError`]: the batch is dropped.
    pub fn submit(&self, lsn: Lsn, changes: Vec<Change>) -> Result<(), SubmitError> {
        self.ask(Work::Write(Batch { lsn, changes }))?;
        self.submitted.store(lsn.0, Ordering::Relaxed);
        Ok(())
    }

    /// How many batches are not on disk yet.
    pub(crate) fn queued(&self) -> u64 {
        let durable = self.progress.borrow().durable.0;
        self.submitted.load(Ordering::Relaxed).saturating_sub(durable)
    }

    /// Queues a record for the audit log. Never waits; [`finish`](Self::finish) does.
    ///
    /// # Errors
    /// [`SubmitError`]: the record is dropped.
    pub(crate) fn record(&self, record: AuditRecord) -> Result<(), SubmitError> {
        self.ask(Work::Record(Box::new(record)))
    }

    /// Requests the audit log. Never waits; if the log can't be read, the answer is dropped.
    ///
    /// # Errors
    /// [`SubmitError`]: there will be no answer.
    pub(crate) fn audit(
        &self,
        answer: oneshot::Sender<Vec<AuditRecord>>,
    ) -> Result<(), SubmitError> {
        self.ask(Work::Audit(answer))
    }

    /// Queues changes of the statistics. Never waits; after a crash they may be missing.
    ///
    /// # Errors
    /// [`SubmitError`]: the changes are dropped.
    pub(crate) fn keep_statistics(&self, changes: Changes) -> Result<(), SubmitError> {
        self.ask(Work::KeepStatistics(changes))
    }

    /// Requests the statistics. Never waits; if they can't be read, the answer is dropped.
    ///
    /// # Errors
    /// [`SubmitError`]: there will be no answer.
    pub(crate) fn read_statistics(
        &self,
        answer: oneshot::Sender<Vec<(Slot, Quarter)>>,
    ) -> Result<(), SubmitError> {
        self.ask(Work::ReadStatistics(answer))
    }

    fn ask(&self, work: Work) -> Result<(), SubmitError> {
        self.work.try_send(work).map_err(|error| match error {
            TrySendError::Full(_) => SubmitError::Full,
            TrySendError::Disconnected(_) => SubmitError::Ended,
        })
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

/// Writes until every sender is dropped or the disk fails. Returns the number of commits.
pub(super) fn write_all(
    journal: &Journal,
    queue: &Receiver<Work>,
    report: &watch::Sender<Progress>,
    times: Option<&CommitTimes>,
) -> usize {
    let mut commits = 0;
    loop {
        let first = match queue.recv_timeout(CHECK_PERIOD) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return commits,
        };
        let group = Group::of(first.into_iter().chain(queue.try_iter().take(WRITE_QUEUE)));
        match write(journal, &group, report, times) {
            Ok(()) => commits += usize::from(!group.batches.is_empty()),
            Err(error) => {
                report.send_modify(|progress| progress.failure = Some(error.to_string()));
                return commits;
            }
        }
        for answer in group.audits {
            answer_audit(journal, answer);
        }
        for answer in group.statistics {
            answer_statistics(journal, answer);
        }
    }
}

/// What is done at one go.
#[derive(Debug, Default)]
struct Group {
    batches: Vec<Batch>,
    records: Vec<AuditRecord>,
    changes: Vec<Changes>,
    audits: Vec<oneshot::Sender<Vec<AuditRecord>>>,
    statistics: Vec<oneshot::Sender<Vec<(Slot, Quarter)>>>,
}

impl Group {
    fn of(works: impl Iterator<Item = Work>) -> Self {
        let mut group = Self::default();
        for work in works {
            match work {
                Work::Write(batch) => group.batches.push(batch),
                Work::Record(record) => group.records.push(*record),
                Work::Audit(answer) => group.audits.push(answer),
                Work::KeepStatistics(changes) => group.changes.push(changes),
                Work::ReadStatistics(answer) => group.statistics.push(answer),
            }
        }
        group
    }
}

/// Why the thread ends early.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Database(#[from] redb::Error),
    #[error(transparent)]
    Displaced(#[from] Displaced),
}

/// Orders first. They are reported as durable before anything else is written, and if the file is
/// still the journal of this directory.
fn write(
    journal: &Journal,
    group: &Group,
    report: &watch::Sender<Progress>,
    times: Option<&CommitTimes>,
) -> Result<(), WriteError> {
    if !group.batches.is_empty() {
        let changes = group.batches.iter().flat_map(|batch| &batch.changes);
        let began = Instant::now();
        tables::write(&journal.database, changes, SystemTime::now())?;
        if let Some(times) = times {
            times.note(began.elapsed());
        }
    }
    journal.place.as_ref().map_or(Ok(()), Place::check)?;
    if let Some(last) = group.batches.iter().map(|batch| batch.lsn).max() {
        report.send_modify(|progress| progress.durable = progress.durable.max(last));
    }
    if !group.records.is_empty() {
        audit::append(&journal.database, &group.records)?;
    }
    for changes in &group.changes {
        statistics::write(&journal.database, changes)?;
    }
    Ok(())
}

fn answer_statistics(journal: &Journal, answer: oneshot::Sender<Vec<(Slot, Quarter)>>) {
    match statistics::read(&journal.database) {
        Ok(quarters) => {
            if answer.send(quarters).is_err() {
                debug!("the receiver of the statistics is gone");
            }
        }
        Err(error) => warn!(%error, "the statistics can't be read"),
    }
}

fn answer_audit(journal: &Journal, answer: oneshot::Sender<Vec<AuditRecord>>) {
    match journal.audit() {
        Ok(log) => {
            if answer.send(log).is_err() {
                debug!("the receiver of the audit log is gone");
            }
        }
        Err(error) => warn!(%error, "the audit log can't be read"),
    }
}
