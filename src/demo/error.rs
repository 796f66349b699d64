//! Why a demo fails.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use elevator_simulator::control::ControlError;
use liftmesh_harness::Process;

use crate::config::ConfigErrors;
use crate::offline::OfflineError;
use crate::tokens::TokenNameError;

const LOG_LINES: usize = 8;

/// Why the demo did not start, or failed. All its processes are ended and its directory
/// is removed in every case.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("{} of the orders were lost: {}", .0.len(), .0.join(", "))]
    OrdersLost(Vec<String>),
    #[error("{seconds} s after the last passenger {} of the orders were unserved: {}", .orders.len(), .orders.join(", "))]
    Unserved { seconds: u64, orders: Vec<String> },
    #[error("{seconds} s after the last passenger the fleet has not settled: {missing}")]
    NotHealed { seconds: u64, missing: String },
    #[error(
        "cannot make a directory for the demo's sockets and logs in {}: set TMPDIR to a \
         directory that can be written to", .dir.display()
    )]
    Directory { dir: PathBuf, source: io::Error },
    #[error(transparent)]
    Building(#[from] ConfigErrors),
    #[error(
        "a demo has 1 to 12 cars and at most 40 floors, and the building has {cars} and {floors}"
    )]
    Large { cars: usize, floors: u8 },
    #[error("the building's car {0:?} has a name that no node can have")]
    CarName(String),
    #[error(transparent)]
    Token(#[from] OfflineError),
    #[error(transparent)]
    TokenName(#[from] TokenNameError),
    #[error("the system has no random numbers")]
    Random(#[from] getrandom::Error),
    #[error(
        "no port is free both on 127.0.0.11 and its neighbours and for broadcasts to \
         127.255.255.255: is the loopback interface up?"
    )]
    Port(#[source] io::Error),
    #[error("cannot start {what}")]
    Start { what: String, source: io::Error },
    #[error("{what} ended unexpectedly ({status}); the end of its log:\n{log}")]
    Ended { what: String, status: String, log: String },
    #[error("the simulator of car {car} does not answer; the end of its log:\n{log}")]
    Simulator { car: String, log: String, source: ControlError },
    #[error(
        "the fleet was not ready after {seconds} s ({missing}); the end of that node's log:\n{log}"
    )]
    NotReady { seconds: u64, missing: String, log: String },
    #[error("the system refuses what the demo needs")]
    System(#[source] io::Error),
    #[error("cannot write to the terminal or the standard output; try --headless")]
    Output(#[source] io::Error),
}

impl DemoError {
    pub(super) fn ended(process: &Process, status: ExitStatus) -> Self {
        let (what, status) = (process.name().to_owned(), status.to_string());
        Self::Ended { what, status, log: log_of(process) }
    }
}

pub(super) fn log_of(process: &Process) -> String {
    process.last_lines(LOG_LINES)
}
