//! `liftmesh lab elections`: the election protocols side by side.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use liftmesh_lab::elections::{
    Broken, Cell, Comparison, Conditions, Contestant, Growth, Interval, Level, Measure, Quantile,
    Run, Situation, UnknownName, check, growth, plot, summary, write_csv, write_json,
};

use super::{LabError, files, titled};
use crate::cli::table::table;
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
Contestants are protocols, with variants after colons: bully, bully:source, bully:numbers,
senior:own-detection, senior:control-unit, ballot:regular-leader, token-ring:equal-timeouts;
all:source means every protocol with that variant. The controls raft, chang-roberts and invitation
(together: controls) only run in virtual time.

Examples:
  liftmesh lab elections
  liftmesh lab elections --sizes 3,8 --losses 0 --contestants bully,senior --situations master-dead
  liftmesh lab elections --contestants all,controls --csv runs.csv.gz --svg elections.svg
  liftmesh lab elections --situations quiet --conditions jitter,bursts --sizes 8 --watch 600
  liftmesh lab elections --situations all --sizes 2,4,8,16,32,64 --losses 0,5,25 --check";

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
    /// Write every run as CSV to this file, compressed if its name ends in .gz
    #[arg(long, value_name = "PATH")]
    csv: Option<PathBuf>,
    /// Write the summary as CSV to this file, compressed if its name ends in .gz
    #[arg(long, value_name = "PATH")]
    summary: Option<PathBuf>,
    /// Write the summary and the growth as JSON to this file, compressed if its name ends in .gz
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Plot the results as SVG to this file
    #[arg(long, value_name = "PATH")]
    svg: Option<PathBuf>,
    /// Fail if a run with at most 5 % loss exceeds the protocol's bound or 4 n² messages, or if
    /// messages grow faster than n²
    #[arg(long)]
    check: bool,
}

/// What one name means. An alias, because clap takes a literal `Vec` for a repeated argument.
type Contestants = Vec<Contestant>;
type Situations = Vec<Situation>;

fn situations(text: &str) -> Result<Situations, UnknownName> {
    Ok(if text == "all" { Situation::ALL.to_vec() } else { vec![text.parse()?] })
}

