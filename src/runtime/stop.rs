//! The shutdown of a node.

use std::io;

use futures_util::future::OptionFuture;
use tokio::signal::unix::{SignalKind, signal as listen};
use tracing::{error, info, warn};

use super::{Ending, Event, Latching, Running};
use crate::journal::{AuditRecord, Work};
use crate::panel::Panel;
use crate::side::Side;

/// Completes at SIGINT or SIGTERM. SIGHUP, which would not stop the motor, has no effect.
pub(super) fn signal() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let hang_up = listen(SignalKind::hangup())?;
    Ok(async move {
        let name = tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        };
        info!(signal = name, "told to stop");
        drop(hang_up);
    })
}

impl Running {
    /// Stops the motor, writes what is queued and informs the supervisor: all at once, each within
    /// its own time limit, 4 s at most.
    pub(super) async fn end(mut self, ending: &Ending, latching: Option<Latching>) {
        self.record_last_excess(self.turned);
        if let Some(latching) = &latching {
            // The car was already stopped, and the others were informed.
            self.supervisor.stopping("the car hung: see `liftmesh clear-hang --help`");
            let record = Work::Record(Box::new(AuditRecord::hang(&latching.hang)));
            if let Err(reason) = self.disk.queue(record) {
                warn!(reason, "the hang is not in the audit log yet: clear-hang will record it");
            }
        } else {
            self.handle(Event::Stop);
            match ending {
                Ending::Failed(failure) => {
                    error!(part = failure.part, reason = failure.reason, "the node can't continue");
                    self.supervisor.stopping(&failure.to_string());
                }
                Ending::Stopped | Ending::Hung(_) => self.supervisor.stopping("told to stop"),
                // The process goes on.
                Ending::Moved => {}
            }
        }
        let Self { mesh, panel, disk, planner, requests, http, mqtt, alerts, .. } = self;
        drop(requests);
        tokio::join!(
            OptionFuture::from(panel.map(Panel::close)),
            disk.finish(),
            planner.finish(),
            mesh.shut_down(),
            OptionFuture::from(http.map(Side::finish)),
            OptionFuture::from(mqtt.map(|mqtt| mqtt.side.finish())),
            OptionFuture::from(alerts.map(Side::finish)),
            OptionFuture::from(latching.map(Latching::finish)),
        );
        info!("the node is stopping");
    }
}
