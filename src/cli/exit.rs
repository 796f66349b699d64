//! How the process ends.

use std::fmt::Write;
use std::process::ExitCode;

/// The exit codes of `liftmesh`. Their numbers and meanings stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked; a node was told to stop by SIGINT, SIGTERM, or SIGHUP from its terminal.
    Done = 0,
    /// It failed while running: a part of a node ended that should run, a command could not do its
    /// work or waited for too long, or the program panicked.
    Failed = 1,
    /// The configuration or the command line is wrong.
    Usage = 2,
    /// The car hung (F9).
    Hung = 3,
    /// The node does not run, and refuses to start, because a hang has not been cleared (F9).
    Refused = 4,
    /// No running node answers.
    NoNode = 5,
}

impl Exit {
    const ALL: [(Self, &str); 6] = [
        (Self::Done, "done, or told to stop"),
        (Self::Failed, "failed at run time; of a node, its motor is stopped"),
        (Self::Usage, "wrong configuration or command line"),
        (Self::Hung, "the car hung: the motor is stopped"),
        (Self::Refused, "latched: the node does not run, for a hang has not been cleared"),
        (Self::NoNode, "no running node answers"),
    ];

    /// The codes for `--help`.
    pub(super) fn table() -> String {
        let mut table = String::from("Exit codes:");
        for (exit, meaning) in Self::ALL {
            // Writing to a string does not fail.
            write!(table, "\n  {}  {meaning}", exit as u8).unwrap_or_default();
        }
        table
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
