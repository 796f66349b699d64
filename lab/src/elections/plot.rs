//! A comparison as a drawing: a panel for each question.

use std::collections::BTreeSet;

use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

use super::{Figures, Situation};

/// Each panel's width and height, in pixels, and the height of the legend above them.
const PANEL: (u32, u32) = (520, 330);
const LEGEND: u32 = 64;

/// Panels in a row.
const COLUMNS: usize = 2;

/// What people with any colour vision can tell apart on white.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// The number of nodes at which losses are compared, where there is such a fleet.
const TYPICAL_SIZE: usize = 8;

/// The drawing can't be made.
#[derive(Debug, thiserror::Error)]
#[error("the drawing can't be made: {0}")]
pub struct PlotError(String);

/// What a panel answers.
#[derive(Debug, Clone, Copy)]
struct Question {
    title: &'static str,
    situation: Situation,
    across: Across,
    measure: Measure,
}

/// What a panel's horizontal axis shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Across {
    /// The number of nodes, at the smallest loss.
    Nodes,
    /// The loss, at one number of nodes.
    Loss,
}

/// What a panel's vertical axis shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Median,
    MessagesPerSecond,
    MessagesInAll,
}

const QUESTIONS: [Question; 6] = [
    Question {
        title: "How soon does one node lead when all start at once?",
        situation: Situation::Start,
        across: Across::Nodes,
        measure: Measure::Median,
    },
    Question {
        title: "How soon does another node lead when the leader dies?",
        situation: Situation::LeaderDead,
        across: Across::Nodes,
        measure: Measure::Median,
    },
    Question {
        title: "How soon does one node lead when two halves meet again?",
        situation: Situation::Merge,
        across: Across::Nodes,
        measure: Measure::Median,
    },
    Question {
        title: "What does loss do when the leader dies?",
        situation: Situation::LeaderDead,
        across: Across::Loss,
        measure: Measure::Median,
    },
    Question {
        title: "What does a protocol cost while nothing happens?",
        situation: Situation::Quiet,
        across: Across::Nodes,
        measure: Measure::MessagesPerSecond,
    },
    Question {
        title: "What does it cost to replace a leader that died?",
        situation: Situation::LeaderDead,
        across: Across::Nodes,
        measure: Measure::MessagesInAll,
    },
];

/// An SVG: a panel for each question, a line for each protocol.
///
/// # Errors
/// [`PlotError`]
pub fn plot(figures: &[Figures]) -> Result<String, PlotError> {
    let protocols = distinct(figures.iter().map(|row| row.protocol.clone()));
    let rows = QUESTIONS.len().div_ceil(COLUMNS);
    let count = |panels: usize| u32::try_from(panels).unwrap_or(1);
    let size = (PANEL.0 * count(COLUMNS), PANEL.1 * count(rows) + LEGEND);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (legend, panels) = root.split_vertically(LEGEND);
        draw_legend(&legend, &protocols).map_err(failed)?;
        for (question, panel) in QUESTIONS.iter().zip(panels.split_evenly((rows, COLUMNS))) {
            draw_panel(&panel, question, figures, &protocols).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Failure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

fn draw_legend<'a>(area: &Area<'a>, protocols: &[String]) -> Result<(), Failure<'a>> {
    area.draw(&Text::new(
        "Election protocols compared: median times and mean numbers of messages over all seeds",
        (16, 10),
        ("sans-serif", 17),
    ))?;
    let mut x = 16;
    for (index, protocol) in protocols.iter().enumerate() {
        let colour = colour(index);
        let line = vec![(x, 46), (x + 30, 46)];
        area.draw(&PathElement::new(line, colour.stroke_width(2)))?;
        area.draw(&Circle::new((x + 15, 46), radius(index), colour.filled()))?;
        area.draw(&Text::new(protocol.clone(), (x + 38, 39), ("sans-serif", 15)))?;
        x += 150;
    }
    Ok(())
}

