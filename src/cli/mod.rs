//! The command line.
//!
//! [`Cli`] parses it and [`execute`] executes it, except for running a node, which `main` does.

mod assign;
mod audit;
mod caretaker;
mod clear_hang;
mod doctor;
mod events;
mod flags;
mod floors;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod keygen;
#[cfg(feature = "simulator")]
mod lab;
mod mode;
mod order;
pub mod output;
mod presses;
mod remote;
mod status;
mod table;
mod token;
mod top;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use elevator_fleet::json::CallError;
use elevator_fleet::model::NodeId;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::clearance::{AuditError, ClearError};
use crate::client::{Client, ClientError, UrlError};
use crate::config::{self, ConfigErrors, Settings, Sources};
use crate::exit::Exit;
use crate::journal::JournalError;
use crate::latch;
use crate::offline::OfflineError;
use crate::operator::{FaultInjection, LatchedNode};

pub(crate) use assign::AssignArgs;
pub(crate) use audit::AuditArgs;
pub(crate) use caretaker::CaretakerArgs;
pub(crate) use clear_hang::ClearHangArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use events::EventsArgs;
pub(crate) use flags::SettingFlags;
pub(crate) use floors::FloorsArgs;
pub(crate) use keygen::KeygenArgs;
pub use keygen::KeygenError;
pub(crate) use mode::{EmergencyPowerArgs, FireRecallArgs, ModeArgs, PriorityArgs};
pub(crate) use order::OrderArgs;
pub(crate) use presses::PressesArgs;
pub use remote::Elsewhere;
pub(crate) use remote::RemoteArgs;
pub(crate) use status::StatusArgs;
pub(crate) use token::TokenArgs;
pub(crate) use top::TopArgs;

use output::OutputError;

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
  liftmesh run
  liftmesh run --config node.toml --door-dwell 5s --log-filter debug
  liftmesh run --car A --address 127.0.0.1 --broadcast 127.255.255.255:46100 \\
      --panel tcp://127.0.0.1:15657 --floors 4 --data-dir /tmp/A";

const CHECK_EXAMPLES: &str = "\
Examples:
  liftmesh check-config
  liftmesh check-config --config node.toml
  liftmesh check-config --example > node.toml

`liftmesh doctor` checks the machine and the network as well.";

const HELP_EXAMPLES: &str = "\
Examples:
  liftmesh help run
  liftmesh help config            every key of node.toml, one per line
  liftmesh help config door       all about a table's keys
  liftmesh help config dwell      all about a key: give its name, flag or variable";

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
    Status(StatusArgs),
    /// Watch the whole fleet in the terminal: shafts, nodes, open orders, events
    #[command(after_help = top::EXAMPLES)]
    Top(TopArgs),
    /// Follow the events of a running node, line by line
    #[command(after_help = events::EXAMPLES)]
    Events(EventsArgs),
    /// Place an order at a running node, as if its button were pressed
    #[command(after_help = order::EXAMPLES)]
    Order(OrderArgs),
    /// Set the service mode of a car, from any node (audited)
    #[command(after_help = mode::MODE_EXAMPLES)]
    Mode(ModeArgs),
    /// Send a car to a floor with priority, or cancel that (audited)
    #[command(after_help = mode::PRIORITY_EXAMPLES)]
    Priority(PriorityArgs),
    /// Start or end a fire recall of all cars (audited)
    #[command(after_help = mode::FIRE_RECALL_EXAMPLES)]
    FireRecall(FireRecallArgs),
    /// Lock, unlock or list floors
    #[command(after_help = floors::EXAMPLES)]
    Floors(FloorsArgs),
    /// Start or end emergency power: cars come down one at a time (audited)
    #[command(after_help = mode::EMERGENCY_POWER_EXAMPLES)]
    EmergencyPower(EmergencyPowerArgs),
    /// Put a node back in service after its car hung (audited)
    #[command(after_help = clear_hang::EXAMPLES)]
    ClearHang(ClearHangArgs),
    /// Serve the web panel of a hung node, so that the hang can be cleared there
    #[command(after_help = caretaker::EXAMPLES)]
    Caretaker(CaretakerArgs),
    /// Show the audit log of a node or of the fleet: hangs, who cleared them, and commands
    #[command(after_help = audit::EXAMPLES)]
    Audit(AuditArgs),
    /// Show a node's latest button presses, and what became of each
    #[command(after_help = presses::EXAMPLES, arg = remote::refused_url())]
    Presses(PressesArgs),
    /// Make a fleet key, which nodes use to recognise each other
    #[command(after_help = keygen::EXAMPLES)]
    Keygen(KeygenArgs),
    /// Create, list and revoke tokens for HTTP clients
    #[command(after_help = token::EXAMPLES, arg = remote::refused_url())]
    Token(TokenArgs),
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
    Doctor(DoctorArgs),
    /// Assign hall calls to cars from a JSON snapshot, like the program of the course TTK4145
    #[command(after_help = assign::EXAMPLES)]
    Assign(AssignArgs),
    /// Watch a whole fleet with passengers on this machine, and break it
    #[cfg(feature = "simulator")]
    Demo(crate::demo::Args),
    /// Simulate one elevator with its panel
    #[cfg(feature = "simulator")]
    #[command(after_long_help = elevator_simulator::cli::examples("liftmesh simulate"))]
    Simulate(Box<elevator_simulator::cli::Args>),
    /// Run the brain in virtual time: compare elections, test it with faults, draw runs
    #[cfg(feature = "simulator")]
    Lab(lab::LabArgs),
    /// Explain a command, or a configuration key
    #[command(after_help = HELP_EXAMPLES)]
    Help {
        /// A command; or `config`, alone or with a key or table of node.toml
        #[arg(value_name = "COMMAND", allow_hyphen_values = true)]
        topic: Vec<String>,
    },
}

