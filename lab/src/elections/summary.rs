//! What one contestant did in one situation, over all seeds; runs and cells as CSV and JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::observer::Tally;
use super::{Conditions, Contestant, Growth, Interval, Quantile, Run, Situation, Trial};
use crate::Wire;
use crate::output::{self, Columns, Row, WriteError};
use crate::statistics::{Times, average, mean, rate, round, whole};

/// The runs of one cell: those that differ in their seeds only. Fleets that did not settle before
/// the event count among the unsettled, and in no mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub contestant: Contestant,
    pub size: usize,
    /// So many of a hundred packets get lost.
    pub loss: u8,
    pub conditions: Conditions,
    pub situation: Situation,
    pub runs: usize,
    /// How many of them did not settle within the limit. They count in the quantiles.
    pub unsettled: usize,
    /// How many of these had not settled before the event either.
    pub(super) unprepared: usize,
    /// The times in milliseconds; none in a situation that does not settle.
    pub(super) times: Option<Times>,
    pub median: Option<Quantile>,
    /// `None` of fewer than 72 runs, and the next one of fewer than 368.
    pub p95: Option<Quantile>,
    pub p99: Option<Quantile>,
    /// How long a run was watched on average.
    pub watched_ms: f64,
    /// The protocol's messages in a run: the mean, and the most.
    pub messages: (Interval, f64),
    /// The messages that exceed those of a quiet fleet: the mean, and the most.
    pub excess: (Interval, f64),
    wires: Vec<Wire>,
    /// For how long in a run some node had no master: the mean, and the longest at a stretch.
    pub without_master_ms: (f64, f64),
    /// For how long in a run there were two masters.
    pub two_masters_ms: (f64, f64),
    /// How often a node became master in a run: the mean.
    pub(super) changes: f64,
    /// How often in an hour; false changes if nothing happened.
    pub changes_per_hour: Option<Interval>,
}

/// What runs of one cell have in common.
pub(super) type Key = (Situation, Conditions, u8, usize, Contestant);

pub(super) fn cells(runs: &[Run]) -> BTreeMap<Key, Vec<&Run>> {
    let mut cells: BTreeMap<Key, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        let Trial { contestant, size, loss, conditions, situation, .. } = run.trial;
        cells.entry((situation, conditions, loss, size, contestant)).or_default().push(run);
    }
    cells
}

/// The cells, by situation, conditions, loss, size and contestant.
#[must_use]
pub fn summary(runs: &[Run]) -> Vec<Cell> {
    cells(runs).into_iter().map(|(key, runs)| Cell::new(key, &runs)).collect()
}

impl Cell {
    fn new((situation, conditions, loss, size, contestant): Key, runs: &[&Run]) -> Self {
        let times = situation.settles().then(|| {
            let limit = millis(contestant.limit(size));
            Times::new(runs.iter().map(|run| run.took.map(millis)), limit)
        });
        let quantile = |share| times.as_ref().and_then(|times| times.quantile(share));
        // One whose upper limit is unknown says nothing: too few runs.
        let tail = |share| quantile(share).filter(|quantile| quantile.high.is_some());
        // A fleet to which nothing happened sent nothing either.
        let prepared: Vec<&Run> = runs.iter().copied().filter(|run| run.prepared).collect();
        let values =
            |of: &dyn Fn(&Run) -> f64| prepared.iter().map(|run| of(run)).collect::<Vec<_>>();
        let average = |of: &dyn Fn(&Run) -> f64| round(average(&values(of)).unwrap_or(0.0));
        let most = |of: &dyn Fn(&Run) -> f64| {
            round(values(of).into_iter().reduce(f64::max).unwrap_or(0.0))
        };
        let interval = |of: &dyn Fn(&Run) -> f64| {
            (mean(&values(of)).map_or(Interval::default(), Interval::rounded), most(of))
        };
        let tally = |of: fn(&Run) -> Tally| {
            (average(&|run| millis(of(run).total)), most(&|run| millis(of(run).longest)))
        };
        let changes = prepared.iter().map(|run| run.changes).sum();
        let hours = prepared.iter().map(|run| run.watched.as_secs_f64()).sum::<f64>() / 3_600.0;
        Self {
            contestant,
            size,
            loss,
            conditions,
            situation,
            runs: runs.len(),
            unsettled: runs.iter().filter(|run| run.is_unsettled()).count(),
            unprepared: runs.len() - prepared.len(),
            median: quantile(0.5),
            p95: tail(0.95),
            p99: tail(0.99),
            watched_ms: average(&|run| millis(run.watched)),
            messages: interval(&|run| whole(run.messages.messages)),
            excess: interval(&Run::excess),
            wires: prepared.iter().map(|run| run.wire).collect(),
            without_master_ms: tally(|run| run.without_master),
            two_masters_ms: tally(|run| run.two_masters),
            changes: average(&|run| whole(run.changes)),
            changes_per_hour: rate(changes, hours).map(Interval::rounded),
            times,
        }
    }

