//! The only place that writes to standard output and standard error for people.

use std::error::Error;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Standard output can't be written to.
#[derive(Debug, thiserror::Error)]
#[error("the standard output can't be written to")]
pub struct OutputError(#[from] io::Error);

impl OutputError {
    /// Whoever read the output has closed it.
    #[must_use]
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.0.kind() == ErrorKind::BrokenPipe
    }
}

/// Writes a text as it is.
///
/// # Errors
/// [`OutputError`]; how much was written is not known.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// Writes a text in place of what is on the screen, or after it where the output is no terminal.
///
/// # Errors
/// [`OutputError`]; how much was written is not known.
pub(crate) fn redraw(text: &str) -> Result<(), OutputError> {
    if io::stdout().is_terminal() {
        // Cursor to the corner, then clear.
        print(&format!("\x1b[H\x1b[2J{text}"))
    } else {
        print(&format!("{text}\n"))
    }
}

/// Tells an error and its causes on standard error. Where that is closed there is nobody to tell.
pub fn complain(error: &dyn Error) {
    let text = complaint(error);
    io::stderr().write_all(text.as_bytes()).unwrap_or_default();
}

/// An error and its causes, as one line.
#[must_use]
pub(crate) fn complaint(error: &dyn Error) -> String {
    let mut text = format!("liftmesh: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text.push('\n');
    text
}
