//! Figures as CSV and JSON.

use std::io::Write;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Writing failed; how much was written is not known.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("the results can't be written as CSV")]
    Csv(#[from] csv::Error),
    #[error("the results can't be written as JSON")]
    Json(#[from] serde_json::Error),
    /// At the end.
    #[error("the results can't be written")]
    Io(#[from] std::io::Error),
}

/// The columns of a line of CSV, or the keys of an object, in order. What is missing is empty, or
/// null.
#[derive(Debug, Default)]
pub struct Columns(Vec<(String, Value)>);

impl Columns {
    pub(crate) fn add(&mut self, name: impl Into<String>, value: impl Serialize) {
        self.0.push((name.into(), json!(value)));
    }
}

impl Serialize for Columns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A line of CSV.
pub trait Row {
    fn columns(&self) -> Columns;
}

/// One line each, with a heading; above it, after `#`, where they come from.
///
/// # Errors
/// [`WriteError`]
pub fn write_csv(
    origin: Option<&str>,
    rows: &[impl Row],
    mut to: impl Write,
) -> Result<(), WriteError> {
    if let Some(origin) = origin {
        writeln!(to, "# {origin}")?;
    }
    let mut writer = csv::Writer::from_writer(to);
    for (number, row) in rows.iter().enumerate() {
        let (names, values): (Vec<_>, Vec<_>) = row.columns().0.into_iter().unzip();
        if number == 0 {
            writer.write_record(names)?;
        }
        writer.serialize(values)?;
    }
    Ok(writer.flush()?)
}

/// A page of JSON that ends with a line break.
pub(crate) fn write_json(page: &impl Serialize, mut to: impl Write) -> Result<(), WriteError> {
    serde_json::to_writer_pretty(&mut to, page)?;
    writeln!(to)?;
    Ok(to.flush()?)
}
