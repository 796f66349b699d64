//! The files of an experiment, and the bar that shows how far it is.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liftmesh_lab::Script;
use liftmesh_lab::elections::{PlotError, Row, WriteError, write_csv};

use super::LabError;

#[derive(Debug, Clone, Args)]
pub(super) struct Files {
    /// Write every run as CSV to this file, compressed if its name ends in .gz
    #[arg(long, value_name = "PATH")]
    pub(super) csv: Option<PathBuf>,
    /// Write the summary as JSON to this file, compressed if its name ends in .gz
    #[arg(long, value_name = "PATH")]
    pub(super) json: Option<PathBuf>,
    /// Plot the results as SVG to this file
    #[arg(long, value_name = "PATH")]
    pub(super) svg: Option<PathBuf>,
}

impl Files {
    /// Opens every file, and changes none: one that can't be written shows before the runs.
    pub(super) fn touch(&self) -> Result<(), LabError> {
        for path in [&self.csv, &self.json, &self.svg].into_iter().flatten() {
            let file = File::options().append(true).create(true).open(path);
            file.map_err(|source| LabError::File { path: path.clone(), source })?;
        }
        Ok(())
    }

    pub(super) fn write(
        &self,
        runs: &[impl Row],
        origin: Option<&str>,
        write_json: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>,
        plot: impl FnOnce() -> Result<String, PlotError>,
    ) -> Result<(), LabError> {
        if let Some(path) = &self.csv {
            write_file(path, |to| write_csv(origin, runs, to))?;
        }
        if let Some(path) = &self.json {
            write_file(path, write_json)?;
        }
        if let Some(path) = &self.svg {
            write_drawing(path, &plot()?)?;
        }
        Ok(())
    }
}

/// Writes a file, compressed if its name ends in `.gz`. The same content gives the same bytes.
pub(super) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>,
) -> Result<(), LabError> {
    let failed = |source| LabError::File { path: path.to_owned(), source };
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut encoder = GzEncoder::new(file, Compression::best());
        write(&mut encoder)?;
        file = encoder.finish().map_err(failed)?;
    } else {
        write(&mut file)?;
    }
    file.flush().map_err(failed)
}

pub(super) fn read_script(path: &Path) -> Result<Script, LabError> {
    let path = path.to_owned();
    let text = std::fs::read_to_string(&path)
        .map_err(|source| LabError::Unreadable { path: path.clone(), source })?;
    let script: Script = serde_json::from_str(&text)
        .map_err(|source| LabError::NoScript { path: path.clone(), source })?;
    script.check().map_err(|source| LabError::Script { path, source })?;
    Ok(script)
}

pub(super) fn write_drawing(path: &Path, svg: &str) -> Result<(), LabError> {
    write_file(path, |to| Ok(to.write_all(svg.as_bytes())?))
}

pub(super) fn progress(length: u64, template: &str) -> ProgressBar {
    let target = ProgressDrawTarget::stderr();
    let bar = ProgressBar::with_draw_target(Some(length), target);
    let style = ProgressStyle::with_template(template);
    style.map_or(bar.clone(), |style| bar.with_style(style))
}
