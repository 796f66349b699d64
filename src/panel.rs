//! Between the panel line's threads and the runtime loop.

use std::time::Duration;

use elevator_driver::{FloorCount, LineSettings, OpenError, PanelEvent, PanelLine, PanelUrl};
use tokio::sync::mpsc;
use tracing::{error, trace, warn};

/// The bound of the queue for the runtime loop. None may be lost, least of all a press: when it is
/// full the line waits, and its panel stops the motor (S2), which is right for a stuck controller.
pub(crate) const PANEL_QUEUE: usize = 1024;

/// How long closing the line may take: longer than the line's own limits.
const CLOSE_LIMIT: Duration = Duration::from_secs(4);

/// The node's panel. Dropping it stops the motor and waits: use [`Panel::close`] in the loop.
#[derive(Debug)]
pub(crate) struct Panel {
    // Before the line, so that a line that waits for room ends when both are dropped.
    events: mpsc::Receiver<PanelEvent>,
    pub(crate) line: PanelLine,
    pub(crate) url: PanelUrl,
}

impl Panel {
    /// Starts the line. A missing panel is not an error: it is reported as an event.
    pub(crate) fn open(
        url: &PanelUrl,
        floors: FloorCount,
        settings: LineSettings,
    ) -> Result<Self, OpenError> {
        let (sender, events) = mpsc::channel(PANEL_QUEUE);
        let line = PanelLine::open(url, floors, settings, move |event| {
            if let Err(refused) = sender.blocking_send(event) {
                trace!(event = ?refused.0, "the node is stopping and ignores its panel");
            }
        })?;
        Ok(Self { events, line, url: url.clone() })
    }

    /// The next event. Cancel-safe. `None` once the line's thread has ended, by a fault.
    pub(crate) async fn next_event(&mut self) -> Option<PanelEvent> {
        self.events.recv().await
    }

    pub(crate) async fn close(self) {
        let Self { events, line, .. } = self;
        drop(events);
        let closing = tokio::task::spawn_blocking(move || line.close());
        match tokio::time::timeout(CLOSE_LIMIT, closing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => error!(%error, "the panel line failed while stopping"),
            Err(_elapsed) => {
                warn!("the panel line does not stop: its panel's watchdog must stop the motor");
            }
        }
    }
}

#[cfg(test)]
impl Panel {
    /// The line's thread ends as it would by a panic: there is no receiver left.
    pub(crate) fn lose_thread(&mut self) {
        self.events = mpsc::channel(1).1;
    }
}
