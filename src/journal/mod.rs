//! What a node keeps on disk: every order register, which sequences may be in use, and the audit
//! log.
//!
//! ```text
//!   Node ── Persist{lsn} ──▶ bounded queue ──▶ writer thread ──▶ one transaction for all that wait
//!     ▲                                              │
//!     └────── handle_durable(lsn) ◀── Progress ◀─────┘
//! ```
//!
//! [`Journal::open`] restores (P3), the [`JournalWriter`] writes. The store is `redb`: a commit is
//! on disk when it returns, and a crash in mid-write leaves the last [`commit`]. Nothing here runs on
//! the task of the network or of the car.

mod audit;
mod commit;
mod commit_times;
mod error;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod medium;
mod place;
mod record;
mod statistics;
mod tables;
mod version;
mod writer;

use std::cell::Cell;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use elevator_fleet::directives::Directives;
use elevator_fleet::model::{JournalId, NodeId};
use elevator_fleet::node::{Change, Restored};
use redb::{Database, DatabaseError, StorageBackend};
use tracing::{error, info, warn};

pub(crate) use self::audit::{
    Account, AuditEvent, AuditRecord, OtherEvent, last_fleet_keys, uncleared,
};
pub(crate) use self::commit_times::CommitTimes;
pub use self::error::JournalError;
pub(crate) use self::error::{OtherFormat, ReadError};
pub(crate) use self::medium::is_failing;
use self::place::Place;
use self::tables::Contents;
pub(crate) use self::writer::Progress;
pub use self::writer::{JournalWriter, SubmitError};
use crate::{data_dir, log, retry};

/// How many sequences are reserved when a journal is opened.
pub(crate) const FIRST_BLOCK: u64 = 256;

/// The journal's file in the data directory.
pub(crate) const FILE: &str = "journal.redb";

/// What a file is called, with a number behind it, that was found damaged and set aside.
const DAMAGED: &str = "journal.damaged";

/// The rights that the journal's file has at most.
const MODE: u32 = 0o640;

/// The database keeps no more of its file than this in memory, in bytes.
const CACHE: usize = 1024 * 1024;

/// How long the caretaker is given to read the journal: longer than it takes on a busy machine.
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
    /// Where its file is; `None` in memory.
    place: Option<Place>,
}

impl Journal {
    /// Opens or creates the journal in `directory`, and returns its contents.
    ///
    /// The sequences up to [`Restored::reserved`] are reserved on disk when this returns (O4). A
    /// damaged file is set aside as `journal.damaged-N`, never overwritten, and a new journal with
    /// a new identity is made in its place: the node rejoins from its peers. A journal of another
    /// format, or of another node, is refused and left as it is.
    ///
    /// # Errors
    /// Each [`JournalError`] says what became of the journal.
    pub fn open(directory: &Path, node: &NodeId) -> Result<(Self, Restored), JournalError> {
        Self::open_or(directory, node, Lost::MakeAnew)
    }

    /// Like [`open`](Self::open), with a rule for a missing or damaged journal. A damaged one is
    /// set aside in any case.
    ///
    /// # Errors
    /// Each [`JournalError`] says what became of the journal.
    pub(crate) fn open_or(
        directory: &Path,
        node: &NodeId,
        lost: Lost,
    ) -> Result<(Self, Restored), JournalError> {
        let path = directory.join(FILE);
        if lost == Lost::Refuse && is_missing(&path) {
            return Err(JournalError::Lost { path });
        }
        make_directory(directory, &path)?;
        if let Some(refusal) = version::refusal(&path, node) {
            return Err(refusal);
        }
        let place = Cell::new(None);
        let backend = || {
            let file = file(&path)?;
            place.set(Some(Place::of(path.clone(), &file)?));
            commit::backend(file)
        };
        let mut tried = attempt(backend);
        if let Attempt::Damaged(reason) = tried {
            let aside = set_aside(directory, &path, &reason);
            if lost == Lost::Refuse {
                return Err(JournalError::Lost { path });
            }
            aside?;
            tried = attempt(backend);
        }
        let (database, contents) = match tried {
            Attempt::Open(database, contents) => (database, contents),
            Attempt::InUse => return Err(JournalError::InUse { path }),
            Attempt::Denied(source) => return Err(denied(path, source)),
            Attempt::Other(found) => return Err(JournalError::Format { path, found }),
            Attempt::Failing(source) => return Err(medium::give_up(&path, node, lost, source)),
            Attempt::Damaged(reason) => {
                let source = io::Error::new(io::ErrorKind::InvalidData, reason);
                return Err(failing(path, Restored::default(), source.into()));
            }
        };
        // Without this a power cut may take the file's name away, and the orders in it.
        let keep_name = || sync_directory(directory);
        let (mut journal, restored) =
            Self::begin(database, contents, node, path.clone(), keep_name)?;
        journal.place = place.take();
        Ok((journal, restored))
    }

