//! `liftmesh lab fat`: an acceptance test for somebody else's controllers, against elevator servers
//! in this process.

mod bench;
mod car;
mod checks;

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;
use elevator_driver::FloorCount;
use elevator_simulator::simulator::StartError;
use liftmesh_harness::lan::{Interface, Lan};
use serde::Serialize;

use self::bench::{Bench, Entry, Stop};
use self::checks::{CHECKS, Check};
use super::LabError;
use crate::cli::{CommandError, output};
use crate::screen;

/// The number of controllers.
const CARS: usize = 3;

/// Their addresses are 10.77.66.1 and so on.
const BLOCK: u8 = 66;

pub(super) const EXAMPLES: &str = "\
In each word of COMMAND, {n} is the controller's number (0, 1, 2), {server} and {port} the address
of its elevator server, {floors} the number of floors, {address} an IPv4 address of its own,
{broadcast} where all of them can be reached, {dir} a directory of its own. No shell is involved;
each check starts anew.

As root, each controller gets a network namespace of its own. Otherwise, and with --loopback, all
are on the loopback interface, and the checks that cut the network are skipped.

Examples:
  sudo liftmesh lab fat -- ./my-controller --id {n} --port {port}
  liftmesh lab fat --only calls --only door -- python3 main.py {n} {port}
  sudo liftmesh lab fat --json --dir logs -- ./my-controller {n} > report.json

Exit code: 0, or 1 if a check failed.";

#[derive(Debug, Clone, Args)]
pub(crate) struct FatArgs {
    /// Run only this check; may be repeated
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(CHECKS.iter().map(|it| it.name)))]
    only: Vec<String>,
    /// List the checks
    #[arg(long)]
    list: bool,
    /// Print one JSON document at the end
    #[arg(long)]
    json: bool,
    /// The number of floors, 4 to 9
    #[arg(long, value_name = "N", default_value = "4", value_parser = floors)]
    floors: FloorCount,
    /// How long a car takes from one floor to the next, 100ms to 10s
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = travel)]
    travel: Duration,
    /// How long a call may take until it is served
    #[arg(long, value_name = "TIME", default_value = "60s",
          value_parser = humantime::parse_duration)]
    service_limit: Duration,
    /// The share of packets that get lost in the check packet-loss, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 25,
          value_parser = clap::value_parser!(u8).range(1..=90))]
    loss: u8,
    /// Where the elevator servers listen without namespaces
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::LOCALHOST)]
    address: Ipv4Addr,
    /// The port of the elevator servers; without namespaces of the first one, and the others have the
    /// next ports. 0 picks free ones
    #[arg(long, value_name = "PORT", default_value_t = 15_657)]
    port: u16,
    /// Make no namespaces: for controllers that meet on the loopback interface
    #[arg(long)]
    loopback: bool,
    /// Keep what the controllers print, and their {dir}, in this directory [default: a temporary
    /// one, which is deleted]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// How a controller is started
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "list")]
    command: Vec<String>,
}

fn floors(text: &str) -> Result<FloorCount, String> {
    let floors = text.parse().ok().filter(|floors| (4..=9).contains(floors));
    floors.and_then(FloorCount::new).ok_or_else(|| "use 4 to 9 floors".to_owned())
}

fn travel(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).ok();
    let range = Duration::from_millis(100)..=Duration::from_secs(10);
    time.filter(|time| range.contains(time)).ok_or_else(|| "use 100ms to 10s".to_owned())
}

#[derive(Debug, thiserror::Error)]
pub enum FatError {
    #[error("{failed} of {number} checks failed")]
    Failed { failed: usize, number: usize },
    #[error("interrupted: the controllers are stopped")]
    Interrupted,
    #[error(
        "without namespaces each controller needs a port of its own: put {{port}} into the command, \
         such as -- ./my-controller --id {{n}} --port {{port}}"
    )]
    NoPort,
    #[error("controller {car} can't be started: {command}")]
    Controller { car: usize, command: String, source: io::Error },
    #[error("elevator server {car} can't be started; see --port and --address")]
    Server { car: usize, source: StartError },
    #[error("the test can't be carried out on this machine")]
    System(#[from] io::Error),
}

