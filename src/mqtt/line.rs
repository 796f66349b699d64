//! One connection to the broker.
//!
//! A task of the line polls the MQTT client, which may wait for the broker at any time; the line takes
//! what the task has heard from a bounded queue, and gives it at most [`WINDOW`] messages that the
//! broker has not acknowledged. So nothing here waits for a broker that is slow or hangs: such a one
//! is silent, and the line ends.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use rumqttc::Outgoing;
use rumqttc::v5::mqttbytes::v5::{
    DisconnectReasonCode, Filter, Packet, PubAckReason, Publish, PublishProperties,
    RetainForwardRule, SubscribeReasonCode,
};
use rumqttc::v5::mqttbytes::{self, QoS};
use rumqttc::v5::{AsyncClient, ConnectionError, Event, EventLoop, MqttOptions, StateError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::access::Access;

/// How many messages may be on their way to the broker.
pub(super) const WINDOW: u16 = 32;

/// How many messages with acknowledgement the broker may have on their way to this node.
pub(super) const RECEIVE_WINDOW: u16 = 64;

/// How often the broker is asked for a sign of life.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// How long a broker may be silent, which answers each keep-alive.
const SILENCE: Duration = Duration::from_secs(16);

/// How long a broker may take to accept a connection, in seconds.
const CONNECT_LIMIT_S: u64 = 5;

/// How long a line may take for its orderly end.
const END_LIMIT: Duration = Duration::from_millis(300);

/// The largest packet that the broker may send, in bytes; it drops larger ones.
pub(super) const LARGEST_PACKET: u32 = 64 * 1024;

/// The queue of what was heard; when it is full, the line's task waits.
const HEARD: usize = 128;

/// How many acknowledgements may wait for the broker: far more than it may have messages on their way,
/// as some brokers send more. When there are more, the line ends, and the broker delivers again.
const ACKS: usize = 1024;

/// Messages, acknowledgements, subscriptions and the end.
const REQUESTS: usize = WINDOW as usize + ACKS + 8;

/// What comes over the line.
#[derive(Debug)]
pub(super) enum Heard {
    /// The broker has accepted the connection.
    Connected,
    /// A message.
    Message(Publish),
    /// The oldest message without a number has left with this one.
    Sent(u16),
    /// The broker has the message of this number, or has refused it.
    Acknowledged(u16, Result<(), String>),
    /// The broker has refused a subscription.
    NotSubscribed(String),
    /// A sign of life.
    Alive,
    /// The line has ended.
    Ended(End),
}

/// Why a line has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// Another connection has the same name.
    TakenOver,
    /// It broke off, and the broker did not say why: this is how it looked.
    Broken(String),
    /// The same, while another connection with the broker stands.
    Displaced(String),
    /// Anything else.
    Failed(String),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TakenOver => "another connection has the same name",
            Self::Broken(reason) | Self::Displaced(reason) | Self::Failed(reason) => reason,
        })
    }
}

/// The acknowledgement of a message of the broker's, without what the message said.
#[derive(Debug)]
pub(super) struct Ack(Publish);

impl Ack {
    pub(super) fn of(message: &Publish) -> Self {
        Self(Publish { qos: message.qos, pkid: message.pkid, ..Publish::default() })
    }

    /// Whether the broker waits for it, and delivers the message again if it does not come.
    pub(super) fn is_awaited(&self) -> bool {
        self.0.qos != QoS::AtMostOnce
    }
}

/// A message to send.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) topic: String,
    pub(super) payload: Bytes,
    pub(super) retain: bool,
    pub(super) properties: PublishProperties,
}

/// The connection. When this is dropped it ends at once, and the broker publishes the will.
#[derive(Debug)]
pub(super) struct Line {
    client: AsyncClient,
    heard: mpsc::Receiver<Heard>,
    /// Ends with the line.
    _task: JoinSet<()>,
    is_connected: bool,
    /// What the client was given and has not sent yet, the oldest first.
    given: VecDeque<Message>,
    /// What the broker has not acknowledged, with its numbers, the oldest first.
    sent: VecDeque<(u16, Message)>,
    last_heard: Instant,
    /// Something found no room with the client.
    is_overrun: bool,
}

impl Line {
    /// Starts to connect.
    pub(super) fn open(mut options: MqttOptions, access: Access) -> Self {
        options
            .set_keep_alive(KEEP_ALIVE)
            .set_connection_timeout(CONNECT_LIMIT_S)
            .set_manual_acks(true)
            .set_outgoing_inflight_upper_limit(WINDOW)
            .set_receive_maximum(Some(RECEIVE_WINDOW))
            .set_max_packet_size(Some(LARGEST_PACKET));
        let (client, event_loop) = AsyncClient::new(options, REQUESTS);
        let (sender, heard) = mpsc::channel(HEARD);
        let mut task = JoinSet::new();
        task.spawn(attend(event_loop, access, sender));
        Self {
            client,
            heard,
            _task: task,
            is_connected: false,
            given: VecDeque::new(),
            sent: VecDeque::new(),
            last_heard: Instant::now(),
            is_overrun: false,
        }
    }

