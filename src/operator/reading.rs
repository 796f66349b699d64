//! The socket for users who may read only: status and events.
//!
//! It lies outside the data directory, which only the node's user can enter, and belongs to a
//! group. What may be asked on it is decided by the socket that a connection came in by, so no
//! client can gain more.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group};

use super::socket::{Bound, check_listener};

const MODE: u32 = 0o660;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadingSettings {
    pub(crate) path: PathBuf,
    /// The group whose members may connect: its name or number. Without one it is the node's own.
    pub(crate) group: Option<String>,
}

/// Why there is no socket for reading. An earlier file of that name may have been removed.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    #[error("operator.read_only_group = {0}: no such group; create it, or remove the key")]
    NoGroup(String),
    #[error(
        "operator.read_only_socket = {path}: another process listens there; each node needs a path \
         of its own", path = .0.display()
    )]
    InUse(PathBuf),
    #[error(
        "operator.read_only_socket = {path}: a file that is not a socket is there; move it away, \
         or set another path", path = .0.display()
    )]
    NoSocket(PathBuf),
    #[error(
        "operator.read_only_socket = {path} can't be created: the directory must exist, the node's \
         user must be able to create files in it, and the path has at most 107 bytes",
        path = path.display()
    )]
    Bind { path: PathBuf, source: io::Error },
    #[error(
        "operator.read_only_socket = {path} can't be given to the group {group}: the node's user \
         must be a member of it", path = path.display()
    )]
    Owner { path: PathBuf, group: String, source: io::Error },
}

impl ReadingSettings {
    pub(super) fn bind(&self) -> Result<Bound, ReadingError> {
        let gid = self.group()?;
        let path = &self.path;
        self.check_path()?;
        let bind = |source| ReadingError::Bind { path: path.clone(), source };
        // For the node's user alone until it belongs to the group.
        let socket = Bound::new(path.clone(), None).map_err(bind)?;
        if let Some(gid) = gid {
            give(path, gid).map_err(|source| ReadingError::Owner {
                path: path.clone(),
                group: self.group.clone().unwrap_or_default(),
                source,
            })?;
        }
        fs::set_permissions(path, fs::Permissions::from_mode(MODE)).map_err(bind)?;
        Ok(socket)
    }

    pub(crate) fn group(&self) -> Result<Option<Gid>, ReadingError> {
        let Some(name) = &self.group else {
            return Ok(None);
        };
        if let Ok(number) = name.parse() {
            return Ok(Some(Gid::from_raw(number)));
        }
        match Group::from_name(name) {
            Ok(Some(group)) => Ok(Some(group.gid)),
            Ok(None) | Err(_) => Err(ReadingError::NoGroup(name.clone())),
        }
    }

    /// Whether the path is free, or left over from a node that is dead.
    pub(crate) fn check_path(&self) -> Result<(), ReadingError> {
        let path = &self.path;
        match fs::symlink_metadata(path) {
            Ok(file) if !file.file_type().is_socket() => Err(ReadingError::NoSocket(path.clone())),
            Ok(_) if check_listener(path).is_ok() => Err(ReadingError::InUse(path.clone())),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(source) => Err(ReadingError::Bind { path: path.clone(), source }),
        }
    }
}

fn give(path: &Path, group: Gid) -> io::Result<()> {
    if fs::metadata(path)?.gid() == group.as_raw() {
        return Ok(());
    }
    chown(path, None, Some(group.as_raw()))
}
