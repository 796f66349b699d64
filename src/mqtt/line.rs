//! One connection to the broker.
//!
//! A task of the line reads and writes packets, and may wait for the broker at any time; the line takes
//! what the task has heard from a bounded queue, and gives it at most [`WINDOW`] messages that the
//! broker has not acknowledged. So nothing here waits for a broker that is slow or hangs: such a one
//! is silent, and the line ends. The packets are those of `rumqttc`; its client is not used, as its
//! TLS would bring an outdated check of certificates.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use rumqttc::v5::MqttOptions;
use rumqttc::v5::mqttbytes::v5::{
    Codec, ConnAck, Connect, ConnectReturnCode, Disconnect, DisconnectReasonCode, Filter, Packet,
    PingReq, PubAck, PubAckReason, Publish, PublishProperties, RetainForwardRule, Subscribe,
    SubscribeReasonCode,
};
use rumqttc::v5::mqttbytes::{Error, QoS};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::codec::Framed;
use tokio_util::either::Either;

use super::access::Access;

/// How many messages may be on their way to the broker.
pub(super) const WINDOW: u16 = 32;

/// How many messages with acknowledgement the broker may have on their way to this node.
pub(super) const RECEIVE_WINDOW: u16 = 64;

/// How often the broker is asked for a sign of life.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// How long a broker may be silent, which answers each keep-alive.
const SILENCE: Duration = Duration::from_secs(16);

/// How long a broker may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

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
const PACKETS: usize = WINDOW as usize + ACKS + 8;

/// What comes over the line.
#[derive(Debug)]
pub(super) enum Heard {
    /// The broker has accepted the connection.
    Connected,
    /// A message.
    Message(Publish),
    /// The broker has this message, or has refused it.
    Acknowledged(Message, Result<(), String>),
    /// The broker has refused a subscription.
    NotSubscribed(String),
    /// A sign of life.
    Alive,
    /// The line has ended.
    Ended(End),
}

/// Why a line has ended, and how that looked.
#[derive(Debug)]
pub(super) struct End {
    pub(super) why: Why,
    pub(super) reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// Another connection has the same name.
    TakenOver,
    /// It broke off, and the broker did not say why.
    Broken,
    /// The broker did not like what it was sent.
    Dismissed,
    /// Anything else.
    Failed,
}

impl End {
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(super) fn failed(reason: impl ToString) -> Self {
        Self { why: Why::Failed, reason: reason.to_string() }
    }

    fn of_error(error: Error) -> Self {
        match error {
            Error::Io(error) => Self { why: Why::Broken, reason: error.to_string() },
            error => Self::failed(error),
        }
    }

    fn of_broker(Disconnect { reason_code, properties }: Disconnect) -> Self {
        use DisconnectReasonCode as Reason;
        let words = properties.and_then(|properties| properties.reason_string);
        let words = words.map_or_else(String::new, |words| format!(" ({words})"));
        let why = match reason_code {
            Reason::SessionTakenOver => Why::TakenOver,
            Reason::ServerBusy
            | Reason::ServerShuttingDown
            | Reason::KeepAliveTimeout
            | Reason::AdministrativeAction
            | Reason::UseAnotherServer
            | Reason::ServerMoved
            | Reason::ConnectionRateExceeded
            | Reason::MessageRateTooHigh
            | Reason::QuotaExceeded
            | Reason::MaximumConnectTime => Why::Failed,
            _ => Why::Dismissed,
        };
        Self { why, reason: format!("the broker ends the connection: {reason_code:?}{words}") }
    }
}

/// The acknowledgement of a message of the broker's.
#[derive(Debug)]
pub(super) struct Ack {
    qos: QoS,
    number: u16,
}

impl Ack {
    pub(super) fn of(message: &Publish) -> Self {
        Self { qos: message.qos, number: message.pkid }
    }

    /// Whether the broker waits for it, and delivers the message again if it does not come.
    pub(super) fn is_awaited(&self) -> bool {
        self.qos != QoS::AtMostOnce
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
    packets: mpsc::Sender<Packet>,
    heard: mpsc::Receiver<Result<Packet, End>>,
    /// Ends with the line.
    _task: JoinSet<()>,
    is_connected: bool,
    /// How many messages the broker takes before it has acknowledged any.
    window: usize,
    /// The largest packet that it takes, in bytes.
    largest: usize,
    last_number: u16,
    /// What the broker has not acknowledged, with its numbers, the oldest first.
    sent: VecDeque<(u16, Message)>,
    /// What is larger than the broker takes.
    oversized: VecDeque<Message>,
    last_heard: Instant,
    /// Something found no room in the queue of packets.
    is_overrun: bool,
}

impl Line {
    /// Starts to connect.
    pub(super) fn open(mut options: MqttOptions, access: Access) -> Self {
        options.set_receive_maximum(Some(RECEIVE_WINDOW)).set_max_packet_size(Some(LARGEST_PACKET));
        let (packets, to_send) = mpsc::channel(PACKETS);
        let (sender, heard) = mpsc::channel(HEARD);
        let mut task = JoinSet::new();
        task.spawn(attend(options, access, to_send, sender));
        Self {
            packets,
            heard,
            _task: task,
            is_connected: false,
            window: usize::from(WINDOW),
            largest: usize::MAX,
            last_number: 0,
            sent: VecDeque::new(),
            oversized: VecDeque::new(),
            last_heard: Instant::now(),
            is_overrun: false,
        }
    }

