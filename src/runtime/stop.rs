//! How a node ends.

use std::io;
use std::time::Duration;

use elevator_fleet::car::HangEvidence;
use tokio::signal::unix::{SignalKind, signal as listen};
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::{Event, Running};

/// How long the operator's clients may hold up the end.
const OPERATOR_LIMIT: Duration = Duration::from_secs(1);

/// Completes at SIGINT or SIGTERM, from the call on.
pub(super) fn signal() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    Ok(async move {
        let name = tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        };
        info!(signal = name, "told to stop");
    })
}

impl Running {
    /// Stops the motor, writes what is to be written, says goodbye: all at once, each within a time
    /// limit of its own, 4 s at most.
    pub(super) async fn end(mut self, hung: Option<HangEvidence>) {
        // A car that hung has been stopped already, and its brain has nothing more to say to it.
        if hung.is_none() {
            self.handle(Event::Stop);
        }
        let Self {
            mesh,
            panel,
            disk,
            requests,
            operator,
            stop_operator,
            ..
        } = self;
        drop((requests, stop_operator));
        tokio::join!(
            panel.close(),
            disk.finish(),
            mesh.shut_down(),
            end_operator(operator),
        );
        info!("node ends");
    }
}

async fn end_operator(mut operator: JoinSet<()>) {
    let ended = tokio::time::timeout(OPERATOR_LIMIT, operator.join_next()).await;
    if ended.is_err() {
        warn!("the operator's socket does not close");
    }
}
