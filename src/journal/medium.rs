//! A disk that can't be written, and what can still be read from it.

use std::io;
use std::path::Path;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::Restored;
use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use tracing::warn;

use super::{Attempt, JournalError, Lost, attempt, failing, restored_of, version};
use crate::data_dir;

/// Whether the medium is to blame for this error: it is full, read-only or broken.
pub(crate) fn is_failing(error: &io::Error) -> bool {
    // EIO has no kind of its own.
    const EIO: i32 = 5;
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::ReadOnlyFilesystem
    ) || error.raw_os_error() == Some(EIO)
}

/// The error for a journal that can't be opened because of `source`, with what can be read from it
/// (P5).
pub(super) fn give_up(path: &Path, node: &NodeId, lost: Lost, source: redb::Error) -> JournalError {
    let give_up = |restored| failing(path.to_owned(), restored, source);
    let bytes = match data_dir::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return give_up(Restored::default());
        }
        Err(error) => {
            warn!(path = %path.display(), %error, "nothing can be read of the journal either");
            return give_up(Restored::default());
        }
    };
    let other = |found| JournalError::Format { path: path.to_owned(), found };
    if let Some(found) = version::of_database(&bytes) {
        return other(found);
    }
    let Ok(memory) = in_memory(&bytes) else {
        return give_up(Restored::default());
    };
    match attempt(|| Ok(memory)) {
        Attempt::Other(found) => other(found),
        Attempt::Open(_, contents) => match restored_of(contents, node, path) {
            Ok(restored) => give_up(restored.unwrap_or_default()),
            Err(error) => error,
        },
        // It can't be set aside here, but is damaged all the same.
        Attempt::Damaged(_) if lost == Lost::Refuse => JournalError::Lost { path: path.to_owned() },
        Attempt::Damaged(reason) => {
            warn!(path = %path.display(), reason, "journal damaged: it is left where it is");
            give_up(Restored::default())
        }
        Attempt::InUse | Attempt::Denied(_) | Attempt::Failing(_) => give_up(Restored::default()),
    }
}

/// The file in memory: the database can be opened only where it can write, because a crash may have
/// left something to repair.
pub(super) fn in_memory(bytes: &[u8]) -> io::Result<InMemoryBackend> {
    let memory = InMemoryBackend::new();
    memory.set_len(bytes.len() as u64)?;
    memory.write(0, bytes)?;
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use elevator_driver::{Direction, Floor};
    use elevator_fleet::model::{Call, Dot, HallCall, JournalId};
    use elevator_fleet::node::Change;
    use elevator_fleet::orders::{Record, RecordState};
    use tempfile::TempDir;

    use super::*;
    use crate::journal::{Journal, tables};

    fn node() -> NodeId {
        NodeId::new("A").expect("a name")
    }

    /// A journal with one order, as a node leaves it that is killed, and the order.
    fn left_by_a_killed_node() -> (TempDir, Record) {
        let directory = TempDir::new().expect("a directory");
        let (journal, _) = Journal::open(directory.path(), &node()).expect("a journal");
        let record = Record {
            dot: Dot { journal: JournalId(7), sequence: 1 },
            origin: node(),
            call: Call::Hall(HallCall::new(Floor::try_from(1).expect("a floor"), Direction::Up)),
            state: RecordState::Open { waited: std::time::Duration::from_secs(3), recall: 0 },
        };
        let change = Change::Record(record.clone());
        let unset = std::time::UNIX_EPOCH;
        tables::write(&journal.database, [&change], unset).expect("written");
        let left = TempDir::new().expect("a directory");
        fs::copy(directory.path().join("journal.redb"), file(&left)).expect("copied");
        (left, record)
    }

    fn file(directory: &TempDir) -> std::path::PathBuf {
        directory.path().join("journal.redb")
    }

    fn given_up(directory: &TempDir, node: &NodeId, lost: Lost) -> JournalError {
        let source = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
        give_up(&file(directory), node, lost, source.into())
    }

    fn records(error: JournalError) -> Vec<Record> {
        match error {
            JournalError::Failing { restored, .. } => restored.records,
            error => panic!("{error:?}"),
        }
    }

    /// P5
    #[test]
    fn what_a_killed_node_left_on_a_disk_that_takes_nothing_is_read_and_not_changed() {
        let (left, record) = left_by_a_killed_node();
        let before = fs::read(file(&left)).expect("read");
        let error = given_up(&left, &node(), Lost::Refuse);
        assert_eq!(records(error), [record]);
        assert_eq!(fs::read(file(&left)).expect("read"), before);
    }

    #[test]
    fn another_nodes_journal_is_no_nodes_for_its_disk_failing() {
        let (left, _) = left_by_a_killed_node();
        let other = NodeId::new("B").expect("a name");
        let error = given_up(&left, &other, Lost::MakeAnew);
        assert!(matches!(error, JournalError::Foreign { .. }), "{error:?}");
    }

    /// P5: a hang may have been lost with it.
    #[test]
    fn a_damaged_journal_is_lost_on_such_a_disk_as_well() {
        let (left, _) = left_by_a_killed_node();
        fs::write(file(&left), [7; 4096]).expect("damaged");
        let error = given_up(&left, &node(), Lost::Refuse);
        assert!(matches!(error, JournalError::Lost { .. }), "{error:?}");
        let error = given_up(&left, &node(), Lost::MakeAnew);
        assert_eq!(records(error), []);
    }

    /// P5
    #[test]
    fn a_node_without_a_journal_goes_on_with_nothing() {
        let directory = TempDir::new().expect("a directory");
        assert_eq!(records(given_up(&directory, &node(), Lost::MakeAnew)), []);
    }
}
