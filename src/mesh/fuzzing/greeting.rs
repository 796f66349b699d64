//! The greeting over a real connection, with somebody who may send anything.

use std::io;
use std::net::{IpAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use elevator_fleet::wire::codec::{self, Opening, Preamble};
use elevator_fleet::wire::keyring::Keyring;
use elevator_fleet::wire::{Frame, Hello};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::{Decoder, Encoder};

use super::super::cipher::{Handshake, LinkCodec};
use super::super::greeting::{self, MAX_HELLO};
use super::super::proven::{Peers, Proven};
use super::super::{LinkTimes, MeshSettings, socket};
use crate::fleet_key::Keys;

/// More time than a greeting takes on any machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A node with these keys, or somebody who has them.
#[derive(Debug, Clone)]
pub struct Side {
    pub hello: Hello,
    pub keys: Keyring,
}

/// The peer of a node in a greeting. It keeps to the protocol, but for what is changed.
pub struct Stranger<'a> {
    pub side: &'a Side,
    /// The node dials it, or else it dials the node.
    pub is_dialled: bool,
    /// Changes what it sends, by number; after a change it sends no more.
    pub change: &'a mut dyn FnMut(usize, &mut Vec<u8>),
    /// It sends so many bytes at a time.
    pub piece: usize,
}

/// What came of a greeting: the peer that the node takes the stranger for, if it takes it in, and
/// what the stranger has heard.
///
/// # Errors
/// Of the system: there is no socket.
pub fn greet(node: &Side, stranger: Stranger<'_>) -> io::Result<(Option<Hello>, Vec<u8>)> {
    thread_local! {
        static RUNTIME: io::Result<tokio::runtime::Runtime> =
            tokio::runtime::Builder::new_current_thread().enable_all().build();
    }
    RUNTIME.with(|runtime| match runtime {
        Ok(runtime) => runtime.block_on(meet(node, stranger)),
        Err(error) => Err(error.kind().into()),
    })
}

async fn meet(node: &Side, mut stranger: Stranger<'_>) -> io::Result<(Option<Hello>, Vec<u8>)> {
    let settings = settings_of(node);
    let (own, other) = (node.hello.address, stranger.side.hello.address);
    let at = if stranger.is_dialled { other } else { own };
    let listener = TcpListener::bind((at, 0)).await?;
    let to = SocketAddrV4::new(at, listener.local_addr()?.port());
    if stranger.is_dialled {
        let peer = stranger.side.hello.node.clone();
        let dialled = greeting::dial(&settings, &peer, to);
        let answering = async {
            let (stream, _) = listener.accept().await?;
            stranger.answer(stream).await
        };
        // The connection is closed where it is dropped.
        let dialled = async { dialled.await.ok().map(|(_, hello)| hello) };
        let (met, heard) = tokio::join!(dialled, answering);
        return Ok((met, heard?));
    }
    let (peers, mut proven) = Proven::nobody();
    peers.send_replace(Peers::from([(other, stranger.side.hello.nonce)]));
    let greeted = async {
        let (stream, _) = listener.accept().await.ok()?;
        let greeted = greeting::greet(&settings, stream, IpAddr::V4(other), &mut proven).await;
        greeted.ok().map(|(_, hello)| hello)
    };
    let dialling = async {
        let stream = socket::connect(other, to).await?;
        stranger.dial(stream, &node.hello).await
    };
    let (met, heard) = tokio::join!(greeted, dialling);
    Ok((met, heard?))
}

fn settings_of(node: &Side) -> MeshSettings {
    let address = node.hello.address;
    MeshSettings {
        hello: node.hello.clone(),
        broadcast: SocketAddrV4::new(address, 0),
        link_port: 0,
        packets: None,
        gather_time: None,
        // What comes of a greeting must not depend on how busy the machine is.
        times: LinkTimes { connect: PATIENCE, greeting: PATIENCE, ..LinkTimes::default() },
        keys: Arc::new(Keys::of(node.keys.clone(), node.hello.fleet.clone(), address)),
    }
}

