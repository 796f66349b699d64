//! Where everything is: pixels of times and nodes.

use std::time::Duration;

use elevator_fleet::wire::NodeState;

use super::canvas::Point;
use super::milliseconds;
use crate::trace::{Arrow, Band, Sent, Trace};

/// The width of a drawing, and where the lines of the nodes begin and end.
const WIDTH: f64 = 1_200.0;
pub(super) const LEFT: f64 = 100.0;
pub(super) const RIGHT: f64 = WIDTH - 24.0;

/// About how many ticks the axis has.
const TICKS: f64 = 12.0;

#[derive(Debug)]
pub(super) struct Layout<'a> {
    trace: &'a Trace,
    /// The space between two nodes.
    pub(super) step: f64,
    pub(super) top: f64,
    /// The height of the line of the network, if it has faults.
    network: f64,
    /// How long a message takes in the middle.
    usual: Duration,
}

impl<'a> Layout<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let step = match trace.nodes.len() {
            0..=3 => 84.0,
            4..=6 => 68.0,
            7..=10 => 52.0,
            11..=20 => 34.0,
            _ => 17.0,
        };
        let ways = trace.ways();
        let times = ways.filter_map(|(sent, way)| way.fate.arrival()?.checked_sub(sent.at));
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        let usual = times.get(times.len() / 2).copied().unwrap_or_default();
        let has_faults = trace.bands.iter().any(|band| band.node.is_none());
        let network = if has_faults { 30.0 } else { 0.0 };
        Self { trace, step, top: 0.0, network, usual }
    }

    /// The nodes, each with the middle of its line.
    pub(super) fn rows(&self) -> Vec<(usize, f64)> {
        (0..self.trace.nodes.len()).map(|node| (node, self.row(node))).collect()
    }

    fn row(&self, row: usize) -> f64 {
        let row = u32::try_from(row).map_or(f64::MAX, f64::from);
        self.top + self.network + self.step * (row + 0.55)
    }

    pub(super) fn bottom(&self) -> f64 {
        self.row(self.trace.nodes.len()) - self.step * 0.1
    }

    pub(super) fn size(&self) -> Point {
        (WIDTH, self.bottom() + 64.0)
    }

    pub(super) fn thick(&self) -> f64 {
        if self.step < 20.0 { 5.0 } else { 8.0 }
    }

    pub(super) fn x(&self, at: Duration) -> f64 {
        self.x_of(milliseconds(at))
    }

    fn x_of(&self, at: f64) -> f64 {
        let [from, to] = [self.trace.window.from, self.trace.window.to].map(milliseconds);
        LEFT + (at - from) / (to - from).max(0.001) * (RIGHT - LEFT)
    }

    /// Where a band is, if it shows.
    pub(super) fn span(&self, band: &Band) -> Option<(f64, f64)> {
        let (from, to) = (self.x(band.from).max(LEFT), band.to.map_or(RIGHT, |to| self.x(to)));
        (from <= RIGHT && to >= LEFT).then_some((from, to.min(RIGHT)))
    }

    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let window = self.trace.window;
        let [from, zero, to] = [window.from, window.zero, window.to].map(milliseconds);
        let rough = ((to - from) / TICKS).max(0.001);
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(power * 10.0);
        let digits = if step < 0.1 { 2 } else { usize::from(step < 1.0) };
        let first = ((from - zero) / step).ceil();
        // No −0.
        let ticks = (0_u32..200).map(|tick| (first + f64::from(tick)) * step + 0.0);
        ticks
            .take_while(|at| *at <= to - zero + step * 0.001)
            .map(|at| (self.x_of(at + zero), format!("{at:.digits$}")))
            .collect()
    }

    /// A node's states within the window: from, to, and the state.
    pub(super) fn states(&self, node: usize) -> Vec<(f64, f64, Option<&'a NodeState>)> {
        let mut mine: Vec<(f64, f64, Option<&NodeState>)> = Vec::new();
        for state in self.trace.states.iter().filter(|state| state.node == node) {
            let x = self.x(state.at);
            if let Some((_, to, _)) = mine.last_mut() {
                *to = x;
            }
            mine.push((x, RIGHT, state.state.as_ref()));
        }
        mine.retain(|(from, to, _)| to > from);
        mine
    }

    /// Both ends of an arrow, where it leaves one line and meets the other.
    pub(super) fn ends(&self, arrow: &Arrow, sent: &Sent) -> (Point, Point) {
        let [from, to] = [sent.from, arrow.to].map(|node| self.row(node));
        let arrival = arrow.fate.arrival().unwrap_or(sent.at + self.usual);
        let edge = self.thick() / 2.0 * (to - from).signum();
        ((self.x(sent.at), from + edge), (self.x(arrival), to - edge))
    }
}
