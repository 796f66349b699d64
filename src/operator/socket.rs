//! The socket's file.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Mode;
use socket2::{Domain, SockAddr, Socket, Type};
use tracing::{debug, warn};

use super::reading::{ReadingError, ReadingSettings};
use super::stand_in::stand_ins;
use crate::data_dir;
use crate::journal;
use crate::retry;

/// The socket's name in the data directory.
pub(crate) const SOCKET: &str = "node.sock";
/// The lock's name beside it.
const LOCK: &str = "node.lock";
/// Connections that wait to be accepted; more are refused by the system.
const BACKLOG: i32 = 16;

/// How long a command may have the data directory: longer than it takes on a busy machine.
const COMMAND_LIMIT: Duration = Duration::from_secs(5);

/// The bound socket, which is the claim to the data directory. Dropping it removes its file.
#[derive(Debug)]
pub(crate) struct OperatorSocket {
    /// `None` if the disk can't hold one and there is no substitute.
    bound: Option<Bound>,
    /// Held until the process ends. `None` on a disk that takes nothing and has no lock.
    _lock: Option<File>,
    reading: Option<Bound>,
}

/// A socket. Dropping it removes its file.
#[derive(Debug)]
pub(super) struct Bound {
    listener: Option<UnixListener>,
    path: PathBuf,
    /// The lock of the substitute directory, if one is used.
    _lock: Option<File>,
}

/// The claim to a data directory whose node does not run. While it lives, none can start there.
#[derive(Debug)]
pub(crate) struct Claim {
    _lock: File,
}

impl Claim {
    pub(crate) fn new(data_dir: &Path) -> Result<Self, BindError> {
        Ok(Self { _lock: claim(data_dir)? })
    }
}

/// Why the socket can't be bound. Only a missing data directory may have been created.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error(
        "another node is running with this data directory, {path}; stop it, or give this node a \
         data_dir of its own", path = .0.display()
    )]
    AnotherNode(PathBuf),
    #[error(
        "the data directory {path} can't be created: the node's user must be able to create it or, \
         if it exists, to read, write and create files in it", path = path.display()
    )]
    Directory { path: PathBuf, source: io::Error },
    #[error(
        "{path} can't be opened: the node's user must be able to create files in its directory, \
         and to read and write it", path = path.display()
    )]
    Lock { path: PathBuf, source: io::Error },
    #[error(
        "the node's socket {path} can't be created: the node's user must be able to create files \
         there, and the path has at most 107 bytes",
        path = path.display()
    )]
    Socket { path: PathBuf, source: io::Error },
}

impl OperatorSocket {
    /// Claims the data directory, creating it if missing, and binds the socket in it, in place of a
    /// dead node's. On a full, read-only or failing disk (P5) a warning says where it is instead.
    pub(crate) fn bind(data_dir: &Path) -> Result<Self, BindError> {
        let lock = match claim_in_time(data_dir) {
            Err(error) if error.is_of_disk() => return Self::stand_in(data_dir, &error),
            claimed => claimed?,
        };
        match Bound::in_directory(data_dir, None) {
            Err(error) if error.is_of_disk() => {
                drop(lock);
                Self::stand_in(data_dir, &error)
            }
            bound => Ok(Self { bound: Some(bound?), _lock: Some(lock), reading: None }),
        }
    }

    fn stand_in(data_dir: &Path, refused: &BindError) -> Result<Self, BindError> {
        let lock = claim_as_it_is(data_dir)?;
        let reason = cause(refused);
        let mut bound = None;
        for directory in stand_ins(data_dir) {
            match claim(&directory).and_then(|lock| Bound::in_directory(&directory, Some(lock))) {
                Ok(made) => {
                    let socket = made.path.display();
                    warn!(%socket, reason, "the disk does not support Unix sockets: using another \
                                            place");
                    bound = Some(made);
                    break;
                }
                Err(BindError::AnotherNode(_)) => {
                    return Err(BindError::AnotherNode(data_dir.to_owned()));
                }
                Err(error) => warn!(%error, reason = cause(&error), "this place does not work \
                                                                     either"),
            }
        }
        if bound.is_none() {
            warn!(
                path = %data_dir.join(SOCKET).display(),
                reason,
                "running without the node's socket: `liftmesh status` can't find the node. To put \
                 it elsewhere, let the node's user write in /run/liftmesh, or set XDG_RUNTIME_DIR \
                 to the same directory for the node and the commands"
            );
        }
        Ok(Self { bound, _lock: lock, reading: None })
    }

