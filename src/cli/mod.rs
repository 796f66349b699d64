//! The command line.
//!
//! [`Cli`] parses it and [`execute`] executes it, except for running a node, which `main` does.

mod assign;
mod audit;
mod clear_hang;
mod doctor;
mod error;
mod events;
mod flags;
mod floors;
mod keygen;
#[cfg(feature = "simulator")]
mod lab;
mod mode;
mod node;
mod order;
pub mod output;
mod presses;
mod record;
mod status;
mod token;
mod top;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::config::{self, Settings, Sources};
#[cfg(feature = "simulator")]
use crate::config::{ConfigErrors, building};
use crate::exit::Exit;
use crate::operator::FaultInjection;
#[cfg(feature = "simulator")]
use elevator_driver::{Building, vocabulary::show_labels};

use flags::SettingFlags;
use node::{AnyNodeArgs, NodeArgs, ReadArgs};

#[cfg(feature = "fuzzing")]
pub(crate) use assign::fuzzing;
pub use error::CommandError;

const EXAMPLES: &str = "\
Examples:
  liftmesh run --config node.toml
  liftmesh status
  liftmesh order hall 3 up
  liftmesh clear-hang --operator kovac --reason 'brake replaced'
  liftmesh help config dwell
  liftmesh status --url https://192.168.1.11:7080 --token-file ~/.config/liftmesh/token

Without --config, commands read the file that LIFTMESH_CONFIG names, or /etc/liftmesh/node.toml.";

const RUN_EXAMPLES: &str = "\
Every key of node.toml is also an environment variable and a flag: `dwell` of the table `[door]` is
LIFTMESH__DOOR__DWELL and --door-dwell. Variables override the file, and flags override both.

Examples:
  liftmesh run --config node.toml --door-dwell 5s --log-filter debug
  liftmesh run --car A --address 127.0.0.1 --broadcast 127.255.255.255:46100 \\
      --panel tcp://127.0.0.1:15657 --floors 4 --data-dir /tmp/A";

const CARETAKER_EXAMPLES: &str = "\
Examples:
  liftmesh caretaker --config node.toml && liftmesh run --config node.toml

Run it with the node's configuration, as the node's user, after the node has exited with 3 or 4. It
serves the web panel at the node's http.address, and lets a token with scope `operate` clear the
hang. It exits with 0 once the hang is cleared there, so that a supervisor starts the node; with 2
if there is no latch, or it is cleared by other means; with 4 if it is told to stop.";

const CHECK_EXAMPLES: &str = "\
Examples:
  liftmesh check-config --config node.toml
  liftmesh check-config --example > node.toml

`liftmesh doctor` checks the machine and the network as well.";

const HELP_EXAMPLES: &str = "\
Examples:
  liftmesh help run
  liftmesh help config            every key of node.toml, one per line
  liftmesh help config dwell      all about a key or a table: its name, flag or variable";

