//! What a node keeps on disk: every press, every setting, and the audit log.
//!
//! ```text
//!   Node ── Persist{lsn} ──▶ bounded queue ──▶ writer thread ──▶ one transaction for all that wait
//!     ▲                                              │
//!     └────── handle_durable(lsn) ◀── Progress ◀─────┘
//! ```
//!
//! [`Journal::open`] restores (P3), the [`JournalWriter`] writes. The store is `redb`: a commit is
//! on disk when it returns, and a crash in mid-write leaves the last commit (see [`header`]). Nothing
//! here runs on the task of the network or of the car.

mod audit;
mod error;
mod header;
mod place;
mod record;
mod tables;
mod writer;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use elevator_fleet::model::NodeId;
use elevator_fleet::node::{Change, Restored};
use elevator_fleet::settings::Settings;
use redb::backends::{FileBackend, InMemoryBackend};
use redb::{Database, DatabaseError, StorageBackend};
use tracing::info;

pub(crate) use self::audit::{Account, AuditEvent, AuditRecord, last_fleet_keys, uncleared};
pub use self::error::JournalError;
pub(crate) use self::place::{FILE, Stamp, exists, is_failing, stamp_of};
use self::place::{file, make_directory, number, read, set_aside};
use self::tables::ReadError;
pub(crate) use self::writer::{CommitTimes, Progress, Work, commit_times};
pub use self::writer::{JournalWriter, SubmitError};
use crate::latch::file::sync_directory;
use crate::log;
use crate::retry;
use crate::statistics::{Changes, Quarter, Slot};

/// The database keeps no more of its file than this in memory, in bytes.
const CACHE: usize = 1024 * 1024;

/// How long others may have the journal: a program that reads it, or the node that ends here.
const READING_LIMIT: Duration = Duration::from_secs(5);

/// What to do if there is no sound journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Create a new one: the node is new, or an operator has allowed it.
    MakeAnew,
    /// Refuse: the node has run before, and what is missing may matter.
    Refuse,
}

/// An open journal. No other process can open it meanwhile.
#[derive(Debug)]
pub struct Journal {
    database: Database,
    path: PathBuf,
    /// The number of its file, and of the device that has it; `None` in memory.
    file: Option<(u64, u64)>,
}

#[derive(Debug, Default)]
struct Group {
    changes: Vec<Change>,
    records: Vec<AuditRecord>,
    statistics: Vec<Changes>,
}

impl Journal {
    /// Opens or creates the journal in `directory`, and returns its contents.
    ///
    /// A damaged file is set aside as `journal.damaged-N`, never overwritten, and a new journal is
    /// made in its place: the node rejoins from its peers. A journal of another format, or of
    /// another node, is refused and left as it is.
    ///
    /// # Errors
    /// Each [`JournalError`] says what became of the journal.
    pub fn open(directory: &Path, node: &NodeId) -> Result<(Self, Restored), JournalError> {
        Self::open_or(directory, node, Lost::MakeAnew)
    }

    /// Like [`open`](Self::open), with a rule for a missing journal, or one that is set aside.
    pub(crate) fn open_or(
        directory: &Path,
        node: &NodeId,
        lost: Lost,
    ) -> Result<(Self, Restored), JournalError> {
        let path = directory.join(FILE);
        if lost == Lost::Refuse && !exists(directory) {
            return Err(JournalError::Lost { path });
        }
        make_directory(directory, &path)?;
        // Whatever is opened for writing changes. So a file is looked at in memory first, and one
        // that is not this program's to read is left as it is, to the last byte.
        let looked = retry::while_it_passes(
            READING_LIMIT,
            || look(&path, Some(node)),
            |seen| matches!(seen, Err(JournalError::InUse { .. })),
        );
        let seen = match looked {
            Ok(seen) => seen.map(|(_, restored)| restored).unwrap_or_default(),
            Err(JournalError::Damaged { reason, .. }) => {
                set_aside(directory, &path, &reason);
                if lost == Lost::Refuse {
                    return Err(JournalError::Lost { path });
                }
                Restored::default()
            }
            Err(error) => return Err(error),
        };
        Self::on_disk(&path, node).map_err(|error| match error {
            JournalError::Failing { path, source, .. } => {
                JournalError::Failing { path, restored: Box::new(seen), source }
            }
            error => error,
        })
    }

