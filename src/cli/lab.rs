//! `liftmesh lab`: the brain in virtual time.

mod campaign;
mod dispatcher;
mod elections;
mod fat;
mod files;
mod gym;
mod loss;
mod playground;
mod trace;
mod traffic;

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use elevator_fleet::election::Preset;
use elevator_simulator::building::{BuildingError, ListError};
use liftmesh_lab::elections::{Contestant, PlotError, UnknownContestant, WriteError};
use liftmesh_lab::trace::UnknownFilter;
use liftmesh_lab::{ScriptError, WorldError};
use serde::Serialize;
use serde_json::Value;

use self::elections::ElectionsArgs;
use super::{CommandError, output};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Experiment {
    /// Compare the election protocols: time to one master, messages, and times without a master
    #[command(after_help = elections::EXAMPLES)]
    Elections(ElectionsArgs),
    /// Run campaigns of random faults, and check that every invariant holds
    #[command(after_help = campaign::EXAMPLES)]
    Campaign(campaign::CampaignArgs),
    /// Draw a run as a space-time diagram: nodes, messages, states, orders and faults
    #[command(after_help = trace::EXAMPLES)]
    Trace(trace::TraceArgs),
    /// Compare the dispatchers on the same passengers: waiting, riding, energy, decision time
    #[command(after_help = traffic::EXAMPLES)]
    Traffic(traffic::TrafficArgs),
    /// Check a dispatcher of your own: its answers, determinism, time per plan, and what it forgets
    #[command(after_help = dispatcher::EXAMPLES)]
    DispatcherCheck(dispatcher::CheckArgs),
    /// Let another program assign the hall calls of a simulated bank, over JSON lines
    #[command(after_help = gym::EXAMPLES)]
    Gym(gym::GymArgs),
    /// Serve the playground on this machine: a whole fleet to break in a browser tab
    #[command(after_help = playground::EXAMPLES)]
    Playground(playground::PlaygroundArgs),
    /// Run an acceptance test on three controllers of yours, against elevator servers
    #[command(after_help = fat::EXAMPLES)]
    Fat(fat::FatArgs),
    /// Lose and delay what other programs send to some ports, and undo it
    #[command(after_help = loss::EXAMPLES)]
    Loss(loss::LossArgs),
}

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    World(#[from] WorldError),
    #[error("{} can't be written", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Plot(#[from] PlotError),
    #[error(transparent)]
    Contestant(#[from] UnknownContestant),
    /// They have been written.
    #[error(
        "these are not the runs of data set {version}, so this program gives other results than those \
         of docs/ELECTIONS.md"
    )]
    Unpublished { version: u32 },
    #[error("{failed} of {number} seeds failed")]
    Failed { failed: u64, number: u64 },
    /// The figures show that something stated does not hold; they have been written.
    #[error("claims that do not hold:\n{0}")]
    Broken(String),
    #[error("{void} of {number} seeds are void: too few are left")]
    Void { void: usize, number: u64 },
    /// The planner took its place, so the figures are not its own.
    #[error(
        "{command} failed in {fallbacks} of {plans} plans: {fault}; see `liftmesh lab dispatcher-check`"
    )]
    Dispatcher { command: String, fallbacks: u64, plans: u64, fault: String },
    #[error("{0:?} is no command: a program and its arguments, separated by spaces")]
    NoCommand(String),
    #[error("the dispatcher fails the check")]
    Unchecked,
    #[error("the script fails")]
    ScriptFails,
    #[error("{} is not a script", path.display())]
    NoScript { path: PathBuf, source: serde_json::Error },
    #[error("{}", path.display())]
    Script { path: PathBuf, source: ScriptError },
    #[error("a campaign needs a protocol and a preset, not {0}")]
    Variant(Contestant),
    #[error("--preset {preset} can't be used with --election {contestant}; omit --preset")]
    Preset { contestant: Contestant, preset: Preset },
    #[error("nothing to compare: the situations need larger fleets, see --sizes")]
    Small,
    #[error("--to {to} is not after --from {from}")]
    Window { from: humantime::FormattedDuration, to: humantime::FormattedDuration },
    #[error("{} can't be read", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{name}")]
    Building { name: String, source: BuildingError },
    #[error("no building or file named {0}: use A12, B16, crites-barto or a TOML file")]
    NoBuilding(String),
    #[error("standard input can't be read")]
    Input(#[source] std::io::Error),
    #[error("{0} has no population, which --rates needs")]
    Empty(String),
    #[error("{}", path.display())]
    Passengers { path: PathBuf, source: ListError },
    #[error(
        "no playground in {}: build it with ./playground/build.sh in a source checkout, or point \
         --dir at it",
        .0.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" or ")
    )]
    NoPlayground(Vec<PathBuf>),
    #[error("port {port} on 127.0.0.1 can't be used; choose another with --port")]
    Port { port: u16, source: std::io::Error },
    #[error("the playground can't be served")]
    Serve(#[source] std::io::Error),
    #[error(transparent)]
    Filter(#[from] UnknownFilter),
    #[error(transparent)]
    Fat(#[from] fat::FatError),
    #[error(transparent)]
    Loss(#[from] loss::LossError),
}

fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(|preset| preset.to_string())).map(|name| {
        let mut all = Preset::ALL.into_iter();
        all.find(|known| known.to_string() == name).unwrap_or(Preset::Fleet)
    })
}

/// How long faults happen in a campaign: a time with its unit, or a number of minutes.
fn faulty_time(text: &str) -> Result<Duration, String> {
    let minutes = text.parse::<u32>().ok().map(|minutes| Duration::from_mins(1) * minutes);
    let time = minutes.or_else(|| humantime::parse_duration(text).ok());
    let time =
        time.filter(|time| (Duration::from_secs(1)..=Duration::from_hours(24)).contains(time));
    time.ok_or_else(|| "use a time with a unit, 1s to 1day, or a number of minutes".to_owned())
}

fn size(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| (2..=200).contains(size));
    size.ok_or_else(|| "a fleet has 2 to 200 nodes".to_owned())
}

/// A table of fields, by the names that JSON has for them: those of an object within a row as
/// `object.field`.
fn fields(rows: impl IntoIterator<Item = impl Serialize>, names: &str) -> String {
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) if number.is_f64() => {
            format!("{:.2}", number.as_f64().unwrap_or_default())
        }
        Some(other) => other.to_string(),
    };
    let names: Vec<&str> = names.split_whitespace().collect();
    let rows = rows.into_iter().map(|row| {
        let row = serde_json::to_value(row).unwrap_or_default();
        let field = |name: &&str| text(row.pointer(&format!("/{}", name.replace('.', "/"))));
        names.iter().map(field).collect::<Vec<_>>()
    });
    output::table(&names, rows)
}

impl Experiment {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        match self {
            Self::Elections(args) => args.execute(),
            Self::Campaign(args) => args.execute(),
            Self::Trace(args) => args.execute(),
            Self::Traffic(args) => args.execute(),
            Self::DispatcherCheck(args) => args.execute(),
            Self::Gym(args) => args.execute(),
            Self::Playground(args) => args.execute(),
            Self::Fat(args) => args.execute(),
            Self::Loss(args) => args.execute(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, Error};

    pub(super) fn args<A: Args>(line: &str) -> Result<A, Error> {
        let command = A::augment_args(Command::new("lab").no_binary_name(true));
        A::from_arg_matches(&command.try_get_matches_from(line.split_whitespace())?)
    }
}
