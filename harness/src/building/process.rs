//! Processes with other settings than usual, and what they cost.

use std::process::{Command, ExitStatus, Stdio};

use super::{Building, Line};
use crate::Process;

/// The units per second in which Linux gives the processor time of a process.
const TICKS: f64 = 100.0;

impl Building {
    /// As [`with_cars`](Self::with_cars), with nodes whose idle cars stay where they are: for tests
    /// that say where each car is.
    pub fn without_parking(floors: u8, line: Line, names: &[&'static str]) -> Self {
        let mut building = Self::new(floors, line);
        building.flags = &["--dispatch-strategy", "collective"];
        building.fill(names);
        building
    }

    pub fn process_id(&self, name: &str) -> u32 {
        self.node(name).id()
    }

    /// The processor time that a running node has used, in seconds.
    pub fn processor_time(&self, name: &str) -> f64 {
        processor_time(&self.process_id(name).to_string())
    }

    /// The command line of an operator at a node.
    pub fn operator(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).arg("--data-dir").arg(self.data_dir(name)).stdin(Stdio::null());
        command
    }

    /// What such a command prints that succeeds.
    pub fn done(&self, name: &str, words: &[&str]) -> String {
        let output = self.operator(name, words).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The exit code of such a command that fails, and what it says.
    pub fn refusal(&self, name: &str, words: &[&str]) -> (Option<i32>, String) {
        refusal(self.operator(name, words))
    }

    /// The exit code of a node that does not start, and what it says.
    pub fn refused_start(&self, name: &str) -> (Option<i32>, String) {
        refusal(self.command(name))
    }

    pub fn clear_hang(&self, name: &str) -> String {
        self.done(name, &["clear-hang", "--operator", "kovac", "--reason", "a test"])
    }

    pub fn caretaker_command(&self, name: &str) -> Command {
        self.command_of(name, "caretaker", &self.settings(name))
    }

    pub fn start_caretaker(&self, name: &str) -> Process {
        let log = self.place.of(name).join("caretaker.log");
        let what = format!("caretaker of {name}");
        Process::start(what, self.caretaker_command(name), log).expect("the caretaker")
    }

    pub fn end_of(&self, process: &mut Process) -> ExitStatus {
        let what = format!("{} ends", process.name());
        self.wait_for(&what, |_| process.ended())
    }

    /// Starts a node that logs to this.
    pub fn start_logging_to(&mut self, name: &str, log: impl Into<Stdio>) {
        let mut command = self.command(name);
        command.stderr(log);
        self.run(name, |log| Process::start_unlogged(name, command, log));
    }

    /// Starts a node by way of another program, which becomes the node. SIGHUP has its usual effect
    /// on that program, even if the test was started by `nohup`.
    pub fn start_by(&mut self, name: &str, wrapper: &[&str], stdin: impl Into<Stdio>) {
        let node = self.command(name);
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").args(wrapper);
        command.arg(node.get_program()).args(node.get_args());
        command.env("LIFTMESH_CONFIG", "").stdin(stdin);
        self.run(name, |log| Process::start(name, command, log));
    }

    pub fn logged(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.node_log(name)).expect("a log")
    }
}

/// The same for a process or, as `PROCESS/task/THREAD`, a thread.
pub fn processor_time(of: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{of}/stat")).expect("a running process");
    // The name of the program may have spaces; it ends with the last parenthesis.
    let (_, rest) = text.rsplit_once(')').expect("a process");
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / TICKS
}

fn refusal(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().expect("it runs");
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}
