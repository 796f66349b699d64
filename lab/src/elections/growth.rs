//! How figures grow with the number of nodes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::summary::{cells, millis};
use super::{Conditions, Contestant, Run, Situation};
use crate::statistics::{average, bootstrap, line, number, rank, round};

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
    pub contestant: Contestant,
    /// So many of a hundred packets get lost.
    pub loss: u8,
    pub conditions: Conditions,
    pub situation: Situation,
    pub measure: Measure,
    /// At how many sizes.
    pub(super) sizes: usize,
    pub largest: usize,
    pub exponent: f64,
    /// The lower end of its 95 % confidence interval.
    pub exponent_low: f64,
    /// The upper end of it.
    pub exponent_high: f64,
    /// How much of the variance of the logarithms the fitted line explains, 0 to 1.
    pub(super) r_squared: f64,
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
    let both = |cells: Vec<(usize, Vec<&Run>)>| {
        [Measure::Time, Measure::Messages].map(|measure| Growth::of(&cells, measure))
    };
    series.into_values().flat_map(both).flatten().collect()
}

impl Growth {
    /// In cells that differ in size only.
    fn of(cells: &[(usize, Vec<&Run>)], measure: Measure) -> Option<Self> {
        let values = cells.iter().map(|(size, runs)| (*size, measure.values(runs)));
        let (sizes, values): (Vec<usize>, Vec<Vec<f64>>) =
            values.filter(|(_, values)| measure.level(values).is_some()).unzip();
        if sizes.len() < FEWEST_SIZES {
            return None;
        }
        let fit = |samples: &[Vec<f64>]| {
            let levels = sizes.iter().zip(samples).filter_map(|(size, values)| {
                Some((number(*size).ln(), measure.level(values)?.ln()))
            });
            line(&levels.collect::<Vec<_>>())
        };
        let (_, explained) = fit(&values)?;
        let samples: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        let slope = bootstrap(&samples, |samples| Some(fit(samples)?.0))?.rounded();
        let trial = cells.first()?.1.first()?.trial;
        Some(Self {
            contestant: trial.contestant,
            loss: trial.loss,
            conditions: trial.conditions,
            situation: trial.situation,
            measure,
            sizes: sizes.len(),
            largest: *sizes.last()?,
            exponent: slope.estimate,
            exponent_low: slope.low,
            exponent_high: slope.high,
            r_squared: round(explained),
        })
    }
}

impl Measure {
    /// The values of runs; a censored time is infinite.
    fn values(self, runs: &[&Run]) -> Vec<f64> {
        let value = |run: &&Run| match self {
            Self::Time => Some(run.took.map_or(f64::INFINITY, millis)),
            Self::Messages => run.prepared.then(|| run.excess()),
        };
        runs.iter().filter_map(value).collect()
    }

    /// What is drawn over the size, if it has a logarithm.
    fn level(self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Time => {
                let mut sorted = values.to_vec();
                sorted.sort_by(f64::total_cmp);
                let median = sorted[rank(sorted.len(), 0.5)? - 1];
                (median.is_finite() && median > 0.0).then_some(median)
            }
            Self::Messages => average(values).filter(|messages| *messages >= 1.0),
        }
    }
}