    /// The same for who has claimed the directory: it waits for the caretaker, which reads the tokens in
    /// the journal without a claim.
    ///
    /// # Errors
    /// As [`open_or`](Self::open_or).
    pub(crate) fn open_claimed(
        directory: &Path,
        node: &NodeId,
        lost: Lost,
    ) -> Result<(Self, Restored), JournalError> {
        let open = || Self::open_or(directory, node, lost);
        retry::while_it_passes(READING_LIMIT, open, |opened| {
            matches!(opened, Err(JournalError::InUse { .. }))
        })
    }

    /// Goes on with a database that has been read, or makes a journal of an empty one; `keep_name`
    /// sees to it that it will be found again.
    fn begin(
        database: Database,
        contents: Contents,
        node: &NodeId,
        path: PathBuf,
        keep_name: impl FnOnce() -> io::Result<()>,
    ) -> Result<(Self, Restored), JournalError> {
        let mut restored = match restored_of(contents, node, &path)? {
            Some(restored) => restored,
            None => make(&database, node, &path, keep_name)?,
        };
        let now = SystemTime::now();
        let reserved = restored.used.saturating_add(FIRST_BLOCK);
        if let Err(source) = tables::write(&database, [&Change::Reserve(reserved)], now) {
            return Err(failing(path, restored, source));
        }
        restored.reserved = reserved;
        Ok((Self { database, place: None }, restored))
    }

    /// Writes one change; it is on disk when this returns.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn write(&self, change: &Change) -> Result<(), Box<redb::Error>> {
        tables::write(&self.database, [change], SystemTime::now()).map_err(Box::new)
    }

    /// Appends to the audit log, all or none; the records are on disk when this returns. Returns the
    /// number of the last one.
    ///
    /// # Errors
    /// [`JournalError::Audit`]: none is.
    pub(crate) fn record(&self, records: &[AuditRecord]) -> Result<u64, JournalError> {
        let recorded = audit::append(&self.database, records);
        recorded.map_err(|error| JournalError::Audit(Box::new(error)))
    }

    /// The audit log, the oldest record first.
    ///
    /// # Errors
    /// [`JournalError::Unreadable`].
    pub(crate) fn audit(&self) -> Result<Vec<AuditRecord>, JournalError> {
        audit::read(&self.database).map_err(JournalError::Unreadable)
    }
}

/// Whether a directory has a journal file, sound or not.
#[must_use]
pub(crate) fn exists(directory: &Path) -> bool {
    !is_missing(&directory.join(FILE))
}

/// The audit log of a node that does not run; empty if there is no journal. Nothing is set aside or
/// created.
///
/// # Errors
/// [`JournalError::InUse`], [`JournalError::Format`], [`JournalError::Unreadable`] or
/// [`JournalError::Failing`].
pub(crate) fn audit_of(directory: &Path) -> Result<Vec<AuditRecord>, JournalError> {
    let path = directory.join(FILE);
    if is_missing(&path) {
        return Ok(Vec::new());
    }
    let (database, _) = open_sound(path)?;
    audit::read(&database).map_err(JournalError::Unreadable)
}

/// The directives of a node that does not run. Nothing is set aside or created, and nothing is
/// reserved.
///
/// # Errors
/// As [`audit_of`], [`JournalError::Foreign`], or [`JournalError::Lost`] if there is no journal.
pub(crate) fn directives_of(directory: &Path, node: &NodeId) -> Result<Directives, JournalError> {
    let path = directory.join(FILE);
    if is_missing(&path) {
        return Err(JournalError::Lost { path });
    }
    if let Some(refusal) = version::refusal(&path, node) {
        return Err(refusal);
    }
    let (_, contents) = open_sound(path.clone())?;
    let mut directives = Directives::default();
    for directive in restored_of(contents, node, &path)?.into_iter().flat_map(|it| it.directives) {
        directives.merge(directive);
    }
    Ok(directives)
}

/// What differs once a journal has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    file: u64,
    bytes: u64,
    changed: (i64, i64),
}

/// The stamp of the journal in a directory. Each opening may change it.
pub(crate) fn stamp_of(directory: &Path) -> Stamp {
    use std::os::unix::fs::MetadataExt;

    let stamp = |file: fs::Metadata| Stamp {
        file: file.ino(),
        bytes: file.len(),
        changed: (file.mtime(), file.mtime_nsec()),
    };
    fs::metadata(directory.join(FILE)).map(stamp).unwrap_or_default()
}

