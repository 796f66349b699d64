//! The only module that writes to standard output and standard error.

use std::error::Error;
use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::log::complaint;

/// Standard output can't be written.
#[derive(Debug, thiserror::Error)]
#[error("can't write to standard output")]
pub struct OutputError(#[from] io::Error);

impl OutputError {
    /// Whether the reader has closed the output.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.0.kind() == ErrorKind::BrokenPipe
    }
}

/// Writes a text unchanged.
///
/// # Errors
/// [`OutputError`]; an unknown part of the text was written.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// Writes what is no part of the output to standard error. If that is closed, nobody can be
/// informed.
pub(crate) fn remark(text: &str) {
    io::stderr().write_all(text.as_bytes()).unwrap_or_default();
}

/// Whether somebody watches.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Replaces the contents of the screen by a text, or appends it if the output is not a terminal.
///
/// # Errors
/// [`OutputError`]; an unknown part of the text was written.
pub(crate) fn redraw(text: &str) -> Result<(), OutputError> {
    if is_terminal() {
        // Cursor to the corner, then clear.
        print(&format!("\x1b[H\x1b[2J{text}"))
    } else {
        print(&format!("{text}\n"))
    }
}

/// Prints an error and its causes to standard error. If that is closed, nobody can be informed.
pub fn complain(error: &dyn Error) {
    remark(&complaint(error));
}
