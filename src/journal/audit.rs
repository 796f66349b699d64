//! The audit log: what operators are accountable for, and what led to it. It is kept forever; it
//! grows by one record per hang, clearing, repair, directive and change of the fleet keys.
//!
//! Each record has a link in a chain of hashes, so that a record that is changed, removed or put in
//! between shows. A user who can write the file can make the whole chain anew, or remove it, but not
//! with the same head, which is in the node's log after each record and at each start, and which an
//! operator can note.
//!
//! A program that makes no chain may have run in between. Records without a link at the end are thus
//! *unchained*, not broken: the next record chains them too.
//!
//! A record that is unreadable, or of another version of the program, is kept and shown as it is:
//! no foreign record keeps an operator from clearing a hang.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::time::SystemTime;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::FleetKeysStatus;
use redb::{
    AccessGuard, Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    TableError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::info;

use super::error::ReadError;
use super::tables;
use crate::latch::{Evidence, Hang, Latch, PROGRAM, wall};

/// Number from 1 on → record (JSON, so that programs of other versions can read it).
const AUDIT: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("audit");

/// Number of a record → its link: the hash of the link before, the number and the record. Records
/// of a program that makes no links get them with the next one.
const LINKS: TableDefinition<'_, u64, [u8; 32]> = TableDefinition::new("audit-links");

/// A link of the chain.
type Link = [u8; 32];

/// The link before the first record.
const ROOT: Link = [0; 32];

/// The audit log.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AuditLog {
    /// Every record, the oldest first.
    pub(crate) records: Vec<AuditRecord>,
    /// Whether they are what was recorded.
    pub(crate) chain: Chain,
}

/// Whether the records of the audit log are what was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Chain {
    /// The last link, as 64 hexadecimal digits, if there is one. While nothing is broken or
    /// unchained, the same head means the same records.
    pub(crate) head: Option<String>,
    /// The first record that does not fit the chain, counted from 1: it was changed, removed or put
    /// there by something else than this program.
    pub(crate) broken_at: Option<u64>,
    /// How many records at the end have no link yet: a program that makes no chain wrote them, or
    /// something else put them there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) unchained: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How far the audit log has come: what an operator notes to recognize it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the last record.
    pub(crate) records: u64,
    /// Its link, as 64 hexadecimal digits.
    pub(crate) link: String,
}

/// One record of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AuditRecord {
    /// When, in UTC by the machine's clock; for people only (E5).
    pub(crate) at: String,
    /// The node whose journal contains it.
    pub(crate) node: NodeId,
    /// The version of the program that wrote it.
    pub(crate) program: String,
    /// What happened.
    #[serde(flatten)]
    pub(crate) event: AuditEvent,
}

/// What happened; the field `kind` says which it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum AuditEvent {
    /// The car hung.
    Hang {
        /// What was known.
        evidence: Evidence,
    },
    /// An unreadable latch without a hang in the log kept the node from starting.
    LatchFound { latch: Latch },
    /// An operator cleared the latch that kept the node from starting (H3).
    ClearHang {
        operator: String,
        reason: String,
        /// The account that gave the command; absent in records of older programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<Account>,
        /// What was cleared.
        cleared: Latch,
    },
    /// An operator gave the journal a fresh identity.
    Repair {
        operator: String,
        reason: String,
        /// The account that gave the command.
        account: Account,
        /// The journal that was given up, as 16 hexadecimal digits.
        old: String,
        /// The journal that took its place, as 16 hexadecimal digits.
        fresh: String,
    },
    /// An operator gave a command that holds until it is given otherwise, at this node.
    Directive {
        operator: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The account that gave the command.
        account: Account,
        /// What was set, such as `mode/A`.
        key: String,
        /// To what.
        value: String,
    },
    /// The node has other fleet keys than before.
    FleetKeys {
        /// The id of the key with which messages are sent, if there is one.
        sent: Option<u8>,
        /// The ids of the keys with which messages are accepted.
        accepted: Vec<u8>,
        /// Messages are accepted without a key, because the configuration says so.
        accepts_anybody: bool,
    },
    /// Something that this program does not know.
    #[serde(untagged)]
    Other(OtherEvent),
}

/// What another version of the program has recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OtherEvent {
    /// The name in the record; [`UNREADABLE`] for a record that can't be parsed.
    pub(crate) kind: String,
    /// What it says of it.
    #[serde(flatten)]
    pub(crate) fields: BTreeMap<String, Value>,
}

