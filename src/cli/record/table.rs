//! The file of a recording: a row for each call that has ended.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::calls::{Cells, Known};

const COLUMNS: &str =
    "id,kind,floor,direction,side,from,to,origin,car,placed,assigned,served,cancelled,waited";

/// Why there is no recording. The rows that were written before stay.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{}: end the name in .csv, or in .jsonl for a JSON object a line", .0.display())]
    Name(PathBuf),
    #[error("{} can't be used", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: another recording writes to it; give this one another file", .0.display())]
    Busy(PathBuf),
    #[error("{}:{line} is not a row of a recording of this version; give another file", path.display())]
    Foreign { path: PathBuf, line: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    JsonLines,
}

#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    format: Format,
    file: File,
}

impl Table {
    /// Opens or makes the file; returns what it has. The end of a row that is not whole is cut off.
    pub(super) fn open(path: &Path) -> Result<(Self, Known), RecordError> {
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Format::Csv,
            Some("jsonl") => Format::JsonLines,
            Some(_) | None => return Err(RecordError::Name(path.to_owned())),
        };
        let failed = |source| RecordError::File { path: path.to_owned(), source };
        let file = File::options().read(true).append(true).create(true).open(path);
        let mut table = Self { path: path.to_owned(), format, file: file.map_err(failed)? };
        table.file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => RecordError::Busy(path.to_owned()),
            TryLockError::Error(error) => failed(error),
        })?;
        let known = table.read()?;
        Ok((table, known))
    }

    fn read(&mut self) -> Result<Known, RecordError> {
        let path = self.path.clone();
        let failed = |source| RecordError::File { path: path.clone(), source };
        let (mut known, mut whole, mut lines) = (Known::default(), 0, 0);
        let mut reader = BufReader::new(&self.file);
        let mut line = String::new();
        loop {
            line.clear();
            let length = reader.read_line(&mut line).map_err(failed)?;
            let Some(text) = line.strip_suffix('\n') else { break };
            (whole, lines) = (whole + length as u64, lines + 1);
            if self.format == Format::Csv && lines == 1 && text == COLUMNS {
                continue;
            }
            let foreign = || RecordError::Foreign { path: path.clone(), line: lines };
            let row = self.format.row(text).ok_or_else(foreign)?;
            let cell = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
            known.insert(cell("id"), cell("id"));
            for end in ["served", "cancelled"] {
                known.note_end(cell(end));
            }
        }
        // Half a row was being written when the recorder was killed; anything else is not its own.
        let is_torn = match self.format {
            Format::Csv => lines > 0 || COLUMNS.starts_with(&line),
            Format::JsonLines => lines > 0 || serde_json::from_str::<Value>(&line).is_err(),
        };
        if !is_torn && !line.is_empty() {
            return Err(RecordError::Foreign { path, line: 1 });
        }
        self.file.set_len(whole).map_err(failed)?;
        if self.format == Format::Csv && lines == 0 {
            self.write(&format!("{COLUMNS}\n"))?;
        }
        Ok(known)
    }

    pub(super) fn append(&mut self, row: &Cells) -> Result<(), RecordError> {
        let line = match self.format {
            Format::JsonLines => Value::Object(row.clone()).to_string(),
            // Names, labels and times need no quotes.
            Format::Csv => {
                let cell = |column| row.get(column).map_or_else(String::new, plain);
                COLUMNS.split(',').map(cell).collect::<Vec<_>>().join(",")
            }
        };
        self.write(&(line + "\n"))
    }

    fn write(&mut self, text: &str) -> Result<(), RecordError> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|source| RecordError::File { path: self.path.clone(), source })
    }
}

impl Format {
    /// `None` if the line is no row.
    fn row(self, line: &str) -> Option<Cells> {
        let row: Cells = match self {
            Self::JsonLines => serde_json::from_str(line).ok()?,
            Self::Csv => {
                let named = COLUMNS.split(',').zip(line.split(','));
                let named = named.map(|(name, cell)| (name.to_owned(), cell.into())).collect();
                (line.matches(',').count() == COLUMNS.matches(',').count()).then_some(named)?
            }
        };
        row.contains_key("placed").then_some(row)
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_continued_after_its_last_whole_row() {
        let place = tempfile::tempdir().unwrap();
        let row = "a:1,hall,3,up,,,,A,B,2027-01-15T08:00:00.000Z,,2027-01-15T08:00:09.000Z,,9.0";
        let (csv, jsonl) = (place.path().join("calls.csv"), place.path().join("calls.jsonl"));
        let (table, _) = Table::open(&csv).unwrap();
        assert!(matches!(Table::open(&csv), Err(RecordError::Busy(_))));
        drop(table);
        let head = fs::read_to_string(&csv).unwrap();
        fs::write(&csv, format!("{head}{row}\na:2,hal")).unwrap();
        let json = r#"{"id":"a:1","placed":"2027-01-15T08:00:00.000Z","served":null}"#;
        fs::write(&jsonl, format!("{json}\n{{\"id\"")).unwrap();
        for (path, whole) in [(&csv, format!("{head}{row}\n")), (&jsonl, format!("{json}\n"))] {
            let (_, known) = Table::open(path).unwrap();
            assert!(format!("{known:?}").contains("a:1"), "{known:?}");
            assert_eq!(fs::read_to_string(path).unwrap(), whole);
        }
        fs::write(&csv, "name,price\n").unwrap();
        let foreign = Table::open(&csv).unwrap_err().to_string();
        assert!(foreign.contains("calls.csv:1 is not a row"), "{foreign}");
        let name = Table::open(&place.path().join("calls.txt")).unwrap_err();
        assert!(matches!(name, RecordError::Name(_)), "{name}");
    }
}