    /// What comes next. Nothing is lost if this is dropped while it waits.
    pub(super) async fn next(&mut self) -> Heard {
        // Why the client has ended, if it has, says more.
        if self.is_overrun && !self.heard.is_closed() {
            self.is_connected = false;
            let reason = "the broker does not take what it is sent";
            return Heard::Ended(End::Failed(reason.to_owned()));
        }
        let heard = match timeout_at(self.last_heard + SILENCE, self.heard.recv()).await {
            Ok(Some(heard)) => heard,
            Ok(None) => Heard::Ended(End::Failed("the MQTT client has failed".to_owned())),
            Err(_) => Heard::Ended(End::Failed("the broker does not answer".to_owned())),
        };
        self.last_heard = Instant::now();
        match &heard {
            Heard::Connected => self.is_connected = true,
            Heard::Sent(number) => {
                let message = self.given.pop_front();
                self.sent.extend(message.map(|message| (*number, message)));
            }
            Heard::Acknowledged(number, _) => {
                let place = self.sent.iter().position(|(sent, _)| sent == number);
                place.and_then(|place| self.sent.remove(place));
            }
            Heard::Ended(_) => self.is_connected = false,
            Heard::Message(_) | Heard::NotSubscribed(_) | Heard::Alive => {}
        }
        heard
    }

    pub(super) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Whether there is room for a message.
    pub(super) fn has_room(&self) -> bool {
        self.is_connected && self.unacknowledged() < usize::from(WINDOW)
    }

    /// How many messages the broker has not acknowledged.
    pub(super) fn unacknowledged(&self) -> usize {
        self.given.len() + self.sent.len()
    }

    /// The messages that the broker has not acknowledged, the oldest first. It may have them.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.sent.iter().map(|(_, message)| message).chain(&self.given)
    }

    /// Sends a message, for which there has to be room.
    pub(super) fn send(&mut self, message: Message) {
        debug_assert!(self.has_room());
        let Message { topic, payload, retain, properties } = message.clone();
        let qos = QoS::AtLeastOnce;
        let sent = self.client.try_publish_with_properties(topic, qos, retain, payload, properties);
        self.is_overrun |= sent.is_err();
        self.given.push_back(message);
    }

    /// Acknowledges a message of the broker's.
    pub(super) fn acknowledge(&mut self, Ack(message): &Ack) {
        self.is_overrun |= self.client.try_ack(message).is_err();
    }

    /// Subscribes; the own messages are left out.
    pub(super) fn subscribe(&mut self, topic: String, qos: QoS, retained: RetainForwardRule) {
        let mut filter = Filter::new(topic, qos);
        filter.nolocal = true;
        filter.retain_forward_rule = retained;
        self.is_overrun |= self.client.try_subscribe_many([filter]).is_err();
    }

    /// Ends the connection in an orderly way: the broker keeps the session and publishes no will.
    pub(super) async fn finish(mut self) {
        self.client.try_disconnect().ok();
        let ended = async { while self.heard.recv().await.is_some() {} };
        timeout(END_LIMIT, ended).await.ok();
    }
}

async fn attend(mut event_loop: EventLoop, access: Access, heard: mpsc::Sender<Heard>) {
    if let Err(error) = access.apply(&mut event_loop.options).await {
        heard.send(Heard::Ended(End::Failed(error.to_string()))).await.ok();
        return;
    }
    loop {
        let now = match event_loop.poll().await {
            Ok(Event::Incoming(packet)) => heard_in(packet),
            Ok(Event::Outgoing(Outgoing::Publish(number))) => Heard::Sent(number),
            Ok(Event::Outgoing(_)) => continue,
            Err(error) => Heard::Ended(end_of(&error)),
        };
        let is_end = matches!(now, Heard::Ended(_));
        if heard.send(now).await.is_err() || is_end {
            return;
        }
    }
}

fn heard_in(packet: Packet) -> Heard {
    match packet {
        Packet::ConnAck(_) => Heard::Connected,
        Packet::Publish(message) => Heard::Message(message),
        Packet::PubAck(ack) => {
            let outcome = match ack.reason {
                PubAckReason::Success | PubAckReason::NoMatchingSubscribers => Ok(()),
                reason => Err(format!("{reason:?}")),
            };
            Heard::Acknowledged(ack.pkid, outcome)
        }
        Packet::SubAck(ack) => {
            let refused = ack
                .return_codes
                .into_iter()
                .find(|code| !matches!(code, SubscribeReasonCode::Success(_)));
            refused.map_or(Heard::Alive, |code| Heard::NotSubscribed(format!("{code:?}")))
        }
        _ => Heard::Alive,
    }
}

fn end_of(error: &ConnectionError) -> End {
    match error {
        ConnectionError::MqttState(StateError::ServerDisconnect { reason_code, .. })
            if *reason_code == DisconnectReasonCode::SessionTakenOver =>
        {
            End::TakenOver
        }
        ConnectionError::MqttState(
            reason @ (StateError::ConnectionAborted
            | StateError::Io(_)
            | StateError::Deserialization(mqttbytes::Error::Io(_))),
        ) => End::Broken(reason.to_string()),
        error => End::Failed(error.to_string()),
    }
}