    /// Binds the socket for reading too; on a full, read-only or failing disk (P5) a warning says
    /// that there is none.
    pub(crate) fn with_reading(
        mut self,
        settings: Option<&ReadingSettings>,
    ) -> Result<Self, ReadingError> {
        self.reading = match settings.map(ReadingSettings::bind) {
            Some(Err(ReadingError::Bind { path, source })) if journal::is_failing(&source) => {
                warn!(path = %path.display(), error = %source, "running without the read-only \
                                                                socket");
                None
            }
            reading => reading.transpose()?,
        };
        Ok(self)
    }

    /// The node's own socket and the one for reading, as far as they are bound, to be served.
    pub(crate) fn take_listeners(&mut self) -> [Option<UnixListener>; 2] {
        let own = self.bound.as_mut().and_then(|bound| bound.listener.take());
        [own, self.reading.as_mut().and_then(|reading| reading.listener.take())]
    }
}

impl Bound {
    pub(super) fn new(path: PathBuf, lock: Option<File>) -> io::Result<Self> {
        Ok(Self { listener: Some(listen(&path)?), path, _lock: lock })
    }

    fn in_directory(directory: &Path, lock: Option<File>) -> Result<Self, BindError> {
        let path = directory.join(SOCKET);
        Self::new(path.clone(), lock).map_err(|source| BindError::Socket { path, source })
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            debug!(path = %self.path.display(), %error, "a socket was not removed");
        }
    }
}

impl BindError {
    /// Whether the disk is at fault, not the configuration.
    fn is_of_disk(&self) -> bool {
        match self {
            Self::AnotherNode(_) => false,
            Self::Directory { source, .. }
            | Self::Lock { source, .. }
            | Self::Socket { source, .. } => journal::is_failing(source),
        }
    }
}

fn cause(error: &BindError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// The lock distinguishes a running node from a dead one, and two that start at once from each
/// other; a socket's file can do neither.
pub(super) fn claim(data_dir: &Path) -> Result<File, BindError> {
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(data_dir)
        .map_err(|source| BindError::Directory { path: data_dir.to_owned(), source })?;
    let path = data_dir.join(LOCK);
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let lock = match data_dir::open(&path, &mut options) {
        Ok(lock) => lock,
        Err(source) => return Err(BindError::Lock { path, source }),
    };
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(BindError::AnotherNode(data_dir.to_owned())),
        Err(TryLockError::Error(source)) => Err(BindError::Lock { path, source }),
    }
}

/// Waits for commands that have the directory of a stopped node for a moment, as `liftmesh audit`.
fn claim_in_time(data_dir: &Path) -> Result<File, BindError> {
    let passes = |claimed: &_| is_passing(claimed, data_dir);
    retry::while_it_passes(COMMAND_LIMIT, || claim(data_dir), passes)
}

/// Whether a claim was refused because of a command: a node that has the directory answers.
pub(super) fn is_passing(claimed: &Result<File, BindError>, data_dir: &Path) -> bool {
    matches!(claimed, Err(BindError::AnotherNode(_)))
        && check_listener(&data_dir.join(SOCKET)).is_err()
}

/// The claim on a disk that takes nothing: by the lock of an earlier node, if there is one.
fn claim_as_it_is(data_dir: &Path) -> Result<Option<File>, BindError> {
    let Ok(lock) = data_dir::open(&data_dir.join(LOCK), File::options().read(true)) else {
        return Ok(None);
    };
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => Err(BindError::AnotherNode(data_dir.to_owned())),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(lock)),
    }
}

/// Whether a process listens on a Unix socket, also one that is too busy to accept.
pub(crate) fn check_listener(path: &Path) -> io::Result<()> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A full backlog would keep a blocking socket waiting for ever.
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        connected => connected,
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
