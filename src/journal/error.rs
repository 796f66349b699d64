//! Why a journal can't be opened.

use std::io;
use std::path::PathBuf;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::Restored;

use super::tables::FORMAT;
use super::version;
use crate::data_dir::Exposed;

/// Why a journal can't be opened. Nothing that stood in it has been lost or changed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The data directory can't be made or written to.
    #[error(
        "data_dir = {path:?} can't be used: it must be a directory in which the user that runs \
         the node has the right to read, write and make files"
    )]
    Directory {
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Others may change what is in the data directory.
    #[error(transparent)]
    Exposed(#[from] Exposed),
    /// Something other than a file is in the journal's place, such as a symbolic link.
    #[error("{path:?} is not a regular file: move it away, or set data_dir to another directory")]
    Irregular { path: PathBuf },
    /// The journal is there, and this user has no right to it.
    #[error(
        "{path:?} can't be opened: the user that runs the node needs the right to read and write it"
    )]
    Rights {
        path: PathBuf,
        /// What the system says.
        source: Box<redb::Error>,
    },
    /// Another process has the journal open.
    #[error("{path:?} is in use by another process: each node needs a data_dir of its own")]
    InUse { path: PathBuf },
    /// The journal is another node's.
    #[error(
        "{path:?} is the journal of node {owner}, and this node is {node}: set data_dir to this \
         node's own directory, or move the file away"
    )]
    Foreign {
        path: PathBuf,
        /// Whose it is.
        owner: NodeId,
        /// Who this node is.
        node: NodeId,
    },
    /// The journal was written by another version of the program.
    #[error(
        "{path:?} was written by another version of the program: {found}. It has not been changed: \
         run the program that wrote it, or move the file away, which \
         makes this node forget its locks, tokens and audit log"
    )]
    Format {
        path: PathBuf,
        /// What shows it.
        found: OtherFormat,
    },
    /// The node has run before, and its journal is missing or was damaged and has been set aside.
    #[error(
        "{path:?} is gone or damaged, and this node has run before: what stood in it can't be \
         known, a hang of its car least of all"
    )]
    Lost {
        /// Where the journal should be.
        path: PathBuf,
    },
    /// The audit log can't be written.
    #[error("the audit log can't be written: the disk is full or failing")]
    Audit(#[source] Box<redb::Error>),
    /// The audit log can't be read.
    #[error("the audit log can't be read")]
    Unreadable(#[source] ReadError),
    /// The disk is full, read-only or fails. The node may run all the same, without its disk (P5).
    #[error("{path:?} can't be read or written: the disk is full, read-only or failing")]
    Failing {
        path: PathBuf,
        /// What could be read of it; no sequence is reserved.
        restored: Box<Restored>,
        /// What the database says.
        source: Box<redb::Error>,
    },
    /// The system gives no random numbers.
    #[error("no identity can be drawn for the journal")]
    Random(#[from] getrandom::Error),
}

/// What shows that another version of the program has written a journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OtherFormat {
    /// The database has another file format.
    #[error(
        "its database has file format {0}, and this program reads {known}",
        known = version::DATABASE
    )]
    Database(u8),
    /// The database has tables of other types, or none of a journal.
    #[error("its tables are not those of a journal that this program knows: {0}")]
    Tables(String),
    /// The journal has another format.
    #[error("it has format {0}, and this program reads format {FORMAT}")]
    Journal(u64),
    /// A kind of record has another version.
    #[error("its {kind} have version {found}, and this program reads version {known}")]
    Record {
        kind: &'static str,
        /// The version of the record.
        found: u8,
        /// The one that this program reads.
        known: u8,
    },
}

/// Why a database can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The database says so.
    #[error("the database can't be read")]
    Database(#[source] Box<redb::Error>),
    /// Another version of the program has written it.
    #[error("it was written by another version of the program: {0}")]
    Other(OtherFormat),
    /// A part of it is missing or malformed.
    #[error("{0} is missing or malformed")]
    Malformed(&'static str),
}

impl<E: Into<redb::Error>> From<E> for ReadError {
    fn from(error: E) -> Self {
        Self::Database(Box::new(error.into()))
    }
}
