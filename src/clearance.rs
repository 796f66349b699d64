//! An operator's clearance after a hang, and the audit log of a node that does not run (H3).
//!
//! The record comes first: only once it is on disk is the latch taken away. Whatever happens in
//! between, the node is still latched, and clearing again does no harm.

mod account;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use elevator_fleet::model::NodeId;

use crate::data_dir::other_owner;
use crate::journal::{self, Account, AuditEvent, AuditRecord, Journal, JournalError, Lost};
use crate::latch::{self, Latch, commission};
use crate::operator::{BindError, Claim};
use crate::retry;

/// How long a node with a latch is given to end: longer than it takes.
const ENDING_LIMIT: Duration = Duration::from_secs(6);

/// Who clears, and why; neither may be empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clearance<'a> {
    pub(crate) operator: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) account: &'a Account,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cleared {
    pub(crate) latch: Latch,
    /// The number of its record in the audit log.
    pub(crate) record: u64,
}

/// Why nothing was cleared, or the audit log can't be shown. The latch is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ClearError {
    #[error("a node or another command is using the data directory {}: try again", .0.display())]
    Running(PathBuf),
    #[error(
        "the data directory {} can't be used; the node creates it on its first run", path.display()
    )]
    Directory { path: PathBuf, source: io::Error },
    /// What another user writes would be out of the node's reach.
    #[error(
        "the data directory {path} belongs to user {owner}: run the command as that user, with \
         `sudo -u '#{owner}' liftmesh …`", path = path.display()
    )]
    AnotherUser { path: PathBuf, owner: u32 },
    #[error("can't tell which node the data directory belongs to; give --config FILE")]
    Nameless,
    #[error("the clearing can't be recorded, so nothing was cleared")]
    Journal(#[from] JournalError),
    #[error("the latch can't be removed")]
    Latch(#[source] io::Error),
    #[error(
        "there is no audit log: {}\nInspect the car. Once it is fit to run:\n  {}",
        Latch::JournalLost,
        latch::remedy(.0)
    )]
    Lost(PathBuf),
    /// The audit log can't be read.
    #[error(transparent)]
    Audit(JournalError),
}

/// Clears the latch that keeps a node from starting, and returns it, if there is one.
///
/// The node's name, if configured, is needed only if neither the latch nor the mark has it.
pub(crate) fn clear(
    data_dir: &Path,
    node: Option<NodeId>,
    by: Clearance<'_>,
) -> Result<Option<Cleared>, ClearError> {
    check_user(data_dir)?;
    let _claim = claim(data_dir)?;
    let Some(latch) = latch_of(data_dir)? else {
        return Ok(None);
    };
    let node = latch::owner(data_dir).or(node).ok_or(ClearError::Nameless)?;
    if latch == Latch::JournalLost {
        // Once the journal is made anew, nothing else would say that it was lost.
        latch::set(data_dir, &latch).map_err(ClearError::Latch)?;
    }
    let (journal, loss) = open_or_replace(data_dir, &node)?;
    let record = record(&journal, &node, (&latch, loss), by)?;
    latch::remove(data_dir).map_err(ClearError::Latch)?;
    Ok(Some(Cleared { latch, record }))
}

/// The latch that keeps a node from starting, if any. Waits for a node that is about to end.
pub(crate) fn find(data_dir: &Path) -> Result<Option<Latch>, ClearError> {
    check_user(data_dir)?;
    let _claim = claim(data_dir)?;
    Ok(latch_of(data_dir)?)
}

/// The audit log of a node that does not run; empty if it never ran.
pub(crate) fn audit(data_dir: &Path) -> Result<Vec<AuditRecord>, ClearError> {
    check_user(data_dir)?;
    let _claim = Claim::new(data_dir).map_err(|error| refused(data_dir, error))?;
    if is_lost(data_dir) {
        return Err(ClearError::Lost(data_dir.to_owned()));
    }
    journal::audit_of(data_dir, None).map_err(ClearError::Audit)
}

/// Whether the node has run, and has no journal.
pub(crate) fn is_lost(data_dir: &Path) -> bool {
    !journal::exists(data_dir) && commission::is_marked(data_dir)
}

