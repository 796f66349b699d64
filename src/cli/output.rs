//! The only module that writes to standard output and standard error.

use std::error::Error;
use std::io::{self, ErrorKind, IsTerminal, Write};

use serde::Serialize;

use crate::log::complaint;

#[derive(Debug, thiserror::Error)]
#[error("can't write to standard output")]
pub struct OutputError(#[from] io::Error);

impl OutputError {
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.0.kind() == ErrorKind::BrokenPipe
    }
}

pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// A line of JSON. What this program prints has nothing that JSON could not hold.
pub(crate) fn json_line(view: &impl Serialize) -> String {
    serde_json::to_string(view).unwrap_or_else(|error| unreachable!("{error}")) + "\n"
}

/// Writes what is no part of the output to standard error, if that is open.
pub(crate) fn remark(text: &str) {
    io::stderr().write_all(text.as_bytes()).unwrap_or_default();
}

pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

pub fn complain(error: &dyn Error) {
    remark(&complaint(error));
}
