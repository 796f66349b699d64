//! What the sockets of the mesh do with bytes, without the sockets.

mod greeting;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use elevator_fleet::wire::keyring::{FleetKey, Keyring};
use elevator_fleet::wire::{Hello, Nonce};
use tokio::sync::watch;
use tokio_util::codec::{Decoder, Encoder};

pub use self::greeting::{Side, Stranger, greet};
use super::cipher::{Handshake, LinkCodec};
use super::heard::Hearing;
use super::proven::{Peers, Proven};
use super::seal::Seal;

/// What came of a stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Stream {
    /// The frames, in order.
    pub frames: Vec<Vec<u8>>,
    /// The stream has ended with an error.
    pub failed: bool,
    /// The most bytes that were kept while a frame was not complete.
    pub kept: usize,
}

/// Reads a link without a key, whose bytes arrive in these pieces; `admitted` if its peer has said
/// who it is.
#[must_use]
pub fn plain_link(pieces: &[&[u8]], admitted: bool) -> Stream {
    let mut codec = LinkCodec::plain(1024);
    if admitted {
        codec.admit();
    }
    read(codec, pieces)
}

/// Sends these frames over an encrypted link, changes what is on the line, and reads it in pieces
/// of this many bytes. `None`: the handshake failed.
pub fn link(
    key: &FleetKey,
    frames: &[&[u8]],
    change: impl FnOnce(&mut Vec<u8>),
    piece: usize,
) -> Option<Stream> {
    let [mut from, mut to] = pair(key, |_, _| {})?.map(|handshake| {
        let mut codec = LinkCodec::plain(1024);
        codec.encrypt(handshake.finish().ok()?);
        codec.admit();
        Some(codec)
    });
    let (from, to) = (from.as_mut()?, to.take()?);
    let mut line = BytesMut::new();
    for frame in frames {
        from.encode(Bytes::copy_from_slice(frame), &mut line).ok()?;
    }
    let mut line = line.to_vec();
    change(&mut line);
    let pieces: Vec<&[u8]> = line.chunks(piece.max(1)).collect();
    Some(read(to, &pieces))
}

fn read(mut codec: LinkCodec, pieces: &[&[u8]]) -> Stream {
    let mut stream = Stream { frames: Vec::new(), failed: false, kept: 0 };
    let mut arrived = BytesMut::new();
    for piece in pieces {
        arrived.extend_from_slice(piece);
        loop {
            match codec.decode(&mut arrived) {
                Ok(Some(frame)) => stream.frames.push(frame.to_vec()),
                Ok(None) => break,
                Err(_) => {
                    stream.failed = true;
                    return stream;
                }
            }
        }
        stream.kept = stream.kept.max(arrived.len());
    }
    stream
}

/// Whether both sides of a handshake come to its end, if `change` does this to its first and its
/// second message.
pub fn handshake(key: &FleetKey, change: impl FnMut(usize, &mut Vec<u8>)) -> bool {
    pair(key, change).is_some()
}

fn pair(key: &FleetKey, mut change: impl FnMut(usize, &mut Vec<u8>)) -> Option<[Handshake; 2]> {
    let mut dialling = Handshake::dialling(key.links(), b"A to B").ok()?;
    let mut accepting = Handshake::accepting(key.links(), b"A to B").ok()?;
    let mut first = dialling.write(b"who dials").ok()?;
    change(0, &mut first);
    accepting.read(&first).ok().filter(|payload| payload == b"who dials")?;
    let mut second = accepting.write(b"who answers").ok()?;
    change(1, &mut second);
    dialling.read(&second).ok().filter(|payload| payload == b"who answers")?;
    Some([dialling, accepting])
}

/// What becomes of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is taken in as this packet.
    Taken(Vec<u8>),
    /// It is dropped: the peer has sealed it as well.
    Dropped,
    /// It is refused, and counted.
    Refused,
}

/// A node that receives the packets of an election with a separate port.
#[derive(Debug)]
pub struct Packets {
    seal: Seal,
    keys: Keyring,
    beacon: Arc<AtomicU64>,
    peers: watch::Sender<Peers>,
    hearing: Hearing,
}

impl Packets {
    /// A node with this hello and these keys, on a LAN with this broadcast address.
    #[must_use]
    pub fn new(hello: &Hello, everybody: Ipv4Addr, keys: Keyring) -> Self {
        let (peers, proven) = Proven::nobody();
        let (hearing, heard) = Hearing::start(proven.clone());
        let beacon = Arc::new(AtomicU64::new(0));
        let seal = Seal::new(hello, everybody, Arc::clone(&beacon), proven, heard);
        Self { seal, keys, beacon, peers, hearing }
    }

    /// Seals a packet to this address, after this beacon.
    pub fn seal(&mut self, packet: &[u8], beacon: u64, to: Ipv4Addr) -> Option<Vec<u8>> {
        self.beacon.store(beacon, Ordering::Relaxed);
        Some(self.seal.seal(packet, to, self.keys.sent()?))
    }

    /// A beacon of a peer was heard.
    pub fn hear(&self, from: Ipv4Addr, nonce: Nonce, sequence: u64) {
        self.hearing.note((from, nonce), sequence);
    }

    /// These peers count, and no others.
    pub fn prove(&self, peers: impl IntoIterator<Item = (Ipv4Addr, Nonce)>) {
        self.peers.send_replace(peers.into_iter().collect());
    }

    /// A datagram arrives.
    pub fn open(&mut self, bytes: &[u8], from: Ipv4Addr, foreign_devices: bool) -> Fate {
        match self.seal.open(bytes, from, &self.keys, foreign_devices) {
            Ok(Some(packet)) => Fate::Taken(packet.to_vec()),
            Ok(None) => Fate::Dropped,
            Err(_) => Fate::Refused,
        }
    }
}
