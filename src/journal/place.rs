//! Where the journal's file is, and whether it is still there.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The file of an open journal. What is written to one that was deleted or replaced is gone with the
/// process, although the disk takes it.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// Its device and its number there.
    file: (u64, u64),
}

/// Why what is written is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum Displaced {
    #[error("{path:?} can't be examined: it was deleted, or its directory")]
    Unseen { path: PathBuf, source: io::Error },
    #[error("{path:?} is another file than the one that this node has open")]
    Replaced { path: PathBuf },
}

impl Place {
    /// The place of an open file.
    pub(super) fn of(path: PathBuf, file: &File) -> io::Result<Self> {
        let file = number(&file.metadata()?);
        Ok(Self { path, file })
    }

    /// Whether the path still leads to the file.
    pub(super) fn check(&self) -> Result<(), Displaced> {
        let path = self.path.clone();
        match fs::metadata(&path) {
            Ok(found) if number(&found) == self.file => Ok(()),
            Ok(_) => Err(Displaced::Replaced { path }),
            Err(source) => Err(Displaced::Unseen { path, source }),
        }
    }
}

fn number(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}
