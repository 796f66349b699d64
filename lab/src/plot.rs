//! Panels of lines, as SVG.

use std::fmt::Display;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

/// The height of the title, and of each line of the legend below it, in pixels.
const TITLE: u32 = 34;
const LEGEND_LINE: u32 = 24;

/// The width of a name in the legend.
const NAME: u32 = 260;

/// What people with any colour vision can tell apart on white. Dashed lines have them again.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

const FONT: &str = "sans-serif";

/// The drawing can't be made.
#[derive(Debug, thiserror::Error)]
#[error("the drawing can't be made: {0}")]
pub struct PlotError(String);

/// Panels in a grid, below a title and a legend.
pub(crate) struct Drawing {
    pub(crate) title: String,
    /// What lines are called, by their number.
    pub(crate) names: Vec<String>,
    pub(crate) columns: usize,
    /// The width and height of each panel, in pixels.
    pub(crate) size: (u32, u32),
    pub(crate) panels: Vec<Panel>,
}

pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
}

pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) range: Range<f64>,
    /// It shows logarithms to this base.
    pub(crate) base: Option<f64>,
}

pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) points: Vec<(f64, f64)>,
    /// None has dots only.
    pub(crate) width: u32,
    /// The radius of a dot at each point, or 0.
    pub(crate) dots: u32,
    /// What is written at its end.
    pub(crate) label: String,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Failure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

impl Drawing {
    pub(crate) fn svg(&self) -> Result<String, PlotError> {
        let count = |number: usize| u32::try_from(number).unwrap_or(1);
        let rows = self.panels.len().div_ceil(self.columns).max(1);
        let width = self.size.0 * count(self.columns);
        let in_a_line = (width / NAME).max(1);
        let head = TITLE + LEGEND_LINE * count(self.names.len()).div_ceil(in_a_line) + 8;
        let mut svg = String::new();
        {
            let size = (width, self.size.1 * count(rows) + head);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&WHITE).map_err(failed)?;
            let (head, body) = root.split_vertically(head);
            self.draw_legend(&head, in_a_line).map_err(failed)?;
            for (panel, area) in self.panels.iter().zip(body.split_evenly((rows, self.columns))) {
                panel.draw(&area).map_err(failed)?;
            }
            root.present().map_err(failed)?;
        }
        Ok(svg)
    }

    fn draw_legend<'a>(&self, area: &Area<'a>, in_a_line: u32) -> Result<(), Failure<'a>> {
        area.draw(&Text::new(self.title.as_str(), (16, 10), (FONT, 17)))?;
        for (index, name) in (0_u32..).zip(&self.names) {
            let (line, column) = (index / in_a_line, index % in_a_line);
            let x = (16 + NAME * column).cast_signed();
            let y = (TITLE + 12 + LEGEND_LINE * line).cast_signed();
            let number = usize::try_from(index).unwrap_or(0);
            let pieces: &[(i32, i32)] =
                if is_dashed(number) { &[(0, 6), (12, 18), (24, 30)] } else { &[(0, 30)] };
            for (from, to) in pieces {
                let ends = vec![(x + from, y), (x + to, y)];
                area.draw(&PathElement::new(ends, colour(number).stroke_width(2)))?;
            }
            area.draw(&Text::new(name.as_str(), (x + 38, y - 7), (FONT, 15)))?;
        }
        Ok(())
    }
}

impl Axis {
    /// Of the numbers at it: shares have one.
    fn decimals(&self) -> usize {
        usize::from(self.range.end < 2.0)
    }
}

impl Panel {
    fn draw<'a>(&self, area: &Area<'a>) -> Result<(), Failure<'a>> {
        let mut builder = ChartBuilder::on(area);
        builder
            .caption(&self.title, (FONT, 15))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(58);
        let (x, y) = (self.x.range.clone(), self.y.range.clone());
        match (self.x.base, self.y.base) {
            (None, _) => self.draw_lines(builder.build_cartesian_2d(x, y)?),
            (Some(base), None) => {
                self.draw_lines(builder.build_cartesian_2d(x.log_scale().base(base), y)?)
            }
            (Some(base), Some(other)) => {
                let (x, y) = (x.log_scale().base(base), y.log_scale().base(other));
                self.draw_lines(builder.build_cartesian_2d(x, y)?)
            }
        }
    }

    fn draw_lines<'a, X, Y>(
        &self,
        mut chart: ChartContext<'_, SVGBackend<'a>, Cartesian2d<X, Y>>,
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
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 13))
            .x_desc(&self.x.name)
            .y_desc(&self.y.name)
            .x_label_formatter(&|value| format!("{value:.*}", self.x.decimals()))
            .y_label_formatter(&|value| format!("{value:.*}", self.y.decimals()))
            .draw()?;
        for Line { number, points, width, dots, label } in &self.lines {
            let (colour, points) = (colour(*number), points.clone());
            let (style, last) = (colour.stroke_width(*width), points.last().copied());
            if *width > 0 && is_dashed(*number) {
                chart.draw_series(DashedLineSeries::new(points.clone(), 5, 4, style))?;
            } else if *width > 0 {
                chart.draw_series(LineSeries::new(points.clone(), style))?;
            }
            if *dots > 0 {
                let dot = |point| Circle::new(point, *dots, colour.filled());
                chart.draw_series(points.into_iter().map(dot))?;
            }
            if let Some((x, y)) = last {
                let style = (FONT, 12).into_font().color(&colour);
                chart.draw_series([Text::new(label.clone(), (x * 1.03, y), style)])?;
            }
        }
        Ok(())
    }
}

fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

fn is_dashed(number: usize) -> bool {
    number >= COLOURS.len()
}

fn failed(error: impl Display) -> PlotError {
    PlotError(error.to_string())
}
