//! The first exchange on a connection: who is the peer, and does it fit this node?

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use elevator_driver::FloorCount;
use elevator_fleet::model::{FleetName, NodeId};
use elevator_fleet::wire::codec::{self, MAX_FRAME, Opening, Preamble, WireError};
use elevator_fleet::wire::keyring::Keyring;
use elevator_fleet::wire::{Frame, Hello, Protocol};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{FramedRead, FramedWrite};

use super::cipher::{CodecError, Handshake, HandshakeError, LinkCodec};
use super::proven::Proven;
use super::{MeshSettings, socket};

/// The largest frame before the peer's hello, in bytes: a stranger gets no more memory.
pub(super) const MAX_HELLO: usize = 1024;

/// A connection in frames.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) read: FramedRead<OwnedReadHalf, LinkCodec>,
    pub(super) write: FramedWrite<OwnedWriteHalf, LinkCodec>,
}

/// Why a connection does not become a link. It is closed.
#[derive(Debug, thiserror::Error)]
pub(super) enum GreetingError {
    #[error("not connected in time")]
    ConnectTime,
    #[error("no hello in time")]
    HelloTime,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("closed before a hello")]
    Closed,
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error("a frame before the hello")]
    NoHello,
    #[error("no fleet key can be read")]
    NoKey,
    #[error("it has not proven by a beacon that it hears this node")]
    Unproven,
    #[error("{0}")]
    Handshake(#[from] HandshakeError),
    #[error("{0}")]
    Codec(#[from] CodecError),
    #[error("it dials node {0}")]
    NotThisNode(NodeId),
    #[error("it dials as node {preamble} and is node {hello}")]
    TwoNames { preamble: NodeId, hello: NodeId },
    #[error("a node of fleet {0}")]
    Fleet(FleetName),
    #[error("node {node} has {} floors", .floors.get())]
    Floors { node: NodeId, floors: FloorCount },
    #[error("node {node} uses election {protocol}")]
    Protocol { node: NodeId, protocol: Protocol },
    #[error("node {0} is there instead")]
    Other(NodeId),
    #[error("it calls itself node {} at {}", .0.node, .0.address)]
    Address(Box<Hello>),
    #[error("the cable is cut by fault injection")]
    Cut,
}

/// Connects and exchanges hellos, within the time limits for either.
pub(super) async fn dial(
    settings: &MeshSettings,
    peer: &NodeId,
    address: SocketAddrV4,
) -> Result<(Connection, Hello), GreetingError> {
    let connecting = socket::connect(settings.hello.address, address);
    let stream = tokio::time::timeout(settings.times.connect, connecting)
        .await
        .map_err(|_elapsed| GreetingError::ConnectTime)??;
    let connection = Connection::new(settings, stream)?;
    let (connection, hello) = within_limit(settings, connection.introduce(settings, peer)).await?;
    let fitting = admitted(settings, connection, hello, *address.ip())?;
    if fitting.1.node == *peer { Ok(fitting) } else { Err(GreetingError::Other(fitting.1.node)) }
}

/// Exchanges hellos with one who has connected, within the time limit. With a key, somebody whose
/// address no beacon has proven waits for that. The peer gets this node's hello even if it is
/// refused, so that its log names the reason too.
pub(super) async fn greet(
    settings: &MeshSettings,
    stream: TcpStream,
    from: IpAddr,
    proven: &mut Proven,
) -> Result<(Connection, Hello), GreetingError> {
    let keys = settings.keys.get().ok_or(GreetingError::NoKey)?;
    let IpAddr::V4(address) = from else {
        return Err(GreetingError::Unproven);
    };
    let connection = Connection::new(settings, stream)?;
    let exchange = async {
        if keys.sent().is_some() {
            proven.wait_for(address).await?;
        }
        connection.answer(settings, &keys).await
    };
    let (connection, hello) = within_limit(settings, exchange).await?;
    admitted(settings, connection, hello, address)
}

async fn within_limit<T>(
    settings: &MeshSettings,
    exchange: impl Future<Output = Result<T, GreetingError>>,
) -> Result<T, GreetingError> {
    let exchange = tokio::time::timeout(settings.times.greeting, exchange);
    exchange.await.map_err(|_elapsed| GreetingError::HelloTime)?
}

/// The connection, if the peer fits this node.
fn admitted(
    settings: &MeshSettings,
    mut connection: Connection,
    hello: Hello,
    from: Ipv4Addr,
) -> Result<(Connection, Hello), GreetingError> {
    check(&settings.hello, &hello)?;
    // A node dials from its own address. A hello in another's name would end that node's links.
    if from != hello.address {
        return Err(GreetingError::Address(Box::new(hello)));
    }
    connection.read.decoder_mut().admit();
    Ok((connection, hello))
}

impl Connection {
    fn new(settings: &MeshSettings, stream: TcpStream) -> io::Result<Self> {
        socket::tune(&stream, settings.times.unacknowledged)?;
        let (read, write) = stream.into_split();
        Ok(Self {
            read: FramedRead::new(read, LinkCodec::plain(MAX_HELLO)),
            write: FramedWrite::new(write, LinkCodec::plain(MAX_FRAME + MAX_HELLO)),
        })
    }

    /// Says who dials, and hears who answers.
    async fn introduce(
        mut self,
        settings: &MeshSettings,
        peer: &NodeId,
    ) -> Result<(Self, Hello), GreetingError> {
        let own = codec::encode_frame(&Frame::Hello(settings.hello.clone()))?;
        let keys = settings.keys.get().ok_or(GreetingError::NoKey)?;
        let Some(key) = keys.sent() else {
            self.send(own).await?;
            let hello = hello(&self.receive().await?)?;
            return Ok((self, hello));
        };
        let preamble = Preamble { from: settings.hello.node.clone(), to: peer.clone() };
        let mut opening = codec::encode_preamble(key, &preamble)?;
        let mut handshake = Handshake::dialling(key.links(), &opening)?;
        opening.extend(handshake.write(&own)?);
        self.send(opening).await?;
        let hello = hello(&handshake.read(&self.receive().await?)?)?;
        self.encrypt(handshake)?;
        // It shows the peer that this is no repetition of an earlier handshake.
        self.send(Vec::new()).await?;
        Ok((self, hello))
    }

    /// Hears who dials, and says who answers. A start that is a repetition of an earlier handshake's
    /// never gets to its end.
    async fn answer(
        mut self,
        settings: &MeshSettings,
        keys: &Keyring,
    ) -> Result<(Self, Hello), GreetingError> {
        let own = codec::encode_frame(&Frame::Hello(settings.hello.clone()))?;
        let first = self.receive().await?;
        let (key, preamble, prologue, message) = match codec::decode_opening(&first)? {
            Opening::Plain(_) if !keys.accepts_anybody() => {
                return Err(WireError::Unauthenticated.into());
            }
            Opening::Plain(hello) => {
                self.send(own).await?;
                return Ok((self, hello));
            }
            Opening::Handshake { key, preamble, prologue, message } => {
                (key, preamble, prologue, message)
            }
        };
        if preamble.to != settings.hello.node {
            return Err(GreetingError::NotThisNode(preamble.to));
        }
        let (mut handshake, payload) = started(keys, key, prologue, message)?;
        let hello = hello(&payload)?;
        if hello.node != preamble.from {
            return Err(GreetingError::TwoNames { preamble: preamble.from, hello: hello.node });
        }
        self.send(handshake.write(&own)?).await?;
        self.encrypt(handshake)?;
        let confirmation = self.receive().await?;
        if confirmation.is_empty() { Ok((self, hello)) } else { Err(GreetingError::NoHello) }
    }

    fn encrypt(&mut self, handshake: Handshake) -> Result<(), GreetingError> {
        let cipher = handshake.finish()?;
        self.read.decoder_mut().encrypt(Arc::clone(&cipher));
        self.write.encoder_mut().encrypt(cipher);
        Ok(())
    }

    async fn send(&mut self, bytes: Vec<u8>) -> Result<(), GreetingError> {
        Ok(self.write.send(Bytes::from(bytes)).await?)
    }

    async fn receive(&mut self) -> Result<BytesMut, GreetingError> {
        Ok(self.read.next().await.ok_or(GreetingError::Closed)??)
    }
}

/// The handshake that this message starts, with whichever of the keys has that id, and its payload.
fn started(
    keys: &Keyring,
    key: u8,
    prologue: &[u8],
    message: &[u8],
) -> Result<(Handshake, Vec<u8>), GreetingError> {
    let mut refused = GreetingError::Wire(WireError::Key(key));
    for key in keys.with_id(key) {
        let mut handshake = Handshake::accepting(key.links(), prologue)?;
        match handshake.read(message) {
            Ok(payload) => return Ok((handshake, payload)),
            Err(error) => refused = error.into(),
        }
    }
    Err(refused)
}

fn hello(bytes: &[u8]) -> Result<Hello, GreetingError> {
    codec::decode_frame(bytes)?.into_hello().ok_or(GreetingError::NoHello)
}

fn check(own: &Hello, peer: &Hello) -> Result<(), GreetingError> {
    let node = || peer.node.clone();
    if peer.fleet != own.fleet {
        Err(GreetingError::Fleet(peer.fleet.clone()))
    } else if peer.floors != own.floors {
        let floors = peer.floors;
        Err(GreetingError::Floors { node: node(), floors })
    } else if peer.protocol != own.protocol {
        let protocol = peer.protocol;
        Err(GreetingError::Protocol { node: node(), protocol })
    } else {
        Ok(())
    }
}
