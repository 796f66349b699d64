//! Processes with other settings than usual, and what they cost.

#![allow(
    dead_code,
    reason = "not every test binary has unusual processes, or looks at what they cost"
)]

use std::fs::File;
use std::process::{Command, Stdio};

use super::{Building, Line};

/// In these parts of a second Linux tells the processor time of a process.
const TICKS: f64 = 100.0;

impl Building {
    /// As [`with_cars`](Self::with_cars), with further flags for every node.
    pub(crate) fn with_flags(
        floors: u8,
        line: Line,
        names: &[&'static str],
        flags: &[&str],
    ) -> Self {
        let mut building = Self::new(floors, line);
        for (name, number) in names.iter().zip(1..) {
            building.install(name, number);
            building.start_with(name, |command| {
                command.args(flags);
            });
        }
        building.wait_for_master(names[0]);
        building.wait_in_service(names);
        building
    }

    /// The process id of a running node.
    pub(crate) fn process_id(&self, name: &str) -> u32 {
        let node = self.cabin(name).node.as_ref().expect("a running node");
        node.id()
    }

    /// The processor time that a running node has used, in seconds.
    pub(crate) fn processor_time(&self, name: &str) -> f64 {
        let path = format!("/proc/{}/stat", self.process_id(name));
        let text = std::fs::read_to_string(path).expect("a running process");
        // The name of the program may have spaces; it ends with the last parenthesis.
        let (_, rest) = text.rsplit_once(')').expect("a process");
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = |field: usize| fields[field].parse::<f64>().expect("a number");
        (ticks(11) + ticks(12)) / TICKS
    }

    /// An operator clears a hang.
    pub(crate) fn clear_hang(&self, name: &str) {
        let cleared = Command::new(env!("CARGO_BIN_EXE_liftmesh"))
            .args(["clear-hang", "--operator", "kovac", "--reason", "a test"])
            .arg("--data-dir")
            .arg(self.data_dir(name))
            .output()
            .expect("it runs");
        assert!(cleared.status.success(), "{cleared:?}");
    }

    /// Starts a node that logs to this.
    pub(crate) fn start_logging_to(&mut self, name: &str, log: impl Into<Stdio>) {
        let child = self.command(name).stderr(log).spawn().expect("the node");
        self.cabin_mut(name).node = Some(child);
    }

    /// Starts a node by way of another program, which becomes the node.
    pub(crate) fn start_by(&mut self, name: &str, wrapper: &[&str], stdin: impl Into<Stdio>) {
        let node = self.command(name);
        let log = File::create(self.log(name)).expect("a log");
        let child = Command::new(wrapper[0])
            .args(&wrapper[1..])
            .arg(node.get_program())
            .args(node.get_args())
            .stdin(stdin)
            .stderr(log)
            .spawn()
            .expect("the node");
        self.cabin_mut(name).node = Some(child);
    }

    /// What a node has logged.
    pub(crate) fn logged(&self, name: &str) -> String {
        std::fs::read_to_string(self.log(name)).expect("a log")
    }
}
