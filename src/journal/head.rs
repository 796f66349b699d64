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
use crate::data_dir;
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

/// The file with the head of a journal's audit log.
#[derive(Debug)]
pub(super) struct HeadFile {
    place: Box<dyn Place>,
}

/// Where the file is. It is there whole or not at all, whatever happens while it is written.
pub(super) trait Place: fmt::Debug + Send {
    /// Its bytes, [`LONGEST`] at most.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// On disk when this returns.
    fn replace(&self, bytes: &[u8]) -> io::Result<()>;

    /// Gone from the disk when this returns. It is no error if there is none.
    fn remove(&self) -> io::Result<()>;
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

/// What is there.
#[derive(Debug)]
enum Found {
    Kept(Kept),
    Missing,
    /// None of this program's.
    Malformed,
}

/// What the file says of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Comparison {
    /// The log is the one that was kept.
    Fits,
    /// It is another one.
    Mismatch(HeadMismatch),
    /// The file can't be read, because of this: nothing is known.
    Unread(String),
}

/// The audit log has another head than was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum HeadMismatch {
    /// The file is gone.
    Missing,
    /// The file is none of this program's.
    Malformed,
    /// The log ended with another record.
    Other(Head),
}

impl fmt::Display for HeadMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "{FILE} is gone"),
            Self::Malformed => write!(f, "{FILE} is not what this program has written"),
            Self::Other(Head { records, link }) => {
                write!(f, "{FILE} has {records} records and head {link}")
            }
        }
    }
}

impl HeadFile {
    pub(super) fn of(directory: &Path) -> Self {
        Self::at(Box::new(Directory(directory.to_owned())))
    }

    pub(super) fn at(place: Box<dyn Place>) -> Self {
        Self { place }
    }

    /// What can't be read counts as present.
    pub(super) fn exists(&self) -> bool {
        !matches!(self.find(), Ok(Found::Missing))
    }

    /// Compares the file with the head that the log has.
    pub(super) fn compare(&self, head: &Head) -> Comparison {
        match self.find() {
            Ok(Found::Kept(kept)) if kept.names(head) => Comparison::Fits,
            Ok(Found::Kept(kept)) => Comparison::Mismatch(HeadMismatch::Other(kept.head)),
            Ok(Found::Missing) => Comparison::Mismatch(HeadMismatch::Missing),
            Ok(Found::Malformed) => Comparison::Mismatch(HeadMismatch::Malformed),
            Err(error) => Comparison::Unread(error.to_string()),
        }
    }

    /// Writes the head that the log has, and the one that it is to have, if any; on disk when this
    /// returns.
    pub(super) fn write(&self, head: Head, next: Option<Head>) -> io::Result<()> {
        let body = toml::to_string(&Kept { head, next }).map_err(io::Error::other)?;
        self.place.replace(format!("{PREAMBLE}{body}").as_bytes())
    }

    /// Names this head alone, if the file names it and another one.
    pub(super) fn settle(&self, head: &Head) -> io::Result<()> {
        match self.find() {
            Ok(Found::Kept(kept)) if kept.next.is_some() && kept.names(head) => {
                self.write(head.clone(), None)
            }
            // What does not fit stays as it is: that shows.
            Ok(Found::Kept(_) | Found::Missing | Found::Malformed) | Err(_) => Ok(()),
        }
    }

    /// Removes the file, because the log that it is of is lost. Returns how far that had come, if the
    /// file says so.
    pub(super) fn remove(&self) -> io::Result<Option<Head>> {
        let kept = match self.find() {
            Ok(Found::Kept(kept)) => Some(kept.head),
            Ok(Found::Missing | Found::Malformed) | Err(_) => None,
        };
        self.place.remove()?;
        Ok(kept)
    }

    /// What is there, unless the system refuses to say.
    fn find(&self) -> io::Result<Found> {
        let bytes = match self.place.read() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Missing),
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                return Ok(Found::Malformed);
            }
            Err(error) => return Err(error),
        };
        Ok(toml::from_slice(&bytes).map_or(Found::Malformed, Found::Kept))
    }
}

impl Kept {
    /// The log may have this head.
    fn names(&self, head: &Head) -> bool {
        self.head == *head || self.next.as_ref() == Some(head)
    }
}

/// The data directory.
#[derive(Debug)]
struct Directory(PathBuf);

impl Place for Directory {
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        data_dir::open(&self.0.join(FILE), File::options().read(true))?
            .take(LONGEST)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        file::replace(&self.0, UNFINISHED, FILE, bytes)
    }

    fn remove(&self) -> io::Result<()> {
        file::remove(&self.0.join(FILE))?;
        file::sync_directory(&self.0)
    }
}
