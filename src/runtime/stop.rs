//! How a node ends.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal as listen};
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::{Event, Latching, Running};
use crate::journal::AuditRecord;

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
    pub(super) async fn end(mut self, latching: Option<Latching>) {
        if let Some(latching) = &latching {
            // The car has been stopped already, its brain has nothing more to say to it, and the
            // others have been told.
            self.supervisor
                .stopping("the car hung: see `liftmesh clear-hang --help`");
            self.disk.record(AuditRecord::hang(latching.hang()));
        } else {
            self.supervisor.stopping("told to stop");
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
            async {
                if let Some(panel) = panel {
                    panel.close().await;
                }
            },
            disk.finish(),
            mesh.shut_down(),
            end_operator(operator),
            async {
                if let Some(latching) = latching {
                    latching.finish().await;
                }
            },
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
