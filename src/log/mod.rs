//! The log of a running node, on standard error or in the system's journal.
//!
//! ```text
//!   tracing ─▶ line  ─▶ bounded queue ─▶ thread `log` ─▶ standard error
//!           └▶ entry ─▶ bounded queue ─▶ thread `log` ─▶ the system's journal
//! ```
//!
//! Logging never waits: if nobody reads, or the disk is full, lines are dropped and counted
//! ([`lost`]). Panics are logged as well, so that nothing else in the process writes to standard
//! error.

mod filter;
mod format;
mod journal;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::Cell;
use std::error::Error;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::Duration;

use rustix::fs::FileType;
use tracing::error;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

pub(crate) use self::filter::LogFilter;
use self::format::Fields;
use self::journal::Journal;

/// How long what waits may take to be written when the process ends, and the journal to be opened.
const FLUSH_LIMIT: Duration = Duration::from_millis(500);

/// The bound of the queue of lines. Further ones are dropped and counted.
const QUEUE: usize = 4096;

/// The lines that had room in the queue and could not be written, and the entries without room.
static LOST: AtomicU64 = AtomicU64::new(0);

/// The lines that had no room in the queue.
static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// How many lines were lost so far: not read in time, or not written.
pub(crate) fn lost() -> u64 {
    let dropped = DROPPED.get().map_or(0, ErrorCounter::dropped_lines);
    LOST.load(Ordering::Relaxed).saturating_add(u64::try_from(dropped).unwrap_or(u64::MAX))
}

/// Standard error. The thread of `tracing-appender` does not count what can't be written.
struct Output(File);

impl Write for Output {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.write_all(line).is_err() {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the log can't be started")]
pub struct LogError(#[source] io::Error);

impl From<TryInitError> for LogError {
    fn from(error: TryInitError) -> Self {
        Self(io::Error::other(error))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct LogSettings {
    pub(crate) filter: LogFilter,
    pub(crate) format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For the system's journal where standard error leads there, for people otherwise.
    Auto,
    /// With times and, on a terminal, colours.
    Human,
    /// Entries of the system's journal, with their fields; for people where there is none.
    Journal,
    /// A JSON object a line.
    Json,
}

/// The running log. Only [`finish`](Self::finish) ends it.
#[derive(Debug)]
pub struct Log {
    /// Where lines for people go.
    people: Option<NonBlocking>,
    thread: Thread,
}

/// Who writes.
#[derive(Debug)]
enum Thread {
    Lines(WorkerGuard),
    Journal(Journal),
}

/// Starts the log.
///
/// # Errors
/// [`LogError`]: nothing is logged.
pub fn start(settings: &LogSettings) -> Result<Log, LogError> {
    let log = tracing_subscriber::registry().with(settings.filter.0.clone());
    let is_for_journal = match settings.format {
        LogFormat::Auto => leads_to_journal(),
        LogFormat::Journal => true,
        LogFormat::Human | LogFormat::Json => false,
    };
    let journal = is_for_journal.then(|| Journal::start(journal::of_system)).flatten();
    let log = if let Some(journal) = journal {
        log.with(journal.clone()).try_init()?;
        Log { people: None, thread: Thread::Journal(journal) }
    } else {
        // Not through `io::stderr`, whose lock the thread would hold while nobody reads.
        let output = io::stderr().as_fd().try_clone_to_owned();
        let output = Output(File::from(output.map_err(LogError)?));
        let queue = NonBlockingBuilder::default().buffered_lines_limit(QUEUE).thread_name("log");
        let (pen, guard) = queue.finish(output);
        DROPPED.get_or_init(|| pen.error_counter());
        // Errors of its own it would write to standard error itself, and panic where it can't.
        let lines = fmt::layer().with_writer(pen.clone()).log_internal_errors(false);
        let is_json = settings.format == LogFormat::Json;
        if is_json {
            let objects = lines.json().flatten_event(true);
            log.with(objects.with_current_span(false).with_span_list(false)).try_init()?;
        } else {
            let is_terminal = io::stderr().is_terminal();
            log.with(lines.fmt_fields(Fields).with_ansi(is_terminal)).try_init()?;
        }
        Log { people: (!is_json).then_some(pen), thread: Thread::Lines(guard) }
    };
    panic::set_hook(Box::new(log_panic));
    Ok(log)
}

impl Log {
    /// Writes an error and its causes as the last line: for people, or in the log's format.
    pub fn complain(&self, failure: &dyn Error) {
        let text = complaint(failure);
        if let Some(people) = &self.people {
            // It never fails.
            people.clone().write_all(text.as_bytes()).unwrap_or_default();
        } else {
            error!("{}", text.trim_end());
        }
    }

    /// Waits until everything is written, for [`FLUSH_LIMIT`] at most.
    pub fn finish(self) {
        match self.thread {
            Thread::Journal(journal) => journal.flush(),
            Thread::Lines(guard) => {
                // The end of the guard may take longer, and print.
                let (ended, end) = sync_channel::<()>(0);
                let ending = thread::Builder::new().spawn(move || drop((guard, ended)));
                if ending.is_ok() {
                    end.recv_timeout(FLUSH_LIMIT).unwrap_or_default();
                }
            }
        }
    }
}

/// An error and its causes in one line.
pub(crate) fn complaint(error: &dyn Error) -> String {
    let chain = std::iter::successors(Some(error), |&error| error.source());
    let chain: Vec<_> = chain.map(ToString::to_string).collect();
    format!("liftmesh: {}\n", chain.join(": "))
}

/// A time as the log has it, in a field whose name ends in `_ms`.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Whether standard error is the journal's own stream, which `JOURNAL_STREAM` names.
fn leads_to_journal() -> bool {
    let (journal, stream) = (std::env::var("JOURNAL_STREAM"), rustix::fs::fstat(io::stderr()));
    journal.is_ok_and(|journal| {
        stream.is_ok_and(|stream| {
            FileType::from_raw_mode(stream.st_mode).is_socket()
                && journal == format!("{}:{}", stream.st_dev, stream.st_ino)
        })
    })
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let location = panic.location().map(ToString::to_string);
    let backtrace = Backtrace::capture();
    let trace = match backtrace.status() {
        BacktraceStatus::Captured => backtrace.to_string(),
        _ => String::new(),
    };
    error!(
        thread = thread.name().unwrap_or("unnamed"),
        location,
        reason = panic.payload_as_str().unwrap_or("no message"),
        trace,
        "a thread panicked: this is a bug, please report it"
    );
}

thread_local! {
    static PANICS_ARE_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a library that panics on damaged files: returns what the panic said, and logs nothing.
pub(crate) fn expecting_panics<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !PANICS_ARE_EXPECTED.get() {
                loud(panic);
            }
        }));
    });
    let before = PANICS_ARE_EXPECTED.replace(true);
    let called = panic::catch_unwind(AssertUnwindSafe(call));
    PANICS_ARE_EXPECTED.set(before);
    called.map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("no message").to_owned()
    })
}
