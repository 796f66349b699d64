//! Whether a comparison keeps to what is stated.

use std::fmt;
use std::time::Duration;

use super::growth::growth;
use super::summary::{cells, millis};
use super::{Growth, Measure, Run, Trial};

/// Up to this much loss the bounds hold, in per cent (C3).
const QUIET_LOSS: u8 = 5;

/// A change of master costs at most so many messages per pair of nodes.
const MESSAGES_PER_PAIR: f64 = 4.0;

/// What is sent once in a while may fall into the time of an event and not into the quiet second
/// that it is compared with.
const IRREGULAR: Duration = Duration::from_secs(1);

/// The messages of a change of master grow at most as this power of the number of nodes.
const EXPONENT: f64 = 2.0;

/// Something that is stated and does not hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Broken {
    /// A run took longer than the stated bound (C3), or did not settle at all.
    Bound {
        /// The run that took longest.
        run: Run,
        /// How many of the cell did.
        runs: usize,
    },
    /// A change of master cost too many messages.
    Messages {
        /// The run that cost most.
        run: Run,
        /// How many of the cell did.
        runs: usize,
    },
    /// The messages of a change of master grow too fast, with 95 % confidence.
    Growth(Growth),
}

/// What the runs with at most 5 % of loss break: the stated bounds (C3), 4 n² messages for a change
/// of master, and messages that grow as n² at most.
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
            broken.push(Broken::Bound { run: **run, runs: late().count() });
        }
        let costly = || runs.iter().filter(|run| run.excess() > most_messages(run));
        if let Some(run) = costly().max_by(|one, other| one.excess().total_cmp(&other.excess())) {
            broken.push(Broken::Messages { run: **run, runs: costly().count() });
        }
    }
    let grows = growth(&quiet)
        .into_iter()
        .filter(|growth| growth.measure == Measure::Messages && growth.exponent_low > EXPONENT);
    broken.extend(grows.map(Broken::Growth));
    broken
}

fn is_late(run: &Run) -> bool {
    let Trial { contestant, size, loss, situation, .. } = run.trial;
    // Two changes in a row have two bounds.
    let bound = contestant.bound(size) * situation.changes();
    run.trial.conditions.are_sound()
        && (loss == 0 || contestant.bears_loss())
        && (run.is_unsettled() || run.took.is_some_and(|took| took > bound))
}

fn most_messages(run: &Run) -> f64 {
    let nodes = crate::statistics::number(run.trial.size);
    let changes = f64::from(run.trial.situation.changes());
    let quiet = run.quiet_rate() * (IRREGULAR + run.suspended).as_secs_f64();
    MESSAGES_PER_PAIR * nodes * nodes * changes + quiet
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound { run, runs } => {
                let bound =
                    run.trial.contestant.bound(run.trial.size) * run.trial.situation.changes();
                write!(f, "{}: ", Place(&run.trial))?;
                match run.took {
                    Some(took) => write!(f, "{:.0} ms", millis(took))?,
                    None => f.write_str("not settled")?,
                }
                let (bound, seed) = (millis(bound), run.trial.seed);
                write!(
                    f,
                    ", more than the bound of {bound:.0} ms (seed {seed}, and {} more)",
                    runs - 1
                )
            }
            Self::Messages { run, runs } => {
                let (cost, most) = (run.excess(), most_messages(run));
                let (place, seed) = (Place(&run.trial), run.trial.seed);
                write!(
                    f,
                    "{place}: {cost:.0} messages, more than {most:.0} (seed {seed}, and {} more)",
                    runs - 1
                )
            }
            Self::Growth(growth) => write!(
                f,
                "{}, loss {} %, {}, {}: messages grow as n^{:.2} (at least {:.2}) up to n = {}",
                growth.contestant,
                growth.loss,
                growth.conditions,
                growth.situation,
                growth.exponent,
                growth.exponent_low,
                growth.largest
            ),
        }
    }
}

/// The cell of a trial.
struct Place<'a>(&'a Trial);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trial { contestant, size, loss, conditions, situation, .. } = self.0;
        write!(f, "{contestant}, {size} nodes, loss {loss} %, {conditions}, {situation}")
    }
}
