//! What was measured, and how it is told.

use std::time::Duration;

use serde::Serialize;

/// Which figure of a series is held against its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decisive {
    Median,
    Worst,
}

/// Whether a target is a ceiling or a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    AtMost,
    AtLeast,
}

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Target {
    pub(crate) figure: Decisive,
    pub(crate) bound: Bound,
    pub(crate) value: f64,
}

impl Target {
    pub(crate) fn at_most(figure: Decisive, value: f64) -> Self {
        Self { figure, bound: Bound::AtMost, value }
    }
}

/// The unit of figures of which more is better.
pub(crate) const TIMES: &str = "x";

/// A series of samples of one thing.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    what: String,
    unit: &'static str,
    /// The most favourable sample: the lowest, or of [`TIMES`] the highest.
    best: f64,
    median: f64,
    worst: f64,
    /// In the order in which they were taken.
    samples: Vec<f64>,
    target: Option<Target>,
    /// The machine's load average over the last minute when the series ended.
    load: f64,
}

impl Figure {
    /// A figure of times, in milliseconds.
    pub(crate) fn of_times(what: &str, times: &[Duration], target: Option<Target>) -> Self {
        let samples = times.iter().map(|time| time.as_secs_f64() * 1_000.0);
        Self::new(what, "ms", samples.collect(), target)
    }

    pub(crate) fn new(
        what: &str,
        unit: &'static str,
        samples: Vec<f64>,
        target: Option<Target>,
    ) -> Self {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        if unit == TIMES {
            sorted.reverse();
        }
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        Self {
            what: what.to_owned(),
            unit,
            best: at(0),
            median: at(sorted.len() / 2),
            worst: at(sorted.len().saturating_sub(1)),
            samples,
            target,
            load: load(),
        }
    }

    pub(crate) fn median(&self) -> f64 {
        self.median
    }

    pub(crate) fn print(&self) {
        let target = self.target.map_or_else(String::new, |target| {
            let (figure, found) = match target.figure {
                Decisive::Median => ("median", self.median),
                Decisive::Worst => ("worst", self.worst),
            };
            let (sign, found) = match target.bound {
                Bound::AtMost => ("<=", found <= target.value),
                Bound::AtLeast => (">=", found >= target.value),
            };
            let verdict = if found { "met" } else { "missed" };
            format!("{figure} {sign} {:.1}: {verdict}", target.value)
        });
        println!(
            "{:<54} {:>5} {:>9.2} {:>9.2} {:>9.2} {:>6} {:>5.1}  {target}",
            self.what,
            self.unit,
            self.best,
            self.median,
            self.worst,
            self.samples.len(),
            self.load
        );
    }
}

pub(crate) fn print_heading() {
    println!(
        "{:<54} {:>5} {:>9} {:>9} {:>9} {:>6} {:>5}  TARGET",
        "WHAT", "UNIT", "BEST", "MEDIAN", "WORST", "ROUNDS", "LOAD"
    );
}

/// The load average over the last minute; other work on the machine shows in it.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}