/// Checks the journal of a node, in a directory that has one, and returns its audit log. Opening may
/// change the file: give a copy.
///
/// # Errors
/// As [`audit_of`], or [`JournalError::Foreign`].
pub(crate) fn examine(directory: &Path, node: &NodeId) -> Result<Vec<AuditRecord>, JournalError> {
    let refusal = version::refusal(&directory.join(FILE), node);
    refusal.map_or_else(|| audit_of(directory), Err)
}

/// Appends what `missing` lists as absent to the audit log of a node that does not run. If there is
/// no journal, none is created; nothing is set aside.
///
/// # Errors
/// As [`audit_of`], [`JournalError::Foreign`] or [`JournalError::Audit`]:
/// nothing is appended.
pub(crate) fn complete_audit(
    directory: &Path,
    node: &NodeId,
    missing: impl FnOnce(&[AuditRecord]) -> Option<AuditRecord>,
) -> Result<(), JournalError> {
    let path = directory.join(FILE);
    if is_missing(&path) {
        return Ok(());
    }
    if let Some(refusal) = version::refusal(&path, node) {
        return Err(refusal);
    }
    let (database, _) = open_sound(path)?;
    let records = audit::read(&database).map_err(JournalError::Unreadable)?;
    match missing(&records) {
        Some(record) => audit::append(&database, &[record])
            .map(drop)
            .map_err(|error| JournalError::Audit(Box::new(error))),
        None => Ok(()),
    }
}

/// A journal that is there, as it is.
fn open_sound(path: PathBuf) -> Result<(Database, Contents), JournalError> {
    if let Some(found) = version::other_format(&path) {
        return Err(JournalError::Format { path, found });
    }
    match attempt(|| commit::backend(file(&path)?)) {
        Attempt::Open(database, contents) => Ok((database, contents)),
        Attempt::InUse => Err(JournalError::InUse { path }),
        Attempt::Denied(source) => Err(denied(path, source)),
        Attempt::Failing(source) => Err(failing(path, Restored::default(), source)),
        Attempt::Other(found) => Err(JournalError::Format { path, found }),
        Attempt::Damaged(_) => Err(JournalError::Unreadable(ReadError::Malformed("the journal"))),
    }
}

/// A fresh identity for a journal, or for a node that has none (O4).
///
/// # Errors
/// [`JournalError::Random`]: the system gives no random numbers.
pub(crate) fn fresh_id() -> Result<JournalId, JournalError> {
    Ok(JournalId(getrandom::u64()?))
}

/// A file that can't be examined counts as present; an empty one is no journal.
fn is_missing(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(file) => file.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[derive(Debug)]
enum Attempt {
    Open(Database, Contents),
    InUse,
    /// This user has no right to the file.
    Denied(redb::Error),
    /// Another version of the program has written it.
    Other(OtherFormat),
    /// The medium failed; the file may be sound.
    Failing(redb::Error),
    /// The file is damaged.
    Damaged(String),
}

/// Opens the database in this place, and reads all of it.
///
/// The database is known to panic on some damaged files, and such a panic must not keep a car from
/// service, so it counts as damage.
fn attempt<B: StorageBackend>(backend: impl FnOnce() -> Result<B, DatabaseError>) -> Attempt {
    log::expecting_panics(|| open_and_read(backend))
        .unwrap_or_else(|panic| Attempt::Damaged(format!("the database gave up on it: {panic}")))
}

fn open_and_read<B: StorageBackend>(backend: impl FnOnce() -> Result<B, DatabaseError>) -> Attempt {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE);
    let opened = backend().and_then(|backend| {
        commit::prefer_newer(&builder, &backend)?;
        builder.create_with_backend(backend)
    });
    let mut database = match opened {
        Ok(database) => database,
        Err(DatabaseError::DatabaseAlreadyOpen) => return Attempt::InUse,
        Err(error) => return classify(error.into()),
    };
    if let Err(error) = database.check_integrity() {
        return classify(error.into());
    }
    match tables::read(&database, SystemTime::now()) {
        Ok(contents) => Attempt::Open(database, contents),
        Err(ReadError::Other(found)) => Attempt::Other(found),
        Err(ReadError::Database(error)) => classify(*error),
        Err(error @ ReadError::Malformed(_)) => Attempt::Damaged(error.to_string()),
    }
}

