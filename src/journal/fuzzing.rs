//! The bytes of a journal's file.

use std::path::Path;
use std::time::UNIX_EPOCH;

use elevator_fleet::model::NodeId;
use elevator_fleet::store::Record;

use super::audit::{AuditEvent, AuditRecord};
use super::{Journal, in_memory};

/// A journal that could be used.
#[derive(Debug, PartialEq)]
pub struct Opened {
    pub records: Vec<Record>,
    /// The audit log, each record as JSON.
    pub audit: Vec<String>,
    /// The same, after a record was added, and that record.
    pub continued: (Vec<String>, String),
}

/// Opens a journal with these bytes in memory, as the journal of this node, and goes through
/// everything that a node and the command `audit` do with it.
///
/// # Errors
/// Why it is not used. A panic of the database while it opens counts as damage.
pub fn journal(bytes: &[u8], node: &NodeId) -> Result<Opened, String> {
    let path = Path::new("");
    let opened = in_memory(bytes, path, Some(node));
    let begun = opened.and_then(|(database, found)| Journal::begin(database, found, node, path));
    let (journal, restored) = begun.map_err(|error| error.to_string())?;
    let audit = audit_of(&journal)?;
    let event = AuditEvent::FleetKeys { sent: None, accepted: Vec::new(), accepts_anybody: true };
    let record = AuditRecord::now(node.clone(), event, UNIX_EPOCH);
    let added = json(&record)?;
    journal.record(&[record]).map_err(|error| error.to_string())?;
    let continued = (audit_of(&journal)?, added);
    Ok(Opened { records: restored.records, audit, continued })
}

fn audit_of(journal: &Journal) -> Result<Vec<String>, String> {
    let records = journal.audit().map_err(|error| error.to_string())?;
    records.iter().map(json).collect()
}

fn json(record: &AuditRecord) -> Result<String, String> {
    serde_json::to_string(record).map_err(|error| error.to_string())
}
