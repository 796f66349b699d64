//! One connection to the broker.
//!
//! The line reads and writes packets only while it is waited for, and never waits for the broker to
//! take one: what can't be written yet is in a bounded queue, with at most [`WINDOW`] messages that
//! the broker has not acknowledged. A broker that hangs is silent, and the line ends. The packets
//! are those of `rumqttc`; its client is not used, as its TLS would bring an outdated check of
//! certificates.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, stream};
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
use tokio::time::{Instant, Interval, interval_at, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::codec::Framed;
use tokio_util::either::Either;

use super::broker::Access;

/// How many messages may be on their way to the broker.
pub(super) const WINDOW: u16 = 32;

/// How many messages with acknowledgement the broker may have on their way to this node.
const RECEIVE_WINDOW: u16 = 64;

const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// How long a broker may be silent, which answers each keep-alive.
const SILENCE: Duration = Duration::from_secs(16);

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

const END_LIMIT: Duration = Duration::from_millis(300);

/// The largest packet that the broker may send, in bytes; it drops larger ones.
const LARGEST_PACKET: u32 = 64 * 1024;

/// How many packets may wait for the broker; beyond it the line ends, and they are delivered again.
const PACKETS: usize = 1024;

#[derive(Debug)]
pub(super) enum Heard {
    Connected,
    Message(Box<Publish>),
    Taken(Message),
    Refused(Message, String),
    NotSubscribed(String),
    Alive,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct End(pub(super) String);

impl End {
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(super) fn of(reason: impl ToString) -> Self {
        Self(reason.to_string())
    }
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Retained: the broker has the latest one of its topic.
    State,
    Event,
    Answer,
}

#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) topic: String,
    pub(super) payload: Bytes,
    pub(super) properties: PublishProperties,
    /// It was on its way over an earlier connection.
    pub(super) is_repeated: bool,
}

impl Message {
    pub(super) fn new(kind: Kind, topic: String, payload: Bytes, content_type: &str) -> Self {
        let properties = PublishProperties {
            payload_format_indicator: Some(1),
            content_type: Some(content_type.to_owned()),
            ..PublishProperties::default()
        };
        Self { kind, topic, payload, properties, is_repeated: false }
    }
}

type Stream = Framed<Either<TcpStream, Box<TlsStream<TcpStream>>>, Codec>;

type Connecting = Pin<Box<dyn Future<Output = Result<(Stream, ConnAck), End>> + Send>>;

enum State {
    Connecting(Connecting),
    Connected(Stream),
}

/// The connection. When this is dropped it ends at once, and the broker publishes the will.
pub(super) struct Line {
    state: State,
    outgoing: VecDeque<Packet>,
    ping: Interval,
    /// How many messages the broker takes before it has acknowledged any.
    window: usize,
    /// The largest packet that it takes, in bytes.
    largest: usize,
    last_number: u16,
    /// What the broker has not acknowledged, with its numbers, the oldest first.
    sent: VecDeque<(u16, Message)>,
    last_heard: Instant,
}

impl Line {
    pub(super) fn open(mut options: MqttOptions, access: Access) -> Self {
        options.set_receive_maximum(Some(RECEIVE_WINDOW)).set_max_packet_size(Some(LARGEST_PACKET));
        Self {
            state: State::Connecting(Box::pin(connect(options, access))),
            outgoing: VecDeque::new(),
            ping: pings(KEEP_ALIVE),
            window: usize::from(WINDOW),
            largest: usize::MAX,
            last_number: 0,
            sent: VecDeque::new(),
            last_heard: Instant::now(),
        }
    }

    /// What comes next, unless the line has ended. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Heard, End> {
        let silent = |_elapsed| End::of("the broker does not answer");
        let packet =
            timeout_at(self.last_heard + SILENCE, self.packet()).await.map_err(silent)??;
        self.last_heard = Instant::now();
        Ok(match packet {
            Packet::ConnAck(accepted) => {
                self.on_connected(&accepted);
                Heard::Connected
            }
            Packet::Publish(message) => Heard::Message(Box::new(message)),
            Packet::PubAck(ack) => {
                let place = self.sent.iter().position(|(number, _)| *number == ack.pkid);
                match (place.and_then(|place| self.sent.remove(place)), ack.reason) {
                    (None, _) => Heard::Alive,
                    (
                        Some((_, message)),
                        PubAckReason::Success | PubAckReason::NoMatchingSubscribers,
                    ) => Heard::Taken(message),
                    (Some((_, message)), reason) => Heard::Refused(message, format!("{reason:?}")),
                }
            }
            Packet::SubAck(ack) => {
                let mut codes = ack.return_codes.into_iter();
                let refused = codes.find(|code| !matches!(code, SubscribeReasonCode::Success(_)));
                refused.map_or(Heard::Alive, |code| Heard::NotSubscribed(format!("{code:?}")))
            }
            Packet::Disconnect(Disconnect { reason_code, properties }) => {
                let words = properties.and_then(|properties| properties.reason_string);
                let words = words.map_or_else(String::new, |words| format!(" ({words})"));
                return Err(End(format!("the broker ends the connection: {reason_code:?}{words}")));
            }
            _ => Heard::Alive,
        })
    }

    async fn packet(&mut self) -> Result<Packet, End> {
        let stream = match &mut self.state {
            State::Connecting(connecting) => {
                let (stream, accepted) = connecting.await?;
                self.state = State::Connected(stream);
                return Ok(Packet::ConnAck(accepted));
            }
            State::Connected(stream) => stream,
        };
        loop {
            if self.outgoing.len() > PACKETS {
                return Err(End::of("the broker does not accept messages"));
            }
            tokio::select! {
                packet = exchange(stream, &mut self.outgoing) => return received(packet),
                _ = self.ping.tick() => self.outgoing.push_back(Packet::PingReq(PingReq)),
            }
        }
    }

    fn on_connected(&mut self, accepted: &ConnAck) {
        let limits = accepted.properties.as_ref();
        let window = limits.and_then(|limits| limits.receive_max);
        self.window = window.map_or(WINDOW, |most| most.clamp(1, WINDOW)).into();
        let largest = limits.and_then(|limits| limits.max_packet_size);
        let bytes = largest.and_then(|bytes| usize::try_from(bytes).ok());
        self.largest = bytes.unwrap_or(usize::MAX);
        let wanted = limits.and_then(|limits| limits.server_keep_alive).filter(|it| *it > 0);
        let wanted = wanted.map_or(KEEP_ALIVE, |seconds| Duration::from_secs(seconds.into()));
        self.ping = pings(wanted.min(KEEP_ALIVE));
    }

    pub(super) fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected(_))
    }

    pub(super) fn has_room(&self) -> bool {
        self.is_connected() && self.sent.len() < self.window
    }

    /// The messages that the broker has not acknowledged, the oldest first. It may have them.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.sent.iter().map(|(_, message)| message)
    }

    /// Sends a message, for which there has to be room. Gives back one that is too large.
    pub(super) fn send(&mut self, message: Message) -> Option<Message> {
        debug_assert!(self.has_room());
        let number = self.number();
        let Message { kind, topic, payload, properties, .. } = message.clone();
        let publish = Publish {
            retain: kind == Kind::State,
            pkid: number,
            ..Publish::new(topic, QoS::AtLeastOnce, payload, Some(properties))
        };
        if publish.size() > self.largest {
            return Some(message);
        }
        self.outgoing.push_back(Packet::Publish(publish));
        self.sent.push_back((number, message));
        None
    }

    pub(super) fn acknowledge(&mut self, ack: &Ack) {
        if ack.is_awaited() {
            self.outgoing.push_back(Packet::PubAck(PubAck::new(ack.number, None)));
        }
    }

    /// Subscribes; the own messages are left out.
    pub(super) fn subscribe(&mut self, topic: String, qos: QoS, retained: RetainForwardRule) {
        let mut filter = Filter::new(topic, qos);
        filter.nolocal = true;
        filter.retain_forward_rule = retained;
        let pkid = self.number();
        let subscribe = Subscribe { pkid, ..Subscribe::new(filter, None) };
        self.outgoing.push_back(Packet::Subscribe(subscribe));
    }

    /// Ends the connection in an orderly way: the broker keeps the session and publishes no will.
    pub(super) async fn finish(mut self) {
        let State::Connected(mut connected) = self.state else { return };
        let reason = DisconnectReasonCode::NormalDisconnection;
        self.outgoing.push_back(Packet::Disconnect(Disconnect::new(reason)));
        let ended = async {
            let mut packets = stream::iter(self.outgoing).map(Ok);
            connected.send_all(&mut packets).await?;
            connected.close().await
        };
        // A broker that does not take it sees the end of the connection.
        timeout(END_LIMIT, ended).await.ok();
    }

    fn number(&mut self) -> u16 {
        loop {
            self.last_number = self.last_number.checked_add(1).unwrap_or(1);
            if !self.sent.iter().any(|(number, _)| *number == self.last_number) {
                return self.last_number;
            }
        }
    }
}

