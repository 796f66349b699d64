//! What a test does to processes, their lines and their disks.

use std::process::ExitStatus;

use rustix::process::Signal;

use super::{Building, node_id};
use crate::kill_all;

impl Building {
    /// Ends a node with SIGKILL.
    pub fn kill(&mut self, name: &str) {
        self.kill_all(&[name]);
    }

    /// Ends all these nodes at once with SIGKILL, as a power cut does.
    pub fn kill_all(&mut self, names: &[&str]) {
        for name in names {
            self.note_standstill(name);
        }
        let take = |name: &&str| {
            let cabin = self.cabin_mut(name);
            cabin.suspended = false;
            cabin.node.take().expect("a running node")
        };
        kill_all(names.iter().map(take).collect());
    }

    /// Suspends a node with SIGSTOP.
    pub fn suspend(&mut self, name: &str) {
        self.note_standstill(name);
        self.signal(name, Signal::STOP);
        self.cabin_mut(name).suspended = true;
    }

    /// Lets a suspended node go on, with SIGCONT.
    pub fn resume(&mut self, name: &str) {
        self.signal(name, Signal::CONT);
        self.cabin_mut(name).suspended = false;
        if let Some(books) = &self.books {
            books.runs(&node_id(name));
        }
    }

    /// Unplugs the line between a node and its panel.
    pub fn unplug_line(&self, name: &str) {
        self.note_standstill(name);
        self.panel(name).send("fault line unplugged").expect("the line");
    }

    /// Plugs the line in again.
    pub fn plug_line(&self, name: &str) {
        self.panel(name).send("fault line ok").expect("the line");
        if let Some(books) = &self.books {
            books.runs(&node_id(name));
        }
    }

    fn note_standstill(&self, name: &str) {
        if let Some(books) = &self.books {
            books.stopped(&node_id(name));
        }
    }

    /// Asks a node to end; hands back how it did.
    pub fn stop(&mut self, name: &str) -> ExitStatus {
        self.signal(name, Signal::TERM);
        self.exit(name)
    }

    /// Sends a node a signal.
    pub fn signal(&self, name: &str, signal: Signal) {
        self.node(name).signal(signal);
    }

    /// Takes a node's disk away.
    pub fn wipe(&self, name: &str) {
        std::fs::remove_dir_all(self.data_dir(name)).expect("the data directory");
    }
}
