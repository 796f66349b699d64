//! A connection that is opened again whenever it has ended.

use std::time::Duration;

use rumqttc::v5::MqttOptions;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

use super::broker::Access;
use super::line::{End, Heard, Line, Message};
use crate::mqtt_metrics::RefusedTopics;

/// Between two attempts to connect: doubled from the first up to the second, with jitter.
const RETRY: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];

/// The least wait after a connection has broken: somebody of the same name may have taken over.
const YIELD: Duration = Duration::from_secs(2);

/// After this, a connection was a good one: the next retry is quick again.
const GOOD: Duration = Duration::from_secs(10);

const WARN_PERIOD: Duration = Duration::from_mins(1);

pub(super) struct Connection {
    /// What it is for, in the log.
    purpose: &'static str,
    options: MqttOptions,
    access: Access,
    refused: RefusedTopics,
    line: Option<Line>,
    retry_at: Instant,
    wait: Duration,
    connected_at: Option<Instant>,
    is_known_to_fail: bool,
    warned_at: Option<Instant>,
}

impl Connection {
    pub(super) fn new(
        purpose: &'static str,
        options: MqttOptions,
        access: Access,
        refused: RefusedTopics,
    ) -> Self {
        Self {
            purpose,
            options,
            access,
            refused,
            line: None,
            retry_at: Instant::now(),
            wait: RETRY[0],
            connected_at: None,
            is_known_to_fail: false,
            warned_at: None,
        }
    }

    /// What comes next, cancel-safe; at the end of a connection, the messages that the broker may
    /// have, the oldest first.
    pub(super) async fn next(&mut self) -> Result<Heard, Vec<Message>> {
        let line = if let Some(line) = &mut self.line {
            line
        } else {
            sleep_until(self.retry_at).await;
            self.line.insert(Line::open(self.options.clone(), self.access.clone()))
        };
        let heard = line.next().await.map_err(|end| self.close(&end))?;
        match &heard {
            Heard::Connected => {
                self.is_known_to_fail = false;
                self.connected_at = Some(Instant::now());
                info!(purpose = self.purpose, "connected to the MQTT broker");
            }
            Heard::Taken(message) => self.refused.remove(&message.topic),
            Heard::Refused(message, reason) => self.refuse(&message.topic, reason),
            Heard::NotSubscribed(reason) => self.warn_of("subscribe", None, reason),
            Heard::Message(_) | Heard::Alive => {}
        }
        Ok(heard)
    }

    pub(super) fn line(&mut self) -> Option<&mut Line> {
        self.line.as_mut().filter(|line| line.is_connected())
    }

    /// Sends a message, for which there has to be room. Gives back one that the broker can't take.
    pub(super) fn send(&mut self, message: Message) -> Option<Message> {
        let Some(line) = self.line() else { return Some(message) };
        let refused = line.send(message)?;
        self.refuse(&refused.topic, "larger than the broker accepts");
        Some(refused)
    }

    /// Ends this connection; another one opens later. Returns what the broker has not acknowledged.
    pub(super) fn give_up(&mut self, reason: &str) -> Vec<Message> {
        self.close(&End(reason.to_owned()))
    }

    pub(super) async fn finish(self) {
        if let Some(line) = self.line {
            line.finish().await;
        }
    }

    fn close(&mut self, reason: &End) -> Vec<Message> {
        let (now, purpose) = (Instant::now(), self.purpose);
        if let Some(connected_at) = self.connected_at.take() {
            if now - connected_at >= GOOD {
                self.wait = RETRY[0];
            }
            self.wait = self.wait.max(YIELD);
        }
        if self.is_known_to_fail {
            debug!(purpose, %reason, "the MQTT broker still can't be reached");
        } else {
            self.is_known_to_fail = true;
            warn!(purpose, %reason, "no connection to the MQTT broker: trying again");
        }
        self.retry_at = now + jittered(self.wait);
        self.wait = (self.wait * 2).min(RETRY[1]);
        self.line.take().iter().flat_map(Line::messages).cloned().collect()
    }

    fn refuse(&mut self, topic: &str, reason: &str) {
        self.refused.insert(topic);
        self.warn_of("publish", Some(topic), reason);
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
