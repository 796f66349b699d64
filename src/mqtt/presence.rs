//! Every node's own connection: it says that the node is there, by a retained message and a will.

use std::time::Duration;

use bytes::Bytes;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::LastWill;
use tokio::time::timeout;

use super::connection::Connection;
use super::line::{Heard, Kind, Message};
use super::{MqttSettings, options};
use crate::mqtt_metrics::RefusedTopics;

/// How long the broker may take to learn that the node ends.
const END_LIMIT: Duration = Duration::from_millis(300);

pub(super) struct Presence {
    topic: String,
    connection: Connection,
}

impl Presence {
    pub(super) fn new(settings: &MqttSettings, refused: RefusedTopics) -> Self {
        let name = format!("nodes/{}", settings.node);
        let topic = settings.prefix.topic(&name);
        let mut options = options(settings, &name);
        options.set_last_will(LastWill::new(&topic, "offline", QoS::AtLeastOnce, true, None));
        let connection = Connection::new("presence", options, settings.access.clone(), refused);
        Self { topic, connection }
    }

    /// Keeps the connection up. Nothing is lost if this is dropped while it waits.
    pub(super) async fn next(&mut self) {
        if let Ok(Heard::Connected) = self.connection.next().await {
            self.say("online");
        }
    }

    pub(super) async fn finish(mut self) {
        self.say("offline");
        let told = async {
            while self.connection.line().is_some_and(|line| line.messages().next().is_some()) {
                self.connection.next().await.ok();
            }
        };
        timeout(END_LIMIT, told).await.ok();
        self.connection.finish().await;
    }

    fn say(&mut self, word: &'static str) {
        let word = Bytes::from_static(word.as_bytes());
        let message = Message::new(Kind::State, self.topic.clone(), word, "text/plain");
        if self.connection.line().is_some_and(|line| line.has_room()) {
            self.connection.send(message);
        }
    }
}
