//! `liftmesh lab trace`: a run as a space-time diagram.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use elevator_fleet::election::Preset;
use liftmesh_lab::Campaign;
use liftmesh_lab::elections::{Conditions, Contestant, Situation, Trial};
use liftmesh_lab::recording::{Example, Subject};
use liftmesh_lab::trace::{story, svg};

use super::{LabError, files};
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
Without --svg, messages and states are printed, one per line.

Examples:
  liftmesh lab trace --election bully --size 4 --situation master-dead --svg bully.svg
  liftmesh lab trace --example bully-b8 --svg bully-b8.svg
  liftmesh lab trace --campaign 7 --election ballot --from 12s --to 13500ms --only election,link
  liftmesh lab trace --script lowest-ip-17.json --svg lowest-ip-17.svg";

#[derive(Debug, Clone, Args)]
pub(crate) struct TraceArgs {
    /// The election protocol; with a situation also a variant or a control, as in `lab elections`
    #[arg(long, value_name = "NAME", visible_alias = "protocol", default_value = "lowest-ip")]
    pub(crate) election: Contestant,
    /// Settings of the protocol; not for a control [default: fleet]
    #[arg(long, value_name = "NAME", value_parser = super::preset())]
    pub(crate) preset: Option<Preset>,
    /// The number of nodes, 2 to 200
    #[arg(long, value_name = "NUMBER", default_value = "5", value_parser = super::size)]
    pub(crate) size: usize,
    /// Packet loss, in per cent
    #[arg(long, value_name = "PERCENTAGE", default_value = "0",
          value_parser = clap::value_parser!(u8).range(0..=90))]
    pub(crate) loss: u8,
    /// What happens to the fleet, beginning at time 0 of the drawing
    #[arg(long, value_name = "NAME", default_value = "start")]
    pub(crate) situation: Situation,
    /// Network and clock conditions
    #[arg(long, value_name = "NAME", default_value = "steady")]
    pub(crate) conditions: Conditions,
    /// Seconds to watch a fleet in situations where it need not settle
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) watch: u64,
    /// Seed; the same seed gives the same drawing
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,
    /// Draw the campaign of random faults with this seed instead
    #[arg(long, value_name = "SEED", conflicts_with_all = ["size", "loss", "situation", "conditions", "watch", "seed"])]
    pub(crate) campaign: Option<u64>,
    /// How long that campaign injects faults, from 1s to 1day [default: 1min]
    #[arg(long, visible_alias = "minutes", value_name = "TIME", requires = "campaign",
          value_parser = super::faulty_time)]
    pub(crate) duration: Option<Duration>,
    /// Draw the run of this script instead, as written by `lab campaign`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["campaign", "size", "loss", "situation", "conditions", "watch", "seed", "election", "preset"])]
    pub(crate) script: Option<PathBuf>,
    /// Draw an example from the documentation instead
    #[arg(long, value_name = "NAME", value_parser = example(),
          conflicts_with_all = ["campaign", "script", "size", "loss", "situation", "conditions", "watch", "seed", "election", "preset", "from", "to"])]
    pub(crate) example: Option<Example>,
    /// Start of the drawing [default: just before the situation or the first violation]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<Duration>,
    /// End of the drawing [default: when one node leads, or just after the violation]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) to: Option<Duration>,
    /// Only messages of these categories or kinds: election, link, orders, climate, beacon, vote, …
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Draw it as SVG to this file
    #[arg(long, value_name = "PATH")]
    pub(crate) svg: Option<PathBuf>,
}

fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).ok();
    let time = time.filter(|time| *time <= Duration::from_hours(24));
    time.ok_or_else(|| "use a time with a unit, up to 1day, such as 13500ms".to_owned())
}

fn example() -> impl TypedValueParser<Value = Example> {
    PossibleValuesParser::new(Example::ALL.map(|example| example.name)).map(|name| {
        let place = Example::ALL.iter().position(|known| known.name == name);
        Example::ALL[place.unwrap_or_default()]
    })
}

impl TraceArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from >= to
        {
            let [from, to] = [from, to].map(humantime::format_duration);
            return Err(LabError::Window { from, to }.into());
        }
        let mut trace = match (self.example, &self.script) {
            (Some(example), _) => example.trace().map_err(LabError::from)?,
            (None, Some(path)) => {
                let script = files::read_script(path)?;
                let mut trace = script.trace(self.from, self.to).map_err(LabError::from)?;
                trace.command = format!("liftmesh lab trace --script {}", path.display());
                trace
            }
            (None, None) => self.subject()?.trace(self.from, self.to).map_err(LabError::from)?,
        };
        for (flag, time) in [("--from", self.from), ("--to", self.to)] {
            if let Some(time) = time.map(humantime::format_duration) {
                trace.command.extend([" ", flag, " ", &time.to_string().replace(' ', "")]);
            }
        }
        if !self.only.is_empty() {
            trace.command.extend([" --only '", &self.only.join(","), "'"]);
            trace.only.clone_from(&self.only);
        }
        trace.check().map_err(LabError::from)?;
        match &self.svg {
            Some(path) => files::write_drawing(path, &svg(&trace))?,
            None => output::print(&story(&trace))?,
        }
        Ok(())
    }

    fn subject(&self) -> Result<Subject, LabError> {
        let contestant = match self.preset {
            None => self.election,
            Some(preset) => self
                .election
                .under(preset)
                .ok_or(LabError::Preset { contestant: self.election, preset })?,
        };
        let Some(seed) = self.campaign else {
            return Ok(Subject::Situation(Trial {
                contestant,
                size: self.size,
                loss: self.loss,
                conditions: self.conditions,
                situation: self.situation,
                watch: Duration::from_secs(self.watch),
                seed: self.seed,
            }));
        };
        let (protocol, preset) = contestant.as_preset().ok_or(LabError::Variant(contestant))?;
        let duration = self.duration.unwrap_or(Campaign::USUAL_DURATION);
        Ok(Subject::Campaign { seed, protocol, preset, duration })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Result<TraceArgs, clap::Error> {
        crate::cli::lab::tests::args(line)
    }

    #[test]
    fn what_could_not_be_drawn_is_refused() {
        for wrong in [
            "--size 1",
            "--size 201",
            "--to 2days",
            "--from 5",
            "--campaign 1..2",
            "--duration 5min",
        ] {
            assert!(args(wrong).is_err(), "{wrong}");
        }
        for (line, message) in [
            ("--from 5s --to 1s", "--to 1s is not after --from 5s"),
            (
                "--election raft --preset source",
                "--preset source can't be used with --election raft; omit --preset",
            ),
        ] {
            let error = args(line).unwrap().execute().unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        let campaign = args("--campaign 7 --election bully --duration 5min").unwrap().subject();
        let command = "liftmesh lab trace --campaign 7 --election bully --duration 5m";
        assert_eq!(campaign.unwrap().to_string(), command);
    }
}
