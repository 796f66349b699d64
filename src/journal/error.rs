//! Why a journal can't be opened.

use std::io;
use std::path::PathBuf;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::Restored;

use crate::data_dir::Exposed;

/// Why a journal can't be opened. Nothing that stood in it has been lost or changed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(
        "data_dir = {path:?} can't be used: it must be a directory where the node's user can read, \
         write and create files"
    )]
    Directory { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Exposed(#[from] Exposed),
    /// Something other than a file is in the journal's place, such as a symbolic link.
    #[error("{path:?} is not a regular file: move it away, or set data_dir to another directory")]
    Irregular { path: PathBuf },
    #[error("{path:?} can't be opened: the node's user must be able to read and write it")]
    Rights { path: PathBuf, source: io::Error },
    #[error("{path:?} is in use by another process: each node needs a data_dir of its own")]
    InUse { path: PathBuf },
    #[error(
        "{path:?} is the journal of node {owner}, and this node is {node}: set data_dir to this \
         node's own directory, or move the file away"
    )]
    Foreign { path: PathBuf, owner: NodeId, node: NodeId },
    #[error(
        "{path:?} was written by another version of the program: {found}. It has not been changed: \
         run the program that wrote it, or move the file away, which \
         makes this node forget its locks, tokens and audit log"
    )]
    Format { path: PathBuf, found: String },
    #[error(
        "{path:?} is missing or damaged, although this node has run before: it may have recorded a \
         hang of the car"
    )]
    Lost { path: PathBuf },
    #[error("{path:?} can't be read: {reason}")]
    Damaged { path: PathBuf, reason: String },
    #[error("the audit log can't be written: the disk is full or failing")]
    Audit(#[source] Box<redb::Error>),
    /// The disk is full, read-only or fails. The node may run all the same, without its disk (P5).
    #[error("{path:?} can't be read or written: the disk is full, read-only or failing")]
    Failing {
        path: PathBuf,
        /// What could be read of it.
        restored: Box<Restored>,
        source: Box<redb::Error>,
    },
}
