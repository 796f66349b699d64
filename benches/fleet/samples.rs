//! What was measured, and how it is told.

use std::time::Duration;

use serde::Serialize;

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    MedianAtMost(f64),
    WorstAtMost(f64),
}

/// A series of samples of one thing.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    what: String,
    unit: &'static str,
    best: f64,
    pub(crate) median: f64,
    worst: f64,
    /// In the order in which they were taken.
    samples: Vec<f64>,
    target: Option<Target>,
    /// The machine's load average over the last minute when the series ended.
    load: f64,
}

impl Figure {
    /// A figure of times, in milliseconds.
    pub(crate) fn of_times(what: impl Into<String>, times: &[Duration]) -> Self {
        let samples = times.iter().map(|time| time.as_secs_f64() * 1_000.0);
        Self::new(what, "ms", samples.collect())
    }

    pub(crate) fn new(what: impl Into<String>, unit: &'static str, samples: Vec<f64>) -> Self {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let [best, median, worst] = [0, sorted.len() / 2, sorted.len().saturating_sub(1)].map(at);
        let what = what.into();
        Self { what, unit, best, median, worst, samples, target: None, load: load() }
    }

    /// Times of something short, in microseconds: each sample is the mean of ten.
    pub(crate) fn of_calls(
        what: impl Into<String>,
        samples: usize,
        mut call: impl FnMut(),
    ) -> Self {
        const CALLS: u32 = 10;
        let sample = |_| {
            let began = std::time::Instant::now();
            (0..CALLS).for_each(|_| call());
            began.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
        };
        Self::new(what, "us", (0..samples).map(sample).collect())
    }

    pub(crate) fn median_at_most(self, value: f64) -> Self {
        Self { target: Some(Target::MedianAtMost(value)), ..self }
    }

    pub(crate) fn worst_at_most(self, value: f64) -> Self {
        Self { target: Some(Target::WorstAtMost(value)), ..self }
    }

    pub(crate) fn print(&self) {
        let target = self.target.map_or_else(String::new, |target| {
            let (what, value, is_met) = match target {
                Target::MedianAtMost(value) => ("median <=", value, self.median <= value),
                Target::WorstAtMost(value) => ("worst <=", value, self.worst <= value),
            };
            format!("{what} {value:.1}: {}", if is_met { "met" } else { "missed" })
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