#[derive(Debug, Serialize)]
struct Verdict {
    check: &'static str,
    #[serde(flatten)]
    outcome: Outcome,
    seconds: f64,
    timeline: Vec<Entry>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum Outcome {
    Passed,
    Failed { expected: String, seen: String },
    Skipped { reason: String },
}

impl FatArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let is_meant = |check: &&Check| {
            self.only.is_empty() || self.only.iter().any(|name| name == check.name)
        };
        let checks = CHECKS.iter().filter(is_meant);
        if self.list {
            let rows = checks.map(|it| [it.name.to_owned(), it.about.to_owned()]);
            return Ok(output::print(&output::table(["check", "what it checks"], rows))?);
        }
        let ending = screen::ending().map_err(|error| LabError::from(FatError::from(error)))?;
        let lan = if self.loopback {
            Err("not with --loopback".to_owned())
        } else {
            open_lan().map_err(|error| error.to_string())
        };
        if lan.is_err() && !self.command.iter().any(|word| word.contains("{port}")) {
            return Err(LabError::from(FatError::NoPort).into());
        }
        let mut verdicts = Vec::new();
        for check in checks {
            if !self.json {
                output::print(&format!("{:<12}  {}\n", check.name, check.about))?;
            }
            let verdict = self.judge(check, &lan, &ending).map_err(LabError::from)?;
            if !self.json {
                output::print(&page(&verdict))?;
            }
            verdicts.push(verdict);
        }
        let count = |is: fn(&Outcome) -> bool| verdicts.iter().filter(|it| is(&it.outcome)).count();
        let failed = count(|it| matches!(it, Outcome::Failed { .. }));
        let skipped = count(|it| matches!(it, Outcome::Skipped { .. }));
        let number = verdicts.len();
        if self.json {
            output::print(&output::json_line(&verdicts))?;
        } else {
            let passed = number - failed - skipped;
            output::print(&format!("\n{passed} passed, {failed} failed, {skipped} skipped\n"))?;
        }
        if failed > 0 {
            return Err(LabError::from(FatError::Failed { failed, number }).into());
        }
        Ok(())
    }

    fn judge(
        &self,
        check: &Check,
        lan: &Result<Lan, String>,
        ending: &Arc<AtomicBool>,
    ) -> Result<Verdict, FatError> {
        let begun = Instant::now();
        let mut timeline = Vec::new();
        let outcome = match lan {
            Err(reason) if check.needs_network => Outcome::Skipped { reason: reason.clone() },
            Ok(_) | Err(_) => {
                let mut bench = Bench::open(self, check.name, lan.as_ref().ok(), ending)?;
                let course = bench.start_all().and_then(|()| (check.run)(&mut bench));
                timeline = std::mem::take(&mut bench.timeline);
                match course {
                    Ok(()) => Outcome::Passed,
                    Err(Stop::Failed { expected, seen }) => Outcome::Failed { expected, seen },
                    Err(Stop::Broken(error)) => return Err(error),
                }
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        Ok(Verdict { check: check.name, outcome, seconds, timeline })
    }
}

/// A computer for each controller.
fn open_lan() -> io::Result<Lan> {
    let lan = Lan::open(BLOCK)?;
    for host in (1..).take(CARS) {
        lan.add_host(host, Interface::Ready)?;
        lan.route_all(host)?;
    }
    Ok(lan)
}

fn page(verdict: &Verdict) -> String {
    let time = format!("{:.1} s", verdict.seconds);
    let (expected, seen) = match &verdict.outcome {
        Outcome::Passed => return format!("              passed ({time})\n"),
        Outcome::Skipped { reason } => return format!("              skipped: {reason}\n"),
        Outcome::Failed { expected, seen } => (expected, seen.replace('\n', "\n              ")),
    };
    let lines = verdict
        .timeline
        .iter()
        .map(|Entry { at, who, what }| format!("    {at:7.2} s  {who:<12}  {what}\n"));
    format!(
        "              failed ({time})\n    expected  {expected}\n    seen      {seen}\n    \
         timeline\n{}",
        lines.collect::<String>()
    )
}
