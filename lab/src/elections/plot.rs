//! A comparison as a drawing: distributions of times, growth, and what loss does.

use std::collections::BTreeSet;

use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

use super::course::number;
use super::summary::{cells, times};
use super::{Cell, Conditions, Contestant, Growth, Measure, Run, Situation, growth, summary};

/// Each panel's width and height, in pixels.
const PANEL: (u32, u32) = (520, 330);

/// The height of the title, and of each line of the legend below it.
const TITLE: u32 = 34;
const LEGEND_LINE: u32 = 24;

/// Panels in a row.
const COLUMNS: usize = 2;

/// Contestants in a line of the legend.
const LEGEND_COLUMNS: usize = 4;

/// What people with any colour vision can tell apart on white. Dashed lines have them again.
pub(crate) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// The number of nodes and the loss that stand for all, where there are such fleets; otherwise the
/// nearest.
const TYPICAL_SIZE: usize = 8;
const TYPICAL_LOSS: u8 = 5;

/// The drawing can't be made.
#[derive(Debug, thiserror::Error)]
#[error("the drawing can't be made: {0}")]
pub struct PlotError(String);

/// What a panel shows.
#[derive(Debug, Clone, Copy)]
enum Panel {
    /// Which share of the runs had settled after how long.
    Distribution(Situation),
    /// Times over the number of nodes.
    Time(Situation),
    /// Messages of a change over the number of nodes.
    Messages(Situation),
    /// Messages a second over the number of nodes, while nothing happens.
    QuietMessages,
    /// Times over the loss.
    Loss(Situation),
}

const PANELS: [Panel; 10] = [
    Panel::Distribution(Situation::Start),
    Panel::Distribution(Situation::MasterDead),
    Panel::Distribution(Situation::PowerLoss),
    Panel::Distribution(Situation::Merge),
    Panel::Time(Situation::MasterDead),
    Panel::Time(Situation::Merge),
    Panel::Messages(Situation::MasterDead),
    Panel::Messages(Situation::Merge),
    Panel::QuietMessages,
    Panel::Loss(Situation::MasterDead),
];

/// The points of one contestant, and what is written at their end.
struct Line {
    contestant: usize,
    points: Vec<(f64, f64)>,
    label: String,
}

