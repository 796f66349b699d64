//! One key file: a line of text, so that it can be copied by hand and read out.

use std::fmt;
use std::fs::Metadata;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use elevator_fleet::wire::keyring::SECRET;
use rustix::process::geteuid;
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use crate::credentials::{read_file, secret_text};

/// What a key begins with, so that nobody takes it for something else.
const PREFIX: &str = "liftmesh-key-1-";

#[derive(Clone)]
pub(crate) struct KeyText(Zeroizing<[u8; SECRET]>);

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("fleet key {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "fleet key {}: others may read or change it (mode {mode:04o}); fix it with: chmod {fix} {}",
        path.display(), path.display()
    )]
    Exposed { path: PathBuf, mode: u32, fix: &'static str },
    #[error(
        "fleet key {}: user {owner}, who is neither root nor this node's user, can change it; fix \
         it: chown it to the node's user, or to root with a group of the node's user",
        path.display()
    )]
    OtherOwner { path: PathBuf, owner: u32 },
    #[error(
        "fleet key {}: not a key: expected a line with {PREFIX} and 64 hex digits, as written by \
         liftmesh keygen",
        path.display()
    )]
    NoKey { path: PathBuf },
}

impl KeyText {
    pub(crate) fn draw() -> Result<Self, getrandom::Error> {
        let mut secret = Zeroizing::new([0; SECRET]);
        getrandom::fill(&mut *secret)?;
        Ok(Self(secret))
    }

    pub(super) fn secret(&self) -> &[u8; SECRET] {
        &self.0
    }

    pub(crate) fn line(&self) -> Zeroizing<String> {
        secret_text(PREFIX, &*self.0)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        // A hash has as many bytes.
        let read = blake3::Hash::from_hex(text.trim().strip_prefix(PREFIX)?).ok()?;
        Some(Self(Zeroizing::new(read.into())))
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyText").finish_non_exhaustive()
    }
}

/// Reads a key for a node that runs as this user, unless somebody may read it who should not.
pub(super) fn read(path: &Path, user: u32) -> Result<KeyText, FileError> {
    let no_key = || FileError::NoKey { path: path.to_owned() };
    let (bytes, about) = read_file(path).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidInput => no_key(),
        _ => FileError::Io { path: path.to_owned(), source },
    })?;
    check_rights(path, &about, user)?;
    std::str::from_utf8(&bytes).ok().and_then(KeyText::parse).ok_or_else(no_key)
}

/// Checks that nobody may read a file who should not, for a node of this process's user.
pub(crate) fn check_secret(path: &Path, about: &Metadata) -> Result<(), FileError> {
    check_rights(path, about, geteuid().as_raw())
}

fn check_rights(path: &Path, about: &Metadata, user: u32) -> Result<(), FileError> {
    let rights = Rights { mode: about.mode() & 0o7777, owner: about.uid() };
    rights.check(path, user, geteuid().as_raw())
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    pub(super) mode: u32,
    pub(super) owner: u32,
}

impl Rights {
    /// Whether only a node of this user, its group and root may read the file. Its owner can change
    /// it whatever its mode says; a group may read it, so root can own it.
    pub(super) fn check(self, path: &Path, user: u32, asker: u32) -> Result<(), FileError> {
        const OTHERS: u32 = 0o007;
        const GROUP: u32 = 0o070;
        const GROUP_WRITES: u32 = 0o020;
        const ROOT: u32 = 0;
        let Self { mode, owner } = self;
        let path = path.to_owned();
        if ![ROOT, user].contains(&owner) {
            Err(FileError::OtherOwner { path, owner })
        } else if mode & (OTHERS | GROUP_WRITES) != 0 {
            let fix = if mode & GROUP == 0 { "0600" } else { "0640" };
            Err(FileError::Exposed { path, mode, fix })
        } else if mode & GROUP == 0 && ![ROOT, owner, asker].contains(&user) {
            Err(FileError::Io { path, source: io::ErrorKind::PermissionDenied.into() })
        } else {
            Ok(())
        }
    }
}

/// Writes a key to a new file that only its owner may read. If that fails there is none.
pub(crate) fn create(path: &Path, key: &KeyText) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let mut file = NamedTempFile::with_prefix_in(".liftmesh-key-", directory)?;
    writeln!(file, "{}", key.line().as_str())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    Ok(())
}
