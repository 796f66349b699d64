//! Alerts: what an operator has to know of, for a command or a web server.
//!
//! ```text
//!   node's loop ──Status──▶ conditions ─▶ Tracker ──Message──▶ Outbox ─▶ Receiver: command
//!                                                         └──▶ Outbox ─▶ Receiver: webhook
//! ```
//!
//! All of it runs beside the node's loop, which it asks for its status once a second. Each receiver
//! has a bounded outbox and one delivery at a time, so that a slow one delays nobody. `docs/ALERTS.md`
//! says which node sends what.

mod conditions;
mod outbox;
mod receiver;
mod tracker;

use std::io;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use elevator_fleet::model::{FleetName, NodeId};
use elevator_fleet::node::{Report, Status};
use serde::Serialize;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{error, info, warn};

use self::conditions::{Kind, conditions, hang};
use self::outbox::Outbox;
use self::receiver::{DeliveryError, Receiver};
pub(crate) use self::receiver::{Webhook, WebhookUrl};
use self::tracker::{Message, Sender, Step, Tracker};
use crate::command_line::CommandLine;
use crate::mqtt::publisher;
use crate::operator::{Event, NodeLoop};
use crate::side::Side;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a node that ends may take to deliver what waits.
const END_LIMIT: Duration = Duration::from_millis(800);

const BLOCKING_THREADS: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct AlertSettings {
    pub(crate) node: NodeId,
    pub(crate) fleet: FleetName,
    pub(crate) command: Option<CommandLine>,
    pub(crate) webhook: Option<Webhook>,
    pub(crate) repeat: Duration,
    pub(crate) lost_after: Duration,
}

/// Starts to watch and to send.
pub(crate) fn start(
    settings: AlertSettings,
    node_loop: NodeLoop,
    events: broadcast::Receiver<Event>,
) -> io::Result<Side> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(BLOCKING_THREADS).enable_all().build()?;
    Side::start("alerts", runtime, |stopped| async move {
        let mut watch = JoinSet::new();
        watch.spawn(Watch::new(settings, node_loop, events).run(stopped));
        if let Some(Err(failure)) = watch.join_next().await {
            error!(%failure, "alerts have failed: the node goes on without them");
        }
    })
}

/// The JSON of an alert.
#[derive(Serialize)]
struct Payload<'a> {
    alert: Kind,
    state: Step,
    severity: &'static str,
    fleet: &'a FleetName,
    subject: &'a str,
    text: &'a str,
    since: String,
    at: String,
    /// Which node has sent it.
    node: &'a NodeId,
}

type Delivered = (usize, Message, Result<(), DeliveryError>);

struct Watch {
    settings: AlertSettings,
    node_loop: NodeLoop,
    events: broadcast::Receiver<Event>,
    tracker: Tracker,
    receivers: Vec<(Receiver, Outbox)>,
    /// At most one of each receiver.
    deliveries: JoinSet<Delivered>,
    next_look: Instant,
    /// No other node was heard at the last look.
    is_alone: bool,
}

enum Input {
    Stop,
    Event(Event),
    Look,
    Delivered(Delivered),
    /// A message may be due.
    Due,
}

impl Watch {
    fn new(
        settings: AlertSettings,
        node_loop: NodeLoop,
        events: broadcast::Receiver<Event>,
    ) -> Self {
        let now = Instant::now();
        let command = settings.command.clone().map(Receiver::Command);
        let receivers = command.into_iter().chain(settings.webhook.clone().map(Receiver::Webhook));
        Self {
            tracker: Tracker::new(settings.repeat),
            receivers: receivers.map(|receiver| (receiver, Outbox::new(now))).collect(),
            deliveries: JoinSet::new(),
            next_look: now,
            is_alone: false,
            settings,
            node_loop,
            events,
        }
    }

    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            match self.next(&mut stopped).await {
                Input::Stop => break,
                Input::Event(event) => self.on_event(&event),
                Input::Look => self.look().await,
                Input::Delivered(delivered) => self.on_delivered(delivered),
                Input::Due => {}
            }
            self.send();
        }
        let deliver = async { while self.deliveries.join_next().await.is_some() {} };
        timeout(END_LIMIT, deliver).await.unwrap_or_default();
    }

    async fn next(&mut self, stopped: &mut oneshot::Receiver<()>) -> Input {
        let due = self.receivers.iter().filter_map(|(_, outbox)| outbox.next_at()).min();
        tokio::select! {
            biased;
            Ok(event) = self.events.recv() => Input::Event(event),
            _ = stopped => Input::Stop,
            Some(Ok(delivered)) = self.deliveries.join_next() => Input::Delivered(delivered),
            () = sleep_until(due.unwrap_or(self.next_look)), if due.is_some() => Input::Due,
            () = sleep_until(self.next_look) => Input::Look,
        }
    }

    /// A node that is alone is the only one that can say that its car hung; it ends at once.
    fn on_event(&mut self, event: &Event) {
        if let Report::Hung(evidence) = &event.report
            && self.is_alone
        {
            let condition = hang(&self.settings.node, &evidence.to_string());
            let now = Instant::now();
            let messages = self.tracker.update(vec![condition], Sender::This, now);
            self.push(messages);
        }
    }

    async fn look(&mut self) {
        self.next_look = Instant::now() + LOOK_EVERY;
        // From a loop that does not answer nothing is known.
        let Ok(status) = self.node_loop.status().await else { return };
        self.is_alone = status.peers.is_empty();
        let sender = sender(&status);
        let conditions = conditions(&status, self.settings.lost_after);
        let messages = self.tracker.update(conditions, sender, Instant::now());
        self.push(messages);
    }

    fn push(&mut self, messages: Vec<Message>) {
        for message in messages {
            let json = self.json(&message);
            info!("alert: {}", String::from_utf8_lossy(json.trim_ascii_end()));
            for (_, outbox) in &mut self.receivers {
                outbox.push(message.clone());
            }
        }
    }

    fn send(&mut self) {
        let now = Instant::now();
        for index in 0..self.receivers.len() {
            let (receiver, outbox) = &mut self.receivers[index];
            if let Some(message) = outbox.next(now) {
                let receiver = receiver.clone();
                let alert = self.json(&message);
                self.deliveries
                    .spawn(async move { (index, message, receiver.deliver(alert).await) });
            }
        }
    }

    fn on_delivered(&mut self, (index, message, outcome): Delivered) {
        let (receiver, outbox) = &mut self.receivers[index];
        let Err(error) = outcome else { return outbox.on_delivered() };
        if outbox.on_failed(message, Instant::now()) {
            warn!(receiver = receiver.name(), %error, "an alert can't be delivered: trying again");
        }
    }

    fn json(&self, Message { key, step, text, since }: &Message) -> Bytes {
        let utc = |at: SystemTime| humantime::format_rfc3339_millis(at).to_string();
        let now = SystemTime::now();
        let payload = Payload {
            alert: key.kind,
            state: *step,
            severity: key.kind.severity(),
            fleet: &self.settings.fleet,
            subject: &key.subject,
            text,
            since: utc(now.checked_sub(since.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH)),
            at: utc(now),
            node: &self.settings.node,
        };
        let mut json = serde_json::to_vec(&payload).unwrap_or_default();
        json.push(b'\n');
        json.into()
    }
}

/// The node that publishes the state of the fleet over MQTT sends its alerts, too.
fn sender(status: &Status) -> Sender {
    match publisher(status) {
        Some(node) if *node == status.node => Sender::This,
        Some(_) => Sender::Another,
        None => Sender::None,
    }
}
