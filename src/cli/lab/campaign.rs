//! `liftmesh lab campaign`: storms of random faults, and calms between them, over many seeds.

mod report;
mod seeds;
mod shrink;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liftmesh_lab::{Campaign, Summary, Verdict};

use self::report::Measured;
use self::seeds::Seeds;
use super::{LabError, files};
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
Seeds run on all cores. For each one that fails you get the violations, and the commands that replay
it and draw its trace; the first is shrunk to a script that violates the same invariant with fewer
faults, nodes and seconds. A seed with too few orders, without a change of master or without one of
its kinds of faults is void: it does not count as passed, and the command fails if more than 5 % of
the seeds are void.

Examples:
  liftmesh lab campaign --seeds 1..40
  liftmesh lab campaign --seeds 1..1000 --election ballot --preset source
  liftmesh lab campaign --seeds 1..200 --protocol all --duration 5min --json campaign.json
  liftmesh lab campaign --hours 24
  liftmesh lab campaign --seeds 17
  liftmesh lab campaign --script lowest-ip-17.json";

/// The arguments of `liftmesh lab campaign`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CampaignArgs {
    /// A range of seeds, including the last, or one seed [default: 1..10]
    #[arg(long, value_name = "FIRST..LAST")]
    pub(crate) seeds: Option<Seeds>,
    /// The election protocol, or all of them
    #[arg(long, visible_alias = "protocol", value_name = "NAME", default_value = "lowest-ip",
          value_parser = ProtocolsParser)]
    pub(crate) election: Protocols,
    /// Settings of the protocol
    #[arg(long, value_name = "NAME", default_value = "fleet", value_parser = super::preset())]
    pub(crate) preset: Preset,
    /// Total length of the storms in each seed, from 1s to 1day
    #[arg(long, visible_alias = "minutes", value_name = "TIME", default_value = "1min",
          value_parser = super::faulty_time)]
    pub(crate) duration: Duration,
    /// Run more seeds until this many hours have been simulated for each protocol
    #[arg(long, value_name = "HOURS", conflicts_with = "script", value_parser = hours)]
    pub(crate) hours: Option<Duration>,
    /// Write the results as JSON to this file
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    pub(crate) json: Option<PathBuf>,
    /// How many failing seeds to shrink; each takes up to 2 minutes
    #[arg(long, value_name = "NUMBER", default_value = "1", conflicts_with = "script")]
    pub(crate) shrink: usize,
    /// Where to write shrunk scripts, each as PROTOCOL-SEED.json
    #[arg(long, value_name = "DIRECTORY", default_value = ".", conflicts_with = "script")]
    pub(crate) scripts: PathBuf,
    /// Replay this script instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "election", "preset", "duration"])]
    pub(crate) script: Option<PathBuf>,
}

/// Reads a whole number of hours.
fn hours(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse::<u32>().map(|hours| Duration::from_hours(hours.into()))
}

/// One protocol, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Protocols(Vec<Protocol>);

/// Reads the name of a protocol, or `all`.
#[derive(Debug, Clone)]
struct ProtocolsParser;

impl TypedValueParser for ProtocolsParser {
    type Value = Protocols;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Self::Value, clap::Error> {
        if value == "all" {
            return Ok(Protocols(Protocol::ALL.to_vec()));
        }
        StringValueParser::new().parse_ref(command, arg, value)?;
        let protocol = crate::demo::protocol().parse_ref(command, arg, value)?;
        Ok(Protocols(vec![protocol]))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = Protocol::ALL.map(|protocol| PossibleValue::new(protocol.to_string()));
        Some(Box::new(names.into_iter().chain([PossibleValue::new("all")])))
    }
}

impl CampaignArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        if let Some(path) = &self.script {
            return shrink::replay(path);
        }
        files::touch(&self.json)?;
        let Protocols(protocols) = &self.election;
        let mut measured = Vec::new();
        let mut to_shrink = self.shrink;
        for protocol in protocols {
            measured.push(self.sweep(*protocol, &mut to_shrink)?);
        }
        output::print(&report::table_of(&measured))?;
        if let Some(path) = &self.json {
            files::write_file(path, |file| report::write_json(file, self.duration, &measured))?;
        }
        judge(&measured)
    }

    fn campaign(&self, protocol: Protocol, seed: u64) -> Campaign {
        let election = ElectionSettings::preset(protocol, self.preset);
        Campaign::by_seed(seed).under(election).lasting(self.duration)
    }

    /// Runs the seeds of a protocol, and prints each that fails.
    fn sweep(&self, protocol: Protocol, to_shrink: &mut usize) -> Result<Measured, CommandError> {
        let (first, last) = self.seeds.clone().unwrap_or_default().ends();
        let seeds = first..=if self.hours.is_some() { u64::MAX } else { last };
        let bar = match self.hours {
            None => progress(last.saturating_sub(first).saturating_add(1), protocol, "seeds"),
            Some(hours) => progress(hours.as_secs() / 60, protocol, "simulated minutes"),
        };
        let began = Instant::now();
        let mut summary = Summary::new(protocol, self.preset);
        let mut failing = Vec::new();
        for verdict in liftmesh_lab::sweep(seeds, |seed| self.campaign(protocol, seed)) {
            let verdict = verdict.map_err(LabError::from)?;
            summary.add(&verdict);
            match self.hours {
                None => bar.inc(1),
                Some(_) => bar.set_position(summary.tally.simulated.as_secs() / 60),
            }
            if !verdict.violations.is_empty() {
                bar.suspend(|| output::print(&self.page(protocol, &verdict)))?;
                failing.push(verdict);
            }
            if self.hours.is_some_and(|hours| summary.tally.simulated >= hours) {
                break;
            }
        }
        bar.finish_and_clear();
        let took = began.elapsed();
        for verdict in failing.into_iter().take(*to_shrink) {
            *to_shrink -= 1;
            let campaign = self.campaign(protocol, verdict.seed);
            let path = self.scripts.join(format!("{protocol}-{}.json", verdict.seed));
            shrink::shrink(&campaign, &path)?;
        }
        Ok(Measured { summary, took })
    }

    /// What was wrong with a seed, and how to see it again.
    fn page(&self, protocol: Protocol, verdict: &Verdict) -> String {
        report::page(protocol, self.preset, self.duration, verdict)
    }
}

/// Fails if a seed has failed, or if too many are void.
fn judge(measured: &[Measured]) -> Result<(), CommandError> {
    let summaries = || measured.iter().map(|measured| &measured.summary);
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

/// Shown on standard error if that is a terminal.
fn progress(length: u64, protocol: Protocol, what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let template = format!("{protocol} {{bar:40}} {{pos}} of {{len}} {what}, {{eta}} to go");
    let style = ProgressStyle::with_template(&template);
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

#[cfg(test)]
mod tests;
