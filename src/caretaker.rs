//! `liftmesh caretaker`: takes the place of a node that does not run because it is latched, at the
//! address of its web panel, until an operator has cleared the latch there.
//!
//! ```text
//!   node ends, 3 or 4 ──▶ supervisor ──▶ caretaker ── shows the latch ──▶ browser
//!     ▲                                     │ ◀────── clear-hang ───────────┘
//!     └──── supervisor ◀── ends with 0 ─────┘ audit record, then the latch is removed
//! ```
//!
//! It is another process, for a hung node ends (F9), and it has no panel line: it can move no
//! motor. It starts no node either. The exit code tells the supervisor: only 0 says that it was
//! cleared here.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::clearance::{self, ClearError};
use crate::config::Settings;
use crate::exit::Exit;
use crate::http::tls::{Renewal, TlsError};
use crate::http::{self, Endpoint, latched};
use crate::latch;

/// Between two attempts to listen: a node that ends has the port for a moment.
const RETRY: Duration = Duration::from_millis(250);

/// How often it is looked whether the latch was cleared by other means.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// So many looks without a latch mean that it is gone: longer than a clearing here needs.
const LOOKS: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The latch was cleared here, on record: the node can be started.
    Cleared,
    Stopped,
}

#[derive(Debug, thiserror::Error)]
pub enum CaretakerError {
    #[error(
        "the node with the data directory {} is not latched: nothing to do",
        .0.display()
    )]
    NotLatched(PathBuf),
    #[error("the latch is gone, but was not cleared here: start the node")]
    ClearedElsewhere,
    #[error("http.enabled = false: there is no address to serve at")]
    NoAddress,
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Directory(#[from] ClearError),
    #[error("signals can't be received")]
    Signals(#[source] io::Error),
}

impl CaretakerError {
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Directory(ClearError::Journal(_) | ClearError::Latch(_)) | Self::Signals(_) => {
                Exit::Failed
            }
            Self::NotLatched(_)
            | Self::ClearedElsewhere
            | Self::NoAddress
            | Self::Tls(_)
            | Self::Directory(_) => Exit::Usage,
        }
    }
}

/// Serves until the latch is cleared, or a signal tells it to stop.
///
/// # Errors
/// [`CaretakerError`]: it does not serve, or the latch is gone without it.
pub async fn run(settings: &Settings) -> Result<Outcome, CaretakerError> {
    let address = settings.http.ok_or(CaretakerError::NoAddress)?;
    let data_dir = settings.data_dir.clone();
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CaretakerError::Signals)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(CaretakerError::Signals)?;
    let directory = data_dir.clone();
    // Waits for a node that is about to end.
    let found = tokio::task::spawn_blocking(move || clearance::find(&directory)).await;
    let latch = found
        .map_err(|panicked| ClearError::Latch(io::Error::other(panicked)))??
        .ok_or_else(|| CaretakerError::NotLatched(data_dir.clone()))?;
    warn!(%address, %latch, "taking care of a node that does not run");
    let node = latch::owner(&data_dir).unwrap_or_else(|| settings.node.clone());
    let tls = match settings.tls.clone() {
        Some(files) => Some(Renewal::begin(files).await?),
        None => None,
    };
    let endpoint = Endpoint { address, is_tls: tls.is_some() };
    let serving = async {
        let listener = http::listen(address, RETRY).await;
        latched::serve(listener, endpoint, tls, (data_dir.clone(), node, latch)).await;
    };
    tokio::select! {
        () = serving => {
            info!("cleared: the node can be started");
            Ok(Outcome::Cleared)
        }
        () = removal(&data_dir) => Err(CaretakerError::ClearedElsewhere),
        _ = interrupt.recv() => Ok(Outcome::Stopped),
        _ = terminate.recv() => Ok(Outcome::Stopped),
    }
}

/// Completes when a latch that was there as a file is gone without a clearing here.
async fn removal(data_dir: &Path) {
    if latch::find(data_dir).is_none() {
        // It is in the audit log, or is the lack of a journal: only a clearing here ends that.
        std::future::pending::<()>().await;
    }
    let mut absent = 0;
    while absent < LOOKS {
        sleep(LOOK_EVERY).await;
        absent = if latch::find(data_dir).is_none() { absent + 1 } else { 0 };
    }
}