fn draw_panel<'a>(
    area: &Area<'a>,
    question: &Question,
    figures: &[Figures],
    protocols: &[String],
) -> Result<(), Failure<'a>> {
    let lines: Vec<Vec<(f64, f64)>> =
        protocols.iter().map(|protocol| question.points(figures, protocol)).collect();
    let points = || lines.iter().flatten();
    let highest = points().fold(1.0_f64, |most, point| most.max(point.1)) * 1.1;
    let rightmost = points().fold(4.0_f64, |most, point| most.max(point.0));
    let mut builder = ChartBuilder::on(area);
    builder
        .caption(question.title, ("sans-serif", 15))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(58);
    let nodes = (2.0..rightmost).log_scale().base(2.0);
    match (question.across, question.measure) {
        (Across::Nodes, Measure::Median) => {
            let chart = builder.build_cartesian_2d(nodes, 0.0..highest)?;
            draw_lines(chart, question, figures, &lines)
        }
        (Across::Nodes, Measure::MessagesPerSecond | Measure::MessagesInAll) => {
            let chart = builder.build_cartesian_2d(nodes, (1.0..highest.max(10.0)).log_scale())?;
            draw_lines(chart, question, figures, &lines)
        }
        (Across::Loss, _) => {
            let chart = builder.build_cartesian_2d(0.0..rightmost, 0.0..highest)?;
            draw_lines(chart, question, figures, &lines)
        }
    }
}

fn draw_lines<'a, X, Y>(
    mut chart: ChartContext<'_, SVGBackend<'a>, Cartesian2d<X, Y>>,
    question: &Question,
    figures: &[Figures],
    lines: &[Vec<(f64, f64)>],
) -> Result<(), Failure<'a>>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .x_labels(6)
        .y_labels(6)
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 13))
        .x_desc(question.x_name(figures))
        .y_desc(question.measure.name())
        .x_label_formatter(&|value| format!("{value:.0}"))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    for (index, points) in lines.iter().enumerate() {
        let colour = colour(index);
        chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
        chart.draw_series(PointSeries::<_, _, Circle<_, _>, _>::new(
            points.clone(),
            radius(index),
            colour.filled(),
        ))?;
    }
    Ok(())
}

impl Question {
    /// The points of one protocol, from the left.
    fn points(&self, figures: &[Figures], protocol: &str) -> Vec<(f64, f64)> {
        let (size, loss) = (typical_size(figures), least_loss(figures));
        let rows = figures
            .iter()
            .filter(|row| row.protocol == protocol && row.situation == self.situation);
        let rows = rows.filter(|row| match self.across {
            Across::Nodes => row.loss == loss,
            Across::Loss => row.size == size,
        });
        let points = rows.filter_map(|row| {
            let x = match self.across {
                Across::Nodes => f64::from(u32::try_from(row.size).unwrap_or(u32::MAX)),
                Across::Loss => f64::from(row.loss),
            };
            let y = match self.measure {
                Measure::Median => row.median_ms?,
                // A logarithmic axis has no zero.
                Measure::MessagesPerSecond | Measure::MessagesInAll => row.messages.max(1.0),
            };
            Some((x, y))
        });
        let mut points: Vec<_> = points.collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points
    }

    fn x_name(&self, figures: &[Figures]) -> String {
        match self.across {
            Across::Nodes => format!("nodes (loss {} %)", least_loss(figures)),
            Across::Loss => format!("loss in per cent ({} nodes)", typical_size(figures)),
        }
    }
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::Median => "time in ms",
            Self::MessagesPerSecond => "messages a second (1 or fewer at the bottom)",
            Self::MessagesInAll => "messages (1 or fewer at the bottom)",
        }
    }
}

/// The size nearest to the typical one.
fn typical_size(figures: &[Figures]) -> usize {
    let sizes = figures.iter().map(|row| row.size);
    sizes.min_by_key(|size| size.abs_diff(TYPICAL_SIZE)).unwrap_or(TYPICAL_SIZE)
}

fn least_loss(figures: &[Figures]) -> u8 {
    figures.iter().map(|row| row.loss).min().unwrap_or(0)
}

fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// Where points lie on each other, the ones below stand out.
fn radius(index: usize) -> u32 {
    6 - u32::try_from(index % 5).unwrap_or(0)
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let set: BTreeSet<T> = values.collect();
    set.into_iter().collect()
}

fn failed<E: std::fmt::Display>(error: E) -> PlotError {
    PlotError(error.to_string())
}
