//! The dispatchers of this project beside the best strategies of `elevator-core`, in the simulator
//! of that crate, on the same passengers.
//!
//! ```text
//! cargo run --release -p liftmesh-peer -- --seeds 3-12
//! cargo run --release -p liftmesh-peer -- --commit "$(git rev-parse HEAD)"
//! ```

mod bank;
mod driver;
mod score;
mod strategy;
mod suite;

use std::io::Write;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use elevator_simulator::building::seed_of_commit;
use rayon::prelude::*;

use crate::score::{Score, tables};
use crate::strategy::Strategy;
use crate::suite::Cell;

/// Compares dispatchers on the traffic suite.
#[derive(Debug, Parser)]
struct Arguments {
    /// The seeds of the passengers: one number, or the first and the last of a range.
    #[arg(long, default_value = "1-5", value_parser = seeds)]
    seeds: (u64, u64),
    /// Instead of these, three seeds drawn from the hash of this commit, on which nobody has tuned.
    #[arg(long, value_parser = commit, conflicts_with = "seeds")]
    commit: Option<(u64, u64)>,
    /// Only cells whose name contains this, for example `B16` or `inter`; `car-park` and `express`
    /// for buildings whose cars do not all stop everywhere.
    #[arg(long, default_value = "")]
    cell: String,
}

fn seeds(text: &str) -> Result<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse()?, last.parse()?);
    ensure!(first <= last, "the first seed is not above the last");
    Ok((first, last))
}

fn commit(hash: &str) -> Result<(u64, u64)> {
    let first = seed_of_commit(hash).context("a hash of at least 12 digits is needed")?;
    Ok((first, first + 2))
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut cells = Cell::all();
    if !arguments.cell.is_empty() {
        cells.extend(Cell::zones());
        cells.retain(|cell| cell.to_string().contains(&arguments.cell));
    }
    ensure!(!cells.is_empty(), "unknown cell {}", arguments.cell);
    let strategies: Vec<_> = Strategy::PEERS.into_iter().chain(Strategy::ours()).collect();
    let (first, last) = arguments.commit.unwrap_or(arguments.seeds);
    let runs =
        cells.iter().flat_map(|cell| strategies.iter().map(move |strategy| (cell, strategy)));
    let runs: Vec<_> = runs.collect();
    let scores = runs.par_iter().map(|&(cell, &strategy)| {
        let run = |seed| {
            bank::run(&cell.building, &cell.passengers(seed), strategy)
                .with_context(|| format!("{strategy} on {cell}, seed {seed}"))
        };
        Ok(Score::mean(&(first..=last).map(run).collect::<Result<Vec<_>>>()?))
    });
    let scores: Vec<Score> = scores.collect::<Result<_>>()?;
    let scores: Vec<_> = scores.chunks(strategies.len()).map(<[Score]>::to_vec).collect();
    std::io::stdout().lock().write_all(tables(&cells, &strategies, &scores).as_bytes())?;
    Ok(())
}
