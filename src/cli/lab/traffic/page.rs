//! The comparison as tables for people.

use liftmesh_lab::elections::Interval;
use liftmesh_lab::traffic::{Comparison, Difference, Means, PUBLISHED, Summary};

use crate::cli::lab::titled;
use crate::cli::table::table;

/// A table of figures, one of differences, one of ratios, and that of Crites and Barto.
pub(super) fn page(
    comparison: &Comparison,
    summaries: &[Summary],
    differences: &[Difference],
) -> String {
    let mut sections = vec![figures(summaries)];
    if let Some(base) = comparison.strategies.first() {
        if !differences.is_empty() {
            sections.push(self::differences(&base.to_string(), differences));
        }
        let ratios = comparison.strategies[1..].iter().filter_map(|&strategy| {
            let [awt, p90, attd] = Difference::ratios(summaries, *base, strategy)?;
            let share = |ratio: f64| format!("{ratio:.3}");
            Some([strategy.to_string(), share(awt), share(p90), share(attd)])
        });
        let ratios: Vec<_> = ratios.collect();
        if !ratios.is_empty() {
            let table = table(["STRATEGY", "AWT", "P90", "ATTD"], ratios);
            sections.push(format!(
                "ratio to {base}, geometric mean over the unsaturated cells\n{table}"
            ));
        }
    }
    if let Some(cell) = comparison.cells.iter().find(|cell| cell.is_crites_barto()) {
        let ours = summaries.iter().filter(|summary| summary.cell == cell.name);
        sections.push(crites_barto(&ours.collect::<Vec<_>>()));
    }
    sections.join("\n")
}

fn figures(summaries: &[Summary]) -> String {
    format!(
        "(waiting times and time to destination in s: means over the seeds, and the longest of \
         all; car starts and metres in a run; time of a plan in µs: mean and most)\n{}",
        titled(summaries.iter().map(row))
    )
}

fn row(summary: &Summary) -> [(&'static str, String); 15] {
    let figure = |of: fn(&Means) -> f64| {
        summary.means.as_ref().map_or_else(|| "-".to_owned(), |means| format!("{:.1}", of(means)))
    };
    let (awt, range) = match &summary.means {
        Some(means) => (format!("{:.2}", means.awt.estimate), range(means.awt)),
        None if summary.saturated == 0 => ("-".to_owned(), "no passengers".to_owned()),
        None => ("saturated".to_owned(), format!("{} of {}", summary.saturated, summary.runs)),
    };
    [
        ("CELL", summary.cell.clone()),
        ("STRATEGY", summary.strategy.clone()),
        ("SERVED", format!("{:.1} %", summary.served)),
        ("AWT", awt),
        ("95 % CI", range),
        ("P90", figure(|means| means.p90.estimate)),
        ("P99", figure(|means| means.p99)),
        (
            "> 60 S",
            summary.means.map_or_else(|| "-".to_owned(), |means| format!("{:.2} %", means.over_60)),
        ),
        ("LONGEST", format!("{:.0}", summary.longest)),
        ("ATTD", figure(|means| means.attd.estimate)),
        ("WRONG WAY", format!("{:.2} %", summary.wrong_way)),
        ("STARTS", format!("{:.0}", summary.starts)),
        ("METRES", format!("{:.0}", summary.metres)),
        ("PLAN", format!("{:.0}", summary.plan_mean)),
        ("MOST", format!("{:.0}", summary.plan_longest)),
    ]
}

/// Nothing where all seeds agree: one seed says nothing about others.
fn range(interval: Interval) -> String {
    if interval.low < interval.high {
        format!("{:.2} to {:.2}", interval.low, interval.high)
    } else {
        "-".to_owned()
    }
}

fn differences(base: &str, differences: &[Difference]) -> String {
    let heading = ["CELL", "STRATEGY", "AWT", "95 % CI", "P90", "95 % CI", "ATTD", "95 % CI"];
    let change = |interval: Interval| format!("{:+.2}", interval.estimate);
    let both = |interval: Interval| {
        let range = || format!("{:+.2} to {:+.2}", interval.low, interval.high);
        if interval.low < interval.high { range() } else { "-".to_owned() }
    };
    let rows = differences.iter().map(|difference| {
        [
            difference.cell.clone(),
            difference.strategy.clone(),
            change(difference.awt),
            both(difference.awt),
            change(difference.p90),
            both(difference.p90),
            change(difference.attd),
            both(difference.attd),
        ]
    });
    format!("difference from {base} with the same passengers, in s\n{}", table(heading, rows))
}

fn crites_barto(ours: &[&Summary]) -> String {
    let heading = ["CONTROLLER", "AWT", "SQUARED", "SYSTEM", "> 60 S"];
    let line = |name: &str, awt: f64, squared: f64, system: f64, over_60: f64| {
        [
            name.to_owned(),
            format!("{awt:.1}"),
            format!("{squared:.0}"),
            format!("{system:.1}"),
            format!("{over_60:.2} %"),
        ]
    };
    let published = PUBLISHED.iter().map(|&(name, awt, squared, system, over_60)| {
        line(&format!("{name} (published)"), awt, squared, system, over_60)
    });
    let ours = ours.iter().filter_map(|summary| {
        let means = summary.means?;
        let (awt, attd) = (means.awt.estimate, means.attd.estimate);
        Some(line(&summary.strategy, awt, means.squared, attd, means.over_60))
    });
    format!(
        "Crites and Barto, down-peak: mean wait, mean squared wait, and time in the system in s\n{}",
        table(heading, published.chain(ours))
    )
}
