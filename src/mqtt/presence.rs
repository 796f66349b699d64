//! Every node's own connection: it says that the node is there, by a retained message and a will, and
//! listens for another master that publishes for the same fleet.

use std::time::Duration;

use bytes::Bytes;
use elevator_fleet::model::{NodeId, Term};
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{LastWill, Publish, PublishProperties, RetainForwardRule};
use tokio::time::{Instant, timeout};

use super::board::REFRESH;
use super::connection::{Connection, News};
use super::line::Message;
use super::{MqttSettings, options};
use crate::mqtt_metrics::Refused;

/// After this a rival that publishes no more is gone.
const RIVAL_LIMIT: Duration = REFRESH.saturating_mul(3);

/// How long the broker may take to learn that the node ends.
const END_LIMIT: Duration = Duration::from_millis(300);

const ONLINE: &[u8] = b"online";
const OFFLINE: &[u8] = b"offline";

/// Another node that publishes for the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rival {
    node: String,
    term: Term,
    heard: Instant,
}

#[derive(Debug)]
pub(super) struct Presence {
    settings: MqttSettings,
    topic: String,
    connection: Connection,
    rival: Option<Rival>,
}

impl Presence {
    pub(super) fn new(settings: &MqttSettings, refused: Refused) -> Self {
        let name = format!("nodes/{}", settings.node);
        let topic = settings.prefix.topic(&name);
        let mut options = options(settings, &name);
        options.set_last_will(LastWill::new(&topic, OFFLINE, QoS::AtLeastOnce, true, None));
        let connection = Connection::new("presence", options, settings.access.clone(), refused);
        Self { settings: settings.clone(), topic, connection, rival: None }
    }

    /// What comes next. Nothing is lost if this is dropped while it waits.
    pub(super) async fn next(&mut self) {
        match self.connection.next(false).await {
            News::Connected => {
                self.say(ONLINE);
                let prefix = &self.settings.prefix;
                let topics = [prefix.topic("fleet"), prefix.topic("nodes/+")];
                if let Some(line) = self.connection.line() {
                    for topic in topics {
                        line.subscribe(topic, QoS::AtMostOnce, RetainForwardRule::Never);
                    }
                }
            }
            News::Message(message) => self.on_message(&message),
            News::Taken(_) | News::Refused(_) => {}
            News::Disconnected => self.rival = None,
        }
    }

    /// Whether another node publishes with more right: it has a higher term, or the same and the lower
    /// name. Two such masters do not hear each other.
    pub(super) fn has_better_rival(&self, term: Term, now: Instant) -> bool {
        let own = (std::cmp::Reverse(term), self.settings.node.as_str());
        self.rival.as_ref().is_some_and(|rival| {
            now.saturating_duration_since(rival.heard) < RIVAL_LIMIT
                && (std::cmp::Reverse(rival.term), rival.node.as_str()) < own
        })
    }

    /// Whether the broker is there, as far as this connection knows.
    pub(super) fn is_connected(&mut self) -> bool {
        self.connection.line().is_some()
    }

    /// Says that the node is there no longer, and ends.
    pub(super) async fn finish(mut self) {
        self.say(OFFLINE);
        let told = async {
            while self.connection.line().is_some_and(|line| line.unacknowledged() > 0) {
                self.connection.next(false).await;
            }
        };
        timeout(END_LIMIT, told).await.ok();
        self.connection.finish().await;
    }

    fn say(&mut self, word: &'static [u8]) {
        let message = Message {
            topic: self.topic.clone(),
            payload: Bytes::from_static(word),
            retain: true,
            properties: PublishProperties::default(),
        };
        if !self.connection.is_left_out(&message.topic)
            && let Some(line) = self.connection.line()
            && line.has_room()
        {
            line.send(message);
        }
    }

    fn on_message(&mut self, message: &Publish) {
        let topic = String::from_utf8_lossy(&message.topic);
        match self.settings.prefix.strip(&topic) {
            Some("fleet") => {
                let rival = rival_in(message, &self.settings.node);
                self.rival = rival.or(self.rival.take());
            }
            Some(topic) => {
                let node = topic.strip_prefix("nodes/");
                let is_rival = self.rival.as_ref().is_some_and(|it| Some(it.node.as_str()) == node);
                if is_rival && message.payload == OFFLINE {
                    self.rival = None;
                }
            }
            None => {}
        }
    }
}

/// Who has published a state of the fleet, if it was another node.
fn rival_in(message: &Publish, own: &NodeId) -> Option<Rival> {
    let properties = &message.properties.as_ref()?.user_properties;
    let value = |name: &str| properties.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let (node, term) = (value("node")?, value("term")?.parse().ok()?);
    (node != own.as_str()).then(|| Rival {
        node: node.clone(),
        term: Term(term),
        heard: Instant::now(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The presence of B.
    fn presence() -> Presence {
        Presence::new(&MqttSettings::plain("mqtt://127.0.0.1:1", "B"), Refused::default())
    }

    fn fleet(node: &str, term: &str) -> Publish {
        let properties = [("node", node), ("term", term)];
        let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Publish {
            topic: Bytes::from_static(b"liftmesh/north/fleet"),
            properties: Some(PublishProperties {
                user_properties: properties.to_vec(),
                ..PublishProperties::default()
            }),
            ..Publish::default()
        }
    }

    #[tokio::test]
    async fn a_rival_is_better_by_its_term_and_then_by_its_name() {
        for (node, term, is_better) in [
            ("C", "8", true),
            ("C", "7", false),
            ("A", "7", true),
            ("A", "6", false),
            ("B", "9", false),
            ("C", "many", false),
        ] {
            let mut presence = presence();
            presence.on_message(&fleet(node, term));
            assert_eq!(
                presence.has_better_rival(Term(7), Instant::now()),
                is_better,
                "{node} in {term}"
            );
        }
    }

    #[tokio::test]
    async fn a_rival_that_falls_silent_or_ends_is_none() {
        let mut presence = presence();
        presence.on_message(&fleet("A", "9"));
        let word = |node: &str, word: &'static [u8]| Publish {
            topic: format!("liftmesh/north/nodes/{node}").into(),
            payload: Bytes::from_static(word),
            ..Publish::default()
        };
        presence.on_message(&word("C", OFFLINE));
        presence.on_message(&word("A", ONLINE));
        assert!(presence.has_better_rival(Term(7), Instant::now()));
        assert!(!presence.has_better_rival(Term(7), Instant::now() + RIVAL_LIMIT));
        presence.on_message(&word("A", OFFLINE));
        assert!(!presence.has_better_rival(Term(7), Instant::now()));
    }
}