    /// Opens or creates a journal that a look has found to be sound, or none.
    fn on_disk(path: &Path, node: &NodeId) -> Result<(Self, Restored), JournalError> {
        let mut place = None;
        let backend = || {
            let file = file(path)?;
            place = Some(number(&file.metadata()?));
            // Only readers had it just now, and are done soon. Some file systems have no locks.
            let is_read = |tried: &_| matches!(tried, Err(fs::TryLockError::WouldBlock));
            retry::while_it_passes(READING_LIMIT, || file.try_lock(), is_read).unwrap_or_default();
            FileBackend::new(file)
        };
        let (database, found) = open_database(backend, path, Some(node))?;
        if found.is_none() {
            // Without this a power cut may take the file's name away, and the orders in it.
            let directory = path.parent().unwrap_or(path);
            sync_directory(directory).map_err(|source| failing(path, source))?;
        }
        let (journal, restored) = Self::begin(database, found, node, path)?;
        Ok((Self { file: place, ..journal }, restored))
    }

    /// Makes a journal of an empty database, or tries whether another one can be written.
    fn begin(
        database: Database,
        found: Option<Restored>,
        node: &NodeId,
        path: &Path,
    ) -> Result<(Self, Restored), JournalError> {
        let journal = Self { database, path: path.to_owned(), file: None };
        let begun = match &found {
            Some(restored) => journal.write(Change::Term(restored.term)).map_err(|error| *error),
            None => tables::make(&journal.database, node)
                .inspect(|()| info!(path = %path.display(), "journal made")),
        };
        begun.map_err(|source| failing(path, source))?;
        Ok((journal, found.unwrap_or_default()))
    }

    /// Writes all or nothing, durably. Returns the number of the last new record of the audit log.
    fn commit(&self, group: &Group, now: SystemTime) -> Result<u64, redb::Error> {
        let Group { changes, records, statistics } = group;
        if changes.is_empty() && records.is_empty() && statistics.is_empty() {
            return Ok(0);
        }
        let transaction = header::begin(&self.database)?;
        tables::write(&transaction, changes, now)?;
        tables::write_statistics(&transaction, statistics)?;
        let last = audit::append(&transaction, records)?;
        transaction.commit()?;
        if !records.is_empty() {
            info!(records = last, "recorded in the audit log");
        }
        Ok(last)
    }

    /// Checks that its path still leads to its file: what is written to a deleted one is gone.
    fn check_place(&self) -> io::Result<()> {
        let is_it = |file| fs::metadata(&self.path).is_ok_and(|found| number(&found) == file);
        if self.file.is_none_or(is_it) {
            Ok(())
        } else {
            let path = self.path.display();
            Err(io::Error::other(format!("{path} was deleted, moved or replaced")))
        }
    }

    /// Writes one change; it is on disk when this returns.
    pub(crate) fn write(&self, change: Change) -> Result<(), Box<redb::Error>> {
        let group = Group { changes: vec![change], ..Group::default() };
        Ok(self.commit(&group, SystemTime::now()).map(drop)?)
    }

    /// Appends to the audit log, all or none, durably. Returns the number of the last record.
    pub(crate) fn record(&self, records: &[AuditRecord]) -> Result<u64, JournalError> {
        let group = Group { records: records.to_vec(), ..Group::default() };
        self.commit(&group, SystemTime::now()).map_err(|error| JournalError::Audit(Box::new(error)))
    }

    pub(crate) fn audit(&self) -> Result<Vec<AuditRecord>, JournalError> {
        audit::read(&self.database).map_err(|error| unusable(&self.path, error))
    }

    pub(crate) fn statistics(&self) -> Result<Vec<(Slot, Quarter)>, JournalError> {
        tables::read_statistics(&self.database).map_err(|error| unusable(&self.path, error))
    }
}

/// The audit log of a node that does not run, which may have to be `whose`; empty without a
/// journal. Nothing is changed.
pub(crate) fn audit_of(
    directory: &Path,
    whose: Option<&NodeId>,
) -> Result<Vec<AuditRecord>, JournalError> {
    let seen = look(&directory.join(FILE), whose)?;
    seen.map_or_else(|| Ok(Vec::new()), |(journal, _)| journal.audit())
}

/// The settings of a node that does not run. Nothing is changed; a journal that is missing is lost.
pub(crate) fn settings_of(directory: &Path, node: &NodeId) -> Result<Settings, JournalError> {
    let path = directory.join(FILE);
    let Some((_, restored)) = look(&path, Some(node))? else {
        return Err(JournalError::Lost { path });
    };
    let mut settings = Settings::default();
    for register in restored.settings {
        settings.merge(register);
    }
    Ok(settings)
}

