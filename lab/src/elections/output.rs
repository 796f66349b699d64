//! Runs and summaries as CSV and JSON.

use std::io::Write;

use serde::Serialize;

use super::summary::millis;
use super::{Cell, Conditions, Contestant, Growth, Run, Situation, Trial};

/// Writing failed; how much was written is not known.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// As CSV.
    #[error("the figures can't be written as CSV")]
    Csv(#[from] csv::Error),
    /// As JSON.
    #[error("the figures can't be written as JSON")]
    Json(#[from] serde_json::Error),
    /// At the end.
    #[error("the figures can't be written")]
    Io(#[from] std::io::Error),
}

/// A run in a CSV file.
#[derive(Debug, Serialize)]
struct Row {
    contestant: Contestant,
    size: usize,
    loss: u8,
    conditions: Conditions,
    situation: Situation,
    seed: u64,
    prepared: bool,
    began_ms: f64,
    took_ms: Option<f64>,
    limit_ms: f64,
    watched_ms: f64,
    messages: u64,
    message_bytes: u64,
    quiet_messages_per_s: f64,
    excess_messages: f64,
    election_sent: u64,
    election_sent_bytes: u64,
    election_received: u64,
    election_received_bytes: u64,
    beacons_sent: u64,
    beacons_sent_bytes: u64,
    beacons_received: u64,
    beacons_received_bytes: u64,
    links_sent: u64,
    links_sent_bytes: u64,
    links_received: u64,
    links_received_bytes: u64,
    without_master_ms: f64,
    longest_without_master_ms: f64,
    two_masters_ms: f64,
    longest_two_masters_ms: f64,
    changes: u64,
}

impl From<&Run> for Row {
    fn from(run: &Run) -> Self {
        let Trial { contestant, size, loss, conditions, situation, seed, .. } = run.trial;
        let (election, beacons, links) = (run.wire.election, run.wire.beacons, run.wire.links);
        let round = |value: f64| (value * 10.0).round() / 10.0;
        Self {
            contestant,
            size,
            loss,
            conditions,
            situation,
            seed,
            prepared: run.prepared,
            began_ms: millis(run.began),
            took_ms: run.took.map(millis),
            limit_ms: millis(contestant.limit(size)),
            watched_ms: millis(run.watched),
            messages: run.messages.messages,
            message_bytes: run.messages.bytes,
            quiet_messages_per_s: round(run.quiet_rate()),
            excess_messages: round(run.excess()),
            election_sent: election.sent,
            election_sent_bytes: election.sent_bytes,
            election_received: election.received,
            election_received_bytes: election.received_bytes,
            beacons_sent: beacons.sent,
            beacons_sent_bytes: beacons.sent_bytes,
            beacons_received: beacons.received,
            beacons_received_bytes: beacons.received_bytes,
            links_sent: links.sent,
            links_sent_bytes: links.sent_bytes,
            links_received: links.received,
            links_received_bytes: links.received_bytes,
            without_master_ms: millis(run.without_master),
            longest_without_master_ms: millis(run.longest_without_master),
            two_masters_ms: millis(run.two_masters),
            longest_two_masters_ms: millis(run.longest_two_masters),
            changes: run.changes,
        }
    }
}

/// One line a run, with a heading.
///
/// # Errors
/// [`WriteError`]
pub fn write_runs(runs: &[Run], to: impl Write) -> Result<(), WriteError> {
    write_rows(runs.iter().map(Row::from), to)
}

/// One line a cell, with a heading.
///
/// # Errors
/// [`WriteError`]
pub fn write_summary(cells: &[Cell], to: impl Write) -> Result<(), WriteError> {
    write_rows(cells.iter(), to)
}

/// An object with the lists `cells` and `growth`.
///
/// # Errors
/// [`WriteError`]
pub fn write_json(cells: &[Cell], growth: &[Growth], mut to: impl Write) -> Result<(), WriteError> {
    #[derive(Serialize)]
    struct Page<'a> {
        cells: &'a [Cell],
        growth: &'a [Growth],
    }
    serde_json::to_writer_pretty(&mut to, &Page { cells, growth })?;
    writeln!(to)?;
    to.flush()?;
    Ok(())
}

fn write_rows<T: Serialize>(
    rows: impl Iterator<Item = T>,
    to: impl Write,
) -> Result<(), WriteError> {
    let mut writer = csv::Writer::from_writer(to);
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush()?;
    Ok(())
}
