//! The end of a node whose car hung: the latch and the record.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use elevator_fleet::car::HangEvidence;
use elevator_fleet::model::NodeId;
use tokio::sync::oneshot;
use tracing::{error, warn};

use crate::clearance;
use crate::journal::AuditRecord;
use crate::latch::{self, Hang, Kept, Latch, Refusal};
use crate::log::millis;

/// How long the latch may take to be on disk (H2); a sound disk takes a few milliseconds.
const LATCH_LIMIT: Duration = Duration::from_secs(2);

/// Ensures that the audit log has the hang of a latch that keeps the node from starting.
pub(super) fn note(refusal: &Refusal, node: &NodeId) {
    if let Err(error) = clearance::note_latch(&refusal.data_dir, node, &refusal.latch) {
        warn!(%error, "the audit log may lack the hang: clear-hang will record it");
    }
}

/// Refuses to start, and restores the latch, if a hang was not cleared and has no latch (H3).
pub(super) fn check_audit(data_dir: &Path, records: &[AuditRecord]) -> Result<(), Refusal> {
    let Some(latch) = clearance::removed(records) else {
        return Ok(());
    };
    if let Err(error) = latch::set(data_dir, &latch) {
        // The log still has it.
        warn!(%error, "the latch can't be put back");
    }
    Err(Refusal::new(data_dir, latch))
}

/// A latch that is being written, on its own thread: nothing that concerns the panel waits for it.
#[derive(Debug)]
pub(super) struct Latching {
    pub(super) hang: Hang,
    done: oneshot::Receiver<io::Result<Kept>>,
}

impl Latching {
    /// Starts to write. The stop of the motor was passed to the panel line before.
    pub(super) fn start(data_dir: &Path, node: NodeId, evidence: &HangEvidence) -> Self {
        let hang = Hang::new(node, evidence, SystemTime::now());
        let latch = Latch::Hang(hang.clone());
        let done = Self::write(data_dir.to_owned(), latch.clone()).unwrap_or_else(|error| {
            error!(%error, "can't start the latch thread: writing the latch from the loop");
            let (report, done) = oneshot::channel();
            drop(report.send(latch::set(data_dir, &latch)));
            done
        });
        Self { hang, done }
    }

    fn write(data_dir: PathBuf, latch: Latch) -> io::Result<oneshot::Receiver<io::Result<Kept>>> {
        let (report, done) = oneshot::channel();
        thread::Builder::new().name("latch".to_owned()).spawn(move || {
            // If the receiver has timed out, it has reported that.
            drop(report.send(latch::set(&data_dir, &latch)));
        })?;
        Ok(done)
    }

    /// Waits until the latch is on disk, for [`LATCH_LIMIT`] at most.
    pub(super) async fn finish(self) {
        match tokio::time::timeout(LATCH_LIMIT, self.done).await {
            Ok(Ok(Ok(Kept::Whole))) => {
                error!("latched: the node does not start again until `liftmesh clear-hang`");
            }
            Ok(Ok(Ok(Kept::Bare(error)))) => error!(
                %error,
                "latched without the evidence, which is only in this log: the disk is full or \
                 failing"
            ),
            Ok(Ok(Err(error))) => error!(
                %error,
                "NOT LATCHED: the disk can't be written. Only this log keeps the node from being \
                 started: do not start it until the car has been inspected"
            ),
            Ok(Err(_)) | Err(_) => error!(
                limit_ms = millis(LATCH_LIMIT),
                "NOT LATCHED in time: the disk does not answer. Perhaps only this log keeps the \
                 node from being started: do not start it until the car has been inspected"
            ),
        }
    }
}
