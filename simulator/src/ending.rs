//! How a thread that waits for bytes learns that it is over.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};

/// Ends the threads that hold an [`EndWatch`] of it, by being dropped.
#[derive(Debug)]
pub(crate) struct Ending {
    _held: UnixStream,
    watch: UnixStream,
}

/// One thread's view of an [`Ending`].
#[derive(Debug)]
pub(crate) struct EndWatch(UnixStream);

/// What a wait ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// There is something to read, or the other side is gone, which a read will tell.
    Readable,
    Over,
}

impl Ending {
    pub(crate) fn new() -> io::Result<Self> {
        let (held, watch) = UnixStream::pair()?;
        Ok(Self { _held: held, watch })
    }

    pub(crate) fn watch(&self) -> io::Result<EndWatch> {
        Ok(EndWatch(self.watch.try_clone()?))
    }
}

impl EndWatch {
    /// Waits without any time limit until `source` is readable or the [`Ending`] was dropped.
    pub(crate) fn wait(&self, source: &impl AsFd) -> io::Result<Readiness> {
        let mut sources = [PollFd::new(source, PollFlags::IN), PollFd::new(&self.0, PollFlags::IN)];
        loop {
            match poll(&mut sources, None) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(if sources[1].revents().is_empty() { Readiness::Readable } else { Readiness::Over })
    }
}