/// How a node is run.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Let anyone who can reach the node's socket cut the network: for demo and tests only
    #[arg(long, hide = true)]
    pub(crate) allow_faults: bool,
    /// Exit when the parent process, which has this id, is gone
    #[arg(long, hide = true, value_name = "PID")]
    pub(crate) die_with_parent: Option<u32>,
}

/// Where the configuration of a node is.
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

/// How a list of what has happened is printed.
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

/// Which running node is meant.
#[derive(Debug, Clone, Args)]
pub(crate) struct NodeArgs {
    /// The node's data directory (or set `LIFTMESH__DATA_DIR`)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data_dir: Option<String>,
    /// The node's configuration file, which names its data directory [default: `$LIFTMESH_CONFIG`,
    /// or /etc/liftmesh/node.toml]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
}

impl NodeArgs {
    /// Whether a flag names a node of this machine.
    fn is_given(&self) -> bool {
        self.data_dir.is_some() || self.config.is_some()
    }

    /// Connects to the running node. If the node does not run because of a latch, the error says
    /// so.
    fn connect(&self) -> Result<Client, CommandError> {
        let (data_dir, name) = self.place()?;
        match Client::connect(&data_dir) {
            Err(ClientError::NoNode(path)) => Err(match latch::find(&data_dir) {
                Some(latch) => CommandError::Latched(Box::new(LatchedNode {
                    running: false,
                    node: latch::owner(&data_dir).or(name),
                    remedy: latch::remedy(&data_dir),
                    data_dir,
                    latch,
                })),
                None => ClientError::NoNode(path).into(),
            }),
            connected => Ok(connected?),
        }
    }

    /// The data directory and, if configured, the node's name.
    fn place(&self) -> Result<(PathBuf, Option<NodeId>), CommandError> {
        let values = self.sources().read()?;
        let name = values.get("car").or_else(|| values.get("unit"));
        let name = name.and_then(|name| NodeId::new(&name.value).ok());
        // A node at another computer is meant, and has its data directory there.
        let is_elsewhere = values.get("data_dir").is_none()
            && !self.is_given()
            && std::env::var_os(remote::URL).is_some_and(|url| !url.is_empty());
        if is_elsewhere {
            return Err(Elsewhere(remote::URL).into());
        }
        Ok((values.data_dir()?, name))
    }

    /// The file is looked for only if nothing else names a node.
    fn sources(&self) -> Sources {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_named =
            self.is_given() || ["LIFTMESH__DATA_DIR", remote::URL].into_iter().any(is_set);
        let file = self.config.clone();
        let flags = self.data_dir.iter().map(|path| ("data_dir", path.clone())).collect();
        Sources::of_process(if is_named { file } else { config::find(file) }, flags)
    }
}

/// Which running node is meant, for a command that only reads.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// The node's read-only socket, instead of its data directory
    #[arg(long, value_name = "PATH", conflicts_with_all = ["data_dir", "config"])]
    pub(crate) socket: Option<PathBuf>,
}

