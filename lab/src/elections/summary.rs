//! What one contestant did in one situation, over all seeds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::course::number;
use super::{Conditions, Contestant, Interval, Level, Quantile, Run, Situation, Trial};
use crate::Wire;
use crate::statistics::{Times, average, mean, rate};

/// The runs of one cell: those that differ in their seeds only. Every column is one of the CSV and
/// a key of the JSON; what is missing is empty, or null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Who.
    pub contestant: Contestant,
    /// How many nodes.
    pub size: usize,
    /// So many of a hundred packets get lost.
    pub loss: u8,
    /// How the network and the clocks are.
    pub conditions: Conditions,
    /// What happened.
    pub situation: Situation,
    /// How many runs.
    pub runs: usize,
    /// How many of them did not settle within the limit. They count in the quantiles.
    pub unsettled: usize,
    /// How many of these had not settled before the event either.
    pub unprepared: usize,
    /// The limit, in milliseconds.
    pub limit_ms: f64,
    /// The stated bound (C3), in milliseconds.
    pub bound_ms: f64,
    /// The median of the times in milliseconds; none in a situation that does not settle.
    pub median_ms: Option<Level>,
    /// The lower end of its interval.
    pub median_low_ms: Option<Level>,
    /// The upper end of its interval.
    pub median_high_ms: Option<Level>,
    /// The 95th percentile.
    pub p95_ms: Option<Level>,
    /// The lower end of its interval.
    pub p95_low_ms: Option<Level>,
    /// The upper end of its interval.
    pub p95_high_ms: Option<Level>,
    /// The 99th percentile.
    pub p99_ms: Option<Level>,
    /// The lower end of its interval.
    pub p99_low_ms: Option<Level>,
    /// The upper end of its interval.
    pub p99_high_ms: Option<Level>,
    /// The longest.
    pub worst_ms: Option<Level>,
    /// How long a run was watched on average.
    pub watched_ms: f64,
    /// The protocol's messages in a run: the mean.
    pub messages: f64,
    /// The lower end of its interval.
    pub messages_low: f64,
    /// The upper end of its interval.
    pub messages_high: f64,
    /// The most.
    pub messages_most: f64,
    /// The messages that exceed those of a quiet fleet: the mean.
    pub excess_messages: f64,
    /// The lower end of its interval.
    pub excess_messages_low: f64,
    /// The upper end of its interval.
    pub excess_messages_high: f64,
    /// The most.
    pub excess_messages_most: f64,
    /// Packets of the protocol in a run, the mean, as all that follow.
    pub election_sent: f64,
    /// Their bytes.
    pub election_sent_bytes: f64,
    /// Of these, received by all nodes together.
    pub election_received: f64,
    /// Their bytes.
    pub election_received_bytes: f64,
    /// Beacons without a message.
    pub beacons_sent: f64,
    /// Their bytes.
    pub beacons_sent_bytes: f64,
    /// Received by all nodes together.
    pub beacons_received: f64,
    /// Their bytes.
    pub beacons_received_bytes: f64,
    /// Dials and frames of links.
    pub links_sent: f64,
    /// Their bytes.
    pub links_sent_bytes: f64,
    /// Received by all nodes together.
    pub links_received: f64,
    /// Their bytes.
    pub links_received_bytes: f64,
    /// For how long in a run some node had no master: the mean.
    pub without_master_ms: f64,
    /// The longest time of these at a stretch.
    pub longest_without_master_ms: f64,
    /// For how long in a run there were two masters: the mean.
    pub two_masters_ms: f64,
    /// The longest time of these at a stretch.
    pub longest_two_masters_ms: f64,
    /// How often a node became master in a run: the mean.
    pub changes: f64,
    /// How often in an hour; false changes if nothing happened.
    pub changes_per_hour: Option<f64>,
    /// The lower end of its interval.
    pub changes_per_hour_low: Option<f64>,
    /// The upper end of its interval.
    pub changes_per_hour_high: Option<f64>,
}

/// What runs of one cell have in common.
pub(super) type Key = (Situation, Conditions, u8, usize, Contestant);

/// The runs by cell.
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
    cells(runs).into_iter().map(|(key, runs)| cell(key, &runs)).collect()
}

/// The times of a cell, in milliseconds.
pub(super) fn times(runs: &[&Run], limit: Duration) -> Times {
    Times::new(runs.iter().map(|run| run.took.map(millis)), millis(limit))
}