impl Stranger<'_> {
    async fn dial(&mut self, mut stream: TcpStream, node: &Hello) -> io::Result<Vec<u8>> {
        let own = hello_of(&self.side.hello)?;
        let Some(key) = self.side.keys.sent() else {
            self.send(&mut stream, 0, framed(&own)).await?;
            return rest_of(stream, BytesMut::new()).await;
        };
        let preamble = Preamble { from: self.side.hello.node.clone(), to: node.node.clone() };
        let mut opening = codec::encode_preamble(key, &preamble).map_err(io::Error::other)?;
        let mut handshake = Handshake::dialling(key.links(), &opening).map_err(io::Error::other)?;
        opening.extend(handshake.write(&own).map_err(io::Error::other)?);
        if !self.send(&mut stream, 0, framed(&opening)).await? {
            return rest_of(stream, BytesMut::new()).await;
        }
        let (answer, heard) = frame_of(&mut stream).await?;
        if answer.is_none_or(|answer| handshake.read(&answer).is_err()) {
            return rest_of(stream, heard).await;
        }
        let mut codec = LinkCodec::plain(MAX_HELLO);
        codec.encrypt(handshake.finish().map_err(io::Error::other)?);
        let mut confirmation = BytesMut::new();
        codec.encode(Bytes::new(), &mut confirmation).map_err(io::Error::other)?;
        self.send(&mut stream, 1, confirmation.to_vec()).await?;
        rest_of(stream, heard).await
    }

    async fn answer(&mut self, mut stream: TcpStream) -> io::Result<Vec<u8>> {
        let own = hello_of(&self.side.hello)?;
        let (Some(first), heard) = frame_of(&mut stream).await? else {
            return Ok(Vec::new());
        };
        let answer = match (codec::decode_opening(&first), self.side.keys.sent()) {
            (Ok(Opening::Handshake { prologue, message, .. }), Some(key)) => {
                let mut handshake =
                    Handshake::accepting(key.links(), prologue).map_err(io::Error::other)?;
                let is_known = handshake.read(message).is_ok();
                if is_known { handshake.write(&own).map_err(io::Error::other)? } else { own }
            }
            (Ok(_) | Err(_), _) => own,
        };
        self.send(&mut stream, 0, framed(&answer)).await?;
        rest_of(stream, heard).await
    }

    /// Sends a message in pieces. Returns whether it is what the protocol says; otherwise nothing
    /// can follow it.
    async fn send(
        &mut self,
        stream: &mut TcpStream,
        number: usize,
        message: Vec<u8>,
    ) -> io::Result<bool> {
        let mut changed = message.clone();
        (self.change)(number, &mut changed);
        for piece in changed.chunks(self.piece.max(1)) {
            if stream.write_all(piece).await.is_err() {
                // The node has had enough.
                return Ok(false);
            }
            tokio::task::yield_now().await;
        }
        let is_unchanged = changed == message;
        if !is_unchanged && stream.shutdown().await.is_err() {
            return Ok(false);
        }
        Ok(is_unchanged)
    }
}

fn hello_of(hello: &Hello) -> io::Result<Vec<u8>> {
    codec::encode_frame(&Frame::Hello(hello.clone())).map_err(io::Error::other)
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), bytes].concat()
}

/// The next frame, and everything that was read.
async fn frame_of(stream: &mut TcpStream) -> io::Result<(Option<BytesMut>, BytesMut)> {
    let mut codec = LinkCodec::plain(MAX_HELLO);
    let mut read = BytesMut::new();
    loop {
        if let Some(frame) = codec.decode(&mut read.clone()).map_err(io::Error::other)? {
            return Ok((Some(frame), read));
        }
        codec = LinkCodec::plain(MAX_HELLO);
        if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            return Ok((None, read));
        }
    }
}

/// This, and what else comes until the node closes the connection.
async fn rest_of(mut stream: TcpStream, mut read: BytesMut) -> io::Result<Vec<u8>> {
    while stream.read_buf(&mut read).await.unwrap_or(0) > 0 {}
    Ok(read.to_vec())
}