    /// What comes next. Nothing is lost if this is dropped while it waits.
    pub(super) async fn next(&mut self) -> Heard {
        // Why the task has ended, if it has, says more.
        if self.is_overrun && !self.heard.is_closed() {
            self.is_connected = false;
            return Heard::Ended(End::failed("the broker does not accept messages"));
        }
        if let Some(message) = self.oversized.pop_front() {
            let reason = "it is larger than the broker accepts".to_owned();
            return Heard::Acknowledged(message, Err(reason));
        }
        let end = match timeout_at(self.last_heard + SILENCE, self.heard.recv()).await {
            Ok(Some(Ok(packet))) => {
                self.last_heard = Instant::now();
                return self.on_packet(packet);
            }
            Ok(Some(Err(end))) => end,
            Ok(None) => End::failed("the MQTT client has failed"),
            Err(_) => End::failed("the broker does not answer"),
        };
        self.is_connected = false;
        Heard::Ended(end)
    }

    fn on_packet(&mut self, packet: Packet) -> Heard {
        match packet {
            Packet::ConnAck(accepted) => {
                let limits = accepted.properties;
                let window = limits.as_ref().and_then(|limits| limits.receive_max);
                self.window = window.map_or(WINDOW, |most| most.clamp(1, WINDOW)).into();
                let largest = limits.and_then(|limits| limits.max_packet_size);
                let bytes = largest.and_then(|bytes| usize::try_from(bytes).ok());
                self.largest = bytes.unwrap_or(usize::MAX);
                self.is_connected = true;
                Heard::Connected
            }
            Packet::Publish(message) => Heard::Message(message),
            Packet::PubAck(ack) => {
                let outcome = match ack.reason {
                    PubAckReason::Success | PubAckReason::NoMatchingSubscribers => Ok(()),
                    reason => Err(format!("{reason:?}")),
                };
                let place = self.sent.iter().position(|(number, _)| *number == ack.pkid);
                let sent = place.and_then(|place| self.sent.remove(place));
                sent.map_or(Heard::Alive, |(_, message)| Heard::Acknowledged(message, outcome))
            }
            Packet::SubAck(ack) => {
                let mut codes = ack.return_codes.into_iter();
                let refused = codes.find(|code| !matches!(code, SubscribeReasonCode::Success(_)));
                refused.map_or(Heard::Alive, |code| Heard::NotSubscribed(format!("{code:?}")))
            }
            _ => Heard::Alive,
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Whether there is room for a message.
    pub(super) fn has_room(&self) -> bool {
        self.is_connected && self.unacknowledged() < self.window
    }

    /// How many messages the broker has not acknowledged.
    pub(super) fn unacknowledged(&self) -> usize {
        self.sent.len() + self.oversized.len()
    }

    /// The messages that the broker has not acknowledged, the oldest first. It may have them.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.sent.iter().map(|(_, message)| message).chain(&self.oversized)
    }

    /// Sends a message, for which there has to be room.
    pub(super) fn send(&mut self, message: Message) {
        debug_assert!(self.has_room());
        let number = self.number();
        let Message { topic, payload, retain, properties } = message.clone();
        let publish = Publish {
            retain,
            pkid: number,
            ..Publish::new(topic, QoS::AtLeastOnce, payload, Some(properties))
        };
        if publish.size() > self.largest {
            self.oversized.push_back(message);
        } else {
            self.give(Packet::Publish(publish));
            self.sent.push_back((number, message));
        }
    }

    /// Acknowledges a message of the broker's.
    pub(super) fn acknowledge(&mut self, ack: &Ack) {
        if ack.is_awaited() {
            self.give(Packet::PubAck(PubAck::new(ack.number, None)));
        }
    }

    /// Subscribes; the own messages are left out.
    pub(super) fn subscribe(&mut self, topic: String, qos: QoS, retained: RetainForwardRule) {
        let mut filter = Filter::new(topic, qos);
        filter.nolocal = true;
        filter.retain_forward_rule = retained;
        let pkid = self.number();
        self.give(Packet::Subscribe(Subscribe { pkid, ..Subscribe::new(filter, None) }));
    }

    /// Ends the connection in an orderly way: the broker keeps the session and publishes no will.
    pub(super) async fn finish(mut self) {
        let reason = DisconnectReasonCode::NormalDisconnection;
        self.give(Packet::Disconnect(Disconnect::new(reason)));
        let ended = async { while self.heard.recv().await.is_some() {} };
        timeout(END_LIMIT, ended).await.ok();
    }

    fn give(&mut self, packet: Packet) {
        self.is_overrun |= self.packets.try_send(packet).is_err();
    }

    /// A number that no message on its way has.
    fn number(&mut self) -> u16 {
        loop {
            self.last_number = self.last_number.checked_add(1).unwrap_or(1);
            if !self.sent.iter().any(|(number, _)| *number == self.last_number) {
                return self.last_number;
            }
        }
    }
}

/// The line's task: connects, and passes packets on until the line or the connection ends.
async fn attend(
    options: MqttOptions,
    access: Access,
    to_send: mpsc::Receiver<Packet>,
    heard: mpsc::Sender<Result<Packet, End>>,
) {
    if let Err(end) = converse(options, access, to_send, &heard).await {
        // A line that was dropped does not need it.
        heard.send(Err(end)).await.ok();
    }
}

/// What the line's task waits for.
enum Step {
    Received(Option<Result<Packet, Error>>),
    Given(Option<Packet>),
    Ping,
}

/// Returns when the line wants no more.
async fn converse(
    mut options: MqttOptions,
    access: Access,
    mut to_send: mpsc::Receiver<Packet>,
    heard: &mpsc::Sender<Result<Packet, End>>,
) -> Result<(), End> {
    let tls = access.apply(&mut options).await.map_err(End::failed)?;
    let late = || End::failed("the broker did not accept the connection in time");
    let connecting = timeout(CONNECT_LIMIT, connect(&options, tls)).await;
    let (mut stream, accepted) = connecting.map_err(|_elapsed| late())??;
    let wanted = accepted.properties.as_ref().and_then(|wishes| wishes.server_keep_alive);
    let wanted = wanted.filter(|seconds| *seconds > 0).map(|s| Duration::from_secs(s.into()));
    let period = wanted.map_or(KEEP_ALIVE, |wanted| wanted.min(KEEP_ALIVE));
    let mut ping = interval_at(Instant::now() + period, period);
    let mut step = Step::Received(Some(Ok(Packet::ConnAck(accepted))));
    loop {
        match step {
            Step::Received(packet) => {
                if heard.send(Ok(received(packet)?)).await.is_err() {
                    return Ok(());
                }
            }
            Step::Given(None) => return Ok(()),
            Step::Given(Some(packet)) => {
                let is_last = matches!(packet, Packet::Disconnect(_));
                stream.send(packet).await.map_err(End::of_error)?;
                if is_last {
                    return stream.close().await.map_err(End::of_error);
                }
            }
            Step::Ping => stream.send(Packet::PingReq(PingReq)).await.map_err(End::of_error)?,
        }
        step = tokio::select! {
            packet = stream.next() => Step::Received(packet),
            packet = to_send.recv() => Step::Given(packet),
            _ = ping.tick() => Step::Ping,
        };
    }
}

/// A connection in packets.
type Stream = Framed<Either<TcpStream, Box<TlsStream<TcpStream>>>, Codec>;

/// Connects, and returns what the broker answers, which has accepted.
async fn connect(
    options: &MqttOptions,
    tls: Option<Arc<ClientConfig>>,
) -> Result<(Stream, ConnAck), End> {
    let (host, port) = options.broker_address();
    let tcp = TcpStream::connect(format!("{host}:{port}")).await.map_err(End::failed)?;
    tcp.set_nodelay(true).map_err(End::failed)?;
    let stream = match tls {
        None => Either::Left(tcp),
        Some(config) => {
            let name = ServerName::try_from(host).map_err(End::failed)?;
            let tls = TlsConnector::from(config).connect(name, tcp).await.map_err(End::failed)?;
            Either::Right(Box::new(tls))
        }
    };
    let codec = Codec { max_incoming_size: Some(LARGEST_PACKET), max_outgoing_size: None };
    let mut stream = Framed::new(stream, codec);
    let hello = Connect {
        keep_alive: u16::try_from(KEEP_ALIVE.as_secs()).unwrap_or(u16::MAX),
        client_id: options.client_id(),
        clean_start: options.clean_start(),
        properties: options.connect_properties(),
    };
    let hello = Packet::Connect(hello, options.last_will(), options.credentials());
    stream.send(hello).await.map_err(End::of_error)?;
    match received(stream.next().await)? {
        Packet::ConnAck(accepted) if accepted.code == ConnectReturnCode::Success => {
            Ok((stream, accepted))
        }
        Packet::ConnAck(refused) => {
            Err(End::failed(format!("the broker refuses the connection: {:?}", refused.code)))
        }
        _ => Err(End::failed("the broker does not speak MQTT 5")),
    }
}

/// The packet that has come, unless it or its absence is an end.
fn received(packet: Option<Result<Packet, Error>>) -> Result<Packet, End> {
    match packet {
        Some(Ok(Packet::Disconnect(said))) => Err(End::of_broker(said)),
        Some(packet) => packet.map_err(End::of_error),
        None => {
            let reason = "the broker has closed the connection".to_owned();
            Err(End { why: Why::Broken, reason })
        }
    }
}
