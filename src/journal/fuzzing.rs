//! The bytes of a journal's file.

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use elevator_fleet::model::NodeId;
use elevator_fleet::orders::Record;

use super::audit::{AuditEvent, AuditRecord};
use super::{Account, Attempt, Journal, attempt, medium, version};

/// A journal that could be used.
#[derive(Debug, PartialEq)]
pub struct Opened {
    /// The records that it restores.
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
    if let Some(found) = version::of_database(bytes) {
        return Err(format!("{found:?}"));
    }
    let memory = medium::in_memory(bytes).map_err(|error| error.to_string())?;
    match attempt(|| Ok(memory)) {
        Attempt::Open(database, contents) => {
            let begun = Journal::begin(database, contents, node, PathBuf::new(), || Ok(()));
            let (journal, restored) = begun.map_err(|error| error.to_string())?;
            let audit = audit_of(&journal)?;
            let account = Account::default();
            let (old, fresh) = (String::new(), String::new());
            let (operator, reason) = ("kovac".to_owned(), "fuzzing".to_owned());
            let event = AuditEvent::Repair { operator, reason, account, old, fresh };
            let record = AuditRecord::now(node.clone(), event, UNIX_EPOCH);
            let added = json(&record)?;
            journal.record(&[record]).map_err(|error| error.to_string())?;
            let continued = (audit_of(&journal)?, added);
            Ok(Opened { records: restored.records, audit, continued })
        }
        refused @ (Attempt::InUse
        | Attempt::Denied(_)
        | Attempt::Other(_)
        | Attempt::Failing(_)
        | Attempt::Damaged(_)) => Err(format!("{refused:?}")),
    }
}

fn audit_of(journal: &Journal) -> Result<Vec<String>, String> {
    let records = journal.audit().map_err(|error| error.to_string())?;
    records.iter().map(json).collect()
}

fn json(record: &AuditRecord) -> Result<String, String> {
    serde_json::to_string(record).map_err(|error| error.to_string())
}
