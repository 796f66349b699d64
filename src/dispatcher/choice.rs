//! What `dispatch.strategy` may be.

use std::fmt;
use std::str::FromStr;

use elevator_fleet::dispatch::Strategy;

use crate::command_line::CommandLine;

const PREFIX: &str = "exec:";

/// Who dispatches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    BuiltIn(Strategy),
    Program(CommandLine),
}

impl FromStr for Choice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.strip_prefix(PREFIX) {
            Some(command) => command.parse().map(Self::Program),
            None => text.parse().map(Self::BuiltIn).map_err(|_| ()),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(strategy) => strategy.fmt(f),
            Self::Program(command) => write!(f, "{PREFIX}{command}"),
        }
    }
}
