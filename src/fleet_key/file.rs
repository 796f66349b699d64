//! One key file: a line of text, so that it can be copied by hand and read out.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use elevator_fleet::wire::keyring::SECRET;
use rustix::fs::OFlags;
use rustix::process::{getegid, geteuid, getgroups};
use tempfile::NamedTempFile;
use zeroize::{Zeroize, Zeroizing};

/// What a key begins with, so that nobody takes it for something else.
const PREFIX: &str = "liftmesh-key-1-";

/// More than any key file needs, in bytes.
const LONGEST: u64 = 4096;

#[derive(Clone)]
pub(crate) struct KeyText(Zeroizing<[u8; SECRET]>);

/// Why a key file can't be used.
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
        "fleet key {}: group {group}, which this node's user is not in, may read it (mode \
         {mode:04o}); fix it: chgrp it to the node's group, or chmod 0600",
        path.display()
    )]
    OtherGroup { path: PathBuf, mode: u32, group: u32 },
    #[error(
        "fleet key {}: not a key: expected a line with {PREFIX} and 64 hex digits, as written by \
         liftmesh keygen",
        path.display()
    )]
    NoKey { path: PathBuf },
}

impl KeyText {
    /// Draws a key.
    pub(crate) fn draw() -> Result<Self, getrandom::Error> {
        let mut secret = Zeroizing::new([0; SECRET]);
        getrandom::fill(&mut *secret)?;
        Ok(Self(secret))
    }

    pub(super) fn secret(&self) -> &[u8; SECRET] {
        &self.0
    }

    /// The line of the file, without its end.
    pub(crate) fn line(&self) -> Zeroizing<String> {
        let mut line = Zeroizing::new(String::with_capacity(PREFIX.len() + 2 * SECRET));
        line.push_str(PREFIX);
        let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
        for byte in self.0.iter() {
            line.push(digit(byte >> 4));
            line.push(digit(byte & 0xf));
        }
        line
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.trim().strip_prefix(PREFIX)?.as_bytes();
        let (pairs, []) = digits.as_chunks::<2>() else {
            return None;
        };
        let mut secret = Zeroizing::new([0; SECRET]);
        if pairs.len() != secret.len() {
            return None;
        }
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
        for (byte, [high, low]) in secret.iter_mut().zip(pairs) {
            *byte = value(*high)? << 4 | value(*low)?;
        }
        Some(Self(secret))
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyText").finish_non_exhaustive()
    }
}

/// Reads a key for a node that runs as this user, unless somebody may read it who should not.
pub(super) fn read(path: &Path, user: u32) -> Result<KeyText, FileError> {
    let failed = |source| FileError::Io { path: path.to_owned(), source };
    // A pipe would keep the reader waiting for a writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(FileError::NoKey { path: path.to_owned() });
    }
    check_rights(path, &file, user)?;
    let mut text = Zeroizing::new(String::new());
    let no_key = || FileError::NoKey { path: path.to_owned() };
    match file.take(LONGEST).read_to_string(&mut text) {
        Ok(_) => KeyText::parse(&text).ok_or_else(no_key),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(no_key()),
        Err(error) => Err(failed(error)),
    }
}

/// Checks that nobody may read a file who should not, for a node that runs as the user of this process.
///
/// # Errors
/// [`FileError`], whose text is that of a fleet key.
pub(crate) fn check_secret(path: &Path, file: &File) -> Result<(), FileError> {
    check_rights(path, file, geteuid().as_raw())
}

fn check_rights(path: &Path, file: &File, user: u32) -> Result<(), FileError> {
    let failed = |source| FileError::Io { path: path.to_owned(), source };
    let about = file.metadata().map_err(failed)?;
    let rights = Rights { mode: about.mode() & 0o7777, owner: about.uid(), group: about.gid() };
    let groups = (user == geteuid().as_raw()).then(|| {
        let others = getgroups().unwrap_or_default();
        others.iter().chain([&getegid()]).map(|group| group.as_raw()).collect::<Vec<_>>()
    });
    rights.check(path, user, groups.as_deref())
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
}

impl Rights {
    /// Whether only a node that runs as this user, in these groups, and root may read the file.
    /// `groups` is `None` if the user is not this process's, so that they are not known.
    ///
    /// Who owns the file can change it whatever its mode says. The group of the node may read the key:
    /// then root can own it. So may root's group, which reads everything anyway: systemd gives
    /// credentials that group.
    pub(super) fn check(
        self,
        path: &Path,
        user: u32,
        groups: Option<&[u32]>,
    ) -> Result<(), FileError> {
        const OTHERS: u32 = 0o007;
        const GROUP: u32 = 0o070;
        const GROUP_WRITES: u32 = 0o020;
        const ROOT: u32 = 0;
        let Self { mode, owner, group } = self;
        let path = || path.to_owned();
        if owner != ROOT && owner != user {
            return Err(FileError::OtherOwner { path: path(), owner });
        }
        if mode & (OTHERS | GROUP_WRITES) != 0 {
            let fix = if mode & GROUP == 0 { "0600" } else { "0640" };
            return Err(FileError::Exposed { path: path(), mode, fix });
        }
        if mode & GROUP == 0 {
            // This process could open it, which says nothing of another user.
            let may_read = groups.is_some() || user == ROOT || user == owner;
            let source = io::ErrorKind::PermissionDenied.into();
            return if may_read { Ok(()) } else { Err(FileError::Io { path: path(), source }) };
        }
        if groups.is_some_and(|groups| group == ROOT || groups.contains(&group)) {
            Ok(())
        } else {
            Err(FileError::OtherGroup { path: path(), mode, group })
        }
    }
}

/// Writes a key to a file that only its owner may read; never over another file, and never in part.
///
/// # Errors
/// The file is there already, or can't be written; then there is no new one.
pub(crate) fn create(path: &Path, key: &KeyText) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    // No later: what fails after the key has its name has to be undone.
    let names = File::open(directory)?;
    // It has mode 0600, and is removed unless it gets its name.
    let mut file = NamedTempFile::with_prefix_in(".liftmesh-key-", directory)?;
    let mut line = key.line();
    line.push('\n');
    let written = file.write_all(line.as_bytes()).and_then(|()| file.as_file().sync_all());
    line.zeroize();
    written?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    keep(&names).inspect_err(|_| {
        // It is new, so it is nobody's key. If it can't be removed either, the first error says more.
        std::fs::remove_file(path).ok();
    })
}

/// Sees to it that the names in a directory outlive a power cut, where its file system can.
fn keep(names: &File) -> io::Result<()> {
    match names.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}