fn classify(error: redb::Error) -> Attempt {
    match error {
        redb::Error::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Attempt::Denied(redb::Error::Io(error))
        }
        redb::Error::Io(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ) =>
        {
            Attempt::Failing(redb::Error::Io(error))
        }
        redb::Error::UpgradeRequired(found) => Attempt::Other(OtherFormat::Database(found)),
        // The database has checked every byte by now: it is sound, and not this program's.
        error @ (redb::Error::TableTypeMismatch { .. }
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TableDoesNotExist(_)) => {
            Attempt::Other(OtherFormat::Tables(error.to_string()))
        }
        error => Attempt::Damaged(error.to_string()),
    }
}

/// This node's journal, or `None` if there is none yet.
fn restored_of(
    contents: Contents,
    node: &NodeId,
    path: &Path,
) -> Result<Option<Restored>, JournalError> {
    let path = path.to_owned();
    match contents {
        Contents::Empty => Ok(None),
        Contents::Other(found) => Err(JournalError::Format { path, found }),
        Contents::Journal { owner, restored, .. } if owner == *node => Ok(Some(restored)),
        Contents::Journal { owner, .. } => {
            let node = node.clone();
            Err(JournalError::Foreign { path, owner, node })
        }
    }
}

fn make(
    database: &Database,
    node: &NodeId,
    path: &Path,
    keep_name: impl FnOnce() -> io::Result<()>,
) -> Result<Restored, JournalError> {
    let restored = Restored { journal: fresh_id()?, ..Restored::default() };
    let made = tables::make(database, node, restored.journal);
    let made = made.and_then(|()| Ok(keep_name()?));
    match made {
        Ok(()) => {
            info!(path = %path.display(), journal = %restored.journal, "journal made");
            Ok(restored)
        }
        Err(source) => Err(failing(path.to_owned(), restored, source)),
    }
}

fn make_directory(directory: &Path, journal: &Path) -> Result<(), JournalError> {
    let refused = |source| {
        if is_failing(&source) {
            failing(journal.to_owned(), Restored::default(), source.into())
        } else {
            JournalError::Directory { path: directory.to_owned(), source }
        }
    };
    // Whatever the umask: it is not for others to write in.
    DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(refused)?;
    data_dir::check_rights(directory, &fs::metadata(directory).map_err(refused)?)?;
    if data_dir::is_irregular(journal) {
        return Err(JournalError::Irregular { path: journal.to_owned() });
    }
    check_writable(directory).map_err(refused)
}

/// Tells a directory that is not the node's to write in from a disk that fails.
fn check_writable(directory: &Path) -> io::Result<()> {
    let path = directory.join(".writable");
    let made = data_dir::open(&path, OpenOptions::new().write(true).create(true).truncate(true));
    match made.and_then(|_| fs::remove_file(&path)) {
        Err(error) if !is_failing(&error) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn set_aside(directory: &Path, path: &Path, reason: &str) -> Result<(), JournalError> {
    let aside = free_name(directory);
    fs::rename(path, &aside)
        .and_then(|()| sync_directory(directory))
        .map_err(|source| failing(path.to_owned(), Restored::default(), source.into()))?;
    error!(
        path = %path.display(),
        aside = %aside.display(),
        reason,
        "journal damaged: set aside; its orders come back from the peers only"
    );
    Ok(())
}

fn free_name(directory: &Path) -> PathBuf {
    let mut number = 1_u32;
    loop {
        let path = directory.join(format!("{DAMAGED}-{number}"));
        if fs::symlink_metadata(&path).is_err() {
            return path;
        }
        number += 1;
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// The journal's file, which is created if missing. It records what passengers and operators did,
/// and is accessible to the node's user and group only, whatever the umask.
fn file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(MODE);
    let file = data_dir::open(path, &mut options)?;
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    if mode & !MODE != 0 {
        match file.set_permissions(Permissions::from_mode(mode & MODE)) {
            Ok(()) => info!(
                path = %path.display(),
                from = format!("{mode:04o}"),
                to = format!("{:04o}", mode & MODE),
                "the journal's rights are restricted"
            ),
            // Another user's file, or a disk that takes nothing.
            Err(error) => warn!(path = %path.display(), %error, "others may read the journal"),
        }
    }
    Ok(file)
}

fn denied(path: PathBuf, source: redb::Error) -> JournalError {
    JournalError::Rights { path, source: Box::new(source) }
}

fn failing(path: PathBuf, restored: Restored, source: redb::Error) -> JournalError {
    JournalError::Failing { path, restored: Box::new(restored), source: Box::new(source) }
}

#[cfg(test)]
mod tests;
