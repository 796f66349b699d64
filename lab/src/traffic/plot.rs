//! A comparison as drawings: distributions of waiting times, and the traces of cars.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{Comparison, Frame, Run, Strategy};
use crate::elections::PlotError;
use crate::elections::plot::{COLOURS, failed};
use crate::statistics::number;

/// Each panel's width and height, in pixels.
const PANEL: (u32, u32) = (420, 280);

/// The width and height of the traces of one strategy, in pixels.
const TRACE: (u32, u32) = (1_200, 360);

/// The height of the title with the legend.
const HEAD: u32 = 40;

/// The width of a name in the legend.
const NAME: u32 = 150;

/// Panels in a row.
const COLUMNS: usize = 3;

/// Points of a line at most.
const POINTS: usize = 200;

/// The share of the waiting times that the axis has room for.
const SHOWN: f64 = 0.995;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Failure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// An SVG: a panel for each cell, and in it for each strategy the share of the passengers who
/// waited no longer, over all seeds. `runs` are those of the comparison.
///
/// # Errors
/// [`PlotError`]
pub fn plot_waits(comparison: &Comparison, runs: &[Run]) -> Result<String, PlotError> {
    let count = |panels: usize| u32::try_from(panels).unwrap_or(1);
    let columns = comparison.cells.len().clamp(1, COLUMNS);
    let rows = comparison.cells.len().div_ceil(columns).max(1);
    let legend = NAME * count(comparison.strategies.len());
    let size = (legend.max(PANEL.0 * count(columns)), PANEL.1 * count(rows) + HEAD);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (head, body) = root.split_vertically(HEAD);
        draw_legend(&head, &comparison.strategies).map_err(failed)?;
        for (cell, area) in comparison.cells.iter().zip(body.split_evenly((rows, columns))) {
            let lines = comparison.strategies.iter().map(|strategy| {
                let runs = runs.iter().filter(|run| run.cell == cell.name);
                let runs = runs.filter(|run| run.strategy == *strategy);
                let mut waits: Vec<f64> = runs.flat_map(|run| run.waits.clone()).collect();
                waits.sort_by(f64::total_cmp);
                waits
            });
            draw_distribution(&area, &cell.name, &lines.collect::<Vec<_>>()).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

fn draw_legend<'a>(area: &Area<'a>, strategies: &[Strategy]) -> Result<(), Failure<'a>> {
    let mut x = 12;
    for (number, strategy) in strategies.iter().enumerate() {
        let colour = colour(number);
        area.draw(&PathElement::new(vec![(x, 20), (x + 24, 20)], colour.stroke_width(3)))?;
        area.draw(&Text::new(strategy.to_string(), (x + 30, 13), ("sans-serif", 15)))?;
        x += NAME.cast_signed();
    }
    Ok(())
}

/// `lines` are waiting times in ascending order.
fn draw_distribution<'a>(
    area: &Area<'a>,
    title: &str,
    lines: &[Vec<f64>],
) -> Result<(), Failure<'a>> {
    let last = |waits: &Vec<f64>| curve(waits).iter().rfind(|point| point.1 <= SHOWN).copied();
    let longest = lines.iter().filter_map(last).map(|point| point.0).fold(10.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(46)
        .build_cartesian_2d(0.0..longest, 0.0..1.02)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("waiting time in s")
        .y_desc("share of the passengers")
        .x_label_formatter(&|value| format!("{value:.0}"))
        .y_label_formatter(&|value| format!("{value:.1}"))
        .draw()?;
    for (number, waits) in lines.iter().enumerate() {
        let points = curve(waits).into_iter().filter(|point| point.0 <= longest);
        chart.draw_series(LineSeries::new(points, colour(number).stroke_width(2)))?;
    }
    Ok(())
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
    let rows = traces.len().max(1);
    let size = (TRACE.0, TRACE.1 * u32::try_from(rows).unwrap_or(1) + HEAD);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (head, body) = root.split_vertically(HEAD);
        head.draw(&Text::new(title, (12, 12), ("sans-serif", 17))).map_err(failed)?;
        for ((strategy, frames), area) in traces.iter().zip(body.split_evenly((rows, 1))) {
            draw_trace(&area, &strategy.to_string(), frames).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

fn draw_trace<'a>(area: &Area<'a>, title: &str, frames: &[Frame]) -> Result<(), Failure<'a>> {
    let seconds = |frame: &Frame| frame.at.as_secs_f64();
    let from = frames.first().map_or(0.0, seconds);
    let to = frames.last().map_or(1.0, seconds).max(from + 1.0);
    let floors = frames.first().map_or(2, |frame| frame.queues.len());
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(46)
        .build_cartesian_2d(from..to, -0.5..number(floors) - 0.5)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .y_labels(floors)
        .x_desc("time in s")
        .y_desc("floor")
        .x_label_formatter(&|value| format!("{value:.0}"))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    let queues = frames.iter().flat_map(|frame| {
        let waiting = (0..).zip(&frame.queues).filter(|(_, queue)| queue.iter().sum::<usize>() > 0);
        waiting.map(|(floor, _): (usize, _)| (seconds(frame), number(floor) + 0.25))
    });
    chart.draw_series(PointSeries::<_, _, Circle<_, _>, _>::new(
        queues.collect::<Vec<_>>(),
        1,
        BLACK.mix(0.35).filled(),
    ))?;
    let cars = frames.first().map_or(0, |frame| frame.cars.len());
    for car in 0..cars {
        let place = |frame: &Frame| Some((seconds(frame), frame.cars.get(car)?.height));
        let points: Vec<_> = frames.iter().filter_map(place).collect();
        chart.draw_series(LineSeries::new(points, colour(car).stroke_width(1)))?;
        let is_open = |frame: &Frame| frame.cars.get(car).is_some_and(|car| car.door > 0.0);
        for open in frames.chunk_by(|one, other| is_open(one) == is_open(other)) {
            if open.first().is_some_and(is_open) {
                let points: Vec<_> = open.iter().filter_map(place).collect();
                chart.draw_series(LineSeries::new(points, colour(car).stroke_width(4)))?;
            }
        }
    }
    Ok(())
}

fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}