impl ReadArgs {
    /// Connects to the running node: by the socket for reading if it is given, or if this user
    /// can't use the node's own.
    fn connect(&self) -> Result<Client, CommandError> {
        if let Some(socket) = &self.socket {
            return Ok(Client::connect_to(socket.clone())?);
        }
        let refused = match self.node.connect() {
            Err(CommandError::Client(ClientError::Socket { path, source })) => {
                ClientError::Socket { path, source }
            }
            connected => return connected,
        };
        let values = self.node.sources().read()?;
        let socket = values.get("operator.read_only_socket");
        match socket.map(|socket| Client::connect_to(socket.value.clone().into())) {
            Some(connected) => Ok(connected?),
            None => Err(refused.into()),
        }
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error("{count} problem{s} must be fixed before the node can run", count = .0,
            s = if *.0 == 1 { "" } else { "s" })]
    Doctor(usize),
    /// The node does not run because a hang was not cleared.
    #[error(
        "no node is running with data directory {}: {}\nInspect the car. Once it is fit to run:\n  \
         {}",
        .0.data_dir.display(), .0.latch, .0.remedy
    )]
    Latched(Box<LatchedNode>),
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The node at another computer has no such address.
    #[error("LIFTMESH_URL: {0}")]
    Url(#[from] UrlError),
    #[error(
        "--url names a node on another computer, and --data-dir, --config or --socket one on this \
         machine: use only one of them"
    )]
    TwoNodes,
    #[error("--token-file and --ca need --url")]
    NoUrl,
    #[error(transparent)]
    Elsewhere(#[from] Elsewhere),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("the terminal can't be used")]
    Screen(#[source] std::io::Error),
    #[error("the output is not a terminal: use `liftmesh top --once` for one frame as text")]
    NoTerminal,
    #[error("the system does not report the end of the parent process")]
    Parent(#[source] std::io::Error),
    #[error("the parent process {0} has ended")]
    Orphan(u32),
    #[error(transparent)]
    Clear(#[from] ClearError),
    #[error(transparent)]
    Audit(#[from] AuditError),
    #[error(transparent)]
    Call(#[from] CallError),
    /// The order is placed, but did not reach the requested state in time.
    #[error("{call} was placed, but not {what} within {limit}; it stays open")]
    WaitedTooLong { call: String, what: &'static str, limit: humantime::FormattedDuration },
    #[error(transparent)]
    Keygen(#[from] KeygenError),
    #[error(transparent)]
    Token(#[from] OfflineError),
    #[error("the system has no random numbers")]
    Random(#[source] getrandom::Error),
    /// No calls were assigned.
    #[error(transparent)]
    Assign(#[from] assign::AssignError),
    #[cfg(feature = "simulator")]
    #[error(transparent)]
    Demo(#[from] crate::demo::DemoError),
    #[cfg(feature = "simulator")]
    #[error(transparent)]
    Lab(#[from] lab::LabError),
    #[cfg(feature = "simulator")]
    #[error(transparent)]
    Simulator(#[from] elevator_simulator::cli::CliError),
}

impl CommandError {
    /// The exit code for this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Config(_) => Exit::Usage,
            Self::Assign(error) => error.exit(),
            Self::Token(error) => match error {
                OfflineError::Directory { .. }
                | OfflineError::AnotherUser { .. }
                | OfflineError::Nameless(_)
                | OfflineError::Refused(_)
                | OfflineError::Journal(
                    JournalError::Format { .. } | JournalError::Foreign { .. },
                ) => Exit::Usage,
                OfflineError::Setting(_)
                | OfflineError::Random(_)
                | OfflineError::Running(_)
                | OfflineError::Journal(_)
                | OfflineError::Disk(_) => Exit::Failed,
            },
            Self::Latched(_) => Exit::Refused,
            Self::Audit(AuditError::Lost(_)) => Exit::Refused,
            Self::Audit(AuditError::Journal(error)) => of_journal(error),
            Self::Clear(error) | Self::Audit(AuditError::Place(error)) => match error {
                ClearError::Directory { .. }
                | ClearError::AnotherUser { .. }
                | ClearError::Nameless => Exit::Usage,
                ClearError::Journal(error) => of_journal(error),
                ClearError::Running(_) | ClearError::Latch(_) => Exit::Failed,
            },
            Self::Client(error) => error.exit(),
            // The reader closed the pipe: it has read enough.
            Self::Output(error) if error.is_closed_pipe() => Exit::Done,
            Self::Url(_) | Self::TwoNodes | Self::NoUrl | Self::Elsewhere(_) => Exit::Usage,
            Self::Call(_) | Self::NoTerminal | Self::Keygen(KeygenError::Exists(_)) => Exit::Usage,
            Self::Doctor(_)
            | Self::Output(_)
            | Self::Random(_)
            | Self::Screen(_)
            | Self::Parent(_)
            | Self::Orphan(_)
            | Self::Keygen(_)
            | Self::WaitedTooLong { .. } => Exit::Failed,
            #[cfg(feature = "simulator")]
            Self::Demo(_) | Self::Simulator(_) | Self::Lab(_) => Exit::Failed,
        }
    }
}

fn of_journal(error: &JournalError) -> Exit {
    let is_usage = matches!(error, JournalError::Format { .. } | JournalError::Foreign { .. });
    if is_usage { Exit::Usage } else { Exit::Failed }
}

/// What is left to do after [`execute`].
#[derive(Debug)]
pub enum Next {
    /// Nothing.
    Done,
    /// Exit with the code for a latched node; the latch was printed already.
    Latched,
    /// Run a node with these settings.
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
            let (_, mut settings) = args.config.sources().check()?;
            if args.allow_faults {
                settings.faults = FaultInjection::Allowed;
            }
            if let Some(parent) = args.die_with_parent {
                die_with(parent)?;
            }
            return Ok(Next::Run(Box::new(settings)));
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
        Command::ClearHang(args) => args.execute()?,
        Command::Caretaker(args) => return args.execute(),
        Command::Audit(args) => args.execute()?,
        Command::Presses(args) => args.execute()?,
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
        Command::Lab(args) => args.execute()?,
        #[cfg(feature = "simulator")]
        Command::Simulate(args) => elevator_simulator::cli::run(*args)?,
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
