//! The audit log: what operators are accountable for, and what led to it. It grows by one record per
//! hang, clearing, repair, directive, turn of the key switch and change of the fleet keys, and keeps the
//! latest [`MOST_RECORDS`].
//!
//! Each record has a link in a chain of hashes, so that a record that is changed, removed or put in
//! between shows, and so does one at the end without a link. Of the records that were dropped the last
//! link stays: the chain begins there. A log that was cut off, or replaced as a whole, does not fit
//! the [head](super::head) beside the journal. A user who can write both can make everything anew,
//! but not with the same head, which is in the node's log after each record and at each start, and
//! which an operator can note.
//!
//! A head that can't be read says nothing: that gets a record too, and is no sign of tampering.
//!
//! What is found to be wrong stays so: no later record gets a link to one that has none, a head that
//! does not fit is recorded before anything else, and before such a record gives way to newer ones the
//! journal notes where the log was wrong first.
//!
//! The records of a program that made no chain are chained when this one first opens the journal.
//!
//! A record that is unreadable, or of another version of the program, is kept and shown as it is:
//! no foreign record keeps an operator from clearing a hang.

mod inspection;

use std::collections::BTreeMap;
use std::time::SystemTime;

use elevator_driver::{Floor, KeySwitch};
use elevator_fleet::model::{Mode, NodeId};
use elevator_fleet::node::{FleetKeysStatus, KeyTurn};
use redb::{
    AccessGuard, Database, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    Table, TableDefinition, TableError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::{error, info, warn};

use self::inspection::Inspection;
pub(crate) use self::inspection::{AuditLog, Chain};
pub(super) use self::inspection::{check, read};
use super::error::{AppendError, ReadError};
use super::head::{Comparison, HeadFile, HeadMismatch};
use super::{commit, tables};
use crate::latch::{Evidence, Hang, Latch, PROGRAM, wall};

/// Number from 1 on → record (JSON, so that programs of other versions can read it).
const AUDIT: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("audit");

/// Number of a record → its link: the hash of the link before, the number and the record. It begins
/// with that of the last record that was dropped.
const LINKS: TableDefinition<'_, u64, [u8; 32]> = TableDefinition::new("audit-links");

/// How many records are kept. A later version of the program may lower this, and never raise it: a
/// shorter log that lacks its beginning was tampered with.
pub(crate) const MOST_RECORDS: u64 = 10_000;

/// A link of the chain.
type Link = [u8; 32];

/// The link before the first record.
const ROOT: Link = [0; 32];

/// How far the audit log has come: what an operator notes to recognize it by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
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
    /// An unreadable latch without a hang in the log kept the node from starting, or a journal was
    /// found to be lost when an operator cleared the latch.
    LatchFound {
        latch: Latch,
        /// How far the log of the lost journal had come, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost_head: Option<Head>,
    },
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
    /// Somebody with a right of access released a locked floor in the car of this node.
    Release {
        /// The account that gave the command.
        account: Account,
        floor: Floor,
        /// For how long.
        seconds: u64,
    },
    /// Somebody has turned the key switch at the panel of this node. Who that was it can't tell.
    KeySwitch {
        /// Where it stood when it was last recorded.
        from: KeySwitch,
        /// Where it stands.
        to: KeySwitch,
        /// The mode that the node's car has since; absent for a node without a car.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
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
    /// The log was cut off, replaced or added to by something else than this program: it had another
    /// head than was kept.
    HeadMismatch {
        /// The head that it had.
        found: Head,
        /// What was kept.
        kept: HeadMismatch,
    },
    /// The kept head could not be read when the next record came, so nobody knows whether the log was
    /// cut off before.
    HeadUnread {
        /// The head that the log had.
        found: Head,
        /// Why it could not be read.
        error: String,
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

impl From<KeyTurn> for AuditEvent {
    fn from(KeyTurn { from, to, mode }: KeyTurn) -> Self {
        Self::KeySwitch { from, to, mode }
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
        | AuditEvent::Release { .. }
        | AuditEvent::KeySwitch { .. }
        | AuditEvent::FleetKeys { .. }
        | AuditEvent::HeadMismatch { .. }
        | AuditEvent::HeadUnread { .. }
        | AuditEvent::Other(_) => false,
    })?;
    match last.event {
        AuditEvent::Hang { .. } | AuditEvent::LatchFound { .. } => Some(last),
        AuditEvent::ClearHang { .. }
        | AuditEvent::Repair { .. }
        | AuditEvent::Directive { .. }
        | AuditEvent::Release { .. }
        | AuditEvent::KeySwitch { .. }
        | AuditEvent::FleetKeys { .. }
        | AuditEvent::HeadMismatch { .. }
        | AuditEvent::HeadUnread { .. }
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
        | AuditEvent::Release { .. }
        | AuditEvent::KeySwitch { .. }
        | AuditEvent::HeadMismatch { .. }
        | AuditEvent::HeadUnread { .. }
        | AuditEvent::Other(_) => None,
    });
    keys.unwrap_or_default()
}

/// Where the key switch stood when that was last recorded, if it was.
#[must_use]
pub(crate) fn last_key_switch(records: &[AuditRecord]) -> Option<KeySwitch> {
    records.iter().rev().find_map(|record| {
        if let AuditEvent::KeySwitch { to, .. } = &record.event { Some(*to) } else { None }
    })
}

impl Head {
    /// The head of a log with this last link.
    fn of(last: Option<(&u64, &Link)>) -> Self {
        let (records, link) = last.unwrap_or((&0, &ROOT));
        Self { records: *records, link: hexadecimal(link) }
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

/// Keeps the head of the log from here on, unless it is kept already. Records that have no chain get
/// one first: a program that makes none wrote them.
///
/// After a power cut the file may name two heads: from here on it names the one that the log has, so
/// that the log can't be cut off down to the other.
pub(super) fn begin(database: &Database, kept: &HeadFile) -> Result<(), AppendError> {
    keep_head(database, kept)?;
    let head = head_of(&database.begin_read()?).map_err(ReadError::into_redb)?;
    kept.settle(&head).map_err(AppendError::Head)
}

fn head_of(transaction: &ReadTransaction) -> Result<Head, ReadError> {
    match transaction.open_table(LINKS) {
        Ok(links) => {
            let last = links.last()?.map(of_entry);
            Ok(Head::of(last.as_ref().map(|(number, link)| (number, link))))
        }
        Err(TableError::TableDoesNotExist(_)) => Ok(Head::of(None)),
        Err(error) => Err(error.into()),
    }
}

/// Keeps the head of the log, unless it is kept already.
fn keep_head(database: &Database, kept: &HeadFile) -> Result<(), AppendError> {
    if tables::keeps_head(&database.begin_read()?).map_err(ReadError::into_redb)? {
        return Ok(());
    }
    let transaction = commit::begin(database)?;
    let head = {
        let mut log = Log::open(transaction.open_table(AUDIT)?, transaction.open_table(LINKS)?)?;
        log.adopt()?;
        log.head()
    };
    transaction.commit()?;
    // One that is there is of a journal that is gone: that shows.
    if !kept.exists() {
        kept.write(head, None).map_err(AppendError::Head)?;
    }
    Ok(tables::note_kept_head(database)?)
}

/// Appends records, all or none; they are on disk when this returns. What does not fit the kept head,
/// or can't be compared with it, is recorded with them.
///
/// # Errors
/// [`AppendError`]: none is.
pub(super) fn append(
    database: &Database,
    kept: Option<&HeadFile>,
    records: &[AuditRecord],
) -> Result<Head, AppendError> {
    if let Some(kept) = kept {
        keep_head(database, kept)?;
    }
    let transaction = commit::begin(database)?;
    let (found, comparison, head) = {
        let mut log = Log::open(transaction.open_table(AUDIT)?, transaction.open_table(LINKS)?)?;
        if kept.is_none() {
            log.adopt()?;
        }
        let lacks = log.lacks_beginning()?;
        let found = log.head();
        let comparison = kept.map_or(Comparison::Fits, |kept| kept.compare(&found));
        if let (Some(event), Some(first)) = (event_of(&comparison, &found), records.first()) {
            log.push(&AuditRecord { event, ..first.clone() })?;
        }
        for record in records {
            log.push(record)?;
        }
        if let Some(position) = lacks.or(log.drop_oldest()?) {
            tables::note_broken_audit(&transaction, position)?;
        }
        (found, comparison, log.head())
    };
    let next = Some(head.clone());
    let announced = match (kept, comparison) {
        (None, _)
        | (Some(_), Comparison::Mismatch(HeadMismatch::Missing | HeadMismatch::Malformed)) => {
            Ok(())
        }
        (Some(kept), Comparison::Fits | Comparison::Unread(_)) => kept.write(found, next),
        // Until the mismatch is on record, it stays one.
        (Some(kept), Comparison::Mismatch(HeadMismatch::Other(old))) => kept.write(old, next),
    };
    announced.map_err(AppendError::Head)?;
    transaction.commit()?;
    if let Some(kept) = kept
        && let Err(error) = kept.write(head.clone(), None)
    {
        warn!(%error, "the head of the audit log can't be kept");
    }
    // Where the log of the program is kept elsewhere, it bears witness to the records.
    info!(records = head.records, head = head.link, "recorded in the audit log");
    Ok(head)
}

/// What is recorded of this comparison, if anything.
fn event_of(comparison: &Comparison, found: &Head) -> Option<AuditEvent> {
    let (records, found) = (found.records, found.clone());
    match comparison {
        Comparison::Fits => None,
        Comparison::Mismatch(kept) => {
            error!(found = records, %kept, "the audit log is not the one that was kept");
            Some(AuditEvent::HeadMismatch { found, kept: kept.clone() })
        }
        Comparison::Unread(error) => {
            warn!(%error, "the head of the audit log can't be read");
            Some(AuditEvent::HeadUnread { found, error: error.clone() })
        }
    }
}

/// The log in the middle of a change.
struct Log<'a> {
    records: Table<'a, u64, &'static [u8]>,
    links: Table<'a, u64, Link>,
    /// The last link, with its number.
    last: (u64, Link),
}

impl<'a> Log<'a> {
    fn open(
        records: Table<'a, u64, &'static [u8]>,
        links: Table<'a, u64, Link>,
    ) -> Result<Self, redb::Error> {
        let last = links.last()?.map_or((0, ROOT), of_entry);
        Ok(Self { records, links, last })
    }

    fn head(&self) -> Head {
        let (number, link) = &self.last;
        Head::of(Some((number, link)))
    }

    /// Chains the records of a program that makes no chain, if there is none.
    fn adopt(&mut self) -> Result<(), redb::Error> {
        if !self.links.is_empty()? {
            return Ok(());
        }
        for entry in self.records.iter()? {
            let (number, bytes) = entry?;
            let number = number.value();
            self.last = (number, link(&self.last.1, number, bytes.value()));
            self.links.insert(number, self.last.1)?;
        }
        Ok(())
    }

    fn push(&mut self, record: &AuditRecord) -> Result<(), redb::Error> {
        let last = self.records.last()?.map_or(0, |(number, _)| number.value());
        // The number of a record that was removed is not given again.
        let number = last.max(self.last.0) + 1;
        let bytes = serde_json::to_vec(record).map_err(std::io::Error::from)?;
        self.records.insert(number, bytes.as_slice())?;
        self.last = (number, link(&self.last.1, number, &bytes));
        self.links.insert(number, self.last.1)?;
        Ok(())
    }

    /// The first link, if the log begins behind it and never was long enough for that. Later records
    /// make it longer, and would hide this.
    fn lacks_beginning(&self) -> Result<Option<u64>, redb::Error> {
        let Some((first, _)) = self.records.first()? else { return Ok(None) };
        let oldest = self.links.first()?.map(|(number, _)| number.value());
        let is_short = self.records.len()? < MOST_RECORDS;
        Ok(oldest.filter(|oldest| is_short && *oldest < first.value()))
    }

    /// Drops the oldest records, as far as there are too many. The link of the last of them stays.
    /// Returns the first position among them that is wrong, if there is one.
    fn drop_oldest(&mut self) -> Result<Option<u64>, redb::Error> {
        let surplus = self.records.len()?.saturating_sub(MOST_RECORDS);
        let surplus = usize::try_from(surplus).unwrap_or(usize::MAX);
        let last = match self.records.iter()?.take(surplus).last() {
            Some(entry) => entry?.0.value(),
            None => return Ok(None),
        };
        let links = self.links.range(..=last)?.map(|entry| entry.map(of_entry));
        let links = links.collect::<Result<BTreeMap<_, _>, _>>()?;
        let mut inspection = Inspection::new(&links, true);
        for entry in self.records.range(..=last)? {
            let (number, bytes) = entry?;
            let record = serde_json::from_slice(bytes.value()).ok();
            inspection.add(number.value(), bytes.value(), record.as_ref());
        }
        self.records.retain_in(..=last, |_, _| false)?;
        self.links.retain_in(..last, |_, _| false)?;
        Ok(inspection.cut().or(inspection.broken_at))
    }
}
