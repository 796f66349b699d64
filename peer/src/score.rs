//! What passengers saw of a run, and the table of ratios.

use crate::suite::{Passenger, WARM_UP};

/// What happened to a passenger.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Journey {
    /// Seconds from the start of the run.
    pub(crate) boarded: Option<f64>,
    /// Seconds from the start of the run.
    pub(crate) exited: Option<f64>,
}

/// The figures of one run, or the mean of several.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Score {
    /// Per cent of the scored passengers who reached their destination.
    pub(crate) served: f64,
    /// Mean time from arrival to boarding, in seconds.
    pub(crate) awt: f64,
    /// Its 90th percentile, in seconds.
    pub(crate) p90: f64,
    /// Per cent who waited for more than a minute.
    pub(crate) over_60: f64,
    /// The longest wait, in seconds.
    pub(crate) longest: f64,
    /// Mean time from arrival to exit, in seconds.
    pub(crate) attd: f64,
    /// Per cent of the seconds that riders spent in a moving car that carried them away from their
    /// destination.
    pub(crate) wrong_way: f64,
    /// Mean time of a plan, in microseconds; 0 for strategies of the simulator.
    pub(crate) plan_micros: f64,
}

impl Score {
    /// The figures of the passengers who arrived after the warm-up.
    pub(crate) fn of(passengers: &[Passenger], trips: &[Journey]) -> Self {
        let scored: Vec<_> =
            passengers.iter().zip(trips).filter(|(trip, _)| trip.arrival >= WARM_UP).collect();
        let since = |at: fn(&Journey) -> Option<f64>| {
            let times = scored.iter().filter_map(|(passenger, trip)| {
                at(trip).map(|time| (time - passenger.arrival).max(0.0))
            });
            times.collect::<Vec<f64>>()
        };
        let mut waits = since(|trip| trip.boarded);
        waits.sort_by(f64::total_cmp);
        let totals = since(|trip| trip.exited);
        let long = waits.iter().filter(|&&wait| wait > 60.0).count();
        Self {
            served: 100.0 * ratio(totals.len(), scored.len()),
            awt: mean(&waits),
            p90: waits
                .get((waits.len() * 9 / 10).min(waits.len().saturating_sub(1)))
                .copied()
                .unwrap_or_default(),
            over_60: 100.0 * ratio(long, waits.len()),
            longest: waits.last().copied().unwrap_or_default(),
            attd: mean(&totals),
            wrong_way: 0.0,
            plan_micros: 0.0,
        }
    }

    /// The mean of each figure; of the longest wait, the longest.
    pub(crate) fn mean(scores: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| mean(&scores.iter().map(figure).collect::<Vec<_>>());
        Self {
            served: of(|score| score.served),
            awt: of(|score| score.awt),
            p90: of(|score| score.p90),
            over_60: of(|score| score.over_60),
            longest: scores.iter().map(|score| score.longest).fold(0.0, f64::max),
            attd: of(|score| score.attd),
            wrong_way: of(|score| score.wrong_way),
            plan_micros: of(|score| score.plan_micros),
        }
    }
}

/// Zero of zero is zero.
#[expect(clippy::cast_precision_loss, reason = "counts of passengers")]
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() * ratio(1, values.len())
}

/// The geometric mean of ratios.
pub(crate) fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> f64 {
    mean(&ratios.into_iter().map(f64::ln).collect::<Vec<_>>()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passengers_of_the_warm_up_are_not_scored() {
        let passenger = |arrival| Passenger { arrival, from: 0, to: 1 };
        let trip = |boarded, exited| Journey { boarded: Some(boarded), exited: Some(exited) };
        let passengers = [passenger(10.0), passenger(700.0), passenger(800.0)];
        let trips = [trip(500.0, 600.0), trip(710.0, 740.0), trip(870.0, 900.0)];
        let score = Score::of(&passengers, &trips);
        let close = |figure: f64, expected: f64| (figure - expected).abs() < 1e-9;
        assert!(close(score.awt, 40.0) && close(score.attd, 70.0), "{score:?}");
        assert!(close(score.longest, 70.0) && close(score.p90, 70.0), "{score:?}");
        assert!(close(score.over_60, 50.0) && close(score.served, 100.0), "{score:?}");
    }

    #[test]
    fn ratios_are_averaged_by_their_logarithms() {
        assert!((geometric_mean([0.5, 2.0]) - 1.0).abs() < 1e-12);
    }
}
