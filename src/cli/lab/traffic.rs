//! `liftmesh lab traffic`: the dispatchers on the same passengers.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use clap::Args;
use elevator_simulator::building::{Building, Pattern, read_passengers, seed_of_commit};
use liftmesh_lab::traffic::{
    Cell, Comparison, Difference, STRATEGIES, Strategy, Summary, differences, plot_waits,
    summaries, write_json,
};

use super::files::{self, Files};
use super::{LabError, dispatcher, fields};
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
Cells are named BUILDING_PATTERN_RATE: buildings A12 and B16, patterns up, lunch, down and inter,
rates 5, 8 and 12 % of the population per five minutes. The cell crites-barto is the down-peak
benchmark of Crites and Barto. Passenger lists have the columns id, t_s (arrival in seconds), from,
to (floors, 0 is the lobby) and kg. Buildings are TOML files like simulator/buildings/A12.toml. A
bank that can't keep up is shown as saturated, without averages.

Examples:
  liftmesh lab traffic --cells B16,A12_inter --seeds 50 --csv runs.csv.gz --svg waits.svg
  liftmesh lab traffic --building tower.toml --patterns lunch --rates 9,10,11
  liftmesh lab traffic --cells A12_lunch --strategies nearest-car,exec:./mine.py";

const MOST_SEEDS: u64 = 100_000;

#[derive(Debug, Clone, Args)]
pub(crate) struct TrafficArgs {
    /// Cells: all, crites-barto, or parts of cell names, such as A12 or up
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "all",
          value_parser = Cell::named, conflicts_with = "building")]
    cells: Vec<Cells>,
    /// A building to use instead of the cells: a name or a TOML file
    #[arg(long, value_name = "NAME|PATH")]
    building: Option<String>,
    /// Traffic patterns for that building: up, lunch, down, inter
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "up,lunch,down,inter",
        requires = "building"
    )]
    patterns: Vec<Pattern>,
    /// Traffic rates for that building, in per cent of the population per five minutes
    #[arg(long, value_name = "PERCENTAGES", value_delimiter = ',', default_value = "5,8,12",
          value_parser = rate, requires = "building")]
    rates: Vec<f64>,
    /// Passengers for that building, from this CSV file; all are scored
    #[arg(long, value_name = "PATH", requires = "building",
          conflicts_with_all = ["patterns", "rates"])]
    passengers: Option<PathBuf>,
    /// Strategies: collective, planner, nearest-car, time-to-idle; destination, where passengers
    /// enter their destination at the landing and board only the car that the planner picks; or
    /// exec:COMMAND, a dispatcher of your own.
    /// All are compared with the first [default: the first four]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = dispatcher::strategy)]
    strategies: Vec<Strategy>,
    /// Seeds per combination
    #[arg(long, value_name = "NUMBER", default_value = "10",
          value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    seeds: u64,
    /// First seed; the same seeds give the same passengers [default: 1, and then also as many seeds
    /// from --commit]
    #[arg(long, value_name = "NUMBER",
          value_parser = clap::value_parser!(u64).range(..=u64::MAX - MOST_SEEDS))]
    seed: Option<u64>,
    /// Also run seeds drawn from the hash of this commit, which only the tables and the CSV file
    /// have; `none` turns this off [default: the commit of the checkout in this directory, unless
    /// --seed or --passengers is given]
    #[arg(long, value_name = "HASH", value_parser = commit)]
    commit: Option<Commit>,
    #[command(flatten)]
    files: Files,
}

/// What one name means. An alias, because clap takes a literal `Vec` for a repeated argument.
type Cells = Vec<Cell>;

/// A commit; `None` if none is wished.
type Commit = Option<String>;

fn commit(text: &str) -> Result<Commit, String> {
    if text == "none" {
        return Ok(None);
    }
    let is_known = seed_of_commit(text).is_some();
    is_known.then(|| Some(text.to_owned())).ok_or_else(|| {
        "a commit is given by at least 12 digits of its hash, as by git rev-parse HEAD".to_owned()
    })
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.1..=100.0).contains(rate));
    rate.ok_or_else(|| "a rate must be 0.1 to 100".to_owned())
}

/// Real time since the start of the comparison.
pub(super) fn stopwatch() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

