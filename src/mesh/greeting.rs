//! The first exchange on a connection: who is the peer, and does it fit this node?

use std::io;
use std::net::{IpAddr, SocketAddrV4};

use bytes::Bytes;
use elevator_driver::FloorCount;
use elevator_fleet::model::{FleetName, NodeId};
use elevator_fleet::wire::codec::{self, MAX_FRAME, WireError};
use elevator_fleet::wire::{Frame, Hello, Protocol};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};

use super::{MeshSettings, socket};

/// The largest frame before the peer's hello, in bytes: a stranger gets no more memory.
const MAX_HELLO: usize = 1024;

/// A connection in frames: a length (32 bits, big-endian), then as many bytes.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) read: FramedRead<OwnedReadHalf, LengthDelimitedCodec>,
    pub(super) write: FramedWrite<OwnedWriteHalf, LengthDelimitedCodec>,
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
    #[error("a node of fleet {0}")]
    Fleet(FleetName),
    #[error("node {node} has {} floors", .floors.get())]
    Floors { node: NodeId, floors: FloorCount },
    #[error("node {node} elects by {protocol}")]
    Protocol { node: NodeId, protocol: Protocol },
    #[error("node {0} is there instead")]
    Other(NodeId),
    #[error("it calls itself node {} at {}", .0.node, .0.address)]
    Address(Box<Hello>),
    #[error("the cable is cut on demand")]
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
    let (connection, hello) = greet(settings, stream).await?;
    if hello.node == *peer {
        Ok((connection, hello))
    } else {
        Err(GreetingError::Other(hello.node))
    }
}

/// Exchanges hellos within the time limit. The peer gets this node's hello even if it is refused,
/// so that its log names the reason too.
pub(super) async fn greet(
    settings: &MeshSettings,
    stream: TcpStream,
) -> Result<(Connection, Hello), GreetingError> {
    socket::tune(&stream, settings.times.unacknowledged)?;
    let from = stream.peer_addr()?.ip();
    let exchange = exchange(&settings.hello, stream);
    let (mut connection, hello) = tokio::time::timeout(settings.times.greeting, exchange)
        .await
        .map_err(|_elapsed| GreetingError::HelloTime)??;
    check(&settings.hello, &hello)?;
    // A node dials from its own address. A hello in another's name would end that node's links.
    if from != IpAddr::V4(hello.address) {
        return Err(GreetingError::Address(Box::new(hello)));
    }
    let codec = connection.read.decoder_mut();
    codec.set_max_frame_length(MAX_FRAME);
    Ok((connection, hello))
}

async fn exchange(own: &Hello, stream: TcpStream) -> Result<(Connection, Hello), GreetingError> {
    let (read, write) = stream.into_split();
    let codec = |limit| LengthDelimitedCodec::builder().max_frame_length(limit).new_codec();
    let mut connection = Connection {
        read: FramedRead::new(read, codec(MAX_HELLO)),
        write: FramedWrite::new(write, codec(MAX_FRAME)),
    };
    let bytes = codec::encode_frame(&Frame::Hello(own.clone()))?;
    connection.write.send(Bytes::from(bytes)).await?;
    let bytes = connection.read.next().await.ok_or(GreetingError::Closed)??;
    match codec::decode_frame(&bytes)? {
        Frame::Hello(hello) => Ok((connection, hello)),
        Frame::Digest(_)
        | Frame::State(_)
        | Frame::Next
        | Frame::Synced
        | Frame::Delta(_)
        | Frame::Probe
        | Frame::Alive
        | Frame::CarPlan(_) => Err(GreetingError::NoHello),
    }
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
