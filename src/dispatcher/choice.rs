//! What `dispatch.strategy` may be.

use std::fmt;
use std::str::FromStr;

use elevator_fleet::dispatch::Strategy;

const PREFIX: &str = "exec:";
const LONGEST: usize = 1024;

/// A program and its arguments, separated by spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command(String);

impl Command {
    /// The program, and its arguments.
    pub(super) fn words(&self) -> (&str, impl Iterator<Item = &str>) {
        let mut words = self.0.split_whitespace();
        (words.next().unwrap_or_default(), words)
    }
}

impl FromStr for Command {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let command = text.strip_prefix(PREFIX).ok_or(())?.trim();
        let is_right = !command.is_empty()
            && command.len() <= LONGEST
            && !command.contains(|character: char| character.is_control());
        is_right.then(|| Self(command.to_owned())).ok_or(())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

/// Who dispatches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    BuiltIn(Strategy),
    Program(Command),
}

impl FromStr for Choice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let built_in = text.parse().map(Self::BuiltIn);
        built_in.or_else(|_| text.parse().map(Self::Program))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(strategy) => strategy.fmt(f),
            Self::Program(command) => command.fmt(f),
        }
    }
}