    /// Packets or bytes in a run: the mean.
    #[must_use]
    pub fn packets(&self, of: impl Fn(&Wire) -> u64) -> f64 {
        let packets: Vec<f64> = self.wires.iter().map(|wire| whole(of(wire))).collect();
        round(average(&packets).unwrap_or(0.0))
    }
}

impl Row for Cell {
    fn columns(&self) -> Columns {
        let Self { contestant, size, loss, conditions, situation, .. } = *self;
        let mut columns = place((situation, conditions, loss, size, contestant));
        columns.add("runs", self.runs);
        columns.add("unsettled", self.unsettled);
        columns.add("unprepared", self.unprepared);
        columns.add("limit_ms", millis(contestant.limit(size)));
        columns.add("bound_ms", millis(contestant.bound(size)));
        for (name, quantile) in [("median", self.median), ("p95", self.p95), ("p99", self.p99)] {
            columns.add(format!("{name}_ms"), quantile.map(|quantile| quantile.estimate));
            columns.add(format!("{name}_low_ms"), quantile.and_then(|quantile| quantile.low));
            columns.add(format!("{name}_high_ms"), quantile.and_then(|quantile| quantile.high));
        }
        columns.add("worst_ms", self.times.as_ref().and_then(|times| times.at_share(1.0)));
        columns.add("watched_ms", self.watched_ms);
        for (name, (mean, most)) in [("messages", self.messages), ("excess_messages", self.excess)]
        {
            interval(&mut columns, name, Some(mean));
            columns.add(format!("{name}_most"), most);
        }
        packets(&mut columns, |of| json!(self.packets(of)));
        tallies(&mut columns, self.without_master_ms, self.two_masters_ms);
        columns.add("changes", self.changes);
        interval(&mut columns, "changes_per_hour", self.changes_per_hour);
        columns
    }
}

impl Row for Run {
    fn columns(&self) -> Columns {
        let Trial { contestant, size, loss, conditions, situation, seed, .. } = self.trial;
        let mut columns = place((situation, conditions, loss, size, contestant));
        let tenth = |value: f64| (value * 10.0).round() / 10.0;
        let tally = |tally: Tally| (millis(tally.total), millis(tally.longest));
        columns.add("seed", seed);
        columns.add("prepared", self.prepared);
        columns.add("began_ms", millis(self.began));
        columns.add("took_ms", self.took.map(millis));
        columns.add("limit_ms", millis(contestant.limit(size)));
        columns.add("watched_ms", millis(self.watched));
        columns.add("messages", self.messages.messages);
        columns.add("message_bytes", self.messages.bytes);
        columns.add("quiet_messages_per_s", tenth(self.quiet_rate()));
        columns.add("excess_messages", tenth(self.excess()));
        packets(&mut columns, |of| json!(of(&self.wire)));
        tallies(&mut columns, tally(self.without_master), tally(self.two_masters));
        columns.add("changes", self.changes);
        columns
    }
}

fn place((situation, conditions, loss, size, contestant): Key) -> Columns {
    let mut columns = Columns::default();
    columns.add("contestant", contestant);
    columns.add("size", size);
    columns.add("loss", loss);
    columns.add("conditions", conditions);
    columns.add("situation", situation);
    columns
}

fn interval(columns: &mut Columns, name: &str, interval: Option<Interval>) {
    columns.add(name, interval.map(|interval| interval.estimate));
    columns.add(format!("{name}_low"), interval.map(|interval| interval.low));
    columns.add(format!("{name}_high"), interval.map(|interval| interval.high));
}

fn packets(columns: &mut Columns, value: impl Fn(&dyn Fn(&Wire) -> u64) -> Value) {
    for (at, name) in ["election", "beacons", "links"].iter().enumerate() {
        let flow = |wire: &Wire| [wire.election, wire.beacons, wire.links][at];
        columns.add(format!("{name}_sent"), value(&|wire| flow(wire).sent));
        columns.add(format!("{name}_sent_bytes"), value(&|wire| flow(wire).sent_bytes));
        columns.add(format!("{name}_received"), value(&|wire| flow(wire).received));
        columns.add(format!("{name}_received_bytes"), value(&|wire| flow(wire).received_bytes));
    }
}

fn tallies(columns: &mut Columns, without_master: (f64, f64), two_masters: (f64, f64)) {
    for (name, (total, longest)) in
        [("without_master", without_master), ("two_masters", two_masters)]
    {
        columns.add(format!("{name}_ms"), total);
        columns.add(format!("longest_{name}_ms"), longest);
    }
}

/// JSON: an object with the lists `cells` and `growth`.
///
/// # Errors
/// [`WriteError`]
pub fn write_json(cells: &[Cell], growth: &[Growth], to: impl Write) -> Result<(), WriteError> {
    #[derive(Serialize)]
    struct Page<'a> {
        cells: Vec<Columns>,
        growth: &'a [Growth],
    }
    output::write_json(&Page { cells: cells.iter().map(Cell::columns).collect(), growth }, to)
}

/// In milliseconds, to the microsecond.
pub(super) fn millis(time: Duration) -> f64 {
    round(time.as_secs_f64() * 1_000.0)
}
