//! How figures grow with the number of nodes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::summary::{cells, millis};
use super::{Conditions, Contestant, Run, Situation};
use crate::statistics::{average, bootstrap, line, number};

/// Fewer sizes say nothing about growth.
const FEWEST_SIZES: usize = 3;

/// What grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The median of the times.
    Time,
    /// The mean of the messages that exceed those of a quiet fleet.
    Messages,
}

/// A figure grows about as this power of the number of nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Growth {
    /// Who.
    pub contestant: Contestant,
    /// So many of a hundred packets get lost.
    pub loss: u8,
    /// How the network and the clocks are.
    pub conditions: Conditions,
    /// What happened.
    pub situation: Situation,
    /// What grows.
    pub measure: Measure,
    /// At how many sizes.
    pub sizes: usize,
    /// The largest of them.
    pub largest: usize,
    /// The exponent.
    pub exponent: f64,
    /// The lower end of its 95 % confidence interval.
    pub exponent_low: f64,
    /// The upper end of it.
    pub exponent_high: f64,
    /// How much of the variance of the logarithms the fitted line explains, 0 to 1.
    pub r_squared: f64,
}

/// Of every situation that settles: how time and messages grow. Sizes are left out whose median is
/// censored, and those with less than one message on average. There is no growth over fewer than
/// three sizes.
#[must_use]
pub fn growth(runs: &[Run]) -> Vec<Growth> {
    let mut series: BTreeMap<_, Vec<(usize, Vec<&Run>)>> = BTreeMap::new();
    for ((situation, conditions, loss, size, contestant), runs) in cells(runs) {
        if situation.settles() {
            let key = (situation, conditions, loss, contestant);
            series.entry(key).or_default().push((size, runs));
        }
    }
    let mut all = Vec::new();
    for ((situation, conditions, loss, contestant), sizes) in series {
        for measure in [Measure::Time, Measure::Messages] {
            let Some(fit) = fit(&sizes, measure) else {
                continue;
            };
            all.push(Growth {
                contestant,
                loss,
                conditions,
                situation,
                measure,
                sizes: fit.sizes.len(),
                largest: fit.sizes.last().copied().unwrap_or_default(),
                exponent: fit.exponent,
                exponent_low: fit.low,
                exponent_high: fit.high,
                r_squared: fit.explained,
            });
        }
    }
    all
}

struct Fit {
    sizes: Vec<usize>,
    exponent: f64,
    low: f64,
    high: f64,
    explained: f64,
}

fn fit(cells: &[(usize, Vec<&Run>)], measure: Measure) -> Option<Fit> {
    let values = cells.iter().map(|(size, runs)| (*size, values(runs, measure)));
    let values: Vec<(usize, Vec<f64>)> =
        values.filter(|(_, values)| level(values, measure).is_some()).collect();
    if values.len() < FEWEST_SIZES {
        return None;
    }
    let sizes: Vec<usize> = values.iter().map(|(size, _)| *size).collect();
    let points = |samples: &[Vec<f64>]| {
        let levels = sizes.iter().zip(samples);
        let points = levels
            .filter_map(|(size, values)| Some((number(*size).ln(), level(values, measure)?.ln())));
        points.collect::<Vec<_>>()
    };
    let samples: Vec<&[f64]> = values.iter().map(|(_, values)| values.as_slice()).collect();
    let owned: Vec<Vec<f64>> = values.iter().map(|(_, values)| values.clone()).collect();
    let (_, explained) = line(&points(&owned))?;
    let slope = bootstrap(&samples, |samples| Some(line(&points(samples))?.0))?;
    let round = |value: f64| (value * 1_000.0).round() / 1_000.0;
    Some(Fit {
        sizes: sizes.clone(),
        exponent: round(slope.estimate),
        low: round(slope.low),
        high: round(slope.high),
        explained: round(explained),
    })
}

/// The values of runs; a censored time is infinite.
fn values(runs: &[&Run], measure: Measure) -> Vec<f64> {
    let value = |run: &&Run| match measure {
        Measure::Time => Some(run.took.map_or(f64::INFINITY, millis)),
        Measure::Messages => run.prepared.then(|| run.excess()),
    };
    runs.iter().filter_map(value).collect()
}

/// What is drawn over the size, if it has a logarithm.
fn level(values: &[f64], measure: Measure) -> Option<f64> {
    match measure {
        Measure::Time => {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            let median = sorted.get(sorted.len().div_ceil(2).saturating_sub(1)).copied();
            median.filter(|time| time.is_finite() && *time > 0.0)
        }
        Measure::Messages => average(values).filter(|messages| *messages >= 1.0),
    }
}
