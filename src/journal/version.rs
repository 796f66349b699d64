//! Tells a journal of another version of the program from a damaged one, without changing it.
//!
//! Whatever is opened for writing changes, if only because the database marks it as open. So a
//! journal is looked at in memory first, and one that is not this program's to read is left as it
//! is, to the last byte.

use std::ops::RangeInclusive;
use std::path::Path;

use elevator_fleet::model::NodeId;

use super::error::{JournalError, OtherFormat};
use super::medium;
use super::tables::Contents;
use super::{Attempt, attempt, restored_of};
use crate::data_dir;

/// The file format of the database that this program reads and writes.
pub(super) const DATABASE: u8 = 3;

/// The database's header, as far as it stays the same in all of its file formats: a magic number,
/// and two commit slots that begin with the version of the format.
pub(super) const MAGIC: [u8; 9] = *b"redb\x1A\x0A\xA9\x0D\x0A";
pub(super) const SLOTS: [usize; 2] = [64, 192];

/// File formats are numbered from 1 on, one by one: a byte beyond these is damage.
const CONCEIVABLE: RangeInclusive<u8> = 1..=16;

/// The journal's refusal, if it is one of another version of the program, or of another node.
/// `None` says nothing: it may be sound, damaged, or not readable at all.
pub(super) fn refusal(path: &Path, node: &NodeId) -> Option<JournalError> {
    match contents(path)? {
        Ok(contents) => restored_of(contents, node, path).err(),
        Err(found) => Some(JournalError::Format { path: path.to_owned(), found }),
    }
}

/// What shows that another version of the program has written the journal, if something does.
pub(super) fn other_format(path: &Path) -> Option<OtherFormat> {
    match contents(path)? {
        Ok(Contents::Other(found)) | Err(found) => Some(found),
        Ok(Contents::Empty | Contents::Journal { .. }) => None,
    }
}

/// The contents of the journal, if they can be determined.
fn contents(path: &Path) -> Option<Result<Contents, OtherFormat>> {
    let bytes = data_dir::read(path).ok()?;
    if let Some(found) = of_database(&bytes) {
        return Some(Err(found));
    }
    let memory = medium::in_memory(&bytes).ok()?;
    match attempt(|| Ok(memory)) {
        Attempt::Open(_, contents) => Some(Ok(contents)),
        Attempt::Other(found) => Some(Err(found)),
        Attempt::InUse | Attempt::Denied(_) | Attempt::Failing(_) | Attempt::Damaged(_) => None,
    }
}

/// Another file format of the database. One slot is enough: a database that changes its format
/// writes them one after the other, and to leave a damaged file as it is does no harm.
pub(super) fn of_database(bytes: &[u8]) -> Option<OtherFormat> {
    if !bytes.starts_with(&MAGIC) {
        return None;
    }
    SLOTS
        .iter()
        .filter_map(|slot| bytes.get(*slot).copied())
        .find(|version| *version != DATABASE && CONCEIVABLE.contains(version))
        .map(OtherFormat::Database)
}