impl ElectionsArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let comparison = self.comparison();
        let trials = comparison.trials().len();
        if trials == 0 {
            return Err(self.too_small().into());
        }
        self.touch()?;
        let bar = files::progress(trials as u64, "{bar:40} {pos} of {len} fleets, {eta} to go");
        let runs = comparison.run(|_| bar.inc(1)).map_err(LabError::from)?;
        bar.finish_and_clear();
        let (cells, growth) = (summary(&runs), growth(&runs));
        self.write(&runs, &cells, &growth)?;
        output::print(&page(&cells, &growth))?;
        if self.check {
            let broken = check(&runs);
            if !broken.is_empty() {
                return Err(LabError::Broken(list(&broken)).into());
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

    /// Why there is no trial: every fleet is too small for every situation.
    fn too_small(&self) -> LabError {
        let least =
            self.situations.concat().into_iter().min_by_key(|situation| situation.smallest());
        let situation = least.unwrap_or(Situation::Start);
        LabError::Small { situation, smallest: situation.smallest() }
    }

    fn touch(&self) -> Result<(), LabError> {
        files::touch([&self.csv, &self.summary, &self.json, &self.svg].into_iter().flatten())
    }

    fn write(&self, runs: &[Run], cells: &[Cell], growth: &[Growth]) -> Result<(), LabError> {
        if let Some(path) = &self.csv {
            files::write_file(path, |to| write_csv(runs, to))?;
        }
        if let Some(path) = &self.summary {
            files::write_file(path, |to| write_csv(cells, to))?;
        }
        if let Some(path) = &self.json {
            files::write_file(path, |to| write_json(cells, growth, to))?;
        }
        if let Some(path) = &self.svg {
            files::write_drawing(path, plot(runs)?)?;
        }
        Ok(())
    }
}

fn list(broken: &[Broken]) -> String {
    broken.iter().map(|broken| format!("  {broken}")).collect::<Vec<_>>().join("\n")
}

fn page(cells: &[Cell], growth: &[Growth]) -> String {
    let mut sections = Vec::new();
    for situation in Situation::ALL {
        for conditions in Conditions::ALL {
            let cells: Vec<&Cell> = cells
                .iter()
                .filter(|cell| (cell.situation, cell.conditions) == (situation, conditions))
                .collect();
            if !cells.is_empty() {
                sections.push(section(situation, conditions, &cells));
            }
        }
    }
    if !growth.is_empty() {
        sections.push(growth_section(growth));
    }
    sections.join("\n")
}

fn section(situation: Situation, conditions: Conditions, cells: &[&Cell]) -> String {
    let network = match conditions {
        Conditions::Steady => String::new(),
        Conditions::Jitter | Conditions::Bursts | Conditions::Clocks => format!(", {conditions}"),
    };
    let title = format!("{situation}{network}: {}", situation.title());
    let (units, table) = if situation.settles() {
        let table = titled(cells.iter().map(|cell| settling_row(cell)));
        let units = "(times in ms; messages beyond those of a quiet fleet: mean and most; ms without a \
                     master and with two: mean)";
        (units, table)
    } else {
        let table = titled(cells.iter().map(|cell| watched_row(cell)));
        let units = "(election packets a second, and their bytes; share of the time without a master \
                     and with two)";
        (units, table)
    };
    format!("{title}\n{units}\n{table}")
}

fn settling_row(cell: &Cell) -> [(&'static str, String); 12] {
    let estimate = |quantile: Option<Quantile>| time(quantile.map(|quantile| quantile.estimate));
    let range = cell.median.and_then(|median| {
        Some(format!("{}-{}", time(Some(median.low?)), time(Some(median.high?))))
    });
    let (excess, most) = cell.excess;
    [
        ("CONTESTANT", cell.contestant.to_string()),
        ("NODES", cell.size.to_string()),
        ("LOSS", format!("{} %", cell.loss)),
        ("MEDIAN", estimate(cell.median)),
        ("95 % CI", range.unwrap_or_else(|| "-".to_owned())),
        ("P95", estimate(cell.p95)),
        ("P99", estimate(cell.p99)),
        ("UNSETTLED", format!("{} of {}", cell.unsettled, cell.runs)),
        ("MESSAGES", whole(excess.estimate)),
        ("MOST", whole(most)),
        ("NO MASTER", format!("{:.0}", cell.without_master_ms.0)),
        ("TWO", format!("{:.0}", cell.two_masters_ms.0)),
    ]
}

fn watched_row(cell: &Cell) -> [(&'static str, String); 12] {
    let watched = cell.watched_ms.max(f64::MIN_POSITIVE);
    let rate = |count: f64| count / (watched / 1_000.0);
    let per_second = |count: f64| format!("{:.1}", rate(count));
    let share = |time: f64| format!("{:.3} %", time / watched * 100.0);
    let hourly = |of: fn(Interval) -> f64| {
        cell.changes_per_hour.map_or_else(|| "-".to_owned(), |rate| format!("{:.1}", of(rate)))
    };
    [
        ("CONTESTANT", cell.contestant.to_string()),
        ("NODES", cell.size.to_string()),
        ("LOSS", format!("{} %", cell.loss)),
        ("MESSAGES/S", per_second(cell.packets(|wire| wire.election.sent))),
        ("SENT B/S", whole(rate(cell.packets(|wire| wire.election.sent_bytes)))),
        ("RECEIVED B/S", whole(rate(cell.packets(|wire| wire.election.received_bytes)))),
        ("BEACONS/S", per_second(cell.packets(|wire| wire.beacons.sent))),
        ("NO MASTER", share(cell.without_master_ms.0)),
        ("TWO", share(cell.two_masters_ms.0)),
        ("CHANGES/H", hourly(|rate| rate.estimate)),
        ("95 % CI", format!("{}-{}", hourly(|rate| rate.low), hourly(|rate| rate.high))),
        ("UNSETTLED", format!("{} of {}", cell.unsettled, cell.runs)),
    ]
}

/// One line for both measures.
fn growth_section(growth: &[Growth]) -> String {
    let key =
        |growth: &Growth| (growth.situation, growth.conditions, growth.loss, growth.contestant);
    let mut lines: Vec<&Growth> = growth.iter().collect();
    lines.dedup_by_key(|growth| key(growth));
    let of = |line: &Growth, measure| {
        let found = growth.iter().find(|other| key(other) == key(line) && other.measure == measure);
        found.map_or_else(
            || ["-".to_owned(), "-".to_owned()],
            |found| {
                let range = format!("{:.2}-{:.2}", found.exponent_low, found.exponent_high);
                [format!("{:.2}", found.exponent), range]
            },
        )
    };
    let rows = lines.into_iter().map(|line| {
        let [time, time_range] = of(line, Measure::Time);
        let [messages, messages_range] = of(line, Measure::Messages);
        [
            format!("{} {}", line.situation, line.conditions),
            line.contestant.to_string(),
            format!("{} %", line.loss),
            time,
            time_range,
            messages,
            messages_range,
            format!("n = {}", line.largest),
        ]
    });
    let heading =
        ["SITUATION", "CONTESTANT", "LOSS", "TIME", "95 % CI", "MESSAGES", "95 % CI", "UP TO"];
    format!(
        "growth: median time and messages as a power of the number of nodes\n{}",
        table(heading, rows)
    )
}

/// Without the sign of a zero.
fn whole(count: f64) -> String {
    let count = count.round();
    format!("{:.0}", if count == 0.0 { 0.0 } else { count })
}

fn time(level: Option<Level>) -> String {
    match level {
        Some(Level::At(time)) => format!("{time:.0}"),
        Some(Level::Beyond(limit)) => format!(">{limit:.0}"),
        None => "-".to_owned(),
    }
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

    fn refused(line: &str) -> bool {
        args(line).is_err()
    }

    #[test]
    fn a_comparison_is_told_by_its_factors() {
        let comparison = args("").unwrap().comparison();
        assert_eq!((comparison.contestants.len(), comparison.rounds), (5, 30));
        let comparison = args("--contestants all,bully:numbers --situations quiet").unwrap();
        assert_eq!(comparison.comparison().contestants.len(), 6);
        assert_eq!(comparison.comparison().situations, [Situation::Quiet]);
        let all = args("--situations all").unwrap().comparison().situations;
        assert_eq!(all, Situation::ALL);
        let one = args("--protocols ballot --sizes 32 --losses 5 --rounds 1 --seed 3").unwrap();
        assert_eq!(one.comparison().contestants[0].to_string(), "ballot");
        for wrong in
            ["--contestants x", "--sizes 1", "--losses 91", "--situations x", "--conditions x"]
        {
            assert!(refused(wrong), "{wrong}");
        }
        assert!(refused("--rounds 18446744073709551615") && refused("--rounds 0"));
        assert!(refused("--seed 18446744073709551615"), "there is no second seed");
    }

    fn error(line: &str) -> String {
        match args(line).unwrap().execute() {
            Err(error) => error.to_string(),
            Ok(()) => panic!("{line}"),
        }
    }

    #[test]
    fn what_can_be_seen_to_fail_fails_before_the_runs() {
        let line = "--sizes 2 --situations cascade,one-way";
        assert_eq!(error(line), "nothing to compare: cascade needs --sizes of at least 3");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none/runs.csv");
        // More runs than a test could wait for.
        let line = format!("--rounds 100000 --csv {}", path.display());
        assert_eq!(error(&line), format!("{} can't be written", path.display()));
        let kept = directory.path().join("kept.csv");
        std::fs::write(&kept, "kept").unwrap();
        args(&format!("--csv {}", kept.display())).unwrap().touch().unwrap();
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
    }

    #[test]
    fn every_run_goes_into_a_compressed_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let mut small = args("--sizes 2,3 --losses 0 --rounds 2 --situations start,quiet").unwrap();
        small.watch = 1;
        small.csv = Some(path("runs.csv.gz"));
        small.json = Some(path("summary.json"));
        small.svg = Some(path("figures.svg"));
        small.summary = Some(path("summary.csv"));
        let runs = small.comparison().run(|_| ()).unwrap();
        let (cells, growth) = (summary(&runs), growth(&runs));
        small.write(&runs, &cells, &growth).unwrap();
        let mut text = String::new();
        let file = File::open(path("runs.csv.gz")).unwrap();
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        assert_eq!(text.lines().count(), 5 * 2 * 2 * 2 + 1);
        for name in ["summary.json", "figures.svg", "summary.csv"] {
            assert!(std::fs::metadata(path(name)).unwrap().len() > 1_000, "{name}");
        }
        let page = page(&cells, &growth);
        for part in ["start: all nodes", "quiet: nothing", "token-ring", "CHANGES/H", "0 of 2"] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn censored_times_are_shown_beyond_the_limit() {
        assert_eq!(time(Some(Level::Beyond(30_000.0))), ">30000");
        assert_eq!(time(Some(Level::At(12.3))), "12");
        assert_eq!(time(None), "-");
    }
}
