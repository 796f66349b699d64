//! What the strategies did over all seeds, and how they differ.

use std::io::Write;

use serde::Serialize;

use super::{Comparison, Figures, Run, Strategy};
use crate::output::{self, WriteError};
use crate::statistics::{Interval, average, mean, number};

/// A strategy in a cell, over all seeds. Averages are missing if a run was saturated, or nobody was
/// scored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub cell: String,
    pub strategy: String,
    pub runs: usize,
    /// In how many of them the bank was saturated.
    pub saturated: usize,
    /// Per cent who reached their destination.
    pub served: f64,
    pub means: Option<Means>,
    /// The longest wait of all runs, s.
    pub longest: f64,
    /// Riders carried away from their destination, in per cent of rider seconds.
    pub wrong_way: f64,
    /// How often a car set off in a run.
    pub starts: f64,
    /// How far all cars went in a run, m.
    pub metres: f64,
    /// The mean time of a plan, µs.
    pub plan_mean: f64,
    /// The longest time of a plan, µs.
    pub plan_longest: f64,
}

/// Means over the seeds of the figures of a run, in the same units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Means {
    pub awt: Interval,
    pub p90: Interval,
    pub p99: f64,
    pub over_60: f64,
    pub squared: f64,
    pub attd: Interval,
}

/// By how much a strategy differs from the first one on the same passengers: that of the strategy
/// less that of the first one, in seconds. A pair with a saturated run has none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub cell: String,
    pub strategy: String,
    /// Compared with whom.
    pub base: String,
    pub awt: Interval,
    pub p90: Interval,
    pub attd: Interval,
}

/// The runs of a comparison by cell and strategy.
fn groups<'a>(comparison: &Comparison, runs: &'a [Run]) -> Vec<Vec<&'a [Run]>> {
    let seeds = usize::try_from(comparison.seeds).unwrap_or(usize::MAX).max(1);
    let groups: Vec<&[Run]> = runs.chunks(seeds).collect();
    groups.chunks(comparison.strategies.len().max(1)).map(<[_]>::to_vec).collect()
}

/// The strategies of each cell, by cell and strategy. `runs` are those of the comparison.
#[must_use]
pub fn summaries(comparison: &Comparison, runs: &[Run]) -> Vec<Summary> {
    groups(comparison, runs).into_iter().flatten().filter_map(summary).collect()
}

fn summary(runs: &[Run]) -> Option<Summary> {
    let first = runs.first()?;
    let of = |figure: fn(&Run) -> f64| {
        average(&runs.iter().map(figure).collect::<Vec<_>>()).unwrap_or_default()
    };
    let most = |figure: fn(&Run) -> f64| runs.iter().map(figure).fold(0.0, f64::max);
    Some(Summary {
        cell: first.cell.clone(),
        strategy: first.strategy.to_string(),
        runs: runs.len(),
        saturated: runs.iter().filter(|run| run.figures.is_err()).count(),
        served: of(|run| run.served),
        means: Means::of(runs),
        longest: most(|run| run.longest),
        wrong_way: of(|run| run.wrong_way),
        starts: of(|run| f64::from(run.starts)),
        metres: of(|run| run.metres),
        plan_mean: of(|run| run.plan_mean),
        plan_longest: most(|run| run.plan_longest),
    })
}

impl Means {
    /// `None` if one of them is saturated, or none has passengers to score. Runs without any are
    /// left out.
    fn of(runs: &[Run]) -> Option<Self> {
        let figures: Vec<Option<Figures>> =
            runs.iter().map(|run| run.figures.ok()).collect::<Option<_>>()?;
        let figures: Vec<Figures> = figures.into_iter().flatten().collect();
        let all = |figure: fn(&Figures) -> f64| figures.iter().map(figure).collect::<Vec<_>>();
        Some(Self {
            awt: mean(&all(|figures| figures.awt))?,
            p90: mean(&all(|figures| figures.p90))?,
            p99: average(&all(|figures| figures.p99))?,
            over_60: average(&all(|figures| figures.over_60))?,
            squared: average(&all(|figures| figures.squared))?,
            attd: mean(&all(|figures| figures.attd))?,
        })
    }
}

/// How the other strategies differ from the first one, by cell and strategy.
#[must_use]
pub fn differences(comparison: &Comparison, runs: &[Run]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for cell in groups(comparison, runs) {
        let Some((base, others)) = cell.split_first() else { continue };
        differences.extend(others.iter().filter_map(|other| difference(base, other)));
    }
    differences
}

fn difference(base: &[Run], other: &[Run]) -> Option<Difference> {
    let pairs = base.iter().zip(other).map(|(base, other)| {
        debug_assert_eq!((&base.cell, base.seed), (&other.cell, other.seed));
        Some((base.figures.ok()?, other.figures.ok()?))
    });
    let pairs: Vec<_> = pairs.collect::<Option<_>>()?;
    // Runs without passengers to score are left out.
    let pairs: Vec<_> = pairs.into_iter().filter_map(|(base, other)| base.zip(other)).collect();
    let of = |figure: fn(&Figures) -> f64| {
        let pair = |(base, other): &(Figures, Figures)| figure(other) - figure(base);
        mean(&pairs.iter().map(pair).collect::<Vec<_>>())
    };
    Some(Difference {
        cell: other.first()?.cell.clone(),
        strategy: other.first()?.strategy.to_string(),
        base: base.first()?.strategy.to_string(),
        awt: of(|figures| figures.awt)?,
        p90: of(|figures| figures.p90)?,
        attd: of(|figures| figures.attd)?,
    })
}

impl Difference {
    /// The geometric mean over the cells of a strategy's figure as a share of that of the first
    /// one: AWT, P90 and ATTD. `None` if no cell has both.
    #[must_use]
    pub fn ratios(summaries: &[Summary], base: Strategy, of: Strategy) -> Option<[f64; 3]> {
        let means = |strategy: Strategy, cell: &str| {
            let name = strategy.to_string();
            let found = summaries.iter().find(|one| one.strategy == name && one.cell == cell);
            found.and_then(|summary| summary.means)
        };
        let cells = summaries.iter().filter(|summary| summary.strategy == of.to_string());
        let pairs = cells
            .filter_map(|summary| Some((means(base, &summary.cell)?, means(of, &summary.cell)?)));
        let pairs: Vec<(Means, Means)> = pairs.collect();
        let mean = |figure: fn(&Means) -> f64| {
            let logs = pairs.iter().map(|(base, of)| (figure(of) / figure(base)).ln());
            (logs.sum::<f64>() / number(pairs.len())).exp()
        };
        let figures: [fn(&Means) -> f64; 3] =
            [|means| means.awt.estimate, |means| means.p90.estimate, |means| means.attd.estimate];
        (!pairs.is_empty()).then(|| figures.map(mean))
    }
}

/// JSON: an object with the lists `summaries` and `differences`.
///
/// # Errors
/// [`WriteError`]
pub fn write_json(
    summaries: &[Summary],
    differences: &[Difference],
    to: impl Write,
) -> Result<(), WriteError> {
    #[derive(Serialize)]
    struct Page<'a> {
        summaries: &'a [Summary],
        differences: &'a [Difference],
    }
    output::write_json(&Page { summaries, differences }, to)
}
