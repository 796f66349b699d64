//! `liftmesh lab campaign`: random faults over many seeds.

use std::num::ParseIntError;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liftmesh_lab::trace::Subject;
use liftmesh_lab::{Campaign, Violation};

use super::LabError;
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
A seed that fails is printed with what was wrong and with the command that draws it.

Examples:
  liftmesh lab campaign --seeds 1..40
  liftmesh lab campaign --seeds 1..1000 --election ballot --preset source
  liftmesh lab campaign --seeds 17";

/// The arguments of `liftmesh lab campaign`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CampaignArgs {
    /// The seeds, the last one included; or one seed
    #[arg(long, value_name = "FIRST..LAST", default_value = "1..10")]
    pub(crate) seeds: Seeds,
    /// The election protocol
    #[arg(long, value_name = "NAME", default_value = "lowest-ip",
          value_parser = crate::cli::protocol())]
    pub(crate) election: Protocol,
    /// Which settings of the protocol
    #[arg(long, value_name = "NAME", default_value = "fleet", value_parser = super::preset())]
    pub(crate) preset: Preset,
}

/// Seeds, one after the other; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seeds(RangeInclusive<u64>);

/// Text that names no seeds.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SeedsError {
    /// A part of it is no number.
    #[error("seeds are numbers, such as 1..40")]
    Number(#[from] ParseIntError),
    /// The last comes before the first.
    #[error("the last seed comes before the first")]
    Empty,
}

impl FromStr for Seeds {
    type Err = SeedsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let seeds = first.trim().parse()?..=last.trim_start_matches('=').trim().parse()?;
        if seeds.is_empty() { Err(SeedsError::Empty) } else { Ok(Self(seeds)) }
    }
}

impl CampaignArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let Seeds(seeds) = self.seeds.clone();
        let number = seeds.end() - seeds.start() + 1;
        let bar = progress(number);
        let mut failed = 0;
        for seed in seeds {
            let election = ElectionSettings::preset(self.election, self.preset);
            let outcome = Campaign::by_seed(seed).under(election).run().map_err(LabError::from)?;
            bar.inc(1);
            if !outcome.violations.is_empty() {
                failed += 1;
                bar.suspend(|| output::print(&self.page(seed, &outcome.violations)))?;
            }
        }
        bar.finish_and_clear();
        if failed > 0 {
            return Err(LabError::Failed { failed, number }.into());
        }
        output::print(&format!("{number} seeds of {} passed.\n", self.election))?;
        Ok(())
    }

    fn page(&self, seed: u64, violations: &[Violation]) -> String {
        let (protocol, preset) = (self.election, self.preset);
        let subject = Subject::Campaign { seed, protocol, preset };
        let lines: Vec<String> =
            violations.iter().map(|violation| format!("  {violation}\n")).collect();
        format!("seed {seed} fails:\n{}draw it with {subject} --html {seed}.html\n", lines.concat())
    }
}

/// Shown on standard error if that is a terminal.
fn progress(seeds: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(seeds), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} seeds, {eta} to go");
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_one_or_a_range() {
        let seeds = |text: &str| text.parse::<Seeds>().ok().map(|Seeds(seeds)| seeds);
        assert_eq!(seeds("17"), Some(17..=17));
        assert_eq!(seeds("1..40"), Some(1..=40));
        assert_eq!(seeds("1..=40"), Some(1..=40));
        assert_eq!(seeds("4..3"), None);
        assert_eq!(seeds("1-3"), None);
        assert_eq!(seeds(""), None);
    }
}
