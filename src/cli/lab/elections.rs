//! `liftmesh lab elections`: the election protocols side by side.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use clap::Args;
use elevator_fleet::wire::Protocol;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liftmesh_lab::elections::{
    Comparison, Figures, Situation, figures, plot, write_csv, write_json,
};

use super::LabError;
use crate::cli::table::table;
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh lab elections
  liftmesh lab elections --sizes 3,8 --losses 0 --protocols bully,senior
  liftmesh lab elections --rounds 20 --csv elections.csv --json elections.json --svg elections.svg";

/// The arguments of `liftmesh lab elections`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ElectionsArgs {
    /// The protocols to compare [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = crate::cli::protocol())]
    pub(crate) protocols: Vec<Protocol>,
    /// The numbers of nodes, 2 to 200 each
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "2,3,4,8,16,32,64")]
    pub(crate) sizes: Vec<usize>,
    /// How many of a hundred packets get lost
    #[arg(long, value_name = "PERCENTAGES", value_delimiter = ',', default_value = "0,5,25",
          value_parser = clap::value_parser!(u8).range(0..=90))]
    pub(crate) losses: Vec<u8>,
    /// How many seeds of each
    #[arg(long, value_name = "NUMBER", default_value = "5", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// The first seed; equal seeds give equal figures
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,
    /// Write the figures as CSV to this file
    #[arg(long, value_name = "PATH")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the figures as JSON to this file
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,
    /// Draw the figures as SVG into this file, a panel for each question
    #[arg(long, value_name = "PATH")]
    pub(crate) svg: Option<PathBuf>,
}

impl ElectionsArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let protocols =
            if self.protocols.is_empty() { Protocol::ALL.to_vec() } else { self.protocols.clone() };
        let comparison = Comparison {
            protocols,
            sizes: self.sizes.clone(),
            losses: self.losses.clone(),
            seed: self.seed,
            rounds: self.rounds,
        };
        let bar = progress(comparison.trials().len());
        let results = comparison.run(|| bar.inc(1)).map_err(LabError::from)?;
        bar.finish_and_clear();
        let figures = figures(&results);
        self.write(&figures)?;
        output::print(&page(&figures))?;
        Ok(())
    }

    fn write(&self, figures: &[Figures]) -> Result<(), LabError> {
        if let Some(path) = &self.csv {
            write_csv(figures, create(path)?)?;
        }
        if let Some(path) = &self.json {
            write_json(figures, create(path)?)?;
        }
        if let Some(path) = &self.svg {
            std::fs::write(path, plot(figures)?)
                .map_err(|source| LabError::File { path: path.clone(), source })?;
        }
        Ok(())
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, LabError> {
    let file =
        File::create(path).map_err(|source| LabError::File { path: path.to_owned(), source })?;
    Ok(BufWriter::new(file))
}

/// Shown on standard error if that is a terminal.
fn progress(trials: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(trials as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} fleets, {eta} to go");
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

/// One table per situation.
fn page(figures: &[Figures]) -> String {
    let mut sections = Vec::new();
    for situation in Situation::ALL {
        let rows = figures.iter().filter(|row| row.situation == situation);
        let rows = rows.map(|row| {
            [
                row.protocol.clone(),
                row.size.to_string(),
                format!("{} %", row.loss),
                row.median_ms.map_or_else(|| "-".to_owned(), |time| format!("{time:.0} ms")),
                row.worst_ms.map_or_else(|| "-".to_owned(), |time| format!("{time:.0} ms")),
                format!("{} of {}", row.unsettled, row.trials),
                format!("{:.1}", row.messages),
                format!("{:.0}", row.bytes),
            ]
        });
        let unit = match situation {
            Situation::Quiet => "messages and bytes in a second",
            _ => "time until one leads; messages and bytes meanwhile",
        };
        let heading =
            ["PROTOCOL", "NODES", "LOSS", "MEDIAN", "WORST", "UNSETTLED", "MESSAGES", "BYTES"];
        let table = table(heading, rows);
        sections.push(format!("{}: {unit}\n{table}", situation.name()));
    }
    sections.join("\n")
}
