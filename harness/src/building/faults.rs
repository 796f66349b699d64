//! What a test does to processes, their lines and their disks.

use std::process::ExitStatus;

use elevator_fleet::model::NodeId;
use rustix::process::Signal;

use super::Building;
use super::books::Change;
use crate::kill_all;

impl Building {
    pub fn kill(&mut self, name: &str) {
        self.kill_all(&[name]);
    }

    /// Ends all these nodes at once with SIGKILL, as a power cut does.
    pub fn kill_all(&mut self, names: &[&str]) {
        for name in names {
            self.record(name, Change::Stopped);
        }
        let take = |name: &&str| {
            let cabin = self.cabin_mut(name);
            cabin.suspended = false;
            cabin.node.take().expect("a running node")
        };
        kill_all(names.iter().map(take).collect());
    }

    pub fn suspend(&mut self, name: &str) {
        self.record(name, Change::Stopped);
        self.signal(name, Signal::STOP);
        self.cabin_mut(name).suspended = true;
    }

    pub fn resume(&mut self, name: &str) {
        self.signal(name, Signal::CONT);
        self.cabin_mut(name).suspended = false;
        self.record(name, Change::Runs);
    }

    /// Unplugs the line between a node and its panel.
    pub fn unplug_line(&self, name: &str) {
        self.record(name, Change::Stopped);
        self.tell(name, "fault line unplugged");
    }

    pub fn plug_line(&self, name: &str) {
        self.tell(name, "fault line ok");
        self.record(name, Change::Runs);
    }

    /// Enters something that happens to a node in the books, if they are open.
    pub(super) fn record(&self, name: &str, change: impl FnOnce(NodeId) -> Change) {
        if let Some(books) = &self.books {
            books.record(change(NodeId::new(name).expect("a name")));
        }
    }

    /// Asks a node to end; hands back how it did.
    pub fn stop(&mut self, name: &str) -> ExitStatus {
        self.signal(name, Signal::TERM);
        self.exit(name)
    }

    pub fn signal(&self, name: &str, signal: Signal) {
        self.node(name).signal(signal);
    }
}