/// The kind of a record that can't be read.
pub(crate) const UNREADABLE: &str = "unreadable";

/// The account that gave a command, as reported by the system. Unlike the operator's name, it is
/// not what somebody has typed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Account {
    /// The number of the user that the command ran as.
    pub(crate) uid: u32,
    /// The number of the user that had logged in (`/proc/self/loginuid`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) login_uid: Option<u32>,
    /// Who used `sudo` (`SUDO_USER`, which the caller can forge).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sudo_user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) terminal: Option<String>,
    /// The name of the token, of a command over HTTP: the user is the one that the program which took
    /// it runs as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
}

impl AuditEvent {
    /// The event that a node has these fleet keys in use, if they are others than those that were
    /// recorded before, whatever is missing. What was recorded may be unknown: then nothing is known to
    /// have changed.
    #[must_use]
    pub(crate) fn change_of_keys(
        recorded: Option<&FleetKeysStatus>,
        keys: &FleetKeysStatus,
    ) -> Option<Self> {
        let in_use = |keys: &FleetKeysStatus| {
            let FleetKeysStatus { sent, accepted, accepts_anybody, missing: _ } = keys.clone();
            Self::FleetKeys { sent, accepted, accepts_anybody }
        };
        let (recorded, now) = (in_use(recorded?), in_use(keys));
        (recorded != now).then_some(now)
    }
}

impl AuditRecord {
    /// The record of a hang.
    #[must_use]
    pub(crate) fn hang(hang: &Hang) -> Self {
        Self {
            at: hang.at.clone(),
            node: hang.node.clone(),
            program: hang.program.clone(),
            event: AuditEvent::Hang { evidence: hang.evidence.clone() },
        }
    }

    /// The record of something that happens now, at this moment of the wall clock.
    #[must_use]
    pub(crate) fn now(node: NodeId, event: AuditEvent, at: SystemTime) -> Self {
        Self { at: wall(at), node, program: PROGRAM.to_owned(), event }
    }

    /// The substitute for a record that can't be read.
    fn unreadable(node: NodeId, number: u64, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let fields = [("number", number.into()), ("record", text.into())];
        Self {
            at: "?".to_owned(),
            node,
            program: "?".to_owned(),
            event: AuditEvent::Other(OtherEvent {
                kind: UNREADABLE.to_owned(),
                fields: fields.map(|(name, value)| (name.to_owned(), value)).into(),
            }),
        }
    }
}

/// The hang or latch that was not cleared, if there is one.
#[must_use]
pub(crate) fn uncleared(records: &[AuditRecord]) -> Option<&AuditRecord> {
    let last = records.iter().rev().find(|record| match record.event {
        AuditEvent::Hang { .. } | AuditEvent::LatchFound { .. } | AuditEvent::ClearHang { .. } => {
            true
        }
        AuditEvent::Repair { .. }
        | AuditEvent::Directive { .. }
        | AuditEvent::FleetKeys { .. }
        | AuditEvent::Other(_) => false,
    })?;
    match last.event {
        AuditEvent::Hang { .. } | AuditEvent::LatchFound { .. } => Some(last),
        AuditEvent::ClearHang { .. }
        | AuditEvent::Repair { .. }
        | AuditEvent::Directive { .. }
        | AuditEvent::FleetKeys { .. }
        | AuditEvent::Other(_) => None,
    }
}

/// The fleet keys that the node had when they were last recorded; none, if they never were.
#[must_use]
pub(crate) fn last_fleet_keys(records: &[AuditRecord]) -> FleetKeysStatus {
    let keys = records.iter().rev().find_map(|record| match &record.event {
        AuditEvent::FleetKeys { sent, accepted, accepts_anybody } => Some(FleetKeysStatus {
            sent: *sent,
            accepted: accepted.clone(),
            accepts_anybody: *accepts_anybody,
            missing: None,
        }),
        AuditEvent::Hang { .. }
        | AuditEvent::LatchFound { .. }
        | AuditEvent::ClearHang { .. }
        | AuditEvent::Repair { .. }
        | AuditEvent::Directive { .. }
        | AuditEvent::Other(_) => None,
    });
    keys.unwrap_or_default()
}

