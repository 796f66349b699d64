//! The first exchange on a connection: who is the peer, and does it fit this node?

use std::borrow::Cow;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use elevator_fleet::model::NodeId;
use elevator_fleet::wire::codec::{self, MAX_FRAME, Opening, Preamble, WireError};
use elevator_fleet::wire::keyring::Keyring;
use elevator_fleet::wire::{Frame, Hello};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{FramedRead, FramedWrite};

use super::cipher::{CodecError, Handshake, HandshakeError, LinkCodec};
use super::proven::Proven;
use super::{MeshSettings, socket};

/// The largest frame before the peer's hello, in bytes: a stranger gets no more memory.
pub(super) const MAX_HELLO: usize = 1024;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) read: FramedRead<OwnedReadHalf, LinkCodec>,
    pub(super) write: FramedWrite<OwnedWriteHalf, LinkCodec>,
}

/// Why a connection does not become a link. It is closed.
#[derive(Debug, thiserror::Error)]
pub(super) enum GreetingError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error("{0}")]
    Handshake(#[from] HandshakeError),
    #[error("{0}")]
    Codec(#[from] CodecError),
    #[error("{0}")]
    Unfit(Cow<'static, str>),
}

pub(super) async fn dial(
    settings: &MeshSettings,
    peer: &NodeId,
    address: SocketAddrV4,
) -> Result<(Connection, Hello), GreetingError> {
    let connecting = socket::connect(settings.hello.address, address);
    let stream = tokio::time::timeout(settings.times.connect, connecting)
        .await
        .map_err(|_elapsed| unfit("not connected in time"))??;
    let connection = Connection::new(settings, stream)?;
    let (connection, hello) = within_limit(settings, connection.introduce(settings, peer)).await?;
    let fitting = admitted(settings, connection, hello, *address.ip())?;
    let there = &fitting.1.node;
    if there == peer { Ok(fitting) } else { Err(unfit(format!("node {there} is there instead"))) }
}

/// Exchanges hellos with one who has connected, within the time limit; with a key, once a beacon
/// has proven its address. Even a refused peer gets this node's hello: its log says why.
pub(super) async fn greet(
    settings: &MeshSettings,
    stream: TcpStream,
    from: IpAddr,
    proven: &Proven,
) -> Result<(Connection, Hello), GreetingError> {
    let keys = settings.keys.get().ok_or_else(no_key)?;
    let IpAddr::V4(address) = from else {
        return Err(unfit("it has no IPv4 address"));
    };
    let connection = Connection::new(settings, stream)?;
    let exchange = async {
        if keys.sent().is_some() {
            proven.wait_for(address).await;
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
    exchange.await.map_err(|_elapsed| unfit("no hello in time"))?
}

fn admitted(
    settings: &MeshSettings,
    mut connection: Connection,
    hello: Hello,
    from: Ipv4Addr,
) -> Result<(Connection, Hello), GreetingError> {
    check(&settings.hello, &hello)?;
    // A node dials from its own address. A hello in another's name would end that node's links.
    if from != hello.address {
        let Hello { node, address, .. } = hello;
        return Err(unfit(format!("it calls itself node {node} at {address}")));
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

    async fn introduce(
        mut self,
        settings: &MeshSettings,
        peer: &NodeId,
    ) -> Result<(Self, Hello), GreetingError> {
        let own = codec::encode_frame(&Frame::Hello(settings.hello.clone()))?;
        let keys = settings.keys.get().ok_or_else(no_key)?;
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

    /// Hears who dials, and says who answers. A handshake that is repeated is never done.
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
            return Err(unfit(format!("it dials node {}", preamble.to)));
        }
        let (mut handshake, payload) = started(keys, key, prologue, message)?;
        let hello = hello(&payload)?;
        if hello.node != preamble.from {
            let Preamble { from, .. } = preamble;
            return Err(unfit(format!("it dials as node {from} and is node {}", hello.node)));
        }
        self.send(handshake.write(&own)?).await?;
        self.encrypt(handshake)?;
        let confirmation = self.receive().await?;
        if confirmation.is_empty() { Ok((self, hello)) } else { Err(no_hello()) }
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
        Ok(self.read.next().await.ok_or_else(|| unfit("closed before a hello"))??)
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
    codec::decode_frame(bytes)?.into_hello().ok_or_else(no_hello)
}

fn check(
    own: &Hello,
    Hello { fleet, node, floors, building, protocol, .. }: &Hello,
) -> Result<(), GreetingError> {
    if *fleet != own.fleet {
        Err(unfit(format!("a node of fleet {fleet}")))
    } else if *floors != own.floors {
        Err(unfit(format!("node {node} has {} floors", floors.get())))
    } else if *building != own.building {
        Err(unfit(format!("node {node} has another building")))
    } else if *protocol != own.protocol {
        Err(unfit(format!("node {node} uses election {protocol}")))
    } else {
        Ok(())
    }
}

pub(super) fn unfit(why: impl Into<Cow<'static, str>>) -> GreetingError {
    GreetingError::Unfit(why.into())
}

fn no_hello() -> GreetingError {
    unfit("a frame before the hello")
}

fn no_key() -> GreetingError {
    unfit("no fleet key can be read")
}