fn latch_of(data_dir: &Path) -> Result<Option<Latch>, JournalError> {
    if let Some(latch) = latch::find(data_dir) {
        return Ok(Some(latch));
    }
    if !journal::exists(data_dir) {
        return Ok(is_lost(data_dir).then_some(Latch::JournalLost));
    }
    match journal::audit_of(data_dir, None) {
        Ok(records) => Ok(removed(&records)),
        // What becomes of such a journal is for the next start to say.
        Err(JournalError::Damaged { .. } | JournalError::Failing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The latch in the audit log that was not cleared, if any.
pub(crate) fn removed(records: &[AuditRecord]) -> Option<Latch> {
    let record = journal::uncleared(records)?;
    let recorded = match &record.event {
        AuditEvent::Hang { evidence } => {
            let (node, at) = (&record.node, &record.at);
            format!("the car of node {node} hung at {at}, {evidence}")
        }
        AuditEvent::LatchFound { latch } => latch.to_string(),
        AuditEvent::ClearHang { .. }
        | AuditEvent::Setting { .. }
        | AuditEvent::Unrecorded { .. }
        | AuditEvent::Release { .. }
        | AuditEvent::FleetKeys { .. }
        | AuditEvent::Other(_) => return None,
    };
    Some(Latch::Removed { recorded })
}

/// Completes the audit log of a latched node, so that removing the latch by hand is noticed.
pub(crate) fn note_latch(
    data_dir: &Path,
    node: &NodeId,
    latch: &Latch,
) -> Result<(), JournalError> {
    journal::complete_audit(data_dir, node, |records| match latch {
        Latch::Hang(hang) => {
            Some(AuditRecord::hang(hang)).filter(|record| !records.contains(record))
        }
        Latch::JournalLost | Latch::Unreadable { .. } | Latch::Removed { .. } => {
            let event = AuditEvent::LatchFound { latch: latch.clone() };
            let found = AuditRecord::now(node.clone(), event, SystemTime::now());
            Some(found).filter(|_| journal::uncleared(records).is_none())
        }
    })
}

/// The journal of the node. One that is lost is made anew, and begins with the returned event.
fn open_or_replace(
    data_dir: &Path,
    node: &NodeId,
) -> Result<(Journal, Option<AuditEvent>), ClearError> {
    let has_run = journal::exists(data_dir) || commission::is_marked(data_dir);
    let rule = if has_run { Lost::Refuse } else { Lost::MakeAnew };
    match Journal::open_or(data_dir, node, rule) {
        Ok((journal, _)) => Ok((journal, None)),
        Err(JournalError::Lost { .. }) => {
            let loss = AuditEvent::LatchFound { latch: Latch::JournalLost };
            let (journal, _) = Journal::open_or(data_dir, node, Lost::MakeAnew)?;
            Ok((journal, Some(loss)))
        }
        Err(error) => Err(error.into()),
    }
}

fn record(
    journal: &Journal,
    node: &NodeId,
    (latch, loss): (&Latch, Option<AuditEvent>),
    by: Clearance<'_>,
) -> Result<u64, JournalError> {
    let mut records = Vec::new();
    records.extend(loss.map(|event| AuditRecord::now(node.clone(), event, SystemTime::now())));
    if let Latch::Hang(hang) = latch {
        let hang = AuditRecord::hang(hang);
        // The node itself has recorded it, unless its disk was in the way.
        if !journal.audit()?.contains(&hang) {
            records.push(hang);
        }
    }
    let cleared = AuditEvent::ClearHang {
        operator: by.operator.to_owned(),
        reason: by.reason.to_owned(),
        account: Some(by.account.clone()),
        cleared: latch.clone(),
    };
    records.push(AuditRecord::now(node.clone(), cleared, SystemTime::now()));
    journal.record(&records)
}

/// Claims the directory. A node with a latch is about to end, and is waited for.
fn claim(data_dir: &Path) -> Result<Claim, ClearError> {
    let claim = || Claim::new(data_dir).map_err(|error| refused(data_dir, error));
    retry::while_it_passes(ENDING_LIMIT, claim, |claimed| {
        matches!(claimed, Err(ClearError::Running(_))) && latch::find(data_dir).is_some()
    })
}

pub(crate) fn refused(data_dir: &Path, error: BindError) -> ClearError {
    match error {
        BindError::AnotherNode(path) => ClearError::Running(path),
        BindError::Directory { source, .. }
        | BindError::Lock { source, .. }
        | BindError::Socket { source, .. } => {
            ClearError::Directory { path: data_dir.to_owned(), source }
        }
    }
}

pub(crate) fn check_user(data_dir: &Path) -> Result<(), ClearError> {
    let path = data_dir.to_owned();
    match other_owner(data_dir) {
        Ok(None) => Ok(()),
        Ok(Some(owner)) => Err(ClearError::AnotherUser { path, owner }),
        Err(source) => Err(ClearError::Directory { path, source }),
    }
}

#[cfg(test)]
mod tests;
