//! Times, counted in bins.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::millis;

/// Spans of bins: from the end of the one before up to this many seconds, bins of this many seconds.
///
/// A percentile is the end of its bin, so it is too large by at most the width.
const SPANS: [(u32, u32); 5] = [(60, 1), (120, 2), (300, 5), (600, 15), (3600, 60)];

/// How many bins there are; the last one has no upper edge.
pub(crate) const BINS: u8 = 60 + 30 + 36 + 20 + 50 + 1;

/// Times: how many in each bin, their sum and the longest.
///
/// Its size is bounded by [`BINS`], however many times it has.
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
        let count = self.bins.entry(bin_of(time)).or_default();
        *count = count.saturating_add(1);
        self.sum = self.sum.saturating_add(time.into());
        self.longest = self.longest.max(time);
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

    /// The exact mean.
    pub(crate) fn mean(&self) -> Option<Duration> {
        self.sum.checked_div(self.count()).map(Duration::from_millis)
    }

    pub(crate) fn longest(&self) -> Option<Duration> {
        (!self.bins.is_empty()).then(|| Duration::from_millis(self.longest.into()))
    }

    /// A time that this many per cent of the times do not exceed, by nearest rank; too large by at most
    /// the width of its bin: 1 s up to a minute, 2 s up to 2 minutes, 5 s up to 5, 15 s up to 10, 60 s
    /// up to an hour. It is never more than the longest time.
    pub(crate) fn percentile(&self, per_cent: u8) -> Option<Duration> {
        let rank = (self.count() * u64::from(per_cent)).div_ceil(100).max(1);
        let mut seen = 0;
        let (bin, _) = self.bins.iter().find(|(_, count)| {
            seen += u64::from(**count);
            seen >= rank
        })?;
        let longest = Duration::from_millis(self.longest.into());
        Some(match bin_edges(*bin) {
            (_, Some(to)) => to.min(longest),
            (_, None) => longest,
        })
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

/// The bin of a time in milliseconds.
fn bin_of(time: u32) -> u8 {
    let (mut begins, mut bins) = (0, 0);
    for (ends, width) in SPANS {
        if time < ends * 1000 {
            let bin = bins + (time / 1000 - begins) / width;
            return u8::try_from(bin).unwrap_or(BINS - 1);
        }
        bins += (ends - begins) / width;
        begins = ends;
    }
    BINS - 1
}

/// The least time of a bin, and that of the next one.
pub(crate) fn bin_edges(bin: u8) -> (Duration, Option<Duration>) {
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let (mut begins, mut left) = (0, u32::from(bin));
    for (ends, width) in SPANS {
        let bins = (ends - begins) / width;
        if left < bins {
            let from = begins + left * width;
            return (seconds(from), Some(seconds(from + width)));
        }
        left -= bins;
        begins = ends;
    }
    (seconds(begins), None)
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
        let mut begins = Duration::ZERO;
        for bin in 0..BINS {
            let (from, to) = bin_edges(bin);
            assert_eq!(from, begins, "bin {bin}");
            assert_eq!(to.is_none(), bin == BINS - 1, "bin {bin}");
            assert_eq!(bin_of(millis(from)), bin);
            let Some(to) = to else { break };
            assert_eq!(bin_of(millis(to) - 1), bin);
            begins = to;
        }
        assert_eq!(begins, Duration::from_hours(1));
        assert_eq!(bin_of(u32::MAX), BINS - 1);
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

    #[test]
    fn one_time_is_every_percentile_and_none_is_no_percentile() {
        let none = Histogram::default();
        assert_eq!((none.percentile(50), none.mean(), none.longest()), (None, None, None));
        let one = of([12_400]);
        for per_cent in [0, 50, 99, 100] {
            assert_eq!(one.percentile(per_cent), Some(Duration::from_millis(12_400)));
        }
        assert_eq!(one.mean(), Some(Duration::from_millis(12_400)));
        let long = of([5_000_000]);
        assert_eq!(long.percentile(50), Some(Duration::from_secs(5_000)));
    }

    #[test]
    fn the_sum_of_two_is_that_of_all_times() {
        let mut both = of([1_000, 2_000, 70_000]);
        both.add(&of([2_500, 4_000_000]));
        assert_eq!(both, of([1_000, 2_000, 70_000, 2_500, 4_000_000]));
        let seconds = Duration::from_secs;
        assert_eq!(both.between(seconds(0), Some(seconds(5))), 3);
        assert_eq!(both.between(seconds(300), None), 1);
        assert_eq!(both.count(), 5);
    }
}
