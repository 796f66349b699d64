//! Quantiles of censored times, means, rates and slopes, with 95 % confidence intervals.

use fastrand::Rng;
use serde::{Serialize, Serializer};

/// Half of what a confidence interval leaves out.
const TAIL: f64 = 0.025;

const RESAMPLES: usize = 1_000;

const BOOTSTRAP_SEED: u64 = 1;

/// A value that may be censored. As text and in files, `>30000` is one beyond 30000.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Level {
    At(f64),
    /// It is not known, but larger than this.
    Beyond(f64),
}

impl Level {
    /// The value, unless it is censored.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        match self {
            Self::At(value) => Some(value),
            Self::Beyond(_) => None,
        }
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At(value) => serializer.serialize_f64(*value),
            Self::Beyond(value) => serializer.collect_str(&format_args!(">{value}")),
        }
    }
}

/// A quantile with its 95 % confidence interval; a side is missing where there are too few values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    pub estimate: Level,
    pub low: Option<Level>,
    pub high: Option<Level>,
}

/// An estimate with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Interval {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Each of its numbers to three decimals.
    pub(crate) fn rounded(self) -> Self {
        let Self { estimate, low, high } = self;
        Self { estimate: round(estimate), low: round(low), high: round(high) }
    }
}

/// Times of which some are only known to be longer than a limit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Times {
    sorted: Vec<f64>,
    censored: usize,
    limit: f64,
}

impl Times {
    /// `None` is a time beyond the limit.
    pub(crate) fn new(times: impl IntoIterator<Item = Option<f64>>, limit: f64) -> Self {
        let (mut sorted, mut censored) = (Vec::new(), 0);
        for time in times {
            match time {
                Some(time) => sorted.push(time),
                None => censored += 1,
            }
        }
        sorted.sort_by(f64::total_cmp);
        Self { sorted, censored, limit }
    }

    fn len(&self) -> usize {
        self.sorted.len() + self.censored
    }

    /// The time of this rank, from 1.
    fn at(&self, rank: usize) -> Level {
        self.sorted.get(rank - 1).map_or(Level::Beyond(self.limit), |time| Level::At(*time))
    }

    /// The smallest time that at least this share did not exceed. `None` of no times.
    pub(crate) fn at_share(&self, share: f64) -> Option<Level> {
        rank(self.len(), share).map(|rank| self.at(rank))
    }

    /// This with its interval, which is between two order statistics.
    pub(crate) fn quantile(&self, share: f64) -> Option<Quantile> {
        let estimate = self.at_share(share)?;
        let (low, high) = ranks(self.len(), share);
        let at = |rank: Option<usize>| rank.map(|rank| self.at(rank));
        Some(Quantile { estimate, low: at(low), high: at(high) })
    }

    /// The steps of the empirical distribution: each time that occurs, and the share of all times
    /// that do not exceed it.
    pub(crate) fn steps(&self) -> Vec<(f64, f64)> {
        let share = |rank: usize| number(rank) / number(self.len());
        (1..).zip(&self.sorted).map(|(rank, time)| (*time, share(rank))).collect()
    }
}

/// The rank, from 1, of the least of this many values that at least this share does not exceed.
pub(crate) fn rank(count: usize, share: f64) -> Option<usize> {
    (1..=count).find(|rank| number(*rank) >= number(count) * share - 1e-9)
}

/// The ranks, from 1, of the order statistics between which a quantile of this many values lies
/// with at least 95 % confidence, whatever their distribution.
///
/// The number B of values up to the quantile has a binomial distribution. The value of rank r
/// exceeds the quantile if B < r, and falls short of it if B ≥ r.
fn ranks(count: usize, share: f64) -> (Option<usize>, Option<usize>) {
    let cumulative = binomial(count, share);
    let low = (1..=count).rev().find(|rank| cumulative[rank - 1] <= TAIL);
    let high = (1..=count).find(|rank| 1.0 - cumulative[rank - 1] <= TAIL);
    (low, high)
}