impl TrafficArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let comparisons = self.comparisons()?;
        self.files.touch()?;
        let trials: usize = comparisons.iter().map(|(_, it)| it.trials().len()).sum();
        let bar = files::progress(trials as u64, "{bar:40} {pos} of {len} runs, {eta} to go");
        let (mut runs, mut pages) = (Vec::new(), Vec::new());
        for (title, comparison) in &comparisons {
            let own = comparison.run(stopwatch, |_| bar.inc(1)).map_err(LabError::from)?;
            let (summary, difference) =
                (summaries(comparison, &own), differences(comparison, &own));
            pages.push(format!("{title}\n\n{}", page(comparison, &summary, &difference)));
            runs.extend(own);
        }
        bar.finish_and_clear();
        let (_, chosen) = &comparisons[0];
        let own = &runs[..chosen.trials().len()];
        let write_json =
            |to: &mut dyn Write| write_json(&summaries(chosen, own), &differences(chosen, own), to);
        self.files.write(&runs, None, write_json, || plot_waits(chosen, own))?;
        output::print(&pages.join("\n"))?;
        runs.iter().filter_map(|run| run.program.as_ref()).try_for_each(dispatcher::flawless)?;
        Ok(())
    }

    /// With the chosen seeds, and then with those from a commit; what each is called.
    fn comparisons(&self) -> Result<Vec<(String, Comparison)>, LabError> {
        let chosen = self.comparison()?;
        let Comparison { seed, seeds, .. } = chosen;
        let fresh = self.commit().and_then(|commit| {
            let seed = seed_of_commit(&commit)?;
            let title = format!("{seeds} seeds from commit {}", commit.get(..12)?);
            Some((title, Comparison { seed, ..chosen.clone() }))
        });
        let title = format!("seeds {seed} to {}", seed + seeds - 1);
        Ok([(title, chosen)].into_iter().chain(fresh).collect())
    }

    /// The commit whose seeds are run too.
    fn commit(&self) -> Commit {
        match &self.commit {
            Some(commit) => commit.clone(),
            None if self.seed.is_some() || self.passengers.is_some() => None,
            None => {
                let git = Command::new("git").args(["rev-parse", "HEAD"]).output().ok()?;
                let hash = String::from_utf8(git.stdout).ok()?;
                git.status.success().then(|| hash.trim().to_owned())
            }
        }
    }

    fn comparison(&self) -> Result<Comparison, LabError> {
        let strategies = match &self.strategies[..] {
            [] => STRATEGIES.to_vec(),
            chosen => distinct(chosen),
        };
        Ok(Comparison {
            cells: self.chosen_cells()?,
            strategies,
            seed: self.seed.unwrap_or(1),
            seeds: self.seeds,
        })
    }

    fn chosen_cells(&self) -> Result<Vec<Cell>, LabError> {
        let Some(name) = &self.building else {
            return Ok(distinct(&self.cells.concat()));
        };
        let building = Arc::new(building(name)?);
        if let Some(path) = &self.passengers {
            let file = File::open(path)
                .map_err(|source| LabError::Unreadable { path: path.clone(), source })?;
            let list = read_passengers(&building, file)
                .map_err(|source| LabError::Passengers { path: path.clone(), source })?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            return Ok(vec![Cell::listed(building, stem.into_owned(), list)]);
        }
        if building.population == 0 {
            return Err(LabError::Empty(building.name.clone()));
        }
        let cell = |pattern, rate| Cell::steady(Arc::clone(&building), pattern, rate);
        let cells: Vec<_> = self
            .patterns
            .iter()
            .flat_map(|&pattern| self.rates.iter().map(move |&rate| cell(pattern, rate)))
            .collect();
        Ok(distinct(&cells))
    }
}

pub(super) fn building(name: &str) -> Result<Building, LabError> {
    if let Some(building) = Building::named(name) {
        return Ok(building);
    }
    let text = std::fs::read_to_string(name).map_err(|source| {
        if source.kind() == std::io::ErrorKind::NotFound {
            LabError::NoBuilding(name.to_owned())
        } else {
            LabError::Unreadable { path: PathBuf::from(name), source }
        }
    })?;
    Building::parse(&text).map_err(|source| LabError::Building { name: name.to_owned(), source })
}

/// Each of these once, in the same order.
fn distinct<T: Clone + PartialEq>(all: &[T]) -> Vec<T> {
    let mut seen: Vec<T> = Vec::new();
    for one in all {
        if !seen.contains(one) {
            seen.push(one.clone());
        }
    }
    seen
}

/// A table of figures, one of differences, and one of ratios.
fn page(comparison: &Comparison, summaries: &[Summary], differences: &[Difference]) -> String {
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
        let table = output::table(["strategy", "awt", "p90", "attd"], ratios);
        let over = "geometric mean over the unsaturated cells";
        sections.push(format!("ratio to {base}, {over}\n{table}"));
    }
    sections.join("\n")
}

#[cfg(test)]
mod tests;
