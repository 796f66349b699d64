//! The file of the tokens.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tempfile::NamedTempFile;

use super::{MOST, Token, TokenName};

/// The file in the data directory.
const FILE: &str = "tokens.json";

/// A process that changes the file holds the lock on this one.
const LOCK: &str = "tokens.lock";

/// More than the file ever needs, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Why the tokens of a node can't be read or changed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory is missing or can't be used.
    #[error(
        "the data directory {path} can't be used: the node makes it when it first runs",
        path = path.display()
    )]
    Directory { path: PathBuf, source: io::Error },
    /// The node could not read what another user writes.
    #[error(
        "the data directory {path} is the user {owner}'s: give the command as that user, with \
        `sudo -u '#{owner}' liftmesh …`", path = path.display()
    )]
    AnotherUser {
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
    },
    /// The file can't be read or written.
    #[error("the tokens in {path} can't be used", path = path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Others can change the file.
    #[error(
        "the tokens in {path} count for nothing: others may read or change the file (mode {mode:04o}, \
         user {owner}); fix it with: chown the node's user, and chmod 0600", path = path.display()
    )]
    Exposed { path: PathBuf, mode: u32, owner: u32 },
    /// The file is not one of tokens.
    #[error(
        "{path} is damaged: remove it, and make the tokens anew", path = path.display()
    )]
    Damaged { path: PathBuf, source: serde_json::Error },
    /// There is a token of this name.
    #[error("there is a token {0} already: revoke it, or give another name")]
    NameTaken(TokenName),
    /// There is no token of this name.
    #[error("there is no token {0}; `liftmesh token list` shows those that there are")]
    NoToken(TokenName),
    /// There are too many.
    #[error("there are {MOST} tokens already: revoke one that nobody needs any more")]
    TooMany,
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    Random(#[from] getrandom::Error),
}

/// The right to change the file, for one process at a time.
pub(super) struct Locked {
    data_dir: PathBuf,
    _lock: File,
}

impl Locked {
    pub(super) fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let directory = |source| StoreError::Directory { path: data_dir.to_owned(), source };
        let owner = data_dir.metadata().map_err(directory)?.uid();
        if owner != geteuid().as_raw() {
            return Err(StoreError::AnotherUser { path: data_dir.to_owned(), owner });
        }
        let path = data_dir.join(LOCK);
        let mut options = File::options();
        let lock = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
        let lock = lock.and_then(|lock| lock.lock().map(|()| lock));
        let lock = lock.map_err(|source| StoreError::Io { path, source })?;
        Ok(Self { data_dir: data_dir.to_owned(), _lock: lock })
    }

    /// Replaces the file: in whole, or not at all.
    pub(super) fn write(&self, tokens: &[Token]) -> Result<(), StoreError> {
        let path = self.data_dir.join(FILE);
        self.replace(&path, tokens).map_err(|source| StoreError::Io { path, source })
    }

    fn replace(&self, path: &Path, tokens: &[Token]) -> io::Result<()> {
        // It has mode 0600.
        let mut file = NamedTempFile::with_prefix_in(".tokens-", &self.data_dir)?;
        serde_json::to_writer_pretty(&mut file, tokens)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(&self.data_dir)?.sync_all()
    }
}

/// Copies the file, with its mode.
#[cfg(feature = "simulator")]
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let path = to.join(FILE);
    let copied = std::fs::copy(from.join(FILE), &path).map(drop);
    copied.map_err(|source| StoreError::Io { path, source })
}

/// The tokens in the file; none if there is no file.
pub(super) fn read(data_dir: &Path) -> Result<Vec<Token>, StoreError> {
    let path = data_dir.join(FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(StoreError::Io { path, source }),
    };
    let mut text = String::new();
    let about = file.metadata().and_then(|about| {
        file.take(LONGEST).read_to_string(&mut text)?;
        Ok(about)
    });
    let about = about.map_err(|source| StoreError::Io { path: path.clone(), source })?;
    let (mode, owner) = (about.mode() & 0o7777, about.uid());
    if mode & 0o077 != 0 || owner != geteuid().as_raw() {
        return Err(StoreError::Exposed { path, mode, owner });
    }
    serde_json::from_str(&text).map_err(|source| StoreError::Damaged { path, source })
}
