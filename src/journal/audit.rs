//! The audit log: what operators are accountable for, and what led to it. It grows by one record per
//! hang, clearing, repair, directive and change of the fleet keys, and keeps the latest
//! [`MOST_RECORDS`].
//!
//! Each record has a link in a chain of hashes, so that a record that is changed, removed or put in
//! between shows, and so does one at the end without a link. Of the records that were dropped the last
//! link stays: the chain begins there. A log that was cut off, or replaced as a whole, does not fit
//! the [head](super::head) beside the journal. A user who can write both can make everything anew,
//! but not with the same head, which is in the node's log after each record and at each start, and
//! which an operator can note.
//!
//! What is found to be wrong stays so: no later record gets a link to one that has none, a head that
//! does not fit is recorded before anything else, and before such a record gives way to newer ones the
//! journal notes where the log was wrong first.
//!
//! The records of a program that made no chain are chained when this one first opens the journal.
//!
//! A record that is unreadable, or of another version of the program, is kept and shown as it is:
//! no foreign record keeps an operator from clearing a hang.

use std::collections::BTreeMap;
use std::time::SystemTime;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::FleetKeysStatus;
use redb::{
    AccessGuard, Database, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    Table, TableDefinition, TableError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::{error, info, warn};

use super::error::{AppendError, ReadError};
use super::head::{HeadFile, HeadMismatch};
use super::tables;
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
    /// The last link, as 64 hexadecimal digits, if there is one. While nothing is broken, the same head
    /// means the same records.
    pub(crate) head: Option<String>,
    /// The first record that does not fit the chain, counted from 1: it was changed, removed or put
    /// there by something else than this program, or it says that the log did not fit its kept head.
    pub(crate) broken_at: Option<u64>,
    /// How many records were dropped because there are newer ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) dropped: u64,
    /// What is kept beside the journal, where that is another head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kept: Option<HeadMismatch>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

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
        | AuditEvent::HeadMismatch { .. }
        | AuditEvent::Other(_) => false,
    })?;
    match last.event {
        AuditEvent::Hang { .. } | AuditEvent::LatchFound { .. } => Some(last),
        AuditEvent::ClearHang { .. }
        | AuditEvent::Repair { .. }
        | AuditEvent::Directive { .. }
        | AuditEvent::FleetKeys { .. }
        | AuditEvent::HeadMismatch { .. }
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
        | AuditEvent::HeadMismatch { .. }
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

/// The whole log, compared with the head that is kept beside the journal.
pub(super) fn read(database: &Database, kept: Option<&HeadFile>) -> Result<AuditLog, ReadError> {
    let transaction = database.begin_read()?;
    let keeps_head = tables::keeps_head(&transaction)?;
    let links = match transaction.open_table(LINKS) {
        Ok(links) => {
            links.iter()?.map(|entry| Ok(of_entry(entry?))).collect::<Result<_, ReadError>>()?
        }
        Err(TableError::TableDoesNotExist(_)) => BTreeMap::new(),
        Err(error) => return Err(error.into()),
    };
    let mut records = Vec::new();
    let mut inspection = Inspection::new(&links, keeps_head);
    inspection.broken_at = tables::audit_broken_at(&transaction)?;
    match transaction.open_table(AUDIT) {
        Ok(table) => {
            let owner = tables::owner(&transaction)?;
            for entry in table.iter()? {
                let (number, bytes) = entry?;
                let (number, bytes) = (number.value(), bytes.value());
                let record = serde_json::from_slice(bytes).ok();
                inspection.add(number, bytes, record.as_ref());
                records.push(
                    record.unwrap_or_else(|| AuditRecord::unreadable(owner.clone(), number, bytes)),
                );
            }
        }
        // Nothing was ever recorded.
        Err(TableError::TableDoesNotExist(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let mut chain = inspection.finish();
    if let Some(kept) = kept.filter(|_| keeps_head) {
        chain.kept = kept.mismatch(&Head::of(links.last_key_value()));
    }
    Ok(AuditLog { records, chain })
}

impl Head {
    /// The head of a log with this last link.
    fn of(last: Option<(&u64, &Link)>) -> Self {
        let (records, link) = last.unwrap_or((&0, &ROOT));
        Self { records: *records, link: hexadecimal(link) }
    }
}

/// The comparison of the records with their links.
struct Inspection<'a> {
    links: &'a BTreeMap<u64, Link>,
    /// A chain was begun: no record is without a link.
    is_chained: bool,
    count: u64,
    /// The number that the next record has to have.
    next: u64,
    /// The link that the record before has to have.
    before: Link,
    dropped: u64,
    broken_at: Option<u64>,
}

impl<'a> Inspection<'a> {
    fn new(links: &'a BTreeMap<u64, Link>, keeps_head: bool) -> Self {
        let is_chained = keeps_head || !links.is_empty();
        Self { links, is_chained, count: 0, next: 1, before: ROOT, dropped: 0, broken_at: None }
    }

    /// Compares the next record; `None` if its bytes can't be read.
    fn add(&mut self, number: u64, bytes: &[u8], record: Option<&AuditRecord>) {
        if self.count == 0 {
            self.begin(number);
        }
        self.count += 1;
        self.before = link(&self.before, number, bytes);
        let is_linked = !self.is_chained || self.links.get(&number) == Some(&self.before);
        // No program leaves out a number, whether it makes links or not.
        let fits = number == self.next && is_linked;
        let is_verdict =
            record.is_some_and(|record| matches!(record.event, AuditEvent::HeadMismatch { .. }));
        if !fits || is_verdict {
            self.broken_at.get_or_insert(self.next);
        }
        self.next += 1;
    }

    /// The chain begins behind the records that were dropped.
    fn begin(&mut self, first: u64) {
        if let Some((dropped, link)) = self.links.range(..first).next_back() {
            (self.before, self.next, self.dropped) = (*link, dropped + 1, *dropped);
        }
    }

    /// The first record that was removed behind those that were dropped, if any: the link of a record
    /// that gives way goes with the next one that does.
    fn cut(&self) -> Option<u64> {
        let (oldest, _) = self.links.first_key_value()?;
        (*oldest < self.dropped).then(|| oldest + 1)
    }

    fn finish(mut self) -> Chain {
        // A record gives way only to newer ones.
        let is_short = self.dropped > 0 && self.count < MOST_RECORDS;
        let oldest = self.links.first_key_value().map(|(number, _)| *number);
        if let Some(place) = oldest.filter(|_| is_short).or(self.cut()) {
            self.broken_at = Some(self.broken_at.map_or(place, |found| found.min(place)));
        }
        if self.links.range(self.next..).next().is_some() {
            self.broken_at.get_or_insert(self.next);
        }
        let head = self.links.last_key_value().map(|(_, link)| hexadecimal(link));
        Chain { head, broken_at: self.broken_at, dropped: self.dropped, kept: None }
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
    let transaction = database.begin_write()?;
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

/// Appends records, all or none; they are on disk when this returns. What does not fit the kept head
/// is recorded with them.
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
    let transaction = database.begin_write()?;
    let (found, mismatch, head) = {
        let mut log = Log::open(transaction.open_table(AUDIT)?, transaction.open_table(LINKS)?)?;
        if kept.is_none() {
            log.adopt()?;
        }
        let lacks = log.lacks_beginning()?;
        let found = log.head();
        let mismatch = kept.and_then(|kept| kept.mismatch(&found));
        if let (Some(kept), Some(first)) = (&mismatch, records.first()) {
            error!(found = found.records, %kept, "the audit log is not the one that was kept");
            let event = AuditEvent::HeadMismatch { found: found.clone(), kept: kept.clone() };
            log.push(&AuditRecord { event, ..first.clone() })?;
        }
        for record in records {
            log.push(record)?;
        }
        if let Some(position) = lacks.or(log.drop_oldest()?) {
            tables::note_broken_audit(&transaction, position)?;
        }
        (found, mismatch, log.head())
    };
    let announced = match (kept, mismatch) {
        (None, _) | (Some(_), Some(HeadMismatch::Missing | HeadMismatch::Unreadable)) => Ok(()),
        (Some(kept), None) => kept.write(found, Some(head.clone())),
        // Until the mismatch is on record, it stays one.
        (Some(kept), Some(HeadMismatch::Other(old))) => kept.write(old, Some(head.clone())),
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
