//! The audit log: what operators are accountable for, and what led to it. It keeps the latest
//! [`MOST_RECORDS`].
//!
//! A record that is unreadable, or of another version of the program, is kept and shown as it is:
//! no foreign record keeps an operator from clearing a hang.

use std::collections::BTreeMap;
use std::time::SystemTime;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::FleetKeysStatus;
use redb::{
    Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition,
    WriteTransaction,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tables::{self, ReadError};
use crate::latch::{Evidence, Hang, Label, Latch, PROGRAM, wall};

/// Number from 1 on → record (JSON, so that programs of other versions can read it).
pub(super) const AUDIT: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("audit");

pub(crate) const MOST_RECORDS: u64 = 10_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AuditRecord {
    /// When, in UTC by the machine's clock; for people only (E5).
    pub(crate) at: String,
    /// The node whose journal contains it.
    pub(crate) node: NodeId,
    pub(crate) program: String,
    #[serde(flatten)]
    pub(crate) event: AuditEvent,
}

/// What happened; the field `kind` says which it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum AuditEvent {
    Hang {
        evidence: Evidence,
    },
    /// An unreadable latch without a hang in the log kept the node from starting, or a journal was
    /// found to be lost when an operator cleared the latch.
    LatchFound {
        latch: Latch,
    },
    /// An operator cleared the latch that kept the node from starting (H3).
    ClearHang {
        operator: String,
        reason: String,
        /// The account that gave the command; absent in records of older programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<Account>,
        cleared: Latch,
    },
    /// Somebody gave a command that holds until it is given otherwise, at any node.
    Setting {
        operator: String,
        /// Why; at other nodes than that where it was entered, as much of it as fits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The account that gave the command, if it was entered at this node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<Account>,
        entered_at: NodeId,
        /// What was set, such as `mode/A`.
        key: String,
        value: String,
    },
    /// An account gave more commands in an hour than are recorded.
    Unrecorded {
        account: String,
        commands: u64,
    },
    /// Somebody with a right of access released a locked floor in the car of this node.
    Release {
        account: Account,
        floor: Label,
        seconds: u64,
    },
    FleetKeys {
        /// The id of the key with which messages are sent, if there is one.
        sent: Option<u8>,
        /// The ids of the keys with which messages are accepted.
        accepted: Vec<u8>,
        /// Messages are accepted without a key, because the configuration says so.
        accepts_anybody: bool,
    },
    /// What another version of the program has recorded; `unreadable` if it can't be parsed.
    #[serde(untagged)]
    Other(BTreeMap<String, Value>),
}

/// The account that gave a command, as reported by the system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    /// The number of the user that had logged in (`/proc/self/loginuid`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) login_uid: Option<u32>,
    /// Who used `sudo` (`SUDO_USER`, which the caller can forge).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sudo_user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) terminal: Option<String>,
    /// The name of the token, of a command over HTTP: `uid` is that of the program which took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
}

impl AuditEvent {
    /// The event that a node has these fleet keys in use, whatever is missing.
    pub(crate) fn keys(status: FleetKeysStatus) -> Self {
        let FleetKeysStatus { sent, accepted, accepts_anybody, missing: _ } = status;
        Self::FleetKeys { sent, accepted, accepts_anybody }
    }
}

impl AuditRecord {
    pub(crate) fn hang(hang: &Hang) -> Self {
        Self {
            at: hang.at.clone(),
            node: hang.node.clone(),
            program: hang.program.clone(),
            event: AuditEvent::Hang { evidence: hang.evidence.clone() },
        }
    }

    /// The record of something that happens now, at this moment of the wall clock.
    pub(crate) fn now(node: NodeId, event: AuditEvent, at: SystemTime) -> Self {
        Self { at: wall(at), node, program: PROGRAM.to_owned(), event }
    }

    fn unreadable(node: NodeId, number: u64, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let fields =
            [("kind", "unreadable".into()), ("number", number.into()), ("record", text.into())];
        Self {
            at: "?".to_owned(),
            node,
            program: "?".to_owned(),
            event: AuditEvent::Other(fields.map(|(name, value)| (name.to_owned(), value)).into()),
        }
    }
}

/// The hang or latch that was not cleared, if there is one.
pub(crate) fn uncleared(records: &[AuditRecord]) -> Option<&AuditRecord> {
    use AuditEvent::{ClearHang, Hang, LatchFound};

    let concerns_the_latch =
        |event: &AuditEvent| matches!(event, Hang { .. } | LatchFound { .. } | ClearHang { .. });
    let last = records.iter().rev().find(|record| concerns_the_latch(&record.event))?;
    (!matches!(last.event, ClearHang { .. })).then_some(last)
}

/// The record of the fleet keys that the node had last; that of none, if there is none.
pub(crate) fn last_fleet_keys(records: &[AuditRecord]) -> AuditEvent {
    let mut events = records.iter().rev().map(|record| &record.event);
    let last = events.find(|event| matches!(event, AuditEvent::FleetKeys { .. })).cloned();
    last.unwrap_or_else(|| AuditEvent::keys(FleetKeysStatus::default()))
}

pub(super) fn read(database: &Database) -> Result<Vec<AuditRecord>, ReadError> {
    let transaction = database.begin_read()?;
    let table = transaction.open_table(AUDIT)?;
    let owner = tables::owner(&transaction)?;
    let mut records = Vec::new();
    for entry in table.iter()? {
        let (number, bytes) = entry?;
        let record = serde_json::from_slice(bytes.value());
        let unreadable = |_| AuditRecord::unreadable(owner.clone(), number.value(), bytes.value());
        records.push(record.unwrap_or_else(unreadable));
    }
    Ok(records)
}

/// Appends records, and drops the oldest that are too many. Returns the number of the last one.
pub(super) fn append(
    transaction: &WriteTransaction,
    records: &[AuditRecord],
) -> Result<u64, redb::Error> {
    let mut log = transaction.open_table(AUDIT)?;
    let mut last = log.last()?.map_or(0, |(number, _)| number.value());
    for record in records {
        last += 1;
        let bytes = serde_json::to_vec(record).map_err(std::io::Error::from)?;
        log.insert(last, bytes.as_slice())?;
    }
    while log.len()? > MOST_RECORDS {
        log.pop_first()?;
    }
    Ok(last)
}
