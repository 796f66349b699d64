//! A running program, and the thread that talks to it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{self, Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::nice;
use tracing::warn;

use super::{Fault, Place, lines};
use crate::bucket::Bucket;
use crate::command_line::{CommandLine, kill_group};

pub(super) const LONGEST_LINE: u64 = 1 << 20;

/// How long a program may take to greet, and to answer before it is started again.
const GREETING: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(1);

/// In the lab nobody waits for it but its author.
const LAB_LIMIT: Duration = Duration::from_mins(1);

/// What it may say on standard error: so many lines a second, and at once after a pause.
const SAYINGS: (f64, f64) = (1.0, 20.0);

/// The longest part of a line that is logged as one.
const SAYING: u64 = 4096;

/// How far below the node's own priority it runs.
const NICENESS: i32 = 20;

#[derive(Debug)]
pub(super) struct Conversation {
    child: Child,
    requests: SyncSender<String>,
    answers: Receiver<io::Result<String>>,
    limit: Duration,
    /// Since when it owes an answer.
    owes_since: Option<Instant>,
    has_greeted: bool,
    /// How it ended, once it was waited for.
    status: Option<ExitStatus>,
}

impl Conversation {
    pub(super) fn start(command: &CommandLine, place: Place, hello: &str) -> Result<Self, Fault> {
        let failed = |error: io::Error| Fault::Start(error.to_string());
        let (program, arguments) = command.words();
        let mut process = process::Command::new(program);
        process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        // What it starts ends with it.
        process.process_group(0);
        let (limit, child) = match place {
            Place::Fleet(limit) => {
                process.env_clear().stderr(Stdio::piped());
                (limit, spawn_below(process))
            }
            Place::Lab => (LAB_LIMIT, process.spawn()),
        };
        let mut child = child.map_err(failed)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (requests, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let mut conversation = Self {
            limit,
            requests,
            answers,
            owes_since: None,
            has_greeted: false,
            child,
            status: None,
        };
        if let (Some(mut stdin), Some(stdout)) = (stdin, stdout) {
            let mut stdout = BufReader::new(stdout);
            let talk = move || {
                for request in asked {
                    let answered = exchange(&mut stdin, &mut stdout, request);
                    if answer.send(answered).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new().name("dispatcher".to_owned()).spawn(talk).map_err(failed)?;
        }
        if let Some(stderr) = conversation.child.stderr.take() {
            let listen = move || log(BufReader::new(stderr));
            thread::Builder::new().name("sayings".to_owned()).spawn(listen).map_err(failed)?;
        }
        conversation.ask(hello.to_owned())?;
        Ok(conversation)
    }

    /// What it answers to a line within the limit.
    pub(super) fn exchange(&mut self, request: String) -> Result<String, Fault> {
        let until = Instant::now() + self.limit;
        if self.owes_since.is_some() {
            // Its greeting, or what came too late and is outdated.
            let line = self.answer(until)?;
            if !self.has_greeted {
                // Whatever else it says, its lines would be out of step.
                lines::check_greeting(&line).map_err(|fault| Fault::Ended(fault.to_string()))?;
                self.has_greeted = true;
            }
        }
        self.ask(request)?;
        self.answer(until)
    }

    /// It owes nothing, so its thread takes this at once.
    fn ask(&mut self, line: String) -> Result<(), Fault> {
        self.owes_since = Some(Instant::now());
        self.requests.try_send(line).map_err(|_| Fault::Ended("its thread has ended".to_owned()))
    }

    fn answer(&mut self, until: Instant) -> Result<String, Fault> {
        match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Ok(line)) => {
                self.owes_since = None;
                Ok(line)
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::FileTooLarge => Err(Fault::TooLong),
            Ok(Err(error)) => Err(Fault::Ended(self.ending(&error))),
            Err(RecvTimeoutError::Timeout) => Err(self.silent()),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Fault::Ended("its thread has ended".to_owned()))
            }
        }
    }

    fn silent(&self) -> Fault {
        let most = if self.has_greeted { SILENCE } else { GREETING };
        let silent = self.owes_since.map_or(Duration::ZERO, |since| since.elapsed());
        match (silent > most, self.has_greeted) {
            (true, _) => Fault::Ended(format!("it was silent for {silent:.1?}")),
            (false, true) => Fault::Late(self.limit),
            (false, false) => Fault::Starting,
        }
    }

    /// How it ended, or why it can't be reached. An exit that has begun keeps its code.
    fn ending(&mut self, error: &io::Error) -> String {
        match self.kill() {
            Ok(status) if status.code().is_some() => status.to_string(),
            Ok(_) | Err(_) => error.to_string(),
        }
    }

    /// Ends it with all that it has started.
    fn kill(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        kill_group(self.child.id());
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // There is nothing else to do about it.
        self.kill().ok();
    }
}

/// Starts a program that takes neither processor time nor memory from the node: where memory is
/// short, it is the first to go.
fn spawn_below(mut command: process::Command) -> io::Result<Child> {
    // A child has the priority of the thread that starts it.
    let spawn = thread::Builder::new().name("start".to_owned()).spawn(move || {
        nice(NICENESS).ok();
        command.spawn()
    })?;
    let child =
        spawn.join().map_err(|_| io::Error::other("the thread that starts it failed"))??;
    std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), "900").ok();
    Ok(child)
}

fn exchange(
    stdin: &mut impl Write,
    stdout: &mut impl BufRead,
    mut request: String,
) -> io::Result<String> {
    request.push('\n');
    stdin.write_all(request.as_bytes())?;
    stdin.flush()?;
    line(stdout)
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    let length = from.by_ref().take(LONGEST_LINE).read_line(&mut line)?;
    match line.pop() {
        None => Err(io::ErrorKind::UnexpectedEof.into()),
        Some('\n') => Ok(line),
        Some(_) if length as u64 == LONGEST_LINE => Err(io::ErrorKind::FileTooLarge.into()),
        Some(last) => {
            line.push(last);
            Ok(line)
        }
    }
}

/// Logs what a program says on standard error, as far as that is not too much.
fn log(mut stderr: impl BufRead) {
    let (rate, burst) = SAYINGS;
    let mut bucket = Bucket::new(rate, burst, tokio::time::Instant::now());
    let mut said = Vec::new();
    while stderr.by_ref().take(SAYING).read_until(b'\n', &mut said).is_ok_and(|length| length > 0) {
        if bucket.take(tokio::time::Instant::now()) {
            let said = String::from_utf8_lossy(&said);
            warn!(said = said.trim_end(), "the program that dispatches says");
        }
        said.clear();
    }
}
