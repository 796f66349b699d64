//! What a node relies on in its data directory: nobody else changes it, and its files are regular.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::{getegid, geteuid, getgroups};

/// Somebody else may replace the files in the data directory.
#[derive(Debug, thiserror::Error)]
#[error(
    "data_dir = {path:?}: others may change what is in it (mode {mode:04o}); fix it with: chmod {fix} \
     {}, or give the node a directory of its own",
    path.display()
)]
pub struct Exposed {
    path: PathBuf,
    mode: u32,
    fix: &'static str,
}

/// Whose a data directory is, if it is another user's: what is made in one belongs to its owner.
pub(crate) fn other_owner(path: &Path) -> io::Result<Option<u32>> {
    let owner = fs::read_dir(path).and_then(|_| fs::metadata(path))?.uid();
    Ok(Some(owner).filter(|owner| *owner != geteuid().as_raw()))
}

/// Checks that only this user, its groups and root may change what is in a directory, whatever its
/// sticky bit. Root may ask for the node's user, whose groups are not known: any group may then.
pub(crate) fn check_rights(path: &Path, directory: &fs::Metadata) -> Result<(), Exposed> {
    const GROUP_WRITES: u32 = 0o020;
    const OTHERS_WRITE: u32 = 0o002;
    let (mode, group) = (directory.mode() & 0o7777, directory.gid());
    let is_own = || {
        let groups = getgroups().unwrap_or_default();
        geteuid().is_root()
            || group == 0
            || groups.iter().chain([&getegid()]).any(|own| own.as_raw() == group)
    };
    let fix = if mode & GROUP_WRITES != 0 && !is_own() {
        "go-w"
    } else if mode & OTHERS_WRITE != 0 {
        "o-w"
    } else {
        return Ok(());
    };
    Err(Exposed { path: path.to_owned(), mode, fix })
}

/// Opens a regular file of the data directory; follows no symbolic link, and waits for no pipe.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = options.custom_flags(flags).open(path);
    let found = match &opened {
        Ok(file) => file.metadata(),
        Err(_) => fs::symlink_metadata(path),
    };
    match found {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
        }
        Ok(_) | Err(_) => opened,
    }
}

pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path, OpenOptions::new().read(true))?.read_to_string(&mut text)?;
    Ok(text)
}

pub(crate) fn is_irregular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| !found.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_directory_in_which_others_write_is_refused_with_the_command_that_mends_it() {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path();
        for (mode, is_right) in [(0o700, true), (0o755, true), (0o777, false), (0o1777, false)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("its own");
            let checked = check_rights(path, &fs::metadata(path).expect("there"));
            let told = checked.err().map(|error| error.to_string());
            let fix = format!("(mode {mode:04o}); fix it with: chmod o-w {}", path.display());
            assert!(told.as_ref().map_or(is_right, |told| told.contains(&fix)), "{told:?}");
        }
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let directory = TempDir::new().expect("a directory");
        let path = |name| directory.path().join(name);
        fs::write(path("target"), "kept").expect("written");
        symlink(path("target"), path("link")).expect("made");
        symlink(path("gone"), path("dangling")).expect("made");
        mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RWXU, 0).expect("made");
        for name in ["link", "dangling", "pipe"] {
            let refused =
                |options: &mut OpenOptions| open(&path(name), options).expect_err("refused").kind();
            assert_eq!(refused(OpenOptions::new().read(true)), io::ErrorKind::InvalidInput);
            let mut written = OpenOptions::new();
            written.write(true).create(true).truncate(true);
            assert_eq!(refused(&mut written), io::ErrorKind::InvalidInput, "{name}");
        }
        assert_eq!(fs::read(path("target")).expect("there"), b"kept");
        assert!(!path("gone").exists());
        assert_eq!(read_text(&path("target")).expect("a file"), "kept");
    }
}
