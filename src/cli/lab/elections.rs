//! `liftmesh lab elections`: the election protocols side by side.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use liftmesh_lab::elections::{
    Cell, Comparison, Conditions, Contestant, Growth, PUBLISHED, Paper, Row, Situation,
    UnknownName, check, growth, plot, summary, write_json,
};

use super::files::{self, Files};
use super::{LabError, fields};
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
Contestants are protocols, with variants after colons: bully, bully:source, bully:numbers,
senior:own-detection, senior:control-unit, ballot:regular-leader, token-ring:equal-timeouts;
all:source means every protocol with that variant. The controls raft, chang-roberts and invitation
(together: controls) only run in virtual time; they have the variants raft:pre-vote and
controls:reliable, in which the network loses no message of the election.

--paper makes the tables, the figure and the data of docs/ELECTIONS.md anew: tables.md,
elections.svg and a CSV file with every run. It fails if the runs are not those that are published.

Examples:
  liftmesh lab elections --sizes 3,8 --losses 0 --contestants bully,senior --situations master-dead
  liftmesh lab elections --paper paper
  liftmesh lab elections --contestants all,controls --csv runs.csv.gz --svg elections.svg
  liftmesh lab elections --situations all --sizes 2,4,8,16,32,64 --losses 0,5,25 --check";

const PROGRAM: &str = concat!("liftmesh ", env!("CARGO_PKG_VERSION"));

const PROGRESS: &str = "{bar:40} {pos} of {len} fleets, {eta} to go";

const MOST_ROUNDS: u64 = 100_000;

#[derive(Debug, Clone, Args)]
pub(crate) struct ElectionsArgs {
    /// Contestants: protocols, with or without variants
    #[arg(long, alias = "protocols", value_name = "NAMES", value_delimiter = ',',
          default_value = "all", value_parser = Contestant::list)]
    contestants: Vec<Contestants>,
    /// Fleet sizes in nodes, 2 to 200
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "2,4,8,16,32",
          value_parser = super::size)]
    sizes: Vec<usize>,
    /// Packet loss, in per cent
    #[arg(long, value_name = "PERCENTAGES", value_delimiter = ',', default_value = "0,5",
          value_parser = clap::value_parser!(u8).range(0..=90))]
    losses: Vec<u8>,
    /// Network and clock conditions: steady, jitter, bursts, clocks
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "steady")]
    conditions: Vec<Conditions>,
    /// Situations: start, master-dead, power-loss, master-hung, cascade, master-returns,
    /// hung-returns, partition, merge, quiet, one-way, non-transitive, churn; or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',',
          default_value = "start,master-dead,power-loss,master-hung,merge,quiet",
          value_parser = situations)]
    situations: Vec<Situations>,
    /// Seconds to watch a fleet in situations where it need not settle: quiet, one-way,
    /// non-transitive, churn
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watch: u64,
    /// Seeds per combination
    #[arg(long, value_name = "NUMBER", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=MOST_ROUNDS))]
    rounds: u64,
    /// First seed; the same seeds give the same results
    #[arg(long, value_name = "NUMBER", default_value = "1",
          value_parser = clap::value_parser!(u64).range(..=u64::MAX - MOST_ROUNDS))]
    seed: u64,
    #[command(flatten)]
    files: Files,
    /// Fail if a run with at most 5 % loss exceeds the protocol's bound or 4 n² messages, or if
    /// messages grow faster than n²
    #[arg(long)]
    check: bool,
    /// Run the published comparison instead, and write its files to this directory
    #[arg(long, value_name = "DIR",
          conflicts_with_all = ["contestants", "sizes", "losses", "conditions", "situations", "watch",
                                "rounds", "seed", "csv", "json", "svg", "check"])]
    paper: Option<PathBuf>,
}

/// What one name means. An alias, because clap takes a literal `Vec` for a repeated argument.
type Contestants = Vec<Contestant>;
type Situations = Vec<Situation>;

fn situations(text: &str) -> Result<Situations, UnknownName> {
    Ok(if text == "all" { Situation::ALL.to_vec() } else { vec![text.parse()?] })
}

impl ElectionsArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        if let Some(directory) = &self.paper {
            return write_paper(directory);
        }
        let comparison = self.comparison();
        let trials = comparison.trials().len();
        if trials == 0 {
            return Err(LabError::Small.into());
        }
        self.files.touch()?;
        let bar = files::progress(trials as u64, PROGRESS);
        let runs = comparison.run(|_| bar.inc(1)).map_err(LabError::from)?;
        bar.finish_and_clear();
        let (cells, growth) = (summary(&runs), growth(&runs));
        let last = self.seed + self.rounds - 1;
        let origin = format!("{PROGRAM}, seeds {} to {last}, watch {} s", self.seed, self.watch);
        self.files.write(
            &runs,
            Some(&origin),
            |to| write_json(&cells, &growth, to),
            || plot(&runs),
        )?;
        output::print(&page(&cells, &growth))?;
        if self.check {
            let broken = check(&runs);
            if !broken.is_empty() {
                let broken = broken.iter().map(|broken| format!("  {broken}"));
                return Err(LabError::Broken(broken.collect::<Vec<_>>().join("\n")).into());
            }
        }
        Ok(())
    }

    fn comparison(&self) -> Comparison {
        Comparison {
            contestants: self.contestants.concat(),
            sizes: self.sizes.clone(),
            losses: self.losses.clone(),
            conditions: self.conditions.clone(),
            situations: self.situations.concat(),
            watch: Duration::from_secs(self.watch),
            seed: self.seed,
            rounds: self.rounds,
        }
    }
}

