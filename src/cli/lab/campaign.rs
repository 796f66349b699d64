//! `liftmesh lab campaign`: storms of random faults, and calms between them, over many seeds.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use liftmesh_lab::recording::Subject;
use liftmesh_lab::{Campaign, Script, Shrunk, Size, Summary, Verdict, Violation};

use super::{LabError, files};
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
Seeds run on all cores. For each one that fails you get the violations, and the commands that replay
it and draw its trace; the first is shrunk within 2 minutes to a script, PROTOCOL-SEED.json, that
violates the same invariant with fewer faults, nodes and seconds. A seed with too few orders,
without a change of master or without one of its kinds of faults is void: it does not count as
passed, and the command fails if more than 5 % of the seeds are void.

Examples:
  liftmesh lab campaign --seeds 1..1000 --election ballot --preset source
  liftmesh lab campaign --seeds 1..200 --election all --duration 5min
  liftmesh lab campaign --script lowest-ip-17.json";

/// A script is shrunk in at most this many runs.
const MOST_RUNS: usize = 300;

/// And at most this long.
const LONGEST: Duration = Duration::from_mins(2);

const MOST_NAMED: usize = 10;

const HEADING: [&str; 11] = [
    "protocol", "seeds", "passed", "void", "failed", "hours", "orders", "services", "changes",
    "speed", "hash",
];

#[derive(Debug, Clone, Args)]
pub(crate) struct CampaignArgs {
    /// A range of seeds, including the last, or one seed
    #[arg(long, value_name = "FIRST..LAST", default_value = "1..10", value_parser = seeds)]
    pub(crate) seeds: RangeInclusive<u64>,
    /// The election protocol, or all of them
    #[arg(long, visible_alias = "protocol", value_name = "NAME", default_value = "lowest-ip",
          value_parser = protocols())]
    pub(crate) election: Protocols,
    /// Settings of the protocol
    #[arg(long, value_name = "NAME", default_value = "fleet", value_parser = super::preset())]
    pub(crate) preset: Preset,
    /// Total length of the storms in each seed, from 1s to 1day
    #[arg(long, visible_alias = "minutes", value_name = "TIME", default_value = "1min",
          value_parser = super::faulty_time)]
    pub(crate) duration: Duration,
    /// Replay this script instead
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["seeds", "election", "preset", "duration"])]
    pub(crate) script: Option<PathBuf>,
}

fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u64>().ok();
    match (number(first), number(last.trim_start_matches('='))) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        (Some(_), Some(_)) => Err("the last seed comes before the first".to_owned()),
        (_, _) => Err("seeds are numbers, such as 1..40".to_owned()),
    }
}

/// What one name means. An alias, because clap takes a literal `Vec` for a repeated argument.
type Protocols = Vec<Protocol>;

fn protocols() -> impl TypedValueParser<Value = Protocols> {
    let names = Protocol::ALL.map(|protocol| protocol.to_string());
    PossibleValuesParser::new(names.into_iter().chain(["all".to_owned()]))
        .map(|name| name.parse().map_or_else(|_all| Protocol::ALL.to_vec(), |one| vec![one]))
}

impl CampaignArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        if let Some(path) = &self.script {
            return replay(path);
        }
        let mut measured = Vec::new();
        let mut shrunk = false;
        for protocol in &self.election {
            measured.push(self.sweep(*protocol, &mut shrunk)?);
        }
        output::print(&table_of(&measured))?;
        judge(&measured)
    }

    fn campaign(&self, protocol: Protocol, seed: u64) -> Campaign {
        let election = ElectionSettings::preset(protocol, self.preset);
        Campaign::by_seed(seed).under(election).lasting(self.duration)
    }

    /// Runs the seeds of a protocol, and prints each that fails.
    fn sweep(&self, protocol: Protocol, shrunk: &mut bool) -> Result<Measured, CommandError> {
        let number = self.seeds.end().abs_diff(*self.seeds.start()).saturating_add(1);
        let template = format!("{protocol} {{bar:40}} {{pos}} of {{len}} seeds, {{eta}} to go");
        let bar = files::progress(number, &template);
        let began = Instant::now();
        let mut summary = Summary::new(protocol, self.preset);
        let mut first = None;
        for verdict in liftmesh_lab::sweep(self.seeds.clone(), |seed| self.campaign(protocol, seed))
        {
            let verdict = verdict.map_err(LabError::from)?;
            summary.add(&verdict);
            bar.inc(1);
            if !verdict.violations.is_empty() {
                let page = page(protocol, self.preset, self.duration, &verdict);
                bar.suspend(|| output::print(&page))?;
                first = first.or(Some(verdict.seed));
            }
        }
        bar.finish_and_clear();
        let took = began.elapsed();
        if let Some(seed) = first.filter(|_| !std::mem::replace(shrunk, true)) {
            let path = PathBuf::from(format!("{protocol}-{seed}.json"));
            shrink(&self.campaign(protocol, seed), &path)?;
        }
        Ok((summary, took))
    }
}

