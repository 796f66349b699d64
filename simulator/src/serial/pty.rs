//! A pseudo-terminal: to the controller a serial device like any other.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    OptionalActions, QueueSelector, ioctl_tiocnxcl, tcflush, tcgetattr, tcsetattr,
};

/// Both ends of a pseudo-terminal in raw mode.
#[derive(Debug)]
pub(super) struct Pty {
    master: OwnedFd,
    /// Held open, so that the line outlives any controller that opens and closes it.
    device: OwnedFd,
    path: PathBuf,
}

impl Pty {
    pub(super) fn open() -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let path = PathBuf::from(OsString::from_vec(ptsname(&master, Vec::new())?.into_bytes()));
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let device = open(&path, flags, Mode::empty())?;
        let mut settings = tcgetattr(&device)?;
        settings.make_raw();
        tcsetattr(&device, OptionalActions::Now, &settings)?;
        // A controller that reads nothing must not hold up the car.
        fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
        Ok(Self { master, device, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn reader(&self) -> io::Result<OwnedFd> {
        self.master.try_clone()
    }

    /// Writes what fits; the rest is lost, as on a line without a reader.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match rustix::io::write(&self.master, bytes) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Resets the line for the next controller: discards unread bytes, and the exclusive access
    /// that a killed controller has claimed. On a real line that ends with the controller; here the
    /// device stays open and would refuse the next one.
    pub(super) fn renew(&self) -> io::Result<()> {
        ioctl_tiocnxcl(&self.device)?;
        Ok(tcflush(&self.device, QueueSelector::IFlush)?)
    }
}

/// A second, stable name of a pseudo-terminal; removed when dropped.
#[derive(Debug)]
pub(super) struct Link {
    path: PathBuf,
    target: PathBuf,
}

impl Link {
    /// Makes `path` a symbolic link to `target`; an older link of that name is replaced at once.
    pub(super) fn new(path: &Path, target: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink()) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "something that is not a link already has that name",
            ));
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}", std::process::id()));
        let fresh = PathBuf::from(name);
        symlink(target, &fresh)?;
        fs::rename(&fresh, path).inspect_err(|_| {
            // A failure can be ignored: nobody will use the name.
            drop(fs::remove_file(&fresh));
        })?;
        Ok(Self { path: path.to_owned(), target: target.to_owned() })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Another simulator may have taken the name over since.
        if fs::read_link(&self.path).is_ok_and(|target| target == self.target) {
            drop(fs::remove_file(&self.path));
        }
    }
}
