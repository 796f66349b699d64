//! The exit codes of the process.

use std::fmt::Write;
use std::process::ExitCode;

/// The exit codes of `liftmesh`. Their numbers and meanings stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success; a node was told to stop by SIGINT or SIGTERM.
    Done = 0,
    /// A failure while running: a required part of a node ended, a command failed or timed out, or
    /// the program panicked.
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
        (Self::Failed, "failed at run time; if it was a node, its motor is stopped"),
        (Self::Usage, "wrong configuration or command line"),
        (Self::Hung, "the car hung: the motor is stopped"),
        (Self::Refused, "latched: the node does not run because a hang has not been cleared"),
        (Self::NoNode, "no running node answers"),
    ];

    /// The table of codes for `--help`.
    pub(crate) fn table() -> String {
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
