//! The journal's file and its directory.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use redb::DatabaseError;
use tracing::{error, info, warn};

use super::{JournalError, failing};
use crate::data_dir;
use crate::latch::file::sync_directory;

pub(crate) const FILE: &str = "journal.redb";

/// What a file is called, with a number behind it, that was found damaged and set aside.
pub(super) const DAMAGED: &str = "journal.damaged";

/// The rights that the journal's file has at most.
pub(super) const MODE: u32 = 0o640;

/// Whether a directory has a journal file, sound or not. A file that can't be examined counts as
/// present; an empty one isn't a journal.
pub(crate) fn exists(directory: &Path) -> bool {
    match fs::metadata(directory.join(FILE)) {
        Ok(file) => file.len() > 0,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// What differs once a journal has changed: the number of its file, its length and its time.
pub(crate) type Stamp = Option<(u64, u64, SystemTime)>;

pub(crate) fn stamp_of(directory: &Path) -> Stamp {
    let file = fs::metadata(directory.join(FILE)).ok()?;
    Some((file.ino(), file.len(), file.modified().ok()?))
}

/// The bytes of a file that nobody writes.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, DatabaseError> {
    let mut file = data_dir::open(path, OpenOptions::new().read(true))?;
    if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
        return Err(DatabaseError::DatabaseAlreadyOpen);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether the medium is to blame for this error: it is full, read-only or broken.
pub(crate) fn is_failing(error: &io::Error) -> bool {
    // EIO has no `ErrorKind`.
    const EIO: i32 = 5;
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::ReadOnlyFilesystem
    ) || error.raw_os_error() == Some(EIO)
}

/// Makes the directory of a journal, unless it is there.
pub(super) fn make_directory(directory: &Path, journal: &Path) -> Result<(), JournalError> {
    let refused = |source| {
        if is_failing(&source) {
            failing(journal, source)
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
    Ok(())
}

pub(super) fn set_aside(directory: &Path, path: &Path, reason: &str) {
    let (aside, path) = (free_name(directory), path.display());
    match fs::rename(directory.join(FILE), &aside).and_then(|()| sync_directory(directory)) {
        Ok(()) => error!(
            %path,
            aside = %aside.display(),
            reason,
            "journal damaged: set aside; its orders come back from the peers only"
        ),
        Err(error) => warn!(%path, reason, %error, "journal damaged: leaving it in place"),
    }
}

fn free_name(directory: &Path) -> PathBuf {
    let mut names = (1_u32..).map(|number| directory.join(format!("{DAMAGED}-{number}")));
    names.find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_default()
}

/// The journal's file, made if missing, for the node's user and group only, whatever the umask.
pub(super) fn file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(MODE);
    let file = data_dir::open(path, &mut options)?;
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    if mode & !MODE != 0 {
        let path = path.display();
        match file.set_permissions(Permissions::from_mode(mode & MODE)) {
            Ok(()) => info!(%path, "the journal's permissions are restricted"),
            // Another user's file, or a disk that takes nothing.
            Err(error) => warn!(%path, %error, "others may read the journal"),
        }
    }
    Ok(file)
}

/// The device and inode, which tell a file from another one at the same path.
pub(super) fn number(file: &fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}
