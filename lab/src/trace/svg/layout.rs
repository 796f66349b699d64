//! Where everything is: pixels of times and nodes.

use std::time::Duration;

use elevator_fleet::wire::NodeState;

use super::milliseconds;
use crate::trace::{Arrow, Sent, Trace, Window};

/// The width of a drawing.
const WIDTH: f64 = 1_200.0;

/// The height of the strip of rates.
pub(super) const RATE: f64 = 70.0;

/// The height of a lane of faults.
const LANE: f64 = 19.0;

/// About how many ticks the axis has.
const TICKS: f64 = 12.0;

/// How long an arrow is drawn whose message got lost.
const NOMINAL: Duration = Duration::from_micros(550);

/// Where everything is.
#[derive(Debug)]
pub(super) struct Layout {
    window: Window,
    /// The nodes, from top to bottom.
    pub(super) rows: Vec<usize>,
    /// The space between two nodes.
    pub(super) step: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    /// Where the legend ends.
    pub(super) legend: f64,
    /// The faults of the network: the lane of each, and its place among the bands.
    pub(super) lanes: Vec<(usize, usize)>,
    lane_count: usize,
    dense: bool,
    /// How long a message takes in the middle.
    usual: Duration,
    top: f64,
}

type Point = (f64, f64);

fn real(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

impl Layout {
    pub(super) fn new(trace: &Trace, rows: Vec<usize>, dense: bool) -> Self {
        let step = match rows.len() {
            0..=3 => 84.0,
            4..=6 => 68.0,
            7..=10 => 52.0,
            11..=20 => 34.0,
            _ => 17.0,
        };
        let mut layout = Self {
            window: trace.window,
            rows,
            step,
            left: 100.0,
            right: WIDTH - 24.0,
            legend: 50.0,
            lanes: Vec::new(),
            lane_count: 0,
            dense,
            usual: usual(trace),
            top: 0.0,
        };
        layout.find_lanes(trace);
        layout.settle();
        layout
    }

    /// Each fault of the network gets the first lane that is free when it begins.
    fn find_lanes(&mut self, trace: &Trace) {
        let mut ends: Vec<f64> = Vec::new();
        for (place, band) in trace.bands.iter().enumerate() {
            if band.node.is_some() || !self.meets(band.from, band.to) {
                continue;
            }
            let (from, to) = self.span(band.from, band.to);
            let to = to.max(from + super::width_of(&band.what, 11.0) + 8.0);
            let lane = ends.iter().position(|end| *end <= from).unwrap_or(ends.len());
            match ends.get_mut(lane) {
                Some(end) => *end = to,
                None => ends.push(to),
            }
            self.lanes.push((lane, place));
        }
        self.lane_count = ends.len();
    }

    /// The legend is known.
    pub(super) fn settle(&mut self) {
        self.top = self.legend + 10.0;
    }

    pub(super) fn top(&self) -> f64 {
        self.top
    }

    pub(super) fn lane(&self, lane: usize) -> f64 {
        self.top + real(lane) * LANE
    }

    /// The middle of a node's line.
    pub(super) fn row(&self, row: usize) -> f64 {
        let lanes = real(self.lane_count) * LANE;
        self.top + lanes + self.step * (real(row) + 0.55)
    }

    pub(super) fn bottom(&self) -> f64 {
        let rate = if self.dense { RATE + 30.0 } else { 0.0 };
        self.row(self.rows.len()) - self.step * 0.1 + rate
    }

    pub(super) fn size(&self) -> Point {
        (WIDTH, self.bottom() + 64.0)
    }

    /// How thick a node's line is.
    pub(super) fn thick(&self) -> f64 {
        if self.step < 20.0 { 5.0 } else { 8.0 }
    }

    /// Where a moment of the window is.
    pub(super) fn x(&self, at: Duration) -> Option<f64> {
        self.window.contains(at).then(|| self.place(at))
    }

    fn place(&self, at: Duration) -> f64 {
        let length = milliseconds(self.window.to.saturating_sub(self.window.from)).max(0.001);
        let since = milliseconds(at) - milliseconds(self.window.from);
        self.left + since / length * (self.right - self.left)
    }

    fn clamped(&self, at: Duration) -> f64 {
        self.place(at.clamp(self.window.from, self.window.to.max(self.window.from)))
    }

    /// How many milliseconds so many pixels are.
    pub(super) fn milliseconds_of(&self, width: f64) -> f64 {
        let length = milliseconds(self.window.to.saturating_sub(self.window.from));
        width / (self.right - self.left) * length
    }

    /// Whether something that lasts from here to there shows in the window.
    pub(super) fn meets(&self, from: Duration, to: Option<Duration>) -> bool {
        from <= self.window.to && to.is_none_or(|to| to >= self.window.from)
    }

    /// Where it is.
    pub(super) fn span(&self, from: Duration, to: Option<Duration>) -> (f64, f64) {
        (self.clamped(from), to.map_or(self.right, |to| self.clamped(to)))
    }

    /// The moment that the axis calls 0.
    pub(super) fn zero(&self) -> Option<f64> {
        let inside = self.window.zero > self.window.from;
        self.x(self.window.zero).filter(|_| inside)
    }

    /// The moments that the axis names.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let zero = milliseconds(self.window.zero);
        let (from, to) =
            (milliseconds(self.window.from) - zero, milliseconds(self.window.to) - zero);
        let rough = ((to - from) / TICKS).max(0.001);
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(power * 10.0);
        let digits = if step < 0.1 { 2 } else { usize::from(step < 1.0) };
        let first = (from / step).ceil();
        let ticks = (0_u32..200).map(|tick| (first + f64::from(tick)) * step);
        ticks
            .take_while(|at| *at <= to + step * 0.001)
            .map(|at| {
                let share = (at - from) / (to - from).max(0.001);
                // No −0.
                let at = if at.abs() < step / 10.0 { 0.0 } else { at };
                (self.left + share * (self.right - self.left), format!("{at:.digits$}"))
            })
            .collect()
    }

    /// A node's states within the window: from, to, and the state.
    pub(super) fn states<'a>(
        &self,
        trace: &'a Trace,
        node: usize,
    ) -> Vec<(f64, f64, Option<&'a NodeState>)> {
        let mut mine: Vec<(f64, f64, Option<&NodeState>)> = Vec::new();
        for state in trace.states.iter().filter(|state| state.node == node) {
            let x = self.clamped(state.at);
            if let Some((_, to, _)) = mine.last_mut() {
                *to = x;
            }
            mine.push((x, self.right, state.state.as_ref()));
        }
        mine.retain(|(from, to, _)| to > from);
        mine
    }

    /// Both ends of an arrow, where it leaves one line and meets the other.
    pub(super) fn ends(&self, arrow: &Arrow, sent: &Sent) -> (Option<Point>, Option<Point>) {
        let row = |node: usize| self.rows.iter().position(|row| *row == node);
        let (Some(from), Some(to)) = (row(sent.from), row(arrow.to)) else {
            return (None, None);
        };
        let arrival = arrow.fate.arrival().unwrap_or(sent.at + self.usual);
        let (mut start, mut end) =
            ((self.place(sent.at), self.row(from)), (self.place(arrival), self.row(to)));
        let edge = self.thick() / 2.0;
        let down = (end.1 - start.1).signum();
        start.1 += down * edge;
        end.1 -= down * edge;
        // What arrives after the end is cut off there.
        if end.0 > self.right {
            let share = (self.right - start.0) / (end.0 - start.0);
            end = super::between(start, end, share);
        }
        (Some(start), Some(end))
    }
}

/// How long a message takes in the middle.
fn usual(trace: &Trace) -> Duration {
    let mut times: Vec<Duration> = trace
        .arrows
        .iter()
        .filter_map(|arrow| {
            let sent = trace.messages.get(arrow.message)?.at;
            Some(arrow.fate.arrival()?.saturating_sub(sent))
        })
        .collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(NOMINAL)
}
