//! How far the audit log has come, kept beside the journal: a log that was cut off at its end, or
//! replaced as a whole, does not fit it.
//!
//! ```text
//!   write head, next ──▶ commit the records ──▶ write head
//! ```
//!
//! The file names the head that is to come before the records are committed, and names it alone
//! afterwards. So after a power cut the journal has one of the two heads that the file names, and any
//! other one is the work of something else. The next start names the one that it has.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::audit::Head;
use crate::latch::file;

/// The file's name in the data directory.
pub(crate) const FILE: &str = "audit-head.toml";

const UNFINISHED: &str = "audit-head.toml.new";

/// A longer file is none of this program's, in bytes.
const LONGEST: u64 = 4096;

const PREAMBLE: &str = "\
# How far the audit log in journal.redb has come. `liftmesh audit` compares the two: if records are
# missing at the end of the log, or were put there by something else, it says so.
";

/// Where the head of a journal's audit log is kept.
#[derive(Debug, Clone)]
pub(super) struct HeadFile {
    directory: PathBuf,
}

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    #[serde(flatten)]
    head: Head,
    /// The head that the log has once the records are on disk that are being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Head>,
}

/// The audit log has another head than was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum HeadMismatch {
    /// The file is gone.
    Missing,
    /// The file can't be read, or is none of this program's.
    Unreadable,
    /// The log ended with another record.
    Other(Head),
}

impl fmt::Display for HeadMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "{FILE} is gone"),
            Self::Unreadable => write!(f, "{FILE} can't be read"),
            Self::Other(Head { records, link }) => {
                write!(f, "{FILE} has {records} records and head {link}")
            }
        }
    }
}

impl HeadFile {
    pub(super) fn of(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    pub(super) fn exists(&self) -> bool {
        // What can't be examined counts as present.
        !matches!(self.path().symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Why the head of the log does not fit the file, if so.
    pub(super) fn mismatch(&self, head: &Head) -> Option<HeadMismatch> {
        match self.read() {
            Ok(kept) if kept.head == *head || kept.next.as_ref() == Some(head) => None,
            Ok(kept) => Some(HeadMismatch::Other(kept.head)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(HeadMismatch::Missing),
            Err(_) => Some(HeadMismatch::Unreadable),
        }
    }

    /// Writes the head that the log has, and the one that it is to have, if any; on disk when this
    /// returns.
    pub(super) fn write(&self, head: Head, next: Option<Head>) -> io::Result<()> {
        let body = toml::to_string(&Kept { head, next }).map_err(io::Error::other)?;
        let text = format!("{PREAMBLE}{body}");
        file::replace(&self.directory, UNFINISHED, FILE, text.as_bytes())
    }

    /// Names this head alone, if the file names it and another one.
    pub(super) fn settle(&self, head: &Head) -> io::Result<()> {
        match self.read() {
            Ok(Kept { head: kept, next: Some(next) }) if kept == *head || next == *head => {
                self.write(head.clone(), None)
            }
            // What does not fit stays as it is: that shows.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Removes the file, because the log that it is of is lost. Returns how far that had come, if the
    /// file says so.
    pub(super) fn remove(&self) -> io::Result<Option<Head>> {
        let kept = self.read().ok().map(|kept| kept.head);
        file::remove(&self.path())?;
        file::sync_directory(&self.directory)?;
        Ok(kept)
    }

    fn read(&self) -> io::Result<Kept> {
        let mut text = String::new();
        File::open(self.path())?.take(LONGEST).read_to_string(&mut text)?;
        toml::from_str(&text).map_err(io::Error::other)
    }

    fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }
}
