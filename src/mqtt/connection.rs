//! A connection that is opened again whenever it has ended.

use std::time::Duration;

use rumqttc::v5::MqttOptions;
use rumqttc::v5::mqttbytes::v5::Publish;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

use super::access::Access;
use super::line::{End, Heard, Line, Message, Why};
use super::refusals::Refusals;
use crate::mqtt_metrics::Refused;

/// Between two attempts to connect: the first is doubled at each further one up to the second, with
/// jitter.
const RETRY: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];

/// The least wait after another connection has taken this one's name.
const YIELD: Duration = Duration::from_secs(2);

/// After this, a connection was a good one: the next retry is quick again.
const GOOD: Duration = Duration::from_secs(10);

/// Between two warnings about what the broker refuses.
const WARN_PERIOD: Duration = Duration::from_mins(1);

/// What has come over a connection.
#[derive(Debug)]
pub(super) enum News {
    /// It is there.
    Connected,
    Message(Box<Publish>),
    /// The broker has taken this message.
    Taken(Message),
    /// The broker has refused this message.
    Refused(Message),
    /// It is not there any more, and will be opened again.
    Disconnected,
}

#[derive(Debug)]
pub(super) struct Connection {
    /// What it is for, in the log.
    purpose: &'static str,
    options: MqttOptions,
    access: Access,
    refusals: Refusals,
    line: Option<Line>,
    /// What was sent over the line that ended last, and may be lost.
    unacknowledged: Vec<Message>,
    retry_at: Instant,
    wait: Duration,
    connected_at: Option<Instant>,
    /// The log has been told that it fails.
    is_known_to_fail: bool,
    warned_at: Option<Instant>,
}

impl Connection {
    /// A connection that is opened at the first [`next`](Self::next).
    pub(super) fn new(
        purpose: &'static str,
        options: MqttOptions,
        access: Access,
        refused: Refused,
    ) -> Self {
        Self {
            purpose,
            options,
            access,
            refusals: Refusals::new(refused),
            line: None,
            unacknowledged: Vec::new(),
            retry_at: Instant::now(),
            wait: RETRY[0],
            connected_at: None,
            is_known_to_fail: false,
            warned_at: None,
        }
    }

    /// What comes next; `is_broker_there` says whether another connection with the broker stands. Nothing
    /// is lost if this is dropped while it waits.
    pub(super) async fn next(&mut self, is_broker_there: bool) -> News {
        loop {
            let line = if let Some(line) = &mut self.line {
                line
            } else {
                sleep_until(self.retry_at).await;
                self.line.insert(Line::open(self.options.clone(), self.access.clone()))
            };
            match line.next().await {
                Heard::Connected => {
                    self.is_known_to_fail = false;
                    self.connected_at = Some(Instant::now());
                    info!(purpose = self.purpose, "connected to the MQTT broker");
                    return News::Connected;
                }
                Heard::Message(message) => return News::Message(Box::new(message)),
                Heard::Alive => {}
                Heard::Acknowledged(message, Ok(())) => {
                    self.refusals.on_taken(&message.topic);
                    return News::Taken(message);
                }
                Heard::Acknowledged(message, Err(reason)) => {
                    self.refusals.on_refused(&message.topic, Instant::now());
                    self.warn_of("publish", Some(&message.topic), &reason);
                    return News::Refused(message);
                }
                Heard::NotSubscribed(reason) => self.warn_of("subscribe", None, &reason),
                Heard::Ended(end) => {
                    self.close(end, is_broker_there);
                    return News::Disconnected;
                }
            }
        }
    }

    /// The line, while it is there.
    pub(super) fn line(&mut self) -> Option<&mut Line> {
        self.line.as_mut().filter(|line| line.is_connected())
    }

    /// What the broker had not acknowledged when the connection ended last, the oldest first. It may
    /// have it.
    pub(super) fn take_unacknowledged(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.unacknowledged)
    }

    /// Whether a message on this topic would end the connection.
    pub(super) fn is_left_out(&mut self, topic: &str) -> bool {
        self.refusals.is_left_out(topic, Instant::now())
    }

    /// Ends this connection, and opens another one later.
    pub(super) fn give_up(&mut self, reason: &str) {
        self.close(End::failed(reason), false);
    }

    /// Ends it in an orderly way.
    pub(super) async fn finish(self) {
        if let Some(line) = self.line {
            line.finish().await;
        }
    }

    fn close(&mut self, End { why, reason }: End, is_broker_there: bool) {
        let now = Instant::now();
        if let Some(line) = self.line.take() {
            self.unacknowledged = line.messages().cloned().collect();
        }
        let connected_at = self.connected_at.take();
        let was_good = connected_at.is_some_and(|at| now - at >= GOOD);
        // Mosquitto does not say that another node has taken over.
        let is_displaced = why == Why::Broken && is_broker_there && connected_at.is_some();
        let is_over_message = matches!(why, Why::Broken | Why::Dismissed) && connected_at.is_some();
        let is_blamed = is_over_message && self.blame(now);
        // A broker that ends connections at a message is there. The next topic costs no longer wait.
        if was_good || is_blamed {
            self.wait = RETRY[0];
        }
        if why == Why::TakenOver || (is_displaced && !is_blamed) {
            self.wait = self.wait.max(YIELD);
        }
        let purpose = self.purpose;
        if why == Why::TakenOver {
            info!(purpose, "another node has taken over the MQTT connection");
        } else if is_displaced {
            let what = "the MQTT connection broke while this node's other one is up: another node \
                        has taken it over, or the network is bad";
            info!(purpose, reason, "{what}");
        } else if self.is_known_to_fail {
            debug!(purpose, reason, "the MQTT broker still can't be reached");
        } else {
            self.is_known_to_fail = true;
            warn!(purpose, reason, "no connection to the MQTT broker: trying again");
        }
        self.retry_at = now + jittered(self.wait);
        self.wait = (self.wait * 2).min(RETRY[1]);
    }

    /// Whether a message may be why the broker has ended the connection: the only one on its way.
    fn blame(&mut self, now: Instant) -> bool {
        let [Message { topic, .. }] = &self.unacknowledged[..] else {
            return false;
        };
        if self.refusals.on_end(topic, now) {
            let purpose = self.purpose;
            warn!(purpose, topic, "the MQTT broker ends connections over a topic: skipping it");
        }
        true
    }

    fn warn_of(&mut self, what: &str, topic: Option<&str>, reason: &str) {
        let now = Instant::now();
        if self.warned_at.is_none_or(|at| now - at >= WARN_PERIOD) {
            self.warned_at = Some(now);
            let purpose = self.purpose;
            warn!(
                purpose,
                what, topic, reason, "the MQTT broker refuses a message: check its access control"
            );
        }
    }
}

/// Half of the time to one and a half of it, so that not all nodes come back at once.
fn jittered(time: Duration) -> Duration {
    // Without random numbers they do.
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    time.mul_f64(0.5 + f64::from(random) / f64::from(u32::MAX))
}
