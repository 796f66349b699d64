//! Times, counted in bins.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::millis;

/// Spans of bins in seconds: from, to, and the width, by which a percentile may be too large.
const SPANS: [(u32, u32, usize); 5] =
    [(0, 60, 1), (60, 120, 2), (120, 300, 5), (300, 600, 15), (600, 3600, 60)];

/// How many bins there are; the last one has no upper edge.
pub(crate) const BINS: u8 = 60 + 30 + 36 + 20 + 50 + 1;

/// Times: how many in each of at most [`BINS`] bins, their sum and the longest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Histogram {
    /// By bin, without the empty ones.
    pub(crate) bins: BTreeMap<u8, u32>,
    /// In milliseconds.
    pub(crate) sum: u64,
    /// In milliseconds.
    pub(crate) longest: u32,
}

impl Histogram {
    pub(crate) fn record(&mut self, time: Duration) {
        let time = millis(time);
        let (bins, sum) = (BTreeMap::from([(bin_of(time), 1)]), time.into());
        self.add(&Self { bins, sum, longest: time });
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (bin, more) in &other.bins {
            let count = self.bins.entry(*bin).or_default();
            *count = count.saturating_add(*more);
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.longest = self.longest.max(other.longest);
    }

    pub(crate) fn count(&self) -> u64 {
        self.bins.values().map(|count| u64::from(*count)).sum()
    }

    pub(crate) fn mean(&self) -> Option<Duration> {
        self.sum.checked_div(self.count()).map(Duration::from_millis)
    }

    pub(crate) fn longest(&self) -> Option<Duration> {
        (!self.bins.is_empty()).then(|| Duration::from_millis(self.longest.into()))
    }

    /// The percentile by nearest rank; too large by at most the width of its bin.
    pub(crate) fn percentile(&self, per_cent: u8) -> Option<Duration> {
        let rank = (self.count() * u64::from(per_cent)).div_ceil(100).max(1);
        let mut seen = 0;
        let (bin, _) = self.bins.iter().find(|(_, count)| {
            seen += u64::from(**count);
            seen >= rank
        })?;
        let longest = Duration::from_millis(self.longest.into());
        Some(bin_edges(*bin).1.map_or(longest, |to| to.min(longest)))
    }

    /// How many times are at least `from`, and less than `to`. Both have to be edges of bins.
    pub(crate) fn between(&self, from: Duration, to: Option<Duration>) -> u64 {
        let is_within = |bin: u8| {
            let (begins, _) = bin_edges(bin);
            begins >= from && to.is_none_or(|to| begins < to)
        };
        let within = self.bins.iter().filter(|(bin, _)| is_within(**bin));
        within.map(|(_, count)| u64::from(*count)).sum()
    }
}

fn edges() -> impl Iterator<Item = u32> {
    SPANS.into_iter().flat_map(|(from, to, width)| (from..to).step_by(width)).chain([3600])
}

fn bin_of(time: u32) -> u8 {
    let later = edges().skip(1).take_while(|edge| edge * 1000 <= time).count();
    u8::try_from(later).unwrap_or(BINS - 1)
}

/// The least time of a bin, and that of the next one.
pub(crate) fn bin_edges(bin: u8) -> (Duration, Option<Duration>) {
    let mut edges = edges().skip(bin.into()).map(|edge| Duration::from_secs(edge.into()));
    (edges.next().unwrap_or(Duration::MAX), edges.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        for time in times {
            histogram.record(Duration::from_millis(time));
        }
        histogram
    }

    #[test]
    fn bins_follow_each_other_without_a_gap() {
        assert_eq!(edges().count(), usize::from(BINS));
        for bin in 0..BINS {
            let (from, to) = bin_edges(bin);
            assert_eq!(bin_of(millis(from)), bin);
            assert_eq!(bin_of(to.map_or(u32::MAX, |to| millis(to) - 1)), bin);
        }
    }

    /// Against the exact percentiles of the same times, over every span of bins.
    #[test]
    fn a_percentile_is_never_too_small_and_too_large_by_a_bin_at_most() {
        let mut random = fastrand::Rng::with_seed(11);
        for most in [900, 20_000, 100_000, 280_000, 590_000, 3_500_000] {
            let mut times: Vec<u64> = (0..997).map(|_| random.u64(0..most)).collect();
            let histogram = of(times.iter().copied());
            times.sort_unstable();
            for per_cent in [1, 50, 90, 95, 99, 100] {
                let exact = times[(997 * usize::from(per_cent)).div_ceil(100) - 1];
                let found = histogram.percentile(per_cent).unwrap();
                let (from, to) = bin_edges(bin_of(u32::try_from(exact).unwrap()));
                let error = found.checked_sub(Duration::from_millis(exact));
                assert!(
                    error.is_some_and(|error| error <= to.unwrap().abs_diff(from)),
                    "{most}, P{per_cent}: {found:?}, and is {exact} ms"
                );
            }
        }
    }
}
