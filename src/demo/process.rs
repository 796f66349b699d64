//! The demo's child processes: each writes to a log of its own, and none outlives its [`Process`].

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::error::DemoError;

/// How many lines of a log are shown.
const LINES: usize = 8;

/// How long a process may take to end when asked to.
const PATIENCE: Duration = Duration::from_secs(3);

/// A running child.
#[derive(Debug)]
pub(super) struct Process {
    what: String,
    log: PathBuf,
    child: Child,
}

impl Process {
    /// Starts `command`, in a process group of its own, so that a key pressed in the terminal
    /// reaches the demo alone.
    ///
    /// # Errors
    /// Nothing was started.
    pub(super) fn start(
        what: String,
        mut command: Command,
        log: PathBuf,
    ) -> Result<Self, DemoError> {
        let started = open(&log).and_then(|(output, errors)| {
            command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0).spawn()
        });
        match started {
            Ok(child) => Ok(Self { what, log, child }),
            Err(source) => Err(DemoError::Start { what, source }),
        }
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        // An error means that it is no child of this process any more.
        self.child.try_wait().unwrap_or_else(|_gone| Some(ExitStatus::from_raw(0)))
    }

    /// Ends it at once.
    pub(super) fn kill(mut self) {
        self.end_now();
    }

    /// Sends it a signal; one that has ended gets none.
    pub(super) fn signal(&self, signal: Signal) {
        // The only way to fail is that it has ended; it is reaped here alone, so that its number
        // is nobody else's.
        kill_process(Pid::from_child(&self.child), signal).unwrap_or_default();
    }

    /// That it ended although it should not have.
    pub(super) fn failure(&self, status: ExitStatus) -> DemoError {
        DemoError::Ended {
            what: self.what.clone(),
            status: status.to_string(),
            log: self.last_lines(),
        }
    }

    /// The end of its log.
    pub(super) fn last_lines(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        match lines.len() {
            0 => "  (empty)".to_owned(),
            count => lines[count.saturating_sub(LINES)..]
                .iter()
                .map(|line| format!("  {line}"))
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }

    fn ask_to_end(&mut self) {
        if self.ended().is_none() {
            self.signal(Signal::TERM);
            // One that is suspended hears nothing before it goes on.
            self.signal(Signal::CONT);
        }
    }

    fn end_now(&mut self) {
        if self.ended().is_none() {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end_now();
    }
}

/// Ends processes at the same moment, as a power cut does.
pub(super) fn kill_all(processes: Vec<Process>) {
    for one in &processes {
        one.signal(Signal::KILL);
    }
    // Waits for each.
    drop(processes);
}

/// Ends processes in an orderly way: all are asked, then waited for; who is not done then is ended.
pub(super) fn end(processes: Vec<Process>) {
    let mut processes = processes;
    processes.iter_mut().for_each(Process::ask_to_end);
    let limit = Instant::now() + PATIENCE;
    while Instant::now() < limit && processes.iter_mut().any(|one| one.ended().is_none()) {
        thread::sleep(Duration::from_millis(10));
    }
}

fn open(log: &PathBuf) -> io::Result<(File, File)> {
    let output = OpenOptions::new().create(true).append(true).open(log)?;
    let errors = output.try_clone()?;
    Ok((output, errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, dir: &tempfile::TempDir) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start("the shell".to_owned(), command, dir.path().join("log")).unwrap()
    }

    fn wait(process: &mut Process) -> ExitStatus {
        let limit = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = process.ended() {
                return status;
            }
            assert!(Instant::now() < limit, "it does not end");
            thread::yield_now();
        }
    }

    #[test]
    fn a_failure_tells_the_exit_code_and_the_end_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = shell("seq 100; echo broken >&2; exit 3", &dir);
        let status = wait(&mut process);
        let failure = process.failure(status).to_string();
        assert!(failure.contains("the shell ended") && failure.contains("exit status: 3"));
        assert!(failure.ends_with("  100\n  broken"), "{failure}");
        assert!(!failure.contains("  90\n"), "only the end");
    }

    #[test]
    fn a_suspended_process_ends_in_an_orderly_way_too() {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap 'echo bye; exit' TERM; echo ready; while :; do sleep 0.1; done";
        let process = shell(script, &dir);
        let limit = Instant::now() + Duration::from_secs(20);
        while process.last_lines() != "  ready" {
            assert!(Instant::now() < limit, "it does not start");
            thread::yield_now();
        }
        process.signal(Signal::STOP);
        let log = process.log.clone();
        end(vec![process]);
        assert_eq!(fs::read_to_string(log).unwrap(), "ready\nbye\n");
    }

    #[test]
    fn a_process_that_does_not_listen_is_ended_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let process = shell("trap '' TERM; echo ready; while :; do sleep 1; done", &dir);
        let limit = Instant::now() + Duration::from_secs(20);
        while process.last_lines() != "  ready" {
            assert!(Instant::now() < limit, "it does not start");
            thread::yield_now();
        }
        let pid = Pid::from_child(&process.child);
        end(vec![process]);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}