/// The published comparison, in three files.
fn write_paper(directory: &Path) -> Result<(), CommandError> {
    let file = |name: &str| directory.join(name);
    let csv = file(&format!("elections-{}.csv.gz", PUBLISHED.version));
    std::fs::create_dir_all(directory)
        .map_err(|source| LabError::File { path: directory.to_owned(), source })?;
    let comparisons = Paper::comparisons().map_err(LabError::from)?;
    let trials: usize = comparisons.iter().map(|comparison| comparison.trials().len()).sum();
    let bar = files::progress(trials as u64, PROGRESS);
    let paper = Paper::run(&comparisons, || bar.inc(1)).map_err(LabError::from)?;
    bar.finish_and_clear();
    files::write_file(&csv, |to| paper.write_csv(to))?;
    files::write_drawing(&file("elections.svg"), &paper.plot().map_err(LabError::from)?)?;
    files::write_file(&file("tables.md"), |to| Ok(to.write_all(paper.tables().as_bytes())?))?;
    output::print(&format!("{trials} runs: see tables.md, elections.svg and {}\n", csv.display()))?;
    if paper.is_published().map_err(LabError::from)? {
        return Ok(output::print(&format!("{PUBLISHED}\n"))?);
    }
    Err(LabError::Unpublished { version: PUBLISHED.version }.into())
}

fn page(cells: &[Cell], growth: &[Growth]) -> String {
    let of_one = |one: &Cell, other: &Cell| {
        (one.situation, one.conditions) == (other.situation, other.conditions)
    };
    let mut sections: Vec<_> = cells.chunk_by(of_one).map(section).collect();
    if !growth.is_empty() {
        let names = "situation conditions contestant loss measure exponent exponent_low \
                     exponent_high largest";
        let table = fields(growth, names);
        sections.push(format!("growth: a figure as a power of the number of nodes\n{table}"));
    }
    sections.join("\n")
}

fn section(cells: &[Cell]) -> String {
    let Cell { situation, conditions, watched_ms, .. } = &cells[0];
    let rows = cells.iter().map(Row::columns);
    let (what, names) = if situation.settles() {
        let names = "median_ms median_low_ms median_high_ms p95_ms p99_ms excess_messages \
                     excess_messages_most election_sent beacons_sent links_sent without_master_ms \
                     two_masters_ms";
        ("messages beyond those of a quiet fleet".to_owned(), names)
    } else {
        let names = "election_sent election_sent_bytes election_received_bytes beacons_sent \
                     without_master_ms two_masters_ms changes_per_hour changes_per_hour_low \
                     changes_per_hour_high";
        (format!("in {:.0} s", watched_ms / 1_000.0), names)
    };
    let table = fields(rows, &format!("contestant size loss runs unsettled {names}"));
    format!("{situation}, {conditions}: {} ({what})\n{table}", situation.title())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    fn args(line: &str) -> Result<ElectionsArgs, clap::Error> {
        crate::cli::lab::tests::args(line)
    }

    #[test]
    fn a_comparison_is_told_by_its_factors() {
        let comparison = |line: &str| args(line).unwrap().comparison();
        assert_eq!(comparison("").contestants.len(), 5);
        assert_eq!(comparison("--contestants all,bully:numbers").contestants.len(), 6);
        assert_eq!(comparison("--situations all").situations, Situation::ALL);
        for wrong in ["--contestants x", "--sizes 1", "--losses 91", "--situations x", "--rounds 0"]
        {
            assert!(args(wrong).is_err(), "{wrong}");
        }
        assert!(args("--seed 18446744073709551615").is_err(), "there is no second seed");
    }

    #[test]
    fn a_comparison_of_nothing_fails_and_no_file_is_touched_before_the_runs() {
        let none = args("--sizes 2 --situations cascade,one-way").unwrap().execute();
        let told = none.expect_err("no runs").to_string();
        assert!(told.starts_with("nothing to compare"), "{told}");
        let directory = tempfile::tempdir().unwrap();
        let kept = directory.path().join("kept.csv");
        std::fs::write(&kept, "kept").unwrap();
        args(&format!("--csv {}", kept.display())).unwrap().files.touch().unwrap();
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
    }

    #[test]
    fn every_run_goes_into_a_compressed_file() {
        let directory = tempfile::tempdir().unwrap();
        let line = format!(
            "--sizes 2,3 --losses 0 --rounds 2 --situations start,quiet --watch 1 \
             --csv {0}/runs.csv.gz --json {0}/summary.json --svg {0}/figures.svg",
            directory.path().display()
        );
        args(&line).unwrap().execute().unwrap();
        let mut text = String::new();
        let file = File::open(directory.path().join("runs.csv.gz")).unwrap();
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        assert!(text.starts_with("# liftmesh "), "{text}");
        assert_eq!(text.lines().count(), 5 * 2 * 2 * 2 + 2);
        for name in ["summary.json", "figures.svg"] {
            assert!(directory.path().join(name).metadata().unwrap().len() > 1_000, "{name}");
        }
        let runs = args(&line).unwrap().comparison().run(|_| ()).unwrap();
        let page = page(&summary(&runs), &growth(&runs));
        for part in ["start, steady: all nodes", "quiet, steady: nothing", "changes_per_hour"] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