/// The probabilities of at most 0, 1, … `count` successes.
fn binomial(count: usize, share: f64) -> Vec<f64> {
    let odds = (share / (1.0 - share)).ln();
    let mut log = number(count) * (1.0 - share).ln();
    let mut sum = 0.0;
    let mut cumulative = Vec::with_capacity(count + 1);
    for successes in 0..=count {
        sum += log.exp();
        cumulative.push(sum);
        log += odds + (number(count - successes) / number(successes + 1)).ln();
    }
    cumulative
}

/// The mean; its interval is by bootstrap. `None` of no values.
pub(crate) fn mean(values: &[f64]) -> Option<Interval> {
    bootstrap(&[values], |samples| samples.iter().find_map(|sample| average(sample)))
}

pub(crate) fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / number(values.len()))
}

/// An estimate from several samples; each is resampled with replacement, and the interval has the
/// percentiles of the estimates, without the resamples that give none.
pub(crate) fn bootstrap<T: Copy>(
    samples: &[&[T]],
    estimate: impl Fn(&[Vec<T>]) -> Option<f64>,
) -> Option<Interval> {
    let mut resampled: Vec<Vec<T>> = samples.iter().map(|sample| sample.to_vec()).collect();
    let value = estimate(&resampled)?;
    let mut random = Rng::with_seed(BOOTSTRAP_SEED);
    let mut estimates = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for (to, from) in resampled.iter_mut().zip(samples) {
            for value in to {
                *value = from[random.usize(0..from.len())];
            }
        }
        estimates.extend(estimate(&resampled));
    }
    estimates.sort_by(f64::total_cmp);
    let (low, high) = (RESAMPLES / 40, RESAMPLES - RESAMPLES / 40 - 1);
    let at = |rank: usize| estimates.get(rank * estimates.len() / RESAMPLES).copied();
    let (low, high) = (at(low).unwrap_or(value), at(high).unwrap_or(value));
    Some(Interval { estimate: value, low, high })
}

/// How often something happens in a unit of time, if it happened so often in so much time. The
/// interval is exact for a Poisson process. `None` if no time has passed.
pub(crate) fn rate(events: u64, time: f64) -> Option<Interval> {
    if time <= 0.0 {
        return None;
    }
    // The mean at which this many events are just not too few, or too many.
    let low = if events == 0 {
        0.0
    } else {
        root(|mean| 1.0 - poisson(events - 1, mean) >= TAIL, whole(events))
    };
    let high = root(|mean| poisson(events, mean) <= TAIL, whole(events));
    Some(Interval { estimate: whole(events) / time, low: low / time, high: high / time })
}

/// The probability of at most this many events.
fn poisson(events: u64, mean: f64) -> f64 {
    let mut log = -mean;
    let mut sum = 0.0;
    for event in 0..=events {
        sum += log.exp();
        log += mean.ln() - whole(event + 1).ln();
    }
    sum.min(1.0)
}

