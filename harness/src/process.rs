//! Child processes: each writes to a log of its own, and none outlives its [`Process`].

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a process may take to end when asked to.
const PATIENCE: Duration = Duration::from_secs(3);

/// A running child.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    child: Child,
    /// It has been seen to end, and reaped.
    has_ended: bool,
}

impl Process {
    /// Starts `command`, which writes to the end of the file `log`.
    ///
    /// # Errors
    /// Nothing was started.
    pub fn start(name: impl Into<String>, mut command: Command, log: PathBuf) -> io::Result<Self> {
        let output = File::options().create(true).append(true).open(&log)?;
        command.stdout(output.try_clone()?).stderr(output);
        Self::start_unlogged(name, command, log)
    }

    /// Starts `command`, whose output is redirected already; `log` is where it may write.
    ///
    /// # Errors
    /// Nothing was started.
    pub fn start_unlogged(
        name: impl Into<String>,
        mut command: Command,
        log: PathBuf,
    ) -> io::Result<Self> {
        Ok(Self { name: name.into(), log, child: command.spawn()?, has_ended: false })
    }

    /// What it is, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        // An error means that it is no child of this process any more.
        let status = self.child.try_wait().unwrap_or_else(|_gone| Some(ExitStatus::from_raw(0)));
        self.has_ended |= status.is_some();
        status
    }

    /// Ends it at once.
    pub fn kill(mut self) {
        self.end_now();
    }

    /// Sends it a signal; one that has ended gets none.
    pub fn signal(&self, signal: Signal) {
        // Once it has been reaped, its number may be another process's.
        if !self.has_ended {
            // The only way to fail is that it has ended.
            kill_process(Pid::from_child(&self.child), signal).unwrap_or_default();
        }
    }

    /// The end of its log, each line indented.
    #[must_use]
    pub fn last_lines(&self, count: usize) -> String {
        last_lines(&self.log, count)
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
pub fn kill_all(processes: Vec<Process>) {
    for one in &processes {
        one.signal(Signal::KILL);
    }
    // Waits for each.
    drop(processes);
}

/// Ends processes in an orderly way: asks all, waits for them, and kills the rest.
pub fn end(processes: Vec<Process>) {
    let mut processes = processes;
    processes.iter_mut().for_each(Process::ask_to_end);
    let limit = Instant::now() + PATIENCE;
    while Instant::now() < limit && processes.iter_mut().any(|one| one.ended().is_none()) {
        thread::sleep(Duration::from_millis(10));
    }
}

/// The end of a log, each line indented.
pub(crate) fn last_lines(log: &Path, count: usize) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return "  (empty)".to_owned();
    }
    let last = lines[lines.len().saturating_sub(count)..].iter();
    last.map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, dir: &tempfile::TempDir) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start("the shell", command, dir.path().join("log")).unwrap()
    }

    /// One that is suspended, and one that does not listen.
    #[test]
    fn processes_end_in_an_orderly_way_or_all_the_same() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let traps = ["'echo bye; exit'", "''"];
        let processes = [0, 1].map(|which| {
            let trap = traps[which];
            let script = format!("trap {trap} TERM; echo ready; while :; do sleep 0.1; done");
            let process = shell(&script, &dirs[which]);
            let limit = Instant::now() + Duration::from_secs(20);
            while process.last_lines(8) != "  ready" {
                assert!(Instant::now() < limit, "it does not start");
                thread::yield_now();
            }
            process
        });
        processes[0].signal(Signal::STOP);
        let [log, pid] = [processes[0].log.clone(), format!("/proc/{}", processes[1].id()).into()];
        end(Vec::from(processes));
        assert_eq!(fs::read_to_string(log).unwrap(), "ready\nbye\n");
        assert!(!pid.exists());
    }
}
