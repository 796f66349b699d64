//! The strategies side by side in some cells of the traffic suite.
//!
//! ```text
//! cargo run --release -p liftmesh-lab --example traffic -- crites-barto 20
//! ```
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it prints what it finds, and how long decisions take"
)]

use std::error::Error;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use liftmesh_lab::traffic::{Cell, Comparison, STRATEGIES, summaries};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fn stopwatch() -> Duration {
    START.elapsed()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let cells = Cell::named(&words.next().unwrap_or_else(|| "A12_lunch".to_owned()))?;
    let seeds = words.next().map_or(Ok(3), |seeds| seeds.parse())?;
    let comparison = Comparison { cells, strategies: STRATEGIES.to_vec(), seed: 1, seeds };
    let runs = comparison.run(stopwatch, |_| ())?;
    for summary in summaries(&comparison, &runs) {
        let (cell, strategy) = (&summary.cell, &summary.strategy);
        match summary.means {
            Some(means) => println!(
                "{cell:<14} {strategy:<12} AWT {:5.1} s, P90 {:5.1} s, > 60 s {:5.2} %, squared \
                 {:5.0} s², ATTD {:5.1} s, longest {:4.0} s, wrong way {:.2} %, plan {:.0} µs",
                means.awt.estimate,
                means.p90.estimate,
                means.over_60,
                means.squared,
                means.attd.estimate,
                summary.longest,
                summary.wrong_way,
                summary.plan_mean,
            ),
            None => println!(
                "{cell:<14} {strategy:<12} saturated in {} of {} runs",
                summary.saturated, summary.runs
            ),
        }
    }
    println!("{:.1} s", stopwatch().as_secs_f64());
    Ok(())
}