/// Appends what is missing from the audit log of a node that does not run. Makes no journal.
pub(crate) fn complete_audit(
    directory: &Path,
    node: &NodeId,
    missing: impl FnOnce(&[AuditRecord]) -> Option<AuditRecord>,
) -> Result<(), JournalError> {
    let path = directory.join(FILE);
    let Some((seen, _)) = look(&path, Some(node))? else {
        return Ok(());
    };
    let Some(record) = missing(&seen.audit()?) else {
        return Ok(());
    };
    Journal::on_disk(&path, node)?.0.record(&[record]).map(drop)
}

/// The journal in a file, which may have to be `whose`, as a copy in memory, if there is one.
fn look(path: &Path, whose: Option<&NodeId>) -> Result<Option<(Journal, Restored)>, JournalError> {
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(DatabaseError::Storage(redb::StorageError::Io(error)))
            if error.kind() == io::ErrorKind::NotFound =>
        {
            return Ok(None);
        }
        Err(error) => return Err(unusable(path, error.into())),
    };
    let (database, found) = in_memory(&bytes, path, whose)?;
    Ok(found.map(|restored| (Journal { database, path: path.to_owned(), file: None }, restored)))
}

fn in_memory(
    bytes: &[u8],
    path: &Path,
    whose: Option<&NodeId>,
) -> Result<(Database, Option<Restored>), JournalError> {
    if let Some(found) = header::other_format(bytes) {
        return Err(unusable(path, redb::Error::UpgradeRequired(found).into()));
    }
    open_database(|| Ok(memory(bytes)?), path, whose)
}

/// A medium with these bytes: the database can only be opened where it can write.
fn memory(bytes: &[u8]) -> io::Result<InMemoryBackend> {
    let memory = InMemoryBackend::new();
    memory.set_len(bytes.len() as u64)?;
    memory.write(0, bytes)?;
    Ok(memory)
}

/// Opens the database in this place, and reads all of it; `None` if it is empty.
///
/// The database is known to panic on some damaged files, and such a panic must not keep a car from
/// service, so it counts as damage.
fn open_database<B: StorageBackend>(
    backend: impl FnOnce() -> Result<B, DatabaseError>,
    path: &Path,
    whose: Option<&NodeId>,
) -> Result<(Database, Option<Restored>), JournalError> {
    let open = || {
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE);
        let backend = backend()?;
        header::prefer_newer(&builder, &backend)?;
        let mut database = builder.create_with_backend(backend)?;
        database.check_integrity()?;
        let found = tables::read(&database, SystemTime::now())?;
        Ok((database, found))
    };
    let path = path.to_owned();
    match log::expecting_panics(open) {
        Ok(Ok((database, None))) => Ok((database, None)),
        Ok(Ok((database, Some((owner, restored))))) => match whose {
            Some(node) if *node != owner => {
                Err(JournalError::Foreign { path, owner, node: node.clone() })
            }
            Some(_) | None => Ok((database, Some(restored))),
        },
        Ok(Err(error)) => Err(unusable(&path, error)),
        Err(panic) => {
            let reason = format!("the database gave up on it: {panic}");
            Err(JournalError::Damaged { path, reason })
        }
    }
}

/// What an error means for the journal.
fn unusable(path: &Path, error: ReadError) -> JournalError {
    use io::ErrorKind::{InvalidData, PermissionDenied, UnexpectedEof};

    let path = path.to_owned();
    match error {
        ReadError::Format(found) => {
            let known = tables::FORMAT;
            let found = format!("it has format {found}, but this program reads format {known}");
            JournalError::Format { path, found }
        }
        ReadError::Malformed(what) => {
            JournalError::Damaged { path, reason: format!("{what} is missing or malformed") }
        }
        ReadError::Database(error) => match error {
            redb::Error::DatabaseAlreadyOpen => JournalError::InUse { path },
            redb::Error::Io(source) if source.kind() == PermissionDenied => {
                JournalError::Rights { path, source }
            }
            redb::Error::Io(source) if !matches!(source.kind(), InvalidData | UnexpectedEof) => {
                failing(&path, source)
            }
            redb::Error::UpgradeRequired(found) => {
                let known = header::DATABASE;
                let found =
                    format!("its database has file format {found}, but this program reads {known}");
                JournalError::Format { path, found }
            }
            error => JournalError::Damaged { path, reason: error.to_string() },
        },
    }
}

fn failing(path: &Path, source: impl Into<redb::Error>) -> JournalError {
    let source = Box::new(source.into());
    JournalError::Failing { path: path.to_owned(), restored: Box::default(), source }
}

#[cfg(test)]
mod tests;
