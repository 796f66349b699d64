//! A running program, and the thread that talks to it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{self, Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tracing::warn;

use super::{Command, Fault, Place, message};
use crate::bucket::Bucket;

pub(super) const LONGEST_LINE: u64 = 1 << 20;

/// How long a program may take to greet, and to answer before it is started again.
const GREETING: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(1);

/// What it may say on standard error: so many lines a second, and at once after a pause.
const SAYINGS: (f64, f64) = (1.0, 20.0);

#[derive(Debug)]
pub(super) struct Conversation {
    child: Child,
    requests: SyncSender<String>,
    answers: Receiver<io::Result<String>>,
    limit: Option<Duration>,
    /// Since when it owes an answer.
    owes_since: Option<Instant>,
    has_greeted: bool,
}

impl Conversation {
    pub(super) fn start(command: &Command, place: Place, hello: &str) -> Result<Self, Fault> {
        let failed = |error: io::Error| Fault::Start(error.to_string());
        let (program, arguments) = command.words();
        let mut process = process::Command::new(program);
        process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let limit = match place {
            Place::Fleet(limit) => {
                process.env_clear().stderr(Stdio::piped());
                Some(limit)
            }
            Place::Lab => None,
        };
        let mut child = process.spawn().map_err(failed)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (requests, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let mut conversation =
            Self { limit, requests, answers, owes_since: None, has_greeted: false, child };
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
        let until = self.limit.map(|limit| Instant::now() + limit);
        if self.owes_since.is_some() {
            // Its greeting, or what came too late and is outdated.
            let line = self.answer(until)?;
            if !self.has_greeted {
                message::check_greeting(&line)?;
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

    fn answer(&mut self, until: Option<Instant>) -> Result<String, Fault> {
        let answer = match until {
            None => self.answers.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => {
                self.answers.recv_timeout(until.saturating_duration_since(Instant::now()))
            }
        };
        match answer {
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
            (false, true) => Fault::Late(self.limit.unwrap_or_default()),
            (false, false) => Fault::Starting,
        }
    }

    /// How it ended, or why there is no talking to it.
    fn ending(&mut self, error: &io::Error) -> String {
        match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            Ok(None) | Err(_) => error.to_string(),
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // It may have ended by itself; nothing else can go wrong with one's own child.
        self.child.kill().ok();
        self.child.wait().ok();
    }
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
    while let Ok(said) = line(&mut stderr) {
        if bucket.take(tokio::time::Instant::now()) {
            warn!(said, "the program that dispatches says");
        }
    }
}
