//! `liftmesh lab campaign`: random faults over many seeds.

use std::num::ParseIntError;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liftmesh_lab::trace::Subject;
use liftmesh_lab::{Verdict, WorldError};

use super::LabError;
use crate::cli::output::OutputError;
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
The seeds are run on all cores. One that fails is printed with what was wrong and with the command that draws it.

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
        let election = ElectionSettings::preset(self.election, self.preset);
        let bar = progress(seeds.end().saturating_sub(*seeds.start()).saturating_add(1));
        let verdicts = liftmesh_lab::sweep(seeds, election);
        let judged = self
            .judge(verdicts.inspect(|_| bar.inc(1)), |page| bar.suspend(|| output::print(page)));
        bar.finish_and_clear();
        Ok(output::print(&judged?)?)
    }

    /// Hands the page of each seed that failed to `print`, in order; returns the last line if none
    /// did.
    fn judge(
        &self,
        verdicts: impl Iterator<Item = Result<Verdict, WorldError>>,
        mut print: impl FnMut(&str) -> Result<(), OutputError>,
    ) -> Result<String, CommandError> {
        let (mut failed, mut number) = (0, 0);
        for verdict in verdicts {
            let verdict = verdict.map_err(LabError::from)?;
            number += 1;
            if !verdict.violations.is_empty() {
                failed += 1;
                print(&self.page(&verdict))?;
            }
        }
        if failed > 0 {
            return Err(LabError::Failed { failed, number }.into());
        }
        Ok(format!("{number} seeds of {} passed.\n", self.election))
    }

    fn page(&self, Verdict { seed, violations }: &Verdict) -> String {
        let (protocol, preset) = (self.election, self.preset);
        let subject = Subject::Campaign { seed: *seed, protocol, preset };
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
    use std::time::Duration;

    use liftmesh_lab::Violation;

    use super::*;
    use crate::cli::Exit;

    fn args() -> CampaignArgs {
        let seeds = Seeds(1..=3);
        CampaignArgs { seeds, election: Protocol::Ballot, preset: Preset::Source }
    }

    fn verdict(seed: u64, violations: &[Violation]) -> Verdict {
        Verdict { seed, violations: violations.to_vec() }
    }

    fn violation(id: &'static str, what: &str) -> Violation {
        Violation { at: Duration::from_millis(45_360), id, what: what.to_owned() }
    }

    #[test]
    fn each_seed_that_fails_is_printed_with_its_command() {
        let wrong = [violation("E8", "distrusted"), violation("O7", "no rest")];
        let verdicts = [verdict(1, &[]), verdict(2, &wrong), verdict(3, &wrong[1..])];
        let mut printed = String::new();
        let judged = args().judge(verdicts.into_iter().map(Ok), |page| {
            printed.push_str(page);
            Ok(())
        });
        assert_eq!(
            printed,
            "\
seed 2 fails:
     45.360 s  E8: distrusted
     45.360 s  O7: no rest
draw it with liftmesh lab trace --campaign 2 --election ballot --preset source --html 2.html
seed 3 fails:
     45.360 s  O7: no rest
draw it with liftmesh lab trace --campaign 3 --election ballot --preset source --html 3.html
"
        );
        let error = judged.expect_err("two seeds failed");
        assert_eq!(error.to_string(), "2 of 3 seeds failed");
        assert_eq!(error.exit(), Exit::Failed);
    }

    #[test]
    fn seeds_that_pass_are_counted() {
        let verdicts = [verdict(1, &[]), verdict(2, &[])];
        let judged = args()
            .judge(verdicts.into_iter().map(Ok), |page| panic!("nothing to print, not {page}"));
        assert_eq!(judged.expect("none failed"), "2 seeds of ballot passed.\n");
    }

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
