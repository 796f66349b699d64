//! The log of a running node, on standard error.
//!
//! ```text
//!   tracing ─▶ Format ─▶ bounded queue ─▶ thread `log` ─▶ standard error, or the system's journal
//! ```
//!
//! Logging never waits: if nobody reads standard error, or its disk is full, lines are dropped and
//! counted ([`lost`]), and the log reports the number once it can be written again. Panics are
//! logged as well, so that nothing else in the process writes to standard error.
//!
//! `queue.rs` has the thread, `format.rs` the format of lines, `journal.rs` the system's journal,
//! `filter.rs` the values of `log.filter`.

mod filter;
mod format;
mod journal;
mod queue;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::Cell;
use std::error::Error;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;
use std::time::Duration;

use rustix::fs::FileType;
use tracing::metadata::Level;
use tracing::{Event, error};
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

pub(crate) use self::filter::LogFilter;
use self::format::{Fields, Prefixed};
use self::journal::Journal;
use self::queue::Queue;
pub(crate) use self::queue::{lost, queued};

/// How long what waits may take to be written when the process ends.
pub(crate) const FLUSH_LIMIT: Duration = Duration::from_millis(500);

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// There is no standard error, or no thread for the log.
    #[error("the log can't be started")]
    Thread(#[source] io::Error),
    /// There is a log already.
    #[error("the log can't be started")]
    Start(#[from] TryInitError),
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    pub(crate) filter: LogFilter,
    /// How it looks.
    pub(crate) format: LogFormat,
}

/// How the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For the system's journal where standard error leads there, for people otherwise.
    Auto,
    /// With times and, on a terminal, colours.
    Human,
    /// With neither, and with priorities, for the system's journal.
    Journal,
    /// A JSON object a line, with its priority before it for the system's journal.
    Json,
}

/// The running log. It continues when this is dropped; [`finish`](Self::finish) flushes it.
#[derive(Debug)]
pub struct Log {
    queue: Queue,
    look: Look,
}

/// The format of the lines in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    People,
    Journal,
    Json,
    JsonForJournal,
}

/// Starts the log.
///
/// # Errors
/// [`LogError`]: nothing is logged.
pub fn start(settings: &LogSettings) -> Result<Log, LogError> {
    // Not through `io::stderr`, whose lock the thread would hold while nobody reads.
    let output = io::stderr().as_fd().try_clone_to_owned();
    let output = File::from(output.map_err(LogError::Thread)?);
    let stream = std::env::var("JOURNAL_STREAM").ok();
    let look = look_of(settings.format, stream.as_deref());
    // Without it, the lines reach the journal by standard error, and have their priorities alone.
    let journal = match look {
        Look::Journal | Look::JsonForJournal if is_the_journals(stream.as_deref()) => {
            Journal::system().ok()
        }
        Look::People | Look::Journal | Look::Json | Look::JsonForJournal => None,
    };
    let has_fields = journal.is_some();
    let queue = Queue::start(output, journal).map_err(LogError::Thread)?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(settings.filter.to_env_filter())
        .with_writer(queue.pen())
        // It would write to standard error itself, and panic where it can't.
        .log_internal_errors(false);
    match look {
        Look::People => {
            log.fmt_fields(Fields).with_ansi(io::stderr().is_terminal()).finish().try_init()?;
        }
        Look::Journal => log
            .fmt_fields(Fields)
            .with_ansi(false)
            .event_format(Prefixed::text().with_fields(has_fields))
            .finish()
            .try_init()?,
        Look::Json => {
            log.fmt_fields(JsonFields::new()).event_format(format::json()).finish().try_init()?;
        }
        Look::JsonForJournal => log
            .fmt_fields(JsonFields::new())
            .event_format(Prefixed::json().with_fields(has_fields))
            .finish()
            .try_init()?,
    }
    panic::set_hook(Box::new(log_panic));
    Ok(Log { queue, look })
}

impl Log {
    /// Writes an error and its causes as the last lines: as text for people, and in the log's
    /// format if a program reads it.
    pub fn complain(&self, failure: &dyn Error) {
        let text = complaint(failure);
        match self.look {
            Look::People => self.queue.pen().write_line(text.as_bytes()),
            Look::Journal => {
                let lines = format::prefix(Level::ERROR, &text);
                let entry = journal::with_fields(lines, Level::ERROR, &text, None::<&Event<'_>>);
                self.queue.pen().write_line(entry.as_bytes());
            }
            Look::Json | Look::JsonForJournal => error!("{}", text.trim_end()),
        }
    }

    /// Waits until everything is written, for [`FLUSH_LIMIT`] at most. The rest is lost: a reader
    /// that does not read must not keep the process from ending.
    pub fn finish(self) {
        self.queue.flush(FLUSH_LIMIT);
    }
}

/// An error and its causes in one line.
#[must_use]
pub(crate) fn complaint(error: &dyn Error) -> String {
    let mut text = format!("liftmesh: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text.push('\n');
    text
}

/// A time in the format of the log: a whole number of milliseconds, in a field whose name ends in
/// `_ms`.
#[must_use]
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn look_of(format: LogFormat, journal: Option<&str>) -> Look {
    match format {
        LogFormat::Journal => Look::Journal,
        LogFormat::Json if leads_to(journal) => Look::JsonForJournal,
        LogFormat::Json => Look::Json,
        LogFormat::Auto if leads_to(journal) => Look::Journal,
        LogFormat::Human | LogFormat::Auto => Look::People,
    }
}

/// The system names the journal's stream in `JOURNAL_STREAM`; standard error may still lead
/// elsewhere.
fn leads_to(journal: Option<&str>) -> bool {
    let stream = rustix::fs::fstat(io::stderr()).ok();
    let stream = stream.map(|stream| format!("{}:{}", stream.st_dev, stream.st_ino));
    journal.is_some() && stream.as_deref() == journal
}

/// Whether standard error is the journal's own stream, which is a socket, and not a file that a
/// supervisor passes off as one.
fn is_the_journals(journal: Option<&str>) -> bool {
    let is_socket = |stream: rustix::fs::Stat| FileType::from_raw_mode(stream.st_mode).is_socket();
    leads_to(journal) && rustix::fs::fstat(io::stderr()).is_ok_and(is_socket)
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
        "a thread panicked: this is a fault of the program, please report it"
    );
}

thread_local! {
    static PANICS_ARE_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a library that panics on damaged files. Nothing is logged of such a panic: the file is at
/// fault, not the program.
///
/// # Errors
/// What the panic said.
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
