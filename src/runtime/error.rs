//! Why a node does not run.

use std::io;

use elevator_driver::OpenError;

use crate::journal::JournalError;
use crate::latch::Refusal;
use crate::mesh::MeshError;
use crate::operator::{BindError, ReadingError};

/// Why a node could not start, or could not continue. In the first case nothing was sent to the
/// panel; in the second the motor is stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another node runs with the data directory, or it can't be used.
    #[error(transparent)]
    Operator(#[from] BindError),
    #[error(transparent)]
    Reading(#[from] ReadingError),
    /// An operator has to clear a hang first (F9).
    #[error(transparent)]
    Latched(#[from] Refusal),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Mesh(#[from] MeshError),
    #[error(transparent)]
    Panel(#[from] OpenError),
    #[error("no random numbers")]
    Random(#[from] getrandom::Error),
    #[error("no thread for the journal or the planner")]
    Thread(#[source] io::Error),
    #[error("signals can't be received")]
    Signals(#[source] io::Error),
    /// A part of the running node has failed; the node has shut down properly.
    #[error("the node can't continue: {0}")]
    Failed(#[from] Failure),
}

impl RunError {
    /// Whether another configuration, or the end of another node, would help.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Operator(_)
            | Self::Reading(_)
            | Self::Mesh(_)
            | Self::Panel(_)
            | Self::Latched(_) => true,
            Self::Journal(error) => !matches!(
                error,
                JournalError::Lost { .. }
                    | JournalError::Audit(_)
                    | JournalError::Damaged { .. }
                    | JournalError::Failing { .. }
            ),
            Self::Random(_) | Self::Thread(_) | Self::Signals(_) | Self::Failed(_) => false,
        }
    }
}

/// A required part of the process has ended. Only a new process can do its work again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part} failed: {reason}")]
pub struct Failure {
    pub(crate) part: &'static str,
    pub(crate) reason: String,
}
