//! The times of a comparison as a drawing: a panel for each situation and loss.

use plotters::prelude::*;

use super::{Figures, Situation};

/// Each panel's width and height, in pixels.
const PANEL: (u32, u32) = (300, 230);

/// The drawing can't be made.
#[derive(Debug, thiserror::Error)]
#[error("the drawing can't be made: {0}")]
pub struct PlotError(String);

/// An SVG: the median time until one leads over the number of nodes, a line for each protocol, a
/// column for each situation, a row for each loss.
///
/// # Errors
/// [`PlotError`]
pub fn plot(figures: &[Figures]) -> Result<String, PlotError> {
    let situations: Vec<Situation> = Situation::ALL
        .into_iter()
        .filter(|situation| *situation != Situation::Quiet)
        .collect();
    let losses = distinct(figures.iter().map(|row| row.loss));
    let protocols = distinct(figures.iter().map(|row| row.protocol.clone()));
    let columns = u32::try_from(situations.len()).unwrap_or(1);
    let rows = u32::try_from(losses.len()).unwrap_or(1).max(1);
    let mut svg = String::new();
    {
        let size = (PANEL.0 * columns, PANEL.1 * rows + 30);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (legend, panels) = root.split_vertically(30);
        draw_legend(&legend, &protocols).map_err(failed)?;
        let panels = panels.split_evenly((losses.len().max(1), situations.len()));
        let places = losses
            .iter()
            .flat_map(|loss| situations.iter().map(move |situation| (*loss, *situation)));
        for ((loss, situation), panel) in places.zip(panels) {
            let of_panel: Vec<&Figures> = figures
                .iter()
                .filter(|row| (row.loss, row.situation) == (loss, situation))
                .collect();
            let title = format!("{}, loss {loss} %", situation.name());
            draw_panel(&panel, &title, &of_panel, &protocols).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Failure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

fn draw_legend<'a>(area: &Area<'a>, protocols: &[String]) -> Result<(), Failure<'a>> {
    let font = ("sans-serif", 14);
    let mut x = 10;
    for (index, protocol) in protocols.iter().enumerate() {
        let colour = Palette99::pick(index);
        area.draw(&PathElement::new(
            vec![(x, 15), (x + 24, 15)],
            colour.stroke_width(3),
        ))?;
        area.draw(&Text::new(protocol.clone(), (x + 30, 8), font))?;
        x += 140;
    }
    area.draw(&Text::new(
        "median time until one node leads, in ms, over the number of nodes",
        (x + 20, 8),
        font,
    ))
}

fn draw_panel<'a>(
    area: &Area<'a>,
    title: &str,
    rows: &[&Figures],
    protocols: &[String],
) -> Result<(), Failure<'a>> {
    let highest = rows.iter().filter_map(|row| row.median_ms);
    let highest = highest.fold(100.0_f64, f64::max) * 1.1;
    let largest = rows.iter().map(|row| nodes(row)).fold(4.0_f64, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 13))
        .margin(8)
        .x_label_area_size(22)
        .y_label_area_size(42)
        .build_cartesian_2d((2.0..largest).log_scale().base(2.0), 0.0..highest)?;
    chart
        .configure_mesh()
        .x_labels(6)
        .y_labels(5)
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|size| format!("{size:.0}"))
        .y_label_formatter(&|time| format!("{time:.0}"))
        .draw()?;
    for (index, protocol) in protocols.iter().enumerate() {
        let colour = Palette99::pick(index);
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter(|row| row.protocol == *protocol)
            .filter_map(|row| Some((nodes(row), row.median_ms?)))
            .collect();
        chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
        chart.draw_series(PointSeries::<_, _, Circle<_, _>, _>::new(
            points,
            2,
            colour.filled(),
        ))?;
    }
    Ok(())
}

fn nodes(row: &Figures) -> f64 {
    f64::from(u32::try_from(row.size).unwrap_or(u32::MAX))
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let set: std::collections::BTreeSet<T> = values.collect();
    set.into_iter().collect()
}

fn failed<E: std::fmt::Display>(error: E) -> PlotError {
    PlotError(error.to_string())
}