/// Fails if a seed has failed, or if too many are void.
fn judge(measured: &[Measured]) -> Result<(), CommandError> {
    let summaries = || measured.iter().map(|(summary, _)| summary);
    let number = summaries().map(|summary| summary.seeds).sum();
    let failed = summaries().map(|summary| summary.failed.len() as u64).sum();
    if failed > 0 {
        return Err(LabError::Failed { failed, number }.into());
    }
    if let Some(Summary { void, seeds, .. }) = summaries().find(|summary| summary.is_void()) {
        return Err(LabError::Void { void: void.len(), number: *seeds }.into());
    }
    Ok(())
}

/// The seeds of one protocol, and how long they took.
type Measured = (Summary, Duration);

/// What was wrong with a seed, and how to see it again.
fn page(
    protocol: Protocol,
    preset: Preset,
    duration: Duration,
    Verdict { seed, violations, .. }: &Verdict,
) -> String {
    let draw = Subject::Campaign { seed: *seed, protocol, preset, duration }.to_string();
    let replay = draw.replace("lab trace --campaign", "lab campaign --seeds");
    format!(
        "seed {seed} of {protocol} fails:\n{}replay it with {replay}\ndraw it with {draw} --svg \
         {seed}.svg\n",
        lines(violations)
    )
}

fn lines(violations: &[Violation]) -> String {
    let lines = violations.iter().map(|violation| format!("  {violation}\n"));
    lines.collect::<Vec<_>>().concat()
}

fn table_of(measured: &[Measured]) -> String {
    let mut text = output::table(HEADING, measured.iter().map(row));
    text.push_str(
        "\nhours: simulated; changes: of the master; speed: simulated time / wall time / cores\n",
    );
    for (Summary { protocol, tally, void, .. }, _) in measured {
        let faults: Vec<String> =
            tally.faults.iter().map(|(kind, number)| format!("{kind} {number}")).collect();
        let mut lines = vec![format!("faults under {protocol}: {}\n", faults.join(", "))];
        let void = void.iter().take(MOST_NAMED);
        lines.extend(void.map(|(seed, why)| format!("seed {seed} of {protocol} is void: {why}\n")));
        text.push_str(&lines.concat());
    }
    text
}

fn row((summary, took): &Measured) -> [String; 11] {
    let tally = &summary.tally;
    #[expect(clippy::cast_precision_loss, reason = "a machine has few cores")]
    let cores = available_parallelism().map_or(1, std::num::NonZero::get) as f64;
    [
        summary.protocol.to_string(),
        summary.seeds.to_string(),
        summary.passed().to_string(),
        summary.void.len().to_string(),
        summary.failed.len().to_string(),
        format!("{:.1}", tally.simulated.as_secs_f64() / 3600.0),
        tally.placed.to_string(),
        tally.served.to_string(),
        tally.changes_of_master.to_string(),
        format!("{:.0}", tally.simulated.as_secs_f64() / took.as_secs_f64() / cores),
        format!("{:016x}", summary.hash()),
    ]
}

/// Shrinks a campaign that fails, writes the script to this file, and prints what is left.
fn shrink(campaign: &Campaign, path: &Path) -> Result<(), CommandError> {
    let outcome = campaign.run().map_err(LabError::from)?;
    let first = outcome.violations.iter().min_by_key(|violation| violation.at);
    let Some(id) = first.map(|violation| violation.id) else {
        return Ok(());
    };
    let template = "shrinking {bar:40} {pos} of at most {len} runs: {msg}";
    let bar = files::progress(MOST_RUNS as u64, template);
    let began = Instant::now();
    let shrunk = outcome.script.shrink(id, MOST_RUNS, |progress| {
        bar.set_position(progress.runs as u64);
        bar.set_message(size(progress.size));
        began.elapsed() < LONGEST
    });
    bar.finish_and_clear();
    let Some(shrunk) = shrunk.map_err(LabError::from)? else {
        let page = format!("the script of seed {} does not violate {id}\n", campaign.world.seed);
        return Ok(output::print(&page)?);
    };
    files::write_file(path, |file| Ok(serde_json::to_writer_pretty(file, &shrunk.script)?))?;
    let Shrunk { violations, before, after, runs, .. } = &shrunk;
    let (before, after) = (size(*before), size(*after));
    let (path, drawing) = (path.display(), path.with_extension("svg"));
    Ok(output::print(&format!(
        "shrunk from {before} to {after} in {runs} runs, {id} still violated:\n{}\
         replay it with liftmesh lab campaign --script {path}\n\
         draw it with liftmesh lab trace --script {path} --svg {}\n",
        lines(violations),
        drawing.display()
    ))?)
}

fn size(Size { steps, nodes, time }: Size) -> String {
    format!("{steps} steps, {nodes} nodes, {:.1} s", time.as_secs_f64())
}

fn replay(path: &Path) -> Result<(), CommandError> {
    let script: Script = files::read_script(path)?;
    let outcome = script.run().map_err(LabError::from)?;
    let hash = outcome.hash();
    let heading = format!("{}: hash {hash:016x}\n", size(script.size()));
    output::print(&format!("{heading}{}", lines(&outcome.violations)))?;
    if outcome.violations.is_empty() {
        return Ok(output::print("no invariant is violated\n")?);
    }
    Err(LabError::ScriptFails.into())
}

#[cfg(test)]
mod tests;
