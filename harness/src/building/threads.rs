//! The threads of a node, and how to stop a single one of them as a blocked system call would.

use std::marker::PhantomData;

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::{Building, skip};
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub id: i32,
    pub name: String,
}

impl Building {
    /// The threads of a running node. The first is the loop's: the process has its number.
    pub fn threads(&self, name: &str) -> Vec<Thread> {
        let tasks = format!("/proc/{}/task", self.process_id(name));
        let entries = std::fs::read_dir(tasks).expect("a running node");
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut ids: Vec<i32> = ids.collect();
        ids.sort_unstable();
        let named = |id: i32| {
            let path = format!("/proc/{}/task/{id}/comm", self.process_id(name));
            // A thread may end at any moment.
            let name = std::fs::read_to_string(path).ok()?.trim_end().to_owned();
            Some(Thread { id, name })
        };
        ids.into_iter().filter_map(named).collect()
    }
}

/// A thread that does not run. Dropping this lets it go on.
#[derive(Debug)]
pub struct Stopped {
    thread: Pid,
    /// Only the thread that stopped it can let it go on.
    here: PhantomData<*const ()>,
}

impl Stopped {
    /// Stops a thread of another process, and no other thread of it; `None` where this machine
    /// allows nobody to. A signal would stop the whole process.
    pub fn new(thread: &Thread) -> Option<Self> {
        let id = Pid::from_raw(thread.id);
        match ptrace::seize(id, ptrace::Options::empty()) {
            Ok(()) => {}
            Err(error @ (Errno::EPERM | Errno::ENOSYS)) => {
                skip(&format!("ptrace is not allowed: {error}"));
                return None;
            }
            Err(error) => panic!("thread {thread:?} can't be seized: {error}"),
        }
        ptrace::interrupt(id).expect("a seized thread");
        waitpid(id, Some(WaitPidFlag::__WALL)).expect("it stops");
        Some(Self { thread: id, here: PhantomData })
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // A process that was killed meanwhile has no threads.
        ptrace::detach(self.thread, None).unwrap_or_default();
    }
}
