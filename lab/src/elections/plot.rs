//! A comparison as a drawing: distributions of times, growth, and what loss does.

use std::collections::BTreeSet;

use super::{Cell, Conditions, Contestant, Growth, Level, Measure, Run, Situation};
use super::{growth, summary};
use crate::plot::{Axis, Drawing, Line, Panel, PlotError};
use crate::statistics::{Times, number};

/// The number of nodes and the loss that stand for all, where there are such fleets; otherwise the
/// nearest.
const TYPICAL_SIZE: usize = 8;
const TYPICAL_LOSS: u8 = 5;

/// An SVG: a panel for each question, a line for each contestant. It shows the first of the
/// conditions. Panels without data stay away.
///
/// # Errors
/// [`PlotError`]
pub fn plot(runs: &[Run]) -> Result<String, PlotError> {
    let data = Data::new(runs);
    let mut panels = Vec::new();
    for situation in
        [Situation::Start, Situation::MasterDead, Situation::PowerLoss, Situation::Merge]
    {
        panels.push(data.distribution(situation));
    }
    for (measure, question) in
        [(Measure::Time, "How does that grow?"), (Measure::Messages, "What does it cost?")]
    {
        for situation in [Situation::MasterDead, Situation::Merge] {
            let title = format!("{} (with exponents)", titled(question, situation));
            panels.push(data.growing(&title, situation, Some(measure)));
        }
    }
    let quiet = "What does a protocol cost while nothing happens?";
    panels.push(data.growing(quiet, Situation::Quiet, None));
    panels.push(data.loss(Situation::MasterDead));
    panels.retain(|panel| panel.lines.iter().any(|line| !line.points.is_empty()));
    let title = format!(
        "Election protocols compared ({}): distributions, medians of times, means of messages",
        data.conditions
    );
    let names = data.contestants.iter().map(ToString::to_string).collect();
    Drawing { title, names, columns: 2, size: (520, 330), panels }.svg()
}

/// What is drawn.
struct Data {
    cells: Vec<Cell>,
    growth: Vec<Growth>,
    contestants: BTreeSet<Contestant>,
    conditions: Conditions,
    /// The size and the loss that stand for all.
    size: usize,
    loss: u8,
    least_loss: u8,
}

impl Data {
    fn new(runs: &[Run]) -> Self {
        let cells = summary(runs);
        let sizes = cells.iter().map(|cell| cell.size);
        let losses = || cells.iter().map(|cell| cell.loss);
        Self {
            growth: growth(runs),
            contestants: cells.iter().map(|cell| cell.contestant).collect(),
            conditions: cells.first().map_or(Conditions::Steady, |cell| cell.conditions),
            size: sizes.min_by_key(|size| size.abs_diff(TYPICAL_SIZE)).unwrap_or(TYPICAL_SIZE),
            loss: losses().min_by_key(|loss| loss.abs_diff(TYPICAL_LOSS)).unwrap_or(TYPICAL_LOSS),
            least_loss: losses().min().unwrap_or(0),
            cells,
        }
    }

    /// A line for each contestant, with these points of each cell.
    fn lines(
        &self,
        situation: Situation,
        points: impl Fn(&Cell) -> Vec<(f64, f64)>,
        has_dots: bool,
    ) -> Vec<Line> {
        let line = |(index, contestant): (usize, &Contestant)| {
            let cells = self.cells.iter().filter(|cell| {
                (cell.situation, cell.contestant, cell.conditions)
                    == (situation, *contestant, self.conditions)
            });
            // Where dots lie on each other, the ones below stand out.
            let dots = 6 - u32::try_from(index % 5).unwrap_or(0);
            Line {
                number: index,
                points: cells.flat_map(&points).collect(),
                width: 2,
                dots: if has_dots { dots } else { 0 },
                label: String::new(),
            }
        };
        self.contestants.iter().enumerate().map(line).collect()
    }

