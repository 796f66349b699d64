//! Why a demo fails.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use elevator_simulator::control::ControlError;
use liftmesh_harness::Process;

use crate::offline::OfflineError;
use crate::tokens::TokenNameError;

/// How many lines of a log are shown.
const LOG_LINES: usize = 8;

/// Why the demo did not run, or not to a good end. All its processes are ended and its directory
/// is removed in every case.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Orders were lost.
    #[error("{} of the orders were lost: {}", .0.len(), .0.join(", "))]
    OrdersLost(Vec<String>),
    /// No order was lost, but some were not served in time.
    #[error("{seconds} s after the last passenger {} of the orders were unserved: {}", .orders.len(), .orders.join(", "))]
    Unserved {
        /// How long it was waited for.
        seconds: u64,
        /// The orders, in words.
        orders: Vec<String>,
    },
    /// No order was lost, but not everything is well after chaos.
    #[error("{seconds} s after the last passenger the fleet has not settled: {missing}")]
    NotHealed {
        /// How long it was waited for.
        seconds: u64,
        /// What was wrong.
        missing: String,
    },
    /// More cars than have names.
    #[error("the demo has room for 1 to 64 cars, not {0}: give --cars another number")]
    Cars(usize),
    /// More cars than can be looked at.
    #[error(
        "a screen has room for 1 to 12 cars, not {0}: add --headless, or give --cars another number"
    )]
    CarsOnScreen(usize),
    #[error(
        "cannot make a directory for the demo's sockets and logs in {}: set TMPDIR to a \
         directory that can be written to", .dir.display()
    )]
    Directory {
        /// Where it was to be.
        dir: PathBuf,
        source: io::Error,
    },
    /// The path of the running program.
    #[error("cannot find the path of this program, which its other processes need")]
    Program(#[source] io::Error),
    /// No token for the web panels.
    #[error(transparent)]
    Token(#[from] OfflineError),
    #[error(transparent)]
    TokenName(TokenNameError),
    /// No token can be drawn.
    #[error("the system has no random numbers")]
    Random(#[from] getrandom::Error),
    /// No free port.
    #[error(
        "cannot find a port that is free on 127.0.0.11 and its neighbours and for broadcasts to \
         127.255.255.255: is the loopback interface up?"
    )]
    Port(#[source] io::Error),
    /// A process could not be started.
    #[error("cannot start {what}")]
    Start { what: String, source: io::Error },
    /// A process ended that should not have.
    #[error("{what} ended unexpectedly ({status}); the end of its log:\n{log}")]
    Ended {
        what: String,
        /// Its exit code, in words.
        status: String,
        /// The last lines of its log.
        log: String,
    },
    /// A simulator does not answer.
    #[error("the simulator of car {car} does not answer; the end of its log:\n{log}")]
    Simulator {
        car: String,
        /// The last lines of its log.
        log: String,
        source: ControlError,
    },
    /// The fleet did not come together.
    #[error(
        "the fleet was not ready after {seconds} s ({missing}); the end of that node's log:\n{log}"
    )]
    NotReady {
        /// How long it was waited for.
        seconds: u64,
        /// What was missing.
        missing: String,
        /// The last lines of its log.
        log: String,
    },
    /// Signals.
    #[error("cannot handle the signals that end the demo")]
    Signals(#[source] io::Error),
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The terminal, or whatever the standard output is.
    #[error("cannot write to the terminal or the standard output; try --headless")]
    Output(#[source] io::Error),
}

impl DemoError {
    /// That a process ended although it should not have.
    pub(super) fn ended(process: &Process, status: ExitStatus) -> Self {
        let (what, status) = (process.name().to_owned(), status.to_string());
        Self::Ended { what, status, log: log_of(process) }
    }
}

/// The end of a process's log.
pub(super) fn log_of(process: &Process) -> String {
    process.last_lines(LOG_LINES)
}