fn cell((situation, conditions, loss, size, contestant): Key, runs: &[&Run]) -> Cell {
    let limit = contestant.limit(size);
    let times = situation.settles().then(|| times(runs, limit));
    let quantile = |share| times.as_ref().and_then(|times| times.quantile(share));
    let (median, p95, p99) = (quantile(0.5), quantile(0.95), quantile(0.99));
    let estimate = |quantile: Option<Quantile>| quantile.map(|quantile| quantile.estimate);
    let low = |quantile: Option<Quantile>| quantile.and_then(|quantile| quantile.low);
    let high = |quantile: Option<Quantile>| quantile.and_then(|quantile| quantile.high);
    // A fleet to which nothing happened sent nothing either.
    let prepared: Vec<&Run> = runs.iter().copied().filter(|run| run.prepared).collect();
    let sample = Sample(&prepared);
    let messages = sample.interval(|run| number(run.messages.messages));
    let excess = sample.interval(Run::excess);
    let wire = |of: fn(&Wire) -> u64| sample.mean(|run| number(of(&run.wire)));
    let time = |of: fn(&Run) -> Duration| sample.mean(|run| millis(of(run)));
    let longest = |of: fn(&Run) -> Duration| sample.most(|run| millis(of(run)));
    let changes = prepared.iter().map(|run| run.changes).sum();
    let hours = prepared.iter().map(|run| run.watched.as_secs_f64()).sum::<f64>() / 3_600.0;
    let hourly = rate(changes, hours);
    Cell {
        contestant,
        size,
        loss,
        conditions,
        situation,
        runs: runs.len(),
        unsettled: runs.iter().filter(|run| run.is_unsettled()).count(),
        unprepared: runs.len() - prepared.len(),
        limit_ms: millis(limit),
        bound_ms: millis(contestant.bound(size)),
        median_ms: estimate(median),
        median_low_ms: low(median),
        median_high_ms: high(median),
        p95_ms: estimate(p95),
        p95_low_ms: low(p95),
        p95_high_ms: high(p95),
        p99_ms: estimate(p99),
        p99_low_ms: low(p99),
        p99_high_ms: high(p99),
        worst_ms: estimate(quantile(1.0)),
        watched_ms: time(|run| run.watched),
        messages: messages.estimate,
        messages_low: messages.low,
        messages_high: messages.high,
        messages_most: sample.most(|run| number(run.messages.messages)),
        excess_messages: excess.estimate,
        excess_messages_low: excess.low,
        excess_messages_high: excess.high,
        excess_messages_most: sample.most(Run::excess),
        election_sent: wire(|wire| wire.election.sent),
        election_sent_bytes: wire(|wire| wire.election.sent_bytes),
        election_received: wire(|wire| wire.election.received),
        election_received_bytes: wire(|wire| wire.election.received_bytes),
        beacons_sent: wire(|wire| wire.beacons.sent),
        beacons_sent_bytes: wire(|wire| wire.beacons.sent_bytes),
        beacons_received: wire(|wire| wire.beacons.received),
        beacons_received_bytes: wire(|wire| wire.beacons.received_bytes),
        links_sent: wire(|wire| wire.links.sent),
        links_sent_bytes: wire(|wire| wire.links.sent_bytes),
        links_received: wire(|wire| wire.links.received),
        links_received_bytes: wire(|wire| wire.links.received_bytes),
        without_master_ms: time(|run| run.without_master),
        longest_without_master_ms: longest(|run| run.longest_without_master),
        two_masters_ms: time(|run| run.two_masters),
        longest_two_masters_ms: longest(|run| run.longest_two_masters),
        changes: sample.mean(|run| number(run.changes)),
        changes_per_hour: hourly.map(|rate| round(rate.estimate)),
        changes_per_hour_low: hourly.map(|rate| round(rate.low)),
        changes_per_hour_high: hourly.map(|rate| round(rate.high)),
    }
}

/// The runs of a cell to which something happened; its figures are 0 if there are none.
struct Sample<'a>(&'a [&'a Run]);

impl Sample<'_> {
    fn values(&self, of: impl Fn(&Run) -> f64) -> Vec<f64> {
        self.0.iter().map(|run| of(run)).collect()
    }

    fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        round(average(&self.values(of)).unwrap_or(0.0))
    }

    fn interval(&self, of: impl Fn(&Run) -> f64) -> Interval {
        let none = Interval { estimate: 0.0, low: 0.0, high: 0.0 };
        let Interval { estimate, low, high } = mean(&self.values(of)).unwrap_or(none);
        Interval { estimate: round(estimate), low: round(low), high: round(high) }
    }

    fn most(&self, of: impl Fn(&Run) -> f64) -> f64 {
        round(self.values(of).into_iter().reduce(f64::max).unwrap_or(0.0))
    }
}

/// In milliseconds, to the microsecond.
pub(super) fn millis(time: Duration) -> f64 {
    round(time.as_secs_f64() * 1_000.0)
}

fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}
