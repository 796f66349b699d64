//! A comparison as a drawing: distributions of waiting times.

use super::{Comparison, Run};
use crate::plot::{Axis, Drawing, Line, Panel, PlotError};
use crate::statistics::number;

const POINTS: usize = 200;

/// The share of the waiting times that the axis has room for.
const SHOWN: f64 = 0.995;

/// An SVG: a panel for each cell, and in it for each strategy the share of the passengers who
/// waited no longer, over all seeds. `runs` are those of the comparison.
///
/// # Errors
/// [`PlotError`]
pub fn plot_waits(comparison: &Comparison, runs: &[Run]) -> Result<String, PlotError> {
    let panels = comparison.cells.iter().map(|cell| {
        let curves = comparison.strategies.iter().map(|strategy| {
            let is_its = |run: &&Run| run.cell == cell.name && run.strategy == *strategy;
            let runs = runs.iter().filter(is_its);
            let mut waits: Vec<f64> = runs.flat_map(|run| run.waits.clone()).collect();
            waits.sort_by(f64::total_cmp);
            curve(&waits)
        });
        let curves: Vec<_> = curves.collect();
        let last = |curve: &Vec<(f64, f64)>| curve.iter().rfind(|point| point.1 <= SHOWN).copied();
        let longest = curves.iter().filter_map(last).map(|point| point.0).fold(10.0, f64::max);
        let lines = curves.into_iter().enumerate().map(|(number, mut points)| {
            points.retain(|point| point.0 <= longest);
            Line { number, points, width: 2, dots: 0, label: String::new() }
        });
        let name = "waiting time in s".to_owned();
        let share = "share of the passengers".to_owned();
        Panel {
            title: cell.name.clone(),
            x: Axis { name, range: 0.0..longest, base: None },
            y: Axis { name: share, range: 0.0..1.02, base: None },
            lines: lines.collect(),
        }
    });
    Drawing {
        title: "Waiting times compared".to_owned(),
        names: comparison.strategies.iter().map(ToString::to_string).collect(),
        columns: comparison.cells.len().clamp(1, 3),
        size: (420, 280),
        panels: panels.collect(),
    }
    .svg()
}

/// The distribution of these times, from the bottom.
fn curve(ascending: &[f64]) -> Vec<(f64, f64)> {
    let every = ascending.len().div_ceil(POINTS).max(1);
    let share = |rank: usize| number(rank) / number(ascending.len());
    let points =
        (1..).zip(ascending).filter(|(rank, _)| rank % every == 0 || *rank == ascending.len());
    let start = ascending.first().map(|first| (*first, 0.0));
    start.into_iter().chain(points.map(|(rank, wait)| (*wait, share(rank)))).collect()
}
