//! The node's disk as the loop sees it: it works, or it has failed and is tried again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use elevator_fleet::model::NodeId;
use elevator_fleet::node::{Change, Lsn, Restored};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tracing::{error, info, warn};

use super::{RunError, hang};
use crate::journal::{
    self, AuditEvent, CommitTimes, Journal, JournalError, JournalWriter, Lost, Progress,
    SubmitError, Work,
};
use crate::latch::{Latch, Refusal, commission};

/// How long the journal may take to write its queue when the node ends.
const FINISH_LIMIT: Duration = Duration::from_secs(2);

/// When a failed disk is tried again: first, and at the longest. The pause doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The disk. One that has failed is tried again off the loop, with the checks of a start (P5).
#[derive(Debug)]
pub(super) struct Disk {
    home: Home,
    state: State,
    /// Before the next attempt to use it again.
    pause: Duration,
    since: Instant,
}

#[derive(Debug)]
enum State {
    Writes(JournalWriter),
    Failed {
        lost: Lost,
        /// The task that tries to open the journal, once the loop waits for it.
        tries: JoinSet<Result<Opened, Refusal>>,
    },
}

#[derive(Debug)]
pub(crate) enum DiskEvent {
    Progress(Progress),
    /// It works again, and its audit log has a hang that nobody has cleared (H3).
    Latched(Refusal),
    Recovered {
        restored: Restored,
    },
}

#[derive(Debug, Clone)]
struct Home {
    directory: PathBuf,
    node: NodeId,
    commits: Option<CommitTimes>,
}

#[derive(Debug)]
struct Opened {
    writer: JournalWriter,
    restored: Restored,
    fleet_keys: AuditEvent,
}

impl Home {
    fn open(&self, lost: Lost) -> Result<Opened, RunError> {
        let Self { directory, node, commits } = self;
        let (journal, restored) = Journal::open_or(directory, node, lost)?;
        let audit = journal.audit()?;
        hang::check_audit(directory, &audit)?;
        let fleet_keys = journal::last_fleet_keys(&audit);
        if let Err(error) = commission::mark(directory, node, SystemTime::now()) {
            warn!(%error, "the node can't be marked as commissioned");
        }
        let writer = JournalWriter::start(journal, commits.clone());
        Ok(Opened { writer: writer.map_err(RunError::Thread)?, restored, fleet_keys })
    }

    fn lost(&self) -> Lost {
        if commission::is_marked(&self.directory) { Lost::Refuse } else { Lost::MakeAnew }
    }

    /// Tries until the journal can be written, or the node must not run.
    async fn reopen(self, lost: Lost, mut pause: Duration) -> Result<Opened, Refusal> {
        let mut told = String::new();
        loop {
            tokio::time::sleep(pause).await;
            let home = self.clone();
            let opened = tokio::task::spawn_blocking(move || home.open(lost)).await;
            let reason = match opened {
                Ok(Ok(opened)) => return Ok(opened),
                Ok(Err(RunError::Latched(refusal))) => return Err(refusal),
                Ok(Err(error)) => format!("{:#}", anyhow::Error::new(error)),
                Err(panicked) => panicked.to_string(),
            };
            if reason != told {
                warn!(reason, "the disk can't be used yet");
                told = reason;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Disk {
    /// Opens the journal; also returns the fleet keys that its audit log has last. A full,
    /// read-only or failing disk does not take the car out of service.
    pub(super) fn open(
        directory: &Path,
        node: &NodeId,
        commits: Option<CommitTimes>,
    ) -> Result<(Self, Restored, Option<AuditEvent>), RunError> {
        let home = Home { directory: directory.to_owned(), node: node.clone(), commits };
        let disk =
            |state| Self { home: home.clone(), state, pause: FIRST_PAUSE, since: Instant::now() };
        let lost = home.lost();
        match home.open(lost) {
            Ok(Opened { writer, restored, fleet_keys }) => {
                Ok((disk(State::Writes(writer)), restored, Some(fleet_keys)))
            }
            Err(RunError::Journal(JournalError::Failing { path, restored, source })) => {
                error!(
                    path = %path.display(),
                    error = %source,
                    records = restored.records.len(),
                    "the disk is full, read-only or failing: running without it, lamps do not rely \
                     on it"
                );
                let state = State::Failed { lost, tries: JoinSet::new() };
                Ok((disk(state), *restored, None))
            }
            Err(RunError::Journal(JournalError::Lost { .. })) => {
                Err(Refusal::new(directory, Latch::JournalLost).into())
            }
            Err(error) => Err(error),
        }
    }

    /// The writer, unless the disk has failed.
    fn writer(&self) -> Option<&JournalWriter> {
        match &self.state {
            State::Writes(writer) => Some(writer),
            State::Failed { .. } => None,
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.writer().is_none()
    }

    pub(super) fn queued(&self) -> u64 {
        self.writer().map_or(0, JournalWriter::queued)
    }

    /// Waits for the next event. Cancel-safe.
    pub(super) async fn next(&mut self) -> DiskEvent {
        let tries = match &mut self.state {
            State::Writes(writer) => return DiskEvent::Progress(writer.progress().await),
            State::Failed { lost, tries } => {
                if tries.is_empty() {
                    tries.spawn(self.home.clone().reopen(*lost, self.pause));
                }
                tries
            }
        };
        let opened = match tries.join_next().await {
            Some(Ok(Ok(opened))) => opened,
            Some(Ok(Err(refusal))) => return DiskEvent::Latched(refusal),
            Some(Err(_)) | None => return std::future::pending().await,
        };
        let Opened { writer, restored, fleet_keys: _ } = opened;
        info!(records = restored.records.len(), "the disk works again: writing everything to it");
        self.state = State::Writes(writer);
        self.since = Instant::now();
        DiskEvent::Recovered { restored }
    }

    /// Queues a batch. Never waits.
    pub(super) fn submit(&self, lsn: Lsn, changes: Vec<Change>) -> Result<(), SubmitError> {
        self.writer().map_or(Ok(()), |writer| writer.submit(lsn, changes))
    }

    /// Queues work; the error says why it will not be on disk. Never waits.
    pub(super) fn queue(&self, work: Work) -> Result<(), String> {
        let queued = self.writer().map_or(Err(SubmitError::Ended), |writer| writer.queue(work));
        queued.map_err(|refused| refused.to_string())
    }

    /// The receiver of something that is in the journal. Never waits.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        read: fn(&Journal) -> Result<T, JournalError>,
    ) -> oneshot::Receiver<T> {
        let (answer, receiver) = oneshot::channel();
        if let Some(writer) = self.writer()
            && let Err(refused) = writer.ask(answer, read)
        {
            warn!(reason = %refused, "the journal can't be queried");
        }
        receiver
    }

    /// Marks the disk as failed, to be tried again. A lost journal is not made anew: the node has
    /// run.
    pub(super) fn fail(&mut self, reason: &str) {
        error!(reason, "the disk has failed: lamps do not rely on it");
        let has_worked = self.since.elapsed() >= LONGEST_PAUSE;
        self.pause = if has_worked { FIRST_PAUSE } else { (self.pause * 2).min(LONGEST_PAUSE) };
        self.state = State::Failed { lost: Lost::Refuse, tries: JoinSet::new() };
        self.since = Instant::now();
    }

    pub(super) async fn finish(self) {
        let State::Writes(writer) = self.state else {
            return;
        };
        if tokio::time::timeout(FINISH_LIMIT, writer.finish()).await.is_err() {
            warn!("the disk did not write everything in time");
        }
    }
}