fn pings(period: Duration) -> Interval {
    interval_at(Instant::now() + period, period)
}

/// Sends what can be sent until a packet comes. Nothing is lost if this is dropped while it waits.
async fn exchange(
    stream: &mut Stream,
    outgoing: &mut VecDeque<Packet>,
) -> Option<Result<Packet, Error>> {
    poll_fn(|task| {
        let sent = poll_send(stream, outgoing, task);
        // A broker that takes nothing any more may have said why.
        match (stream.poll_next_unpin(task), sent) {
            (Poll::Pending, Poll::Ready(Err(error))) => Poll::Ready(Some(Err(error))),
            (packet, _) => packet,
        }
    })
    .await
}

fn poll_send(
    stream: &mut Stream,
    outgoing: &mut VecDeque<Packet>,
    task: &mut Context<'_>,
) -> Poll<Result<(), Error>> {
    while !outgoing.is_empty() {
        ready!(stream.poll_ready_unpin(task))?;
        if let Some(packet) = outgoing.pop_front() {
            stream.start_send_unpin(packet)?;
        }
    }
    stream.poll_flush_unpin(task)
}

async fn connect(options: MqttOptions, access: Access) -> Result<(Stream, ConnAck), End> {
    let (options, tls) = access.apply(options).await.map_err(End::of)?;
    let late = |_elapsed| End::of("the broker did not accept the connection in time");
    timeout(CONNECT_LIMIT, greet(&options, tls)).await.map_err(late)?
}

async fn greet(
    options: &MqttOptions,
    tls: Option<Arc<ClientConfig>>,
) -> Result<(Stream, ConnAck), End> {
    let (host, port) = options.broker_address();
    let tcp = TcpStream::connect(format!("{host}:{port}")).await.map_err(End::of)?;
    tcp.set_nodelay(true).map_err(End::of)?;
    let stream = match tls {
        None => Either::Left(tcp),
        Some(config) => {
            let name = ServerName::try_from(host).map_err(End::of)?;
            let tls = TlsConnector::from(config).connect(name, tcp).await.map_err(End::of)?;
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
    stream.send(hello).await.map_err(End::of)?;
    match received(stream.next().await)? {
        Packet::ConnAck(accepted) if accepted.code == ConnectReturnCode::Success => {
            Ok((stream, accepted))
        }
        Packet::ConnAck(refused) => {
            Err(End(format!("the broker refuses the connection: {:?}", refused.code)))
        }
        _ => Err(End::of("the broker does not speak MQTT 5")),
    }
}

fn received(packet: Option<Result<Packet, Error>>) -> Result<Packet, End> {
    let closed = || End::of("the broker has closed the connection");
    packet.ok_or_else(closed)?.map_err(End::of)
}
