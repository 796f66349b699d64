//! The shutdown of a node.

use std::fs::File;
use std::io;

use futures_util::future::OptionFuture;
use tokio::signal::unix::{Signal, SignalKind, signal as listen};
use tracing::{error, info, warn};

use super::{Ending, Event, Latching, Running};
use crate::http::Http;
use crate::journal::{AuditRecord, Work};
use crate::mqtt::Mqtt;
use crate::panel::Panel;

/// Completes at SIGINT or SIGTERM after the call, or at SIGHUP if a terminal has hung up.
pub(super) fn signal() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = HangUp::listen()?;
    Ok(async move {
        let name = tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
            () = hang_up.ends() => "SIGHUP",
        };
        info!(signal = name, "told to stop");
    })
}

/// The effect of SIGHUP. By default it would end the process without stopping the motor.
enum HangUp {
    /// The node was started in a terminal that closes: it shuts down.
    Ends(Signal),
    /// A daemon, which has nothing to reload: it continues.
    Nothing(Signal),
    /// The caller has arranged for the node to continue (`nohup`).
    Ignored,
}

impl HangUp {
    fn listen() -> io::Result<Self> {
        if is_ignored(SignalKind::hangup()) {
            return Ok(Self::Ignored);
        }
        let signal = listen(SignalKind::hangup())?;
        // Only a process that has a terminal can open this one.
        Ok(match File::open("/dev/tty") {
            Ok(_) => Self::Ends(signal),
            Err(_) => Self::Nothing(signal),
        })
    }

    async fn ends(&mut self) {
        match self {
            Self::Ends(signal) => {
                signal.recv().await;
            }
            Self::Nothing(signal) => {
                while signal.recv().await.is_some() {
                    info!("SIGHUP: there is nothing to reload, the node continues");
                }
                std::future::pending::<()>().await;
            }
            Self::Ignored => std::future::pending().await,
        }
    }
}

/// Whether the caller of this process made it ignore a signal.
fn is_ignored(signal: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal.as_raw_value() - 1) & 1 == 1)
}

impl Running {
    /// Stops the motor, writes what is queued and informs the supervisor: all at once, each within
    /// its own time limit, 4 s at most.
    pub(super) async fn end(mut self, ending: &Ending, latching: Option<Latching>) {
        self.record_last_excess();
        if let Some(latching) = &latching {
            // The car was already stopped, its brain has nothing left to send to it, and the others
            // were informed.
            self.supervisor.stopping("the car hung: see `liftmesh clear-hang --help`");
            let record = Work::Record(Box::new(AuditRecord::hang(&latching.hang)));
            if let Err(reason) = self.disk.queue(record) {
                warn!(reason, "not recorded in the audit log: clear-hang will do so");
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
        let Self { mesh, panel, disk, planner, requests, http, mqtt, .. } = self;
        drop(requests);
        tokio::join!(
            OptionFuture::from(panel.map(Panel::close)),
            disk.finish(),
            planner.finish(),
            mesh.shut_down(),
            OptionFuture::from(http.map(Http::finish)),
            OptionFuture::from(mqtt.map(Mqtt::finish)),
            OptionFuture::from(latching.map(Latching::finish)),
        );
        info!("node ends");
    }
}
