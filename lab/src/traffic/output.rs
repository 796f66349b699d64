//! Runs and summaries as files.

use std::io::Write;

use serde::Serialize;

use super::{Difference, Figures, Run, Summary};
use crate::elections::WriteError;

/// One run as a line of CSV.
#[derive(Serialize)]
struct Row<'a> {
    cell: &'a str,
    strategy: String,
    seed: u64,
    passengers: usize,
    served_percent: f64,
    saturated: Option<String>,
    awt_s: Option<f64>,
    p90_s: Option<f64>,
    p99_s: Option<f64>,
    over_60_percent: Option<f64>,
    squared_wait_s2: Option<f64>,
    attd_s: Option<f64>,
    longest_s: f64,
    wrong_way_percent: f64,
    starts: u32,
    metres: f64,
    plans: u32,
    plan_mean_us: f64,
    plan_longest_us: f64,
}

impl<'a> From<&'a Run> for Row<'a> {
    fn from(run: &'a Run) -> Self {
        let figure =
            |of: fn(&Figures) -> f64| run.figures.ok().flatten().map(|all| round(of(&all)));
        let micros = |time: std::time::Duration| round(time.as_secs_f64() * 1e6);
        Self {
            cell: &run.cell,
            strategy: run.strategy.to_string(),
            seed: run.seed,
            passengers: run.passengers,
            served_percent: round(run.served),
            saturated: run.figures.err().map(|why| why.to_string()),
            awt_s: figure(|figures| figures.awt),
            p90_s: figure(|figures| figures.p90),
            p99_s: figure(|figures| figures.p99),
            over_60_percent: figure(|figures| figures.over_60),
            squared_wait_s2: figure(|figures| figures.squared),
            attd_s: figure(|figures| figures.attd),
            longest_s: round(run.longest),
            wrong_way_percent: round(run.wrong_way),
            starts: run.starts,
            metres: round(run.metres),
            plans: run.plans,
            plan_mean_us: micros(run.plan_mean),
            plan_longest_us: micros(run.plan_longest),
        }
    }
}

/// One line a run, with a heading.
///
/// # Errors
/// [`WriteError`]
pub fn write_runs(runs: &[Run], to: impl Write) -> Result<(), WriteError> {
    let mut writer = csv::Writer::from_writer(to);
    for run in runs {
        writer.serialize(Row::from(run))?;
    }
    writer.flush()?;
    Ok(())
}

/// An object with the lists `summaries` and `differences`.
///
/// # Errors
/// [`WriteError`]
pub fn write_json(
    summaries: &[Summary],
    differences: &[Difference],
    mut to: impl Write,
) -> Result<(), WriteError> {
    #[derive(Serialize)]
    struct Page<'a> {
        summaries: &'a [Summary],
        differences: &'a [Difference],
    }
    serde_json::to_writer_pretty(&mut to, &Page { summaries, differences })?;
    writeln!(to)?;
    to.flush()?;
    Ok(())
}

fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}
