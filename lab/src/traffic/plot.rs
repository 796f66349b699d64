//! A comparison as drawings: distributions of waiting times, and the traces of cars.

use super::{Comparison, Frame, Run, Strategy};
use crate::plot::{Axis, Drawing, Line, Panel, PlotError};
use crate::statistics::number;

/// Points of a line at most.
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
            line(number, points, 2)
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

fn line(number: usize, points: Vec<(f64, f64)>, width: u32) -> Line {
    Line { number, points, width, dots: 0, label: String::new() }
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

/// An SVG: a panel for each strategy, and in it the way of each car over time. A thick line is an
/// open door; dots are landings where passengers wait.
///
/// # Errors
/// [`PlotError`]
pub fn plot_trace(title: &str, traces: &[(Strategy, Vec<Frame>)]) -> Result<String, PlotError> {
    let panels = traces.iter().map(|(strategy, frames)| trace(strategy.to_string(), frames));
    let (title, names, panels) = (title.to_owned(), Vec::new(), panels.collect());
    Drawing { title, names, columns: 1, size: (1_200, 360), panels }.svg()
}

fn trace(title: String, frames: &[Frame]) -> Panel {
    let seconds = |frame: &Frame| frame.at.as_secs_f64();
    let from = frames.first().map_or(0.0, seconds);
    let to = frames.last().map_or(1.0, seconds).max(from + 1.0);
    let floors = frames.first().map_or(2, |frame| frame.queues.len());
    let queues = frames.iter().flat_map(|frame| {
        let waiting = (0..).zip(&frame.queues).filter(|(_, queue)| queue.iter().sum::<usize>() > 0);
        waiting.map(|(floor, _): (usize, _)| (seconds(frame), number(floor) + 0.25))
    });
    let cars = frames.first().map_or(0, |frame| frame.cars.len());
    let mut lines = vec![Line { dots: 1, ..line(cars, queues.collect(), 0) }];
    for car in 0..cars {
        let place = |frame: &Frame| Some((seconds(frame), frame.cars.get(car)?.height));
        lines.push(line(car, frames.iter().filter_map(place).collect(), 1));
        let is_open = |frame: &Frame| frame.cars.get(car).is_some_and(|car| car.door > 0.0);
        for open in frames.chunk_by(|one, other| is_open(one) == is_open(other)) {
            if open.first().is_some_and(is_open) {
                lines.push(line(car, open.iter().filter_map(place).collect(), 4));
            }
        }
    }
    let (name, floor) = ("time in s".to_owned(), "floor".to_owned());
    Panel {
        title,
        x: Axis { name, range: from..to, base: None },
        y: Axis { name: floor, range: -0.5..number(floors) - 0.5, base: None },
        lines,
    }
}
