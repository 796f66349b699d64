//! Whether a comparison keeps to what is stated.

use std::fmt;
use std::time::Duration;

use super::growth::growth;
use super::summary::{cells, millis};
use super::{Growth, Measure, Run, Trial};
use crate::statistics::number;

/// Up to this much loss the bounds hold, in per cent (C3).
const QUIET_LOSS: u8 = 5;

/// A change of master costs at most this many messages per pair of nodes.
const MESSAGES_PER_PAIR: f64 = 4.0;

/// What is sent once in a while may fall into the time of an event and not into the quiet second
/// that it is compared with.
const IRREGULAR: Duration = Duration::from_secs(1);

/// The messages of a change of master grow at most as this power of the number of nodes.
const EXPONENT: f64 = 2.0;

/// Something that is stated and does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken(String);

/// What the runs with at most 5 % of loss break: the stated bounds (C3), 4 n² messages for a change
/// of master, and messages that grow as n² at most, with 95 % confidence.
///
/// To the messages add those of a quiet fleet in one second, which need not come evenly. A process
/// that goes on after a suspension may answer each message of a quiet fleet that waited for it.
/// Controls are not checked. A protocol may state its bound for networks without loss only.
/// The bounds are stated for right clocks and independent losses; under other conditions only
/// messages count.
#[must_use]
pub fn check(runs: &[Run]) -> Vec<Broken> {
    let quiet: Vec<Run> = runs
        .iter()
        .copied()
        .filter(|run| run.trial.loss <= QUIET_LOSS && run.trial.situation.settles())
        .filter(|run| !run.trial.contestant.is_control())
        .collect();
    let mut broken = Vec::new();
    for runs in cells(&quiet).into_values() {
        let late = || runs.iter().filter(|run| is_late(run));
        if let Some(run) = late().max_by_key(|run| (run.is_unsettled(), run.took)) {
            let took = run.took.map(|took| format!("{:.0} ms", millis(took)));
            let took = took.unwrap_or_else(|| "not settled".to_owned());
            let most = format!("the bound of {:.0} ms", millis(bound(&run.trial)));
            broken.push(Broken::by(run, &took, &most, late().count()));
        }
        let costly = || runs.iter().filter(|run| run.excess() > most_messages(run));
        if let Some(run) = costly().max_by(|one, other| one.excess().total_cmp(&other.excess())) {
            let cost = format!("{:.0} messages", run.excess());
            let most = format!("{:.0}", most_messages(run));
            broken.push(Broken::by(run, &cost, &most, costly().count()));
        }
    }
    let growth = growth(&quiet).into_iter();
    let grows = growth
        .filter(|growth| growth.measure == Measure::Messages && growth.exponent_low > EXPONENT);
    broken.extend(grows.map(|growth| {
        let Growth { contestant, loss, conditions, situation, largest, .. } = growth;
        Broken(format!(
            "{contestant}, loss {loss} %, {conditions}, {situation}: messages grow as n^{:.2} (at \
             least {:.2}) up to n = {largest}",
            growth.exponent, growth.exponent_low
        ))
    }));
    broken
}

impl Broken {
    fn by(run: &Run, what: &str, most: &str, runs: usize) -> Self {
        let Trial { contestant, size, loss, conditions, situation, seed, .. } = run.trial;
        Self(format!(
            "{contestant}, {size} nodes, loss {loss} %, {conditions}, {situation}: {what}, more \
             than {most} (seed {seed}, and {} more)",
            runs - 1
        ))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Two changes in a row have two bounds.
fn bound(trial: &Trial) -> Duration {
    trial.contestant.bound(trial.size) * trial.situation.changes()
}

fn is_late(run: &Run) -> bool {
    let Trial { contestant, loss, conditions, .. } = run.trial;
    conditions.are_sound()
        && (loss == 0 || contestant.bears_loss())
        && (run.is_unsettled() || run.took.is_some_and(|took| took > bound(&run.trial)))
}

fn most_messages(run: &Run) -> f64 {
    let nodes = number(run.trial.size);
    let changes = f64::from(run.trial.situation.changes());
    let quiet = run.quiet_rate() * (IRREGULAR + run.suspended).as_secs_f64();
    MESSAGES_PER_PAIR * nodes * nodes * changes + quiet
}
