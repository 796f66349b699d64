//! Why a command failed.

use std::io;

use elevator_driver::vocabulary::UnknownFloor;
use elevator_fleet::json::CallError;

use super::assign::AssignError;
use super::keygen::KeygenError;
use super::output::OutputError;
use super::record::RecordError;
use crate::clearance::ClearError;
use crate::client::{ClientError, UrlError};
use crate::config::ConfigErrors;
use crate::exit::Exit;
use crate::journal::JournalError;
use crate::offline::OfflineError;
use crate::operator::LatchedNode;

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error("{count} problem{s} must be fixed before the node can run", count = .0,
            s = if *.0 == 1 { "" } else { "s" })]
    Doctor(usize),
    #[error(
        "no node is running with data directory {}: {}\nInspect the car. Once it is fit to run:\n  \
         {}",
        .0.data_dir.display(), .0.latch, .0.remedy
    )]
    Latched(Box<LatchedNode>),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Floor(#[from] UnknownFloor),
    #[error("LIFTMESH_URL: {0}")]
    Url(#[from] UrlError),
    #[error(
        "--url names a node on another computer, and --data-dir, --config or --socket one on this \
         machine: use only one of them"
    )]
    TwoNodes,
    #[error("--token-file and --ca need --url")]
    NoUrl,
    #[error(
        "this command works only on the node's own computer, but LIFTMESH_URL names another one: \
         run it there, with --data-dir or --config"
    )]
    Elsewhere,
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("the terminal can't be used")]
    Screen(#[source] io::Error),
    #[error("the output is not a terminal: use `liftmesh top --once` for one frame as text")]
    NoTerminal,
    #[error("the system does not report the end of the parent process")]
    Parent(#[source] io::Error),
    #[error("the parent process {0} has ended")]
    Orphan(u32),
    #[error(transparent)]
    Clear(#[from] ClearError),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("{call} was placed, but not {what} within {limit}; it stays open")]
    WaitedTooLong { call: String, what: &'static str, limit: humantime::FormattedDuration },
    #[error(transparent)]
    Keygen(#[from] KeygenError),
    #[error(transparent)]
    Token(#[from] OfflineError),
    #[error("the system has no random numbers")]
    Random(#[source] getrandom::Error),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Assign(#[from] AssignError),
    #[cfg(feature = "simulator")]
    #[error(transparent)]
    Demo(#[from] crate::demo::DemoError),
    #[cfg(feature = "simulator")]
    #[error(transparent)]
    Lab(#[from] super::lab::LabError),
    #[cfg(feature = "simulator")]
    #[error(transparent)]
    Simulator(#[from] elevator_simulator::cli::CliError),
}

impl CommandError {
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => error.exit(),
            Self::Latched(_) => Exit::Refused,
            // The reader closed the pipe: it has read enough.
            Self::Output(error) if error.is_closed_pipe() => Exit::Done,
            Self::Assign(AssignError::Read(_)) => Exit::Failed,
            Self::Config(_)
            | Self::Floor(_)
            | Self::Url(_)
            | Self::TwoNodes
            | Self::NoUrl
            | Self::Elsewhere
            | Self::Call(_)
            | Self::NoTerminal
            | Self::Keygen(KeygenError::Exists(_))
            | Self::Assign(_)
            | Self::Record(RecordError::Name(_) | RecordError::Foreign { .. })
            | Self::Token(OfflineError::Refused(_)) => Exit::Usage,
            Self::Clear(error) | Self::Token(OfflineError::Place(error)) => match error {
                ClearError::Lost(_) => Exit::Refused,
                ClearError::Journal(error) | ClearError::Audit(error) => of_journal(error),
                ClearError::Running(_) | ClearError::Latch(_) => Exit::Failed,
                ClearError::Directory { .. }
                | ClearError::AnotherUser { .. }
                | ClearError::Nameless => Exit::Usage,
            },
            Self::Token(OfflineError::Journal(error)) => of_journal(error),
            Self::Doctor(_)
            | Self::Output(_)
            | Self::Screen(_)
            | Self::Parent(_)
            | Self::Orphan(_)
            | Self::WaitedTooLong { .. }
            | Self::Keygen(_)
            | Self::Record(_)
            | Self::Token(
                OfflineError::Setting(_) | OfflineError::Random(_) | OfflineError::Disk(_),
            )
            | Self::Random(_) => Exit::Failed,
            #[cfg(feature = "simulator")]
            Self::Demo(_) | Self::Lab(_) | Self::Simulator(_) => Exit::Failed,
        }
    }
}

fn of_journal(error: &JournalError) -> Exit {
    let is_usage = matches!(error, JournalError::Format { .. } | JournalError::Foreign { .. });
    if is_usage { Exit::Usage } else { Exit::Failed }
}
