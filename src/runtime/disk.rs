//! The node's disk as the loop sees it: it works, or it has failed.

use std::time::{Duration, SystemTime};

use elevator_driver::KeySwitch;
use elevator_fleet::model::{JournalId, NodeId};
use elevator_fleet::node::{Change, FleetKeysStatus, Lsn, Restored};
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::{RunError, hang};
use crate::journal::{
    self, AuditLog, AuditRecord, Chain, CommitTimes, Journal, JournalError, JournalWriter, Lost,
    Progress,
};
use crate::latch::{Latch, Refusal, commission};
use crate::statistics::{Changes, Quarter, Slot};

/// How long the journal may take to write its queue when the node ends.
const FINISH_LIMIT: Duration = Duration::from_secs(2);

/// The disk. After a failure it stays failed until the node is restarted (P5): a disk that lost one
/// write can't be trusted with another.
#[derive(Debug)]
pub(super) enum Disk {
    Writes(JournalWriter),
    Failed,
}

/// What the audit log has last of things that are recorded when they change.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// The fleet keys; `None` if the log can't be read.
    pub(super) fleet_keys: Option<FleetKeysStatus>,
    /// Where the key switch stood, if that is there.
    pub(super) key_switch: Option<KeySwitch>,
}

/// The disk has failed. Reported once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiskFailure;

impl Disk {
    /// Opens the journal; also returns what its audit log has last, if it can be read. A full,
    /// read-only or failing disk does not take the car out of service.
    pub(super) fn open(
        directory: &std::path::Path,
        node: &NodeId,
        commits: Option<CommitTimes>,
    ) -> Result<(Self, Restored, Recorded), RunError> {
        let lost = if commission::is_marked(directory) { Lost::Refuse } else { Lost::MakeAnew };
        match Journal::open_claimed(directory, node, lost) {
            Ok((journal, restored)) => {
                let AuditLog { records: audit, chain } = journal.audit()?;
                log_chain(audit.len(), &chain);
                hang::check_audit(directory, &audit)?;
                let recorded = Recorded {
                    fleet_keys: Some(journal::last_fleet_keys(&audit)),
                    key_switch: journal::last_key_switch(&audit),
                };
                if let Err(error) = commission::mark(directory, node, SystemTime::now()) {
                    warn!(%error, "the node can't be marked as commissioned");
                }
                let writer = JournalWriter::start_counting(journal, commits);
                let writer = writer.map_err(RunError::Thread)?;
                Ok((Self::Writes(writer), restored, recorded))
            }
            Err(JournalError::Failing { path, restored, source }) => {
                error!(
                    path = %path.display(),
                    error = %source,
                    records = restored.records.len(),
                    "the disk is full, read-only or failing: running without it, no lamp is lit on its \
                     strength"
                );
                let restored = Restored {
                    // The records read belong to a journal that can't reserve any more sequences
                    // (O4).
                    journal: journal::fresh_id()?,
                    used: 0,
                    reserved: 0,
                    term: restored.term,
                    records: restored.records,
                    flight_times: restored.flight_times,
                    directives: restored.directives,
                };
                Ok((Self::Failed, restored, Recorded::default()))
            }
            Err(JournalError::Lost { .. }) => {
                Err(Refusal::new(directory, Latch::JournalLost).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        match self {
            Self::Writes(_) => false,
            Self::Failed => true,
        }
    }

    /// How many batches wait for it.
    pub(super) fn queued(&self) -> u64 {
        match self {
            Self::Writes(writer) => writer.queued(),
            Self::Failed => 0,
        }
    }

    /// Waits for the next progress; forever if the disk has failed.
    pub(super) async fn progress(&mut self) -> Progress {
        match self {
            Self::Writes(writer) => writer.progress().await,
            Self::Failed => std::future::pending().await,
        }
    }

    /// Queues a batch. Never waits.
    pub(super) fn submit(&mut self, lsn: Lsn, changes: Vec<Change>) -> Result<(), DiskFailure> {
        let submitted = match self {
            Self::Writes(writer) => writer.submit(lsn, changes),
            Self::Failed => Ok(()),
        };
        submitted.map_err(|refused| self.fail(&refused.to_string()))
    }

    /// Queues a record for the audit log; [`finish`](Self::finish) waits until it is on disk. Never
    /// waits.
    ///
    /// # Errors
    /// Why the record will not be in the log.
    pub(super) fn record(&self, record: AuditRecord) -> Result<(), String> {
        match self {
            Self::Writes(writer) => writer.record(record).map_err(|refused| refused.to_string()),
            Self::Failed => Err("the disk has failed".to_owned()),
        }
    }

    /// The receiver of the audit log. Never waits.
    pub(super) fn audit(&self) -> oneshot::Receiver<AuditLog> {
        let (answer, records) = oneshot::channel();
        match self {
            Self::Writes(writer) => {
                if let Err(refused) = writer.audit(answer) {
                    warn!(reason = %refused, "the audit log can't be asked for");
                }
            }
            Self::Failed => drop(answer),
        }
        records
    }

    /// Queues changes of the statistics. Never waits.
    ///
    /// # Errors
    /// Why they will not be on disk.
    pub(super) fn keep_statistics(&self, changes: Changes) -> Result<(), String> {
        match self {
            Self::Writes(writer) => {
                writer.keep_statistics(changes).map_err(|refused| refused.to_string())
            }
            Self::Failed => Err("the disk has failed".to_owned()),
        }
    }

    /// The receiver of the statistics. Never waits.
    pub(super) fn statistics(&self) -> oneshot::Receiver<Vec<(Slot, Quarter)>> {
        let (answer, quarters) = oneshot::channel();
        match self {
            Self::Writes(writer) => {
                if let Err(refused) = writer.read_statistics(answer) {
                    warn!(reason = %refused, "the statistics can't be asked for");
                }
            }
            Self::Failed => drop(answer),
        }
        quarters
    }

    /// Marks the disk as failed.
    pub(super) fn fail(&mut self, reason: &str) -> DiskFailure {
        error!(reason, "the disk has failed: no lamp depends on it");
        *self = Self::Failed;
        DiskFailure
    }

    /// Writes what is queued, within a time limit.
    pub(super) async fn finish(self) {
        let Self::Writes(writer) = self else {
            return;
        };
        if tokio::time::timeout(FINISH_LIMIT, writer.finish()).await.is_err() {
            warn!("the disk did not write everything in time");
        }
    }
}

/// Where the log of the program is kept elsewhere, it bears witness to the records of other processes
/// as well, such as `liftmesh clear-hang`.
fn log_chain(records: usize, Chain { head, broken_at, dropped, kept, unread }: &Chain) {
    let head = head.as_deref().unwrap_or("none");
    info!(records, head, dropped, "audit log read");
    if let Some(record) = broken_at {
        error!(record, "the audit log was tampered with, from this record on");
    }
    if let Some(kept) = kept {
        error!(%kept, "the audit log is not the one that was kept");
    }
    if let Some(error) = unread {
        warn!(error, "the head of the audit log can't be read");
    }
}

/// A new journal identity for the case that the disk fails, drawn while that is sure to succeed.
pub(super) fn spare_id() -> Result<JournalId, RunError> {
    Ok(journal::fresh_id()?)
}