/// Where a condition begins to hold, from 0 up.
fn root(holds: impl Fn(f64) -> bool, near: f64) -> f64 {
    let (mut low, mut high) = (0.0, near.max(1.0));
    while !holds(high) {
        low = high;
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// A least-squares line through points: its slope, and how much of the variance it explains.
/// `None` of points that are not at two places at least.
pub(crate) fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = number(points.len());
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let sum = |of: fn(f64, f64) -> f64| {
        points.iter().map(|point| of(point.0 - mean_x, point.1 - mean_y)).sum::<f64>()
    };
    let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
    if points.is_empty() || xx <= 0.0 {
        return None;
    }
    let explained = if yy > 0.0 { xy * xy / (xx * yy) } else { 1.0 };
    Some((xy / xx, explained))
}

/// To three decimals.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

pub(crate) fn number(count: usize) -> f64 {
    whole(count as u64)
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2 to the 52nd events")]
pub(crate) fn whole(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: impl IntoIterator<Item = u32>, censored: usize) -> Times {
        let times = of.into_iter().map(|time| Some(f64::from(time)));
        Times::new(times.chain(std::iter::repeat_n(None, censored)), 30_000.0)
    }

    fn near(value: f64, wanted: f64, tolerance: f64) -> bool {
        (value - wanted).abs() <= tolerance
    }

    #[test]
    fn a_quantile_is_the_least_time_that_its_share_did_not_exceed() {
        let hundred = times(1..=100, 0);
        for (share, wanted) in [(0.5, 50.0), (0.95, 95.0), (0.99, 99.0)] {
            let quantile = hundred.quantile(share).expect("times");
            assert_eq!(quantile.estimate, Level::At(wanted));
        }
        assert_eq!(times([7], 0).quantile(0.99).expect("a time").estimate, Level::At(7.0));
        assert_eq!(times([], 0).quantile(0.5), None);
    }

    /// The tables of order statistics have 10 and 21 for the median of 30 values, 40 and 61 for
    /// that of 100. An interval needs enough values.
    #[test]
    fn the_interval_of_a_quantile_is_that_of_the_tables() {
        for (count, share, low, high) in [
            (30, 0.5, Some(10), Some(21)),
            (100, 0.5, Some(40), Some(61)),
            (5, 0.5, None, None),
            (6, 0.5, Some(1), Some(6)),
            (71, 0.95, Some(63), None),
            (72, 0.95, Some(64), Some(72)),
            (367, 0.99, Some(359), None),
            (368, 0.99, Some(360), Some(368)),
        ] {
            assert_eq!(ranks(count, share), (low, high), "{count} {share}");
        }
    }

    #[test]
    fn censored_times_are_beyond_the_limit_and_count() {
        let some = times(1..=10, 20);
        let beyond = Level::Beyond(30_000.0);
        assert_eq!(some.quantile(0.3).expect("times").estimate, Level::At(9.0));
        let median = some.quantile(0.5).expect("times");
        assert_eq!((median.low, median.estimate), (Some(Level::At(10.0)), beyond));
        assert_eq!(median.high, Some(beyond));
        assert_eq!(serde_json::to_string(&beyond).expect("text"), "\">30000\"");
        let last = *some.steps().last().expect("times");
        assert_eq!(last, (10.0, 1.0 / 3.0));
    }

    /// The exact limits for 0, 5 and 100 events.
    #[test]
    fn the_interval_of_a_rate_is_that_of_the_tables() {
        for (events, low, high) in
            [(0, 0.0, 3.689), (1, 0.025, 5.572), (5, 1.623, 11.668), (100, 81.364, 121.627)]
        {
            let rate = rate(events, 1.0).expect("time has passed");
            let is_right = near(rate.low, low, 0.001) && near(rate.high, high, 0.001);
            assert!(is_right, "{events}: {rate:?}");
        }
        let hourly = rate(5, 0.5).expect("time has passed");
        assert!(near(hourly.estimate, 10.0, 1e-9) && near(hourly.high, 23.336, 0.002));
        assert_eq!(rate(3, 0.0), None);
    }

    #[test]
    fn the_interval_of_a_mean_is_as_wide_as_its_error() {
        let mut random = Rng::with_seed(3);
        let values: Vec<f64> = (0..400).map(|_| random.f64()).collect();
        let mean = mean(&values).expect("values");
        let error = 1.96 * (1.0_f64 / 12.0 / 400.0).sqrt();
        assert!(mean.low < mean.estimate && mean.estimate < mean.high, "{mean:?}");
        assert!(near(mean.high - mean.low, 2.0 * error, 0.3 * error), "{mean:?}");
        assert_eq!(super::mean(&[]), None);
        let same = super::mean(&[4.0; 5]).expect("values");
        assert_eq!((same.low, same.estimate, same.high), (4.0, 4.0, 4.0));
    }
}