/// Checks that the log, if there is one, has a version that this program reads.
pub(super) fn check(transaction: &ReadTransaction) -> Result<(), ReadError> {
    match transaction.open_table(AUDIT) {
        Ok(_) | Err(TableError::TableDoesNotExist(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The whole log.
pub(super) fn read(database: &Database) -> Result<AuditLog, ReadError> {
    let transaction = database.begin_read()?;
    let table = match transaction.open_table(AUDIT) {
        Ok(table) => table,
        // Nothing was ever recorded.
        Err(TableError::TableDoesNotExist(_)) => return Ok(AuditLog::default()),
        Err(error) => return Err(error.into()),
    };
    let links = match transaction.open_table(LINKS) {
        Ok(links) => {
            links.iter()?.map(|entry| Ok(of_entry(entry?))).collect::<Result<_, ReadError>>()?
        }
        Err(TableError::TableDoesNotExist(_)) => BTreeMap::new(),
        Err(error) => return Err(error.into()),
    };
    let owner = tables::owner(&transaction)?;
    let mut records = Vec::new();
    let mut inspection = Inspection::new(&links);
    for entry in table.iter()? {
        let (number, bytes) = entry?;
        let (number, bytes) = (number.value(), bytes.value());
        inspection.add(number, bytes);
        records.push(
            serde_json::from_slice(bytes)
                .unwrap_or_else(|_| AuditRecord::unreadable(owner.clone(), number, bytes)),
        );
    }
    Ok(AuditLog { records, chain: inspection.finish() })
}

/// The comparison of the records with their links.
struct Inspection<'a> {
    links: &'a BTreeMap<u64, Link>,
    /// The number that the next record has to have.
    next: u64,
    /// The link that the record before has to have.
    before: Link,
    broken_at: Option<u64>,
    unchained: u64,
}

impl<'a> Inspection<'a> {
    fn new(links: &'a BTreeMap<u64, Link>) -> Self {
        Self { links, next: 1, before: ROOT, broken_at: None, unchained: 0 }
    }

    /// Compares the next record.
    fn add(&mut self, number: u64, record: &[u8]) {
        self.before = link(&self.before, number, record);
        let is_unchained = self.links.last_key_value().is_none_or(|(last, _)| number > *last);
        self.unchained += u64::from(is_unchained);
        // No program leaves out a number, whether it makes links or not.
        let fits =
            number == self.next && (is_unchained || self.links.get(&number) == Some(&self.before));
        if !fits {
            self.broken_at.get_or_insert(self.next);
        }
        self.next += 1;
    }

    fn finish(mut self) -> Chain {
        if self.links.range(self.next..).next().is_some() {
            self.broken_at.get_or_insert(self.next);
        }
        let head = self.links.last_key_value().map(|(_, link)| hexadecimal(link));
        Chain { head, broken_at: self.broken_at, unchained: self.unchained }
    }
}

fn of_entry((number, link): (AccessGuard<'_, u64>, AccessGuard<'_, Link>)) -> (u64, Link) {
    (number.value(), link.value())
}

/// The link of a record.
fn link(before: &Link, number: u64, record: &[u8]) -> Link {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(&number.to_le_bytes()).update(record);
    *hasher.finalize().as_bytes()
}

fn hexadecimal(link: &Link) -> String {
    blake3::Hash::from_bytes(*link).to_hex().to_string()
}

/// Appends records, all or none; they are on disk when this returns.
pub(super) fn append(database: &Database, records: &[AuditRecord]) -> Result<Head, redb::Error> {
    let transaction = database.begin_write()?;
    let (number, head) = {
        let mut table = transaction.open_table(AUDIT)?;
        let mut links = transaction.open_table(LINKS)?;
        let (linked, head) = links.last()?.map(of_entry).unzip();
        // The number of a record that was removed is not given again.
        let mut number = linked.unwrap_or_default();
        let mut head = head.unwrap_or(ROOT);
        // Those of a program that makes no links.
        for entry in table.range((Excluded(number), Unbounded))? {
            let (unchained, bytes) = entry?;
            number = unchained.value();
            head = link(&head, number, bytes.value());
            links.insert(number, head)?;
        }
        for record in records {
            number += 1;
            let bytes = serde_json::to_vec(record).map_err(std::io::Error::from)?;
            table.insert(number, bytes.as_slice())?;
            head = link(&head, number, &bytes);
            links.insert(number, head)?;
        }
        (number, head)
    };
    transaction.commit()?;
    let head = Head { records: number, link: hexadecimal(&head) };
    // Where the log of the program is kept elsewhere, it bears witness to the records.
    info!(records = head.records, head = head.link, "recorded in the audit log");
    Ok(head)
}
