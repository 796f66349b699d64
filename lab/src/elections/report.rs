//! The figures of a comparison, as CSV and JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;

use super::{Sample, Situation, Trial};

/// What one protocol did in one situation, over all seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// The protocol.
    pub protocol: String,
    /// How many nodes.
    pub size: usize,
    /// So many of a hundred packets get lost.
    pub loss: u8,
    /// The situation.
    pub situation: Situation,
    /// How many trials.
    pub trials: usize,
    /// How many of them did not settle within the limit; they are left out of the times.
    pub unsettled: usize,
    /// The median time until one leads, in milliseconds.
    pub median_ms: Option<f64>,
    /// The longest.
    pub worst_ms: Option<f64>,
    /// The protocol's messages: in an election, or of a quiet fleet in a second.
    pub messages: f64,
    /// Their bytes.
    pub bytes: f64,
}

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

/// The figures of these trials, by situation, loss, size and protocol.
#[must_use]
pub fn figures(results: &[(Trial, Vec<Sample>)]) -> Vec<Figures> {
    let mut groups: BTreeMap<_, Vec<Sample>> = BTreeMap::new();
    for (trial, samples) in results {
        for sample in samples {
            let key = (sample.situation, trial.loss, trial.size, trial.protocol);
            groups.entry(key).or_default().push(*sample);
        }
    }
    groups
        .into_iter()
        .map(|((situation, loss, size, protocol), samples)| {
            let mut times: Vec<Duration> =
                samples.iter().filter_map(|sample| sample.took).collect();
            times.sort_unstable();
            let quiet = situation == Situation::Quiet;
            let mean = |of: fn(&Sample) -> u64| {
                let per = |sample: &Sample| {
                    let seconds = if quiet { sample.watched.as_secs_f64() } else { 1.0 };
                    number(of(sample)) / seconds
                };
                samples.iter().map(per).sum::<f64>() / number(samples.len() as u64)
            };
            Figures {
                protocol: protocol.to_string(),
                size,
                loss,
                situation,
                trials: samples.len(),
                unsettled: if quiet { 0 } else { samples.len() - times.len() },
                median_ms: times.get(times.len().saturating_sub(1) / 2).copied().map(millis),
                worst_ms: times.last().copied().map(millis),
                messages: mean(|sample| sample.messages),
                bytes: mean(|sample| sample.bytes),
            }
        })
        .collect()
}

/// One line a row, with a heading.
///
/// # Errors
/// [`WriteError`]
pub fn write_csv(figures: &[Figures], to: impl Write) -> Result<(), WriteError> {
    let mut writer = csv::Writer::from_writer(to);
    for row in figures {
        writer.serialize(row)?;
    }
    writer.flush()?;
    Ok(())
}

/// A list of objects.
///
/// # Errors
/// [`WriteError`]
pub fn write_json(figures: &[Figures], mut to: impl Write) -> Result<(), WriteError> {
    serde_json::to_writer_pretty(&mut to, figures)?;
    writeln!(to)?;
    Ok(())
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages are far below 2 to the 52nd")]
fn number(count: u64) -> f64 {
    count as f64
}
