//! Traces of orders for OpenTelemetry: what each node did for an order, and when.
//!
//! ```text
//!   runtime ──events──▶ Tracer: spans ──▶ batch ──▶ OTLP over HTTP ──▶ collector
//! ```
//!
//! The trace of an order has the id of its press, which is the same at every node: so the spans of
//! different nodes share a trace id without coordination. Everything runs on one thread of its own and
//! reads the node's events from a bounded channel. It may drop them, and nothing waits for it.
//!
//! OTLP is written as JSON: the exporters of the usual crates bring a second HTTP client and a gRPC
//! stack along, and a cabin computer has no use for either.

mod export;
mod otlp;
mod tracer;

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use elevator_fleet::model::{FleetName, NodeId};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{info, warn};

use self::export::ExportError;
use self::otlp::Source;
use self::tracer::{Span, Tracer};
use crate::operator::Event;
use crate::priority::give_way;

/// How long the thread may take to end.
const END_LIMIT: Duration = Duration::from_secs(1);

/// How long spans wait for others to be sent with.
const GATHER: Duration = Duration::from_secs(1);

/// The most spans in a batch; a full one is sent at once.
const MOST: usize = 512;

/// How long a collector may take for a batch, which is dropped then. Meanwhile the events of the node
/// wait, and are dropped when there are too many.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// What the exporter needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TelemetrySettings {
    /// Where the collector takes OTLP over HTTP.
    pub(crate) endpoint: SocketAddr,
    pub(crate) node: NodeId,
    pub(crate) fleet: FleetName,
}

/// The running exporter. When this is dropped it ends by itself.
#[derive(Debug)]
pub(crate) struct Telemetry {
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

impl Telemetry {
    /// Starts the exporter. A collector that can't be reached is tried again with the next batch; the
    /// log says so.
    ///
    /// # Errors
    /// The system provides no thread.
    pub(crate) fn start(
        settings: TelemetrySettings,
        events: broadcast::Receiver<Event>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let (report, ended) = oneshot::channel();
        thread::Builder::new().name("telemetry".to_owned()).spawn(move || {
            give_way();
            runtime.block_on(Exporter::new(settings, events).run(stopped));
            drop(report);
        })?;
        Ok(Self { stop, ended })
    }

    /// Sends what is left and ends the exporter.
    pub(crate) async fn finish(self) {
        drop(self.stop);
        if timeout(END_LIMIT, self.ended).await.is_err() {
            warn!("the export of traces does not end in time");
        }
    }
}

/// Whether the last batch arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collector {
    Takes,
    Fails,
}

#[derive(Debug)]
struct Exporter {
    endpoint: SocketAddr,
    source: Source,
    events: broadcast::Receiver<Event>,
    tracer: Tracer,
    batch: Vec<Span>,
    /// When the batch is due.
    due: Instant,
    collector: Collector,
}

/// What the exporter waits for.
enum Input {
    Stop,
    Event(Result<Event, RecvError>),
    Due,
}

impl Exporter {
    fn new(settings: TelemetrySettings, events: broadcast::Receiver<Event>) -> Self {
        let TelemetrySettings { endpoint, node, fleet } = settings;
        Self {
            endpoint,
            tracer: Tracer::new(node.clone()),
            source: Source { node, fleet },
            events,
            batch: Vec::new(),
            due: Instant::now(),
            collector: Collector::Takes,
        }
    }

    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            let input = tokio::select! {
                _ = &mut stopped => Input::Stop,
                event = self.events.recv() => Input::Event(event),
                () = sleep_until(self.due), if !self.batch.is_empty() => Input::Due,
            };
            match input {
                Input::Event(Ok(event)) => self.on_event(&event).await,
                // What became of the open orders is not known.
                Input::Event(Err(RecvError::Lagged(_))) => self.tracer.forget(),
                Input::Due => self.send().await,
                Input::Stop | Input::Event(Err(RecvError::Closed)) => return self.send().await,
            }
        }
    }

    async fn on_event(&mut self, event: &Event) {
        let was_empty = self.batch.is_empty();
        self.tracer.handle(event, &mut self.batch);
        if was_empty {
            self.due = Instant::now() + GATHER;
        }
        if self.batch.len() >= MOST {
            self.send().await;
        }
    }

    /// Sends the batch, or drops it.
    async fn send(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let body = otlp::body(&self.source, &self.batch);
        let spans = self.batch.len();
        self.batch.clear();
        let sent = timeout(SEND_LIMIT, export::post(self.endpoint, body)).await;
        let sent = sent.unwrap_or(Err(ExportError::Late));
        let endpoint = self.endpoint;
        self.collector = match (self.collector, sent) {
            (Collector::Takes, Ok(())) => Collector::Takes,
            (Collector::Fails, Ok(())) => {
                info!(%endpoint, "traces are exported again");
                Collector::Takes
            }
            (Collector::Takes, Err(error)) => {
                warn!(%endpoint, %error, spans, "traces can't be exported: they are dropped");
                Collector::Fails
            }
            (Collector::Fails, Err(_)) => Collector::Fails,
        };
    }
}