    /// Staircases from the bottom: which share of the runs had settled after how long. They end
    /// below 1 if some runs did not settle.
    fn distribution(&self, situation: Situation) -> Panel {
        let stairs = |cell: &Cell| {
            let is_typical = (cell.size, cell.loss) == (self.size, self.loss);
            let steps = cell.times.as_ref().filter(|_| is_typical).map(Times::steps);
            let (mut points, mut below) = (Vec::new(), 0.0);
            for (time, share) in steps.unwrap_or_default() {
                points.extend([(time.max(1.0), below), (time.max(1.0), share)]);
                below = share;
            }
            points
        };
        let lines = self.lines(situation, stairs, false);
        let least = ends(&lines).fold(f64::INFINITY, |least, point| least.min(point.0));
        let most = ends(&lines).fold(4.0_f64, |most, point| most.max(point.0)) * 1.01;
        // Whole decades, so that each end has a label.
        let decade = |time: f64, rounded: fn(f64) -> f64| 10_f64.powf(rounded(time.log10()));
        let range = decade(least, f64::floor)..decade(most, f64::ceil);
        let name = format!("time in ms ({} nodes, loss {} %)", self.size, self.loss);
        Panel {
            title: titled("How soon is there one master?", situation),
            x: Axis { name, range, base: Some(10.0) },
            y: Axis { name: "share of the runs".into(), range: 0.0..1.05, base: None },
            lines,
        }
    }

    /// A measure over the number of nodes, with its exponent; or messages a second.
    fn growing(&self, title: &str, situation: Situation, measure: Option<Measure>) -> Panel {
        let point = |cell: &Cell| {
            let value = match measure {
                Some(Measure::Time) => median(cell)?,
                Some(Measure::Messages) => cell.excess.0.estimate,
                None => cell.messages.0.estimate / (cell.watched_ms / 1_000.0),
            };
            (cell.loss == self.least_loss).then_some((number(cell.size), value.max(1.0)))
        };
        let mut lines = self.lines(situation, |cell| point(cell).into_iter().collect(), true);
        for (line, contestant) in lines.iter_mut().zip(&self.contestants) {
            let fitted = self.growth.iter().find(|growth| {
                (growth.situation, growth.contestant, Some(growth.measure))
                    == (situation, *contestant, measure)
                    && (growth.conditions, growth.loss) == (self.conditions, self.least_loss)
            });
            line.label =
                fitted.map_or_else(String::new, |growth| format!("{:.1}", growth.exponent));
        }
        let widest = ends(&lines).fold(4.0_f64, |most, point| most.max(point.0)) * 1.2;
        let highest = ends(&lines).fold(10.0_f64, |most, point| most.max(point.1 * 1.1));
        let name = match measure {
            Some(Measure::Time) => "time in ms",
            Some(Measure::Messages) => "messages (1 or fewer at the bottom)",
            None => "messages a second",
        };
        let nodes = format!("nodes (loss {} %)", self.least_loss);
        Panel {
            title: title.to_owned(),
            x: Axis { name: nodes, range: 2.0..widest, base: Some(2.0) },
            y: Axis { name: name.to_owned(), range: 1.0..highest, base: Some(10.0) },
            lines,
        }
    }

    fn loss(&self, situation: Situation) -> Panel {
        let point =
            |cell: &Cell| (cell.size == self.size).then_some((f64::from(cell.loss), median(cell)?));
        let lines = self.lines(situation, |cell| point(cell).into_iter().collect(), true);
        let widest = ends(&lines).fold(4.0_f64, |most, point| most.max(point.0));
        let highest = ends(&lines).fold(1.0_f64, |most, point| most.max(point.1)) * 1.1;
        let name = format!("loss in per cent ({} nodes)", self.size);
        Panel {
            title: titled("What does loss do?", situation),
            x: Axis { name, range: 0.0..widest, base: None },
            y: Axis { name: "time in ms".into(), range: 0.0..highest, base: None },
            lines,
        }
    }
}

fn median(cell: &Cell) -> Option<f64> {
    cell.median.and_then(|median| Level::value(median.estimate))
}

fn ends(lines: &[Line]) -> impl Iterator<Item = (f64, f64)> {
    lines.iter().flat_map(|line| line.points.iter().copied())
}

/// A question about a situation, which begins with a capital letter.
fn titled(question: &str, situation: Situation) -> String {
    let mut letters = situation.title().chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    format!("{question} {}", first.chain(letters).collect::<String>())
}
