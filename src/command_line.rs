//! Other people's programs that the node starts.

use std::fmt;
use std::str::FromStr;

use rustix::process::{Pid, Signal, kill_process_group};

const LONGEST: usize = 1024;

/// A program and its arguments, separated by spaces. No shell reads it, so nothing can be quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandLine(String);

impl CommandLine {
    /// The program, and its arguments.
    pub(crate) fn words(&self) -> (&str, impl Iterator<Item = &str>) {
        let mut words = self.0.split_whitespace();
        (words.next().unwrap_or_default(), words)
    }
}

impl FromStr for CommandLine {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim();
        let is_odd =
            |it: char| it.is_control() && !it.is_whitespace() || ['\'', '"', '\\'].contains(&it);
        let is_right = !text.is_empty() && text.len() <= LONGEST && !text.contains(is_odd);
        is_right.then(|| Self(text.to_owned())).ok_or(())
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Ends a program that leads a process group, with all that it has started in it. All may have
/// ended by themselves; its number is its own until it has been waited for.
pub(crate) fn kill_group(leader: u32) {
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        kill_process_group(group, Signal::KILL).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_has_words_and_nothing_quoted() {
        let command: CommandLine = " page --to\ta ".parse().expect("a command line");
        let (program, arguments) = command.words();
        assert_eq!((program, arguments.collect::<Vec<_>>()), ("page", vec!["--to", "a"]));
        let long = "x".repeat(LONGEST + 1);
        for wrong in ["", " ", "page 'all of them'", r"a\ b", "a\0b", long.as_str()] {
            assert!(wrong.parse::<CommandLine>().is_err(), "{wrong}");
        }
    }
}
