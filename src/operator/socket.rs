//! The socket's file.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use socket2::{Domain, SockAddr, Socket, Type};

/// The socket's name in the data directory.
pub(super) const SOCKET: &str = "node.sock";
/// The lock's name beside it.
const LOCK: &str = "node.lock";
/// Connections that wait to be accepted; more are refused by the system.
const BACKLOG: i32 = 16;

/// The bound socket, and with it the claim to the data directory: while it lives, no other node
/// uses the directory. Dropping it removes the socket's file.
#[derive(Debug)]
pub struct OperatorSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// Held, not used: the system frees it when the process ends, however it ends.
    _lock: File,
}

/// The claim to a data directory whose node does not run. While it lives, none can start there.
#[derive(Debug)]
pub struct Claim {
    _lock: File,
}

impl Claim {
    /// Claims the data directory.
    ///
    /// # Errors
    /// [`BindError`], most of all when a node runs with the directory.
    pub fn new(data_dir: &Path) -> Result<Self, BindError> {
        let lock = claim(data_dir)?;
        Ok(Self { _lock: lock })
    }
}

/// Why the socket can't be bound. The data directory is as it was, but for being made where it was
/// missing.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The data directory is in use.
    #[error(
        "another node runs with this data directory, {path}; stop it, or give this node a \
         data_dir of its own", path = .0.display()
    )]
    AnotherNode(PathBuf),
    /// The data directory can't be made or written to.
    #[error("the data directory {path} can't be used; make it writable for this user", path = path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The socket can't be made.
    #[error(
        "the operator's socket {path} can't be made (its path may have 107 bytes)",
        path = path.display()
    )]
    Socket {
        /// The socket's file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl OperatorSocket {
    /// Claims the data directory, which is made where it is missing, and binds the socket in it.
    /// The file of a node that is dead is replaced.
    ///
    /// # Errors
    /// [`BindError`], most of all when another node runs with the directory.
    pub fn bind(data_dir: &Path) -> Result<Self, BindError> {
        let lock = claim(data_dir)?;
        let path = data_dir.join(SOCKET);
        let listener = listen(&path).map_err(|source| BindError::Socket {
            path: path.clone(),
            source,
        })?;
        Ok(Self {
            listener,
            path,
            _lock: lock,
        })
    }

    /// The socket's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OperatorSocket {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the operator's socket was not removed");
        }
    }
}

/// The lock tells a running node from a dead one, and two that start at once from each other; a
/// socket's file can do neither.
fn claim(data_dir: &Path) -> Result<File, BindError> {
    let directory = |source| BindError::Directory {
        path: data_dir.to_owned(),
        source,
    };
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(data_dir)
        .map_err(directory)?;
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(data_dir.join(LOCK))
        .map_err(directory)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(BindError::AnotherNode(data_dir.to_owned())),
        Err(TryLockError::Error(source)) => Err(directory(source)),
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // The file takes its rights from the socket, so it is never there with wider ones.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(OwnedFd::from(socket).into())
}
