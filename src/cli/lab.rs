//! `liftmesh lab`: the brain in virtual time.

mod campaign;
mod elections;
mod files;
mod playground;
mod trace;
mod traffic;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use elevator_fleet::election::Preset;
use elevator_simulator::building::{BuildingError, ListError};
use liftmesh_lab::elections::{Contestant, PlotError, Situation, WriteError};
use liftmesh_lab::trace::UnknownFilter;
use liftmesh_lab::{ScriptError, WorldError};

use self::elections::ElectionsArgs;
use super::CommandError;

/// The arguments of `liftmesh lab`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LabArgs {
    /// What to run
    #[command(subcommand)]
    pub(crate) experiment: Experiment,
}

/// The experiments.
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
    /// Serve the playground on this machine: a whole fleet to break in a browser tab
    #[command(after_help = playground::EXAMPLES)]
    Playground(playground::PlaygroundArgs),
}

/// An experiment failed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Such a fleet can't exist.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A file can't be written.
    #[error("{} can't be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The figures can't be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// They can't be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// An invariant was broken.
    #[error("{failed} of {number} seeds failed")]
    Failed {
        /// The seeds that failed.
        failed: u64,
        /// All of them.
        number: u64,
    },
    /// The figures show that something stated does not hold; they have been written.
    #[error("claims that do not hold:\n{0}")]
    Broken(String),
    /// Too many campaigns say nothing.
    #[error("{void} of {number} seeds are void: too few are left")]
    Void {
        /// The seeds that are void.
        void: usize,
        /// All of them.
        number: u64,
    },
    /// A script violates an invariant.
    #[error("the script fails")]
    ScriptFails,
    /// A file holds no script.
    #[error("{} is not a script", path.display())]
    NoScript {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// A script can't be run.
    #[error("{}", path.display())]
    Script {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ScriptError,
    },
    /// A campaign of something else than a protocol and a preset.
    #[error("a campaign needs a protocol and a preset, not {0}")]
    Variant(Contestant),
    /// The contestant has no such preset.
    #[error("--preset {preset} can't be used with --election {contestant}; omit --preset")]
    Preset {
        /// A control, or a protocol whose variant says otherwise.
        contestant: Contestant,
        /// What it was to run under.
        preset: Preset,
    },
    /// No fleet is large enough.
    #[error("nothing to compare: {situation} needs --sizes of at least {smallest}")]
    Small {
        /// What should happen.
        situation: Situation,
        /// The smallest fleet to which it can happen.
        smallest: usize,
    },
    /// A drawing without room.
    #[error("--to {to} is not after --from {from}")]
    Window {
        /// Where it would begin.
        from: humantime::FormattedDuration,
        /// Where it would end.
        to: humantime::FormattedDuration,
    },
    /// A file can't be read.
    #[error("{} can't be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A building can't be like this.
    #[error("{name}")]
    Building {
        /// The building, or its file.
        name: String,
        /// The cause.
        source: BuildingError,
    },
    /// There is no such building.
    #[error("no building or file named {0}: use A12, B16, crites-barto or a TOML file")]
    NoBuilding(String),
    /// Nobody is in the building, so rates in per cent mean nothing.
    #[error("{0} has no population, which --rates needs")]
    Empty(String),
    /// A list of passengers can't be read.
    #[error("{}", path.display())]
    Passengers {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ListError,
    },
    /// The playground was not built there.
    #[error(
        "no playground in {}: build it with ./playground/build.sh in a source checkout, or point \
         --dir at it",
        .0.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" or ")
    )]
    NoPlayground(Vec<PathBuf>),
    /// The playground's port can't be used.
    #[error("port {port} on 127.0.0.1 can't be used; choose another with --port")]
    Port {
        /// The port.
        port: u16,
        /// The cause.
        source: std::io::Error,
    },
    /// The playground can't be served.
    #[error("the playground can't be served")]
    Serve(#[source] std::io::Error),
    /// A filter fits nothing.
    #[error(transparent)]
    Filter(#[from] UnknownFilter),
}

/// The names of the presets.
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

/// The size of a fleet.
fn size(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| (2..=200).contains(size));
    size.ok_or_else(|| "a fleet has 2 to 200 nodes".to_owned())
}

impl LabArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        match &self.experiment {
            Experiment::Elections(args) => args.execute(),
            Experiment::Campaign(args) => args.execute(),
            Experiment::Trace(args) => args.execute(),
            Experiment::Traffic(args) => args.execute(),
            Experiment::Playground(args) => args.execute(),
        }
    }
}
