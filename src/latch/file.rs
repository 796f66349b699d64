//! Files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::data_dir;

/// Writes a file under another name first; when this returns it is on disk under its own.
pub(crate) fn replace(
    directory: &Path,
    unfinished: &str,
    name: &str,
    bytes: &[u8],
) -> io::Result<()> {
    let unfinished = directory.join(unfinished);
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600);
    let mut file = data_dir::open(&unfinished, &mut options)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, directory.join(name))?;
    sync_directory(directory)
}

/// Removes a file; it is not an error if there is none.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Puts on disk which files there are.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