/// Elevator-fleet controller: one process per cabin computer, no order is ever lost
#[derive(Debug, Parser)]
#[command(
    name = "liftmesh",
    version,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{}", Exit::table()),
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The command line of this process. Ends the process if it is wrong or asks for help.
    #[must_use]
    pub fn of_process() -> Self {
        Self::parse_from(assign::tolerant(std::env::args_os().collect()))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the node of one car until it is stopped
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Show a running node: its state, peers, open orders and car
    #[command(after_help = status::EXAMPLES)]
    Status(status::StatusArgs),
    /// Watch the whole fleet in the terminal: shafts, nodes, open orders, events
    #[command(after_help = top::EXAMPLES)]
    Top(top::TopArgs),
    /// Follow the events of a running node, line by line
    #[command(after_help = events::EXAMPLES)]
    Events(events::EventsArgs),
    /// Place an order at a running node, as if its button were pressed
    #[command(after_help = order::EXAMPLES)]
    Order(order::OrderArgs),
    /// Set the service mode of a car, from any node (audited)
    #[command(after_help = mode::MODE_EXAMPLES)]
    Mode(mode::ModeArgs),
    /// Send a car to a floor with priority, or cancel that (audited)
    #[command(after_help = mode::PRIORITY_EXAMPLES)]
    Priority(mode::PriorityArgs),
    /// Start or end a fire recall of all cars (audited)
    #[command(after_help = mode::FIRE_RECALL_EXAMPLES)]
    FireRecall(mode::FireRecallArgs),
    /// Lock, unlock or list floors
    #[command(after_help = floors::EXAMPLES)]
    Floors(floors::FloorsArgs),
    /// Start or end emergency power: cars come down one at a time (audited)
    #[command(after_help = mode::EMERGENCY_POWER_EXAMPLES)]
    EmergencyPower(mode::EmergencyPowerArgs),
    /// Answer the alarm from a car (audited)
    #[command(after_help = mode::ALARM_EXAMPLES)]
    AcknowledgeAlarm(mode::AlarmArgs),
    /// Put a node back in service after its car hung (audited)
    #[command(after_help = clear_hang::EXAMPLES)]
    ClearHang(clear_hang::ClearHangArgs),
    /// Serve the web panel of a hung node, so that the hang can be cleared there
    #[command(after_help = CARETAKER_EXAMPLES)]
    Caretaker(ServiceArgs),
    /// Show the audit log of a node or of the fleet: hangs, who cleared them, and commands
    #[command(after_help = audit::EXAMPLES)]
    Audit(audit::AuditArgs),
    /// Show a node's latest button presses, and what became of each
    #[command(after_help = presses::EXAMPLES)]
    Presses(presses::PressesArgs),
    /// Record every call of the fleet in a file, through the deaths of nodes
    #[command(after_help = record::EXAMPLES)]
    Record(record::RecordArgs),
    /// Make a fleet key, which nodes use to recognise each other
    #[command(after_help = keygen::EXAMPLES)]
    Keygen(keygen::KeygenArgs),
    /// Create, list and revoke tokens for HTTP clients
    #[command(after_help = token::EXAMPLES)]
    Token(token::TokenArgs),
    /// Check the configuration, and show each value and where it comes from
    #[command(after_help = CHECK_EXAMPLES)]
    CheckConfig {
        #[command(flatten)]
        config: ConfigArgs,
        /// Print an example file with every key instead
        #[arg(long)]
        example: bool,
    },
    /// Check whether a node can run on this machine and network, and say how to fix what is wrong
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(doctor::DoctorArgs),
    /// Assign hall calls to cars from a JSON snapshot, like the program of the course TTK4145
    #[command(after_help = assign::EXAMPLES)]
    Assign(assign::AssignArgs),
    /// Watch a whole fleet with passengers on this machine, and break it
    #[cfg(feature = "simulator")]
    Demo(crate::demo::Args),
    /// Simulate one elevator with its panel
    #[cfg(feature = "simulator")]
    #[command(after_long_help = elevator_simulator::cli::examples("liftmesh simulate"))]
    Simulate(Box<SimulateArgs>),
    /// Run the brain in virtual time: compare elections, test it with faults, draw runs
    #[cfg(feature = "simulator")]
    #[command(subcommand)]
    Lab(lab::Experiment),
    /// Explain a command, or a configuration key
    #[command(after_help = HELP_EXAMPLES)]
    Help {
        /// A command; or `config`, alone or with a key or table of node.toml
        #[arg(value_name = "COMMAND", allow_hyphen_values = true)]
        topic: Vec<String>,
    },
}

#[cfg(feature = "simulator")]
#[derive(Debug, Clone, Args)]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    car: elevator_simulator::cli::Args,
    /// The file of the building, whose floors have the heights that it says
    #[arg(long, value_name = "FILE", conflicts_with_all = ["floors", "floor_height"])]
    building: Option<PathBuf>,
}

