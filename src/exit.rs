//! The exit codes of the process.

use std::process::ExitCode;

/// The exit codes of `liftmesh`. Their numbers and [meanings](Exit::table) stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    /// F9.
    Hung = 3,
    /// F9.
    Refused = 4,
    NoNode = 5,
}

impl Exit {
    /// The table of codes for `--help`.
    pub(crate) fn table() -> &'static str {
        "\
Exit codes:
  0  done, or told to stop
  1  failed at run time; if it was a node, its motor is stopped
  2  wrong configuration or command line
  3  the car hung: the motor is stopped
  4  latched: the node does not run because a hang has not been cleared
  5  no running node answers"
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
