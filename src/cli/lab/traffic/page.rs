//! The comparison as tables for people.

use liftmesh_lab::traffic::{Comparison, Difference, Summary};

use crate::cli::lab::fields;
use crate::cli::table::table;

/// A table of figures, one of differences, and one of ratios.
pub(super) fn page(
    comparison: &Comparison,
    summaries: &[Summary],
    differences: &[Difference],
) -> String {
    let names = "cell strategy runs saturated served means.awt.estimate means.awt.low \
                 means.awt.high means.p90.estimate means.p99 means.over_60 means.squared \
                 means.attd.estimate longest wrong_way starts metres plan_mean plan_longest";
    let figures = format!(
        "(times in s, shares in per cent, metres, and the time of a plan in µs: means over the \
         seeds, and the longest of all)\n{}",
        fields(summaries, names)
    );
    let Some(base) = comparison.strategies.first() else { return figures };
    let mut sections = vec![figures];
    if !differences.is_empty() {
        let names = "cell strategy awt.estimate awt.low awt.high p90.estimate p90.low p90.high \
                     attd.estimate attd.low attd.high";
        let table = fields(differences, names);
        sections.push(format!("difference from {base} with the same passengers, in s\n{table}"));
    }
    let ratios = comparison.strategies[1..].iter().filter_map(|&strategy| {
        let ratios = Difference::ratios(summaries, *base, strategy)?;
        let [awt, p90, attd] = ratios.map(|ratio| format!("{ratio:.3}"));
        Some([strategy.to_string(), awt, p90, attd])
    });
    let ratios: Vec<_> = ratios.collect();
    if !ratios.is_empty() {
        let table = table(["strategy", "awt", "p90", "attd"], ratios);
        let over = "geometric mean over the unsaturated cells";
        sections.push(format!("ratio to {base}, {over}\n{table}"));
    }
    sections.join("\n")
}
