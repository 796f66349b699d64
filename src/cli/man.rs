//! Man pages, made of the command line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;

/// Why there are no man pages. Some may have been written.
#[derive(Debug, thiserror::Error)]
#[error("the man pages can't be written to {}", path.display())]
pub struct ManError {
    path: PathBuf,
    source: io::Error,
}

/// Writes a page for the program and one for each command, such as `liftmesh-status.1`; makes the
/// directory if it is missing.
pub(super) fn write(command: Command, directory: &Path) -> Result<(), ManError> {
    let failed = |source| ManError { path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(command, directory).map_err(failed)
}