#[cfg(feature = "simulator")]
impl SimulateArgs {
    fn execute(self) -> Result<(), CommandError> {
        let mut car = self.car;
        if let Some(file) = &self.building {
            let building = building::read(file).map_err(ConfigErrors::from)?;
            show_labels(&building);
            car.building = Some(Building::clone(&building));
        }
        Ok(elevator_simulator::cli::run(car)?)
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
    /// Let anyone who can reach the node's socket cut the network: for demo and tests only
    #[arg(long, hide = true)]
    pub(crate) allow_faults: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ServiceArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Exit when the parent process, which has this id, is gone
    #[arg(long, hide = true, value_name = "PID")]
    pub(crate) die_with_parent: Option<u32>,
}

impl ServiceArgs {
    fn settings(&self) -> Result<Box<Settings>, CommandError> {
        let (_, settings) = self.config.sources().check()?;
        if let Some(parent) = self.die_with_parent {
            die_with(parent)?;
        }
        Ok(Box::new(settings))
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigArgs {
    /// The configuration file [default: `$LIFTMESH_CONFIG`, or /etc/liftmesh/node.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

impl ConfigArgs {
    fn sources(&self) -> Sources {
        Sources::of_process(config::find(self.config.clone()), self.settings.0.clone())
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PageArgs {
    /// Print JSON, one entry per line: times in UTC, floors from 0
    #[arg(long)]
    pub(crate) json: bool,
    /// Show only the latest NUMBER [default: all]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<usize>,
}

impl PageArgs {
    /// What is printed of entries whose latest is the last.
    fn latest<'a, T>(&self, entries: &'a [T]) -> &'a [T] {
        let limit = self.limit.unwrap_or(usize::MAX);
        &entries[entries.len().saturating_sub(limit)..]
    }
}

/// What is left to do after [`execute`].
#[derive(Debug)]
pub enum Next {
    Done,
    /// Exit with the code for a latched node; the latch was printed already.
    Latched,
    Run(Box<Settings>),
    /// Take care of the latched node that has these settings.
    TakeCare(Box<Settings>),
}

/// Executes the command line, except for running a node or its caretaker.
///
/// # Errors
/// [`CommandError`].
pub fn execute(cli: Cli) -> Result<Next, CommandError> {
    match cli.command {
        Command::Run(args) => {
            let mut settings = args.service.settings()?;
            if args.allow_faults {
                settings.faults = FaultInjection::Allowed;
            }
            return Ok(Next::Run(settings));
        }
        Command::Status(args) => return args.execute(),
        Command::Top(args) => args.execute()?,
        Command::Events(args) => args.execute()?,
        Command::Order(args) => args.execute()?,
        Command::Mode(args) => args.execute()?,
        Command::Priority(args) => args.execute()?,
        Command::FireRecall(args) => args.execute()?,
        Command::Floors(args) => args.execute()?,
        Command::EmergencyPower(args) => args.execute()?,
        Command::AcknowledgeAlarm(args) => args.execute()?,
        Command::ClearHang(args) => args.execute()?,
        Command::Caretaker(args) => return Ok(Next::TakeCare(args.settings()?)),
        Command::Audit(args) => args.execute()?,
        Command::Presses(args) => args.execute()?,
        Command::Record(args) => args.execute()?,
        Command::Keygen(args) => args.execute()?,
        Command::Token(args) => args.execute()?,
        Command::Doctor(args) => args.execute()?,
        Command::Assign(args) => args.execute()?,
        Command::CheckConfig { example: true, .. } => output::print(&config::example())?,
        Command::CheckConfig { config, .. } => {
            let (effective, _) = config.sources().check()?;
            output::print(&effective.to_string())?;
        }
        Command::Help { topic } => match topic.as_slice() {
            [config] if config == "config" => output::print(&config::list())?,
            [config, key] if config == "config" => output::print(&config::explain(key)?)?,
            // This prints the help of that command and ends the process.
            _ => {
                let words = ["liftmesh".to_owned()].into_iter().chain(topic);
                return execute(Cli::parse_from(words.chain(["--help".to_owned()])));
            }
        },
        #[cfg(feature = "simulator")]
        Command::Demo(args) => crate::demo::run(&args)?,
        #[cfg(feature = "simulator")]
        Command::Lab(experiment) => experiment.execute()?,
        #[cfg(feature = "simulator")]
        Command::Simulate(args) => args.execute()?,
    }
    Ok(Next::Done)
}

/// Asks the system to end this process when its parent ends.
fn die_with(parent: u32) -> Result<(), CommandError> {
    set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|error| CommandError::Parent(error.into()))?;
    // A parent that ended before is not noticed that way.
    let found = getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if found == Some(parent) { Ok(()) } else { Err(CommandError::Orphan(parent)) }
}

#[cfg(test)]
mod tests;
