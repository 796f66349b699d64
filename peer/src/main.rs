//! The dispatchers of this project beside the strategies of `elevator-core`, in the simulator of
//! that crate, on the same passengers.
//!
//! ```text
//! cargo run --release -p liftmesh-peer -- --seeds 3-12
//! ```

mod bank;
mod driver;
mod kiosks;
mod score;
mod strategy;
mod suite;
mod table;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use rayon::prelude::*;

use crate::score::Score;
use crate::strategy::{Ours, Strategy};
use crate::suite::Cell;

/// Compares dispatchers on the traffic suite.
#[derive(Debug, Parser)]
struct Arguments {
    /// The seeds of the passengers: one number, or the first and the last of a range.
    #[arg(long, default_value = "1-5", value_parser = seeds)]
    seeds: (u64, u64),
    /// Reads the passengers from `BUILDING_PATTERN_RATE_sSEED.csv` in this directory instead of
    /// drawing them.
    #[arg(long)]
    passengers: Option<PathBuf>,
    /// The dispatchers of this project, or `destination`: the planner with passengers who give their
    /// destination at the landing; all, unless given.
    #[arg(long, value_delimiter = ',')]
    ours: Vec<Ours>,
    /// All strategies of `elevator-core`, not only those that are best somewhere.
    #[arg(long)]
    all_peers: bool,
    /// Only cells whose name contains this, for example `B16` or `inter`.
    #[arg(long, default_value = "")]
    cell: String,
}

fn seeds(text: &str) -> Result<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse()?, last.parse()?);
    ensure!(first <= last, "the first seed is not above the last");
    Ok((first, last))
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let cells: Vec<Cell> =
        Cell::all().into_iter().filter(|cell| cell.to_string().contains(&arguments.cell)).collect();
    ensure!(!cells.is_empty(), "unknown cell {}", arguments.cell);
    let peers =
        if arguments.all_peers { Strategy::all_peers() } else { Strategy::BEST_PEERS.to_vec() };
    let ours: Vec<_> = match &arguments.ours[..] {
        [] => Ours::all(),
        chosen => chosen.to_vec(),
    };
    let ours = ours.into_iter().map(Strategy::Ours);
    let strategies: Vec<_> = peers.into_iter().chain(ours).collect();
    let scores = scores(&arguments, &cells, &strategies)?;
    let mut output = std::io::stdout().lock();
    output.write_all(table::render(&cells, &strategies, &scores).as_bytes())?;
    Ok(())
}

/// By cell, strategy and seed.
fn scores(
    arguments: &Arguments,
    cells: &[Cell],
    strategies: &[Strategy],
) -> Result<Vec<Vec<Vec<Score>>>> {
    let (first, last) = arguments.seeds;
    let runs = cells.iter().flat_map(|&cell| {
        strategies
            .iter()
            .flat_map(move |&strategy| (first..=last).map(move |seed| (cell, strategy, seed)))
    });
    let runs: Vec<_> = runs.collect();
    let scores = runs.par_iter().map(|&(cell, strategy, seed)| {
        let passengers = match &arguments.passengers {
            Some(directory) => cell.read_passengers(directory, seed)?,
            None => cell.passengers(seed)?,
        };
        bank::run(cell, &passengers, strategy)
            .with_context(|| format!("{strategy} on {cell}, seed {seed}"))
    });
    let scores: Vec<Score> = scores.collect::<Result<_>>()?;
    let seeds = usize::try_from(last - first + 1)?;
    let by_strategy: Vec<_> = scores.chunks(seeds).map(<[Score]>::to_vec).collect();
    Ok(by_strategy.chunks(strategies.len()).map(<[_]>::to_vec).collect())
}