/// An SVG: a panel for each question, a line for each contestant. It shows the first of the
/// conditions. Panels without data stay away.
///
/// # Errors
/// [`PlotError`]
pub fn plot(runs: &[Run]) -> Result<String, PlotError> {
    let data = Data::new(runs);
    let panels: Vec<(Panel, Vec<Line>)> = PANELS
        .into_iter()
        .map(|panel| (panel, data.lines(panel)))
        .filter(|(_, lines)| lines.iter().any(|line| !line.points.is_empty()))
        .collect();
    let count = |panels: usize| u32::try_from(panels).unwrap_or(1);
    let rows = panels.len().div_ceil(COLUMNS).max(1);
    let legend = TITLE + LEGEND_LINE * count(data.contestants.len().div_ceil(LEGEND_COLUMNS)) + 8;
    let size = (PANEL.0 * count(COLUMNS), PANEL.1 * count(rows) + legend);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (head, body) = root.split_vertically(legend);
        data.draw_legend(&head).map_err(failed)?;
        for ((panel, lines), area) in panels.iter().zip(body.split_evenly((rows, COLUMNS))) {
            data.draw(&area, *panel, lines).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Failure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// What is drawn.
struct Data<'a> {
    runs: &'a [Run],
    cells: Vec<Cell>,
    growth: Vec<Growth>,
    contestants: Vec<Contestant>,
    conditions: Conditions,
    /// The size and the loss that stand for all.
    size: usize,
    loss: u8,
    least_loss: u8,
}

impl<'a> Data<'a> {
    fn new(runs: &'a [Run]) -> Self {
        let cells = summary(runs);
        let sizes = cells.iter().map(|cell| cell.size);
        let losses = || cells.iter().map(|cell| cell.loss);
        Self {
            runs,
            growth: growth(runs),
            contestants: distinct(cells.iter().map(|cell| cell.contestant)),
            conditions: cells.first().map_or(Conditions::Steady, |cell| cell.conditions),
            size: sizes.min_by_key(|size| size.abs_diff(TYPICAL_SIZE)).unwrap_or(TYPICAL_SIZE),
            loss: losses().min_by_key(|loss| loss.abs_diff(TYPICAL_LOSS)).unwrap_or(TYPICAL_LOSS),
            least_loss: losses().min().unwrap_or(0),
            cells,
        }
    }

    fn lines(&self, panel: Panel) -> Vec<Line> {
        let line = |(index, contestant): (usize, &Contestant)| Line {
            contestant: index,
            points: self.points(panel, *contestant),
            label: self.label(panel, *contestant),
        };
        self.contestants.iter().enumerate().map(line).collect()
    }

    /// The points of one contestant, from the left.
    fn points(&self, panel: Panel, contestant: Contestant) -> Vec<(f64, f64)> {
        let nodes = |cell: &Cell| number(cell.size as u64);
        let time = |cell: &Cell| cell.median_ms.and_then(super::Level::value);
        match panel {
            Panel::Distribution(situation) => self.distribution(situation, contestant),
            Panel::Time(situation) => self.over(situation, contestant, |cell| {
                (cell.loss == self.least_loss).then_some((nodes(cell), time(cell)?.max(1.0)))
            }),
            Panel::Messages(situation) => self.over(situation, contestant, |cell| {
                let messages = cell.excess_messages.max(1.0);
                (cell.loss == self.least_loss).then_some((nodes(cell), messages))
            }),
            Panel::QuietMessages => self.over(Situation::Quiet, contestant, |cell| {
                let rate = cell.messages / (cell.watched_ms / 1_000.0);
                (cell.loss == self.least_loss).then_some((nodes(cell), rate.max(1.0)))
            }),
            Panel::Loss(situation) => self.over(situation, contestant, |cell| {
                (cell.size == self.size).then_some((f64::from(cell.loss), time(cell)?))
            }),
        }
    }

    fn over(
        &self,
        situation: Situation,
        contestant: Contestant,
        point: impl Fn(&Cell) -> Option<(f64, f64)>,
    ) -> Vec<(f64, f64)> {
        let cells = self.cells.iter().filter(|cell| {
            (cell.situation, cell.contestant, cell.conditions)
                == (situation, contestant, self.conditions)
        });
        let mut points: Vec<_> = cells.filter_map(point).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points
    }

    /// A staircase from the bottom. It ends below 1 if some runs did not settle.
    fn distribution(&self, situation: Situation, contestant: Contestant) -> Vec<(f64, f64)> {
        let key = (situation, self.conditions, self.loss, self.size, contestant);
        let cells = cells(self.runs);
        let Some(runs) = cells.get(&key) else {
            return Vec::new();
        };
        let mut points = Vec::new();
        let mut below = 0.0;
        for (time, share) in times(runs, contestant.limit(self.size)).steps() {
            points.extend([(time.max(1.0), below), (time.max(1.0), share)]);
            below = share;
        }
        points
    }

    /// The exponent of a fitted line.
    fn label(&self, panel: Panel, contestant: Contestant) -> String {
        let (situation, measure) = match panel {
            Panel::Time(situation) => (situation, Measure::Time),
            Panel::Messages(situation) => (situation, Measure::Messages),
            Panel::Distribution(_) | Panel::QuietMessages | Panel::Loss(_) => return String::new(),
        };
        let fitted = self.growth.iter().find(|growth| {
            (growth.situation, growth.contestant, growth.measure)
                == (situation, contestant, measure)
                && (growth.conditions, growth.loss) == (self.conditions, self.least_loss)
        });
        fitted.map_or_else(String::new, |growth| format!("{:.1}", growth.exponent))
    }

    fn draw_legend(&self, area: &Area<'a>) -> Result<(), Failure<'a>> {
        let title = format!(
            "Election protocols compared ({}): distributions, medians of times, means of messages",
            self.conditions
        );
        area.draw(&Text::new(title, (16, 10), ("sans-serif", 17)))?;
        let width = i32::try_from(PANEL.0).unwrap_or(520) * 2 / 4;
        let (mut x, mut y) = (16, i32::try_from(TITLE).unwrap_or(34) + 12);
        for (index, contestant) in self.contestants.iter().enumerate() {
            draw_line(area, index, (x, y))?;
            let name = Text::new(contestant.to_string(), (x + 38, y - 7), ("sans-serif", 15));
            area.draw(&name)?;
            x += width;
            if (index + 1) % LEGEND_COLUMNS == 0 {
                (x, y) = (16, y + i32::try_from(LEGEND_LINE).unwrap_or(24));
            }
        }
        Ok(())
    }

    fn draw(&self, area: &Area<'a>, panel: Panel, lines: &[Line]) -> Result<(), Failure<'a>> {
        let points = || lines.iter().flat_map(|line| line.points.iter());
        let highest = points().fold(1.0_f64, |most, point| most.max(point.1)) * 1.1;
        let leftmost = points().fold(f64::INFINITY, |least, point| least.min(point.0));
        let rightmost = points().fold(4.0_f64, |most, point| most.max(point.0));
        let mut builder = ChartBuilder::on(area);
        builder
            .caption(panel.title(), ("sans-serif", 15))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(58);
        match panel {
            Panel::Distribution(_) => {
                // Whole decades, so that each end has a label.
                let decade =
                    |time: f64, rounded: fn(f64) -> f64| 10_f64.powf(rounded(time.log10()));
                let times = decade(leftmost, f64::floor)..decade(rightmost * 1.01, f64::ceil);
                let times = times.log_scale();
                self.draw_lines(builder.build_cartesian_2d(times, 0.0..1.05)?, panel, lines)
            }
            Panel::Time(_) | Panel::Messages(_) | Panel::QuietMessages => {
                let nodes = (2.0..rightmost * 1.2).log_scale().base(2.0);
                let values = (1.0..highest.max(10.0)).log_scale();
                self.draw_lines(builder.build_cartesian_2d(nodes, values)?, panel, lines)
            }
            Panel::Loss(_) => {
                let chart = builder.build_cartesian_2d(0.0..rightmost, 0.0..highest)?;
                self.draw_lines(chart, panel, lines)
            }
        }
    }

    fn draw_lines<X, Y>(
        &self,
        mut chart: ChartContext<'_, SVGBackend<'a>, Cartesian2d<X, Y>>,
        panel: Panel,
        lines: &[Line],
    ) -> Result<(), Failure<'a>>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let is_distribution = matches!(panel, Panel::Distribution(_));
        let label = |value: &f64| {
            if is_distribution { format!("{value:.1}") } else { format!("{value:.0}") }
        };
        let (x_name, y_name) = self.axes(panel);
        chart
            .configure_mesh()
            .x_labels(6)
            .y_labels(6)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 13))
            .x_desc(x_name)
            .y_desc(y_name)
            .x_label_formatter(&|value| format!("{value:.0}"))
            .y_label_formatter(&label)
            .draw()?;
        for Line { contestant, points, label } in lines {
            let colour = colour(*contestant);
            if *contestant < COLOURS.len() {
                chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
            } else {
                let style = colour.stroke_width(2);
                chart.draw_series(DashedLineSeries::new(points.clone(), 5, 4, style))?;
            }
            if !is_distribution {
                chart.draw_series(PointSeries::<_, _, Circle<_, _>, _>::new(
                    points.clone(),
                    radius(*contestant),
                    colour.filled(),
                ))?;
            }
            if let Some(last) = points.last() {
                let style = ("sans-serif", 12).into_font().color(&colour);
                chart.draw_series([Text::new(label.clone(), (last.0 * 1.03, last.1), style)])?;
            }
        }
        Ok(())
    }

    fn axes(&self, panel: Panel) -> (String, &'static str) {
        let nodes = format!("nodes (loss {} %)", self.least_loss);
        match panel {
            Panel::Distribution(_) => {
                let x = format!("time in ms ({} nodes, loss {} %)", self.size, self.loss);
                (x, "share of the runs")
            }
            Panel::Time(_) => (nodes, "time in ms"),
            Panel::Messages(_) => (nodes, "messages (1 or fewer at the bottom)"),
            Panel::QuietMessages => (nodes, "messages a second"),
            Panel::Loss(_) => (format!("loss in per cent ({} nodes)", self.size), "time in ms"),
        }
    }
}

impl Panel {
    fn title(self) -> String {
        match self {
            Self::Distribution(situation) => {
                format!("How soon is there one master? {}", capital(situation.title()))
            }
            Self::Time(situation) => {
                format!("How does that grow? {} (with exponents)", capital(situation.title()))
            }
            Self::Messages(situation) => {
                format!("What does it cost? {} (with exponents)", capital(situation.title()))
            }
            Self::QuietMessages => "What does a protocol cost while nothing happens?".to_owned(),
            Self::Loss(situation) => {
                format!("What does loss do? {}", capital(situation.title()))
            }
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A piece of a contestant's line, 30 pixels to the right.
fn draw_line<'a>(area: &Area<'a>, index: usize, (x, y): (i32, i32)) -> Result<(), Failure<'a>> {
    let pieces: &[(i32, i32)] =
        if index < COLOURS.len() { &[(0, 30)] } else { &[(0, 6), (12, 18), (24, 30)] };
    for (from, to) in pieces {
        let ends = vec![(x + from, y), (x + to, y)];
        area.draw(&PathElement::new(ends, colour(index).stroke_width(2)))?;
    }
    Ok(())
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

pub(crate) fn failed<E: std::fmt::Display>(error: E) -> PlotError {
    PlotError(error.to_string())
}
