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

/// Formats rows under a heading. Each column is as wide as its widest cell, indented by two spaces.
pub(crate) fn table<'a>(
    heading: impl AsRef<[&'a str]>,
    rows: impl IntoIterator<Item = impl AsRef<[String]>>,
) -> String {
    let heading = heading.as_ref().iter().copied().map(str::to_owned).collect();
    let mut lines: Vec<Vec<String>> = vec![heading];
    lines.extend(rows.into_iter().map(|row| row.as_ref().to_vec()));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<_> = (0..lines[0].len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str("  ");
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
