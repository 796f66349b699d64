//! The audit log: what an operator has to answer for, and what led to it. It is kept for ever; it
//! grows by a record for each hang and each clearing.

use std::time::SystemTime;

use elevator_fleet::model::NodeId;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};
use serde::{Deserialize, Serialize};

use super::error::ReadError;
use crate::latch::{Evidence, Hang, Latch, PROGRAM, wall};

/// Number from 1 on → record (JSON, so that programs of other versions can read it).
const AUDIT: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("audit");

/// One record of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// When, in UTC by the machine's clock; for people only (E5).
    pub at: String,
    /// The node in whose journal it stands.
    pub node: NodeId,
    /// The version of the program that wrote it.
    pub program: String,
    /// What happened.
    #[serde(flatten)]
    pub event: AuditEvent,
}

/// What happened; the field `kind` says which it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AuditEvent {
    /// The car hung.
    Hang {
        /// What was known.
        evidence: Evidence,
    },
    /// An operator cleared what kept the node from starting (H3).
    ClearHang {
        /// Who.
        operator: String,
        /// Why.
        reason: String,
        /// What was cleared.
        cleared: Latch,
    },
}

impl AuditRecord {
    /// The record of a hang.
    #[must_use]
    pub fn hang(hang: &Hang) -> Self {
        Self {
            at: hang.at.clone(),
            node: hang.node.clone(),
            program: hang.program.clone(),
            event: AuditEvent::Hang {
                evidence: hang.evidence.clone(),
            },
        }
    }

    /// The record of a clearing, at this moment of the wall clock.
    #[must_use]
    pub fn clear_hang(
        node: NodeId,
        operator: &str,
        reason: &str,
        cleared: &Latch,
        at: SystemTime,
    ) -> Self {
        Self {
            at: wall(at),
            node,
            program: PROGRAM.to_owned(),
            event: AuditEvent::ClearHang {
                operator: operator.to_owned(),
                reason: reason.to_owned(),
                cleared: cleared.clone(),
            },
        }
    }
}

/// Every record, the oldest first.
pub(super) fn read(database: &Database) -> Result<Vec<AuditRecord>, ReadError> {
    let transaction = database.begin_read()?;
    let table = match transaction.open_table(AUDIT) {
        Ok(table) => table,
        // Nothing was ever recorded.
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut records = Vec::new();
    for entry in table.iter()? {
        let (_, bytes) = entry?;
        let Ok(record) = serde_json::from_slice(bytes.value()) else {
            return Err(ReadError::Malformed("a record of the audit log"));
        };
        records.push(record);
    }
    Ok(records)
}

/// Appends records, all or none; they are on disk when this returns.
pub(super) fn append(database: &Database, records: &[AuditRecord]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(AUDIT)?;
        let mut number = table.last()?.map_or(0, |(number, _)| number.value());
        for record in records {
            number += 1;
            let bytes = serde_json::to_vec(record).map_err(std::io::Error::from)?;
            table.insert(number, bytes.as_slice())?;
        }
    }
    Ok(transaction.commit()?)
}
