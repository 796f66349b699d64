//! Encoding and decoding of beacons and frames.
//!
//! ```text
//!   magic "LM" │ version │ key id │ postcard body │ check
//!      2 bytes │  1 byte │ 1 byte │               │ CRC-32C, little-endian (key id 0), or 16-byte tag
//! ```
//!
//! Key id 0 means that the sender is not authenticated, and a checksum protects against damage only
//! (F5). A beacon with any other key id has a tag in place of the checksum: it proves that the
//! sender has the fleet key, and is verified before anything else of the beacon is looked at.
//! Frames have key id 0, as their link encrypts and authenticates them.

use core::net::Ipv4Addr;

use crc::{CRC_32_ISCSI, Crc, Table};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::keyring::{FleetKey, KeyError, Keyring, NO_KEY, Purpose, TAG};
use super::{Beacon, Frame};
use crate::model::{Hello, NodeId, Nonce};
use crate::seeded::{SeededBug, is_seeded};

/// The largest datagram, in bytes. It crosses every LAN in one piece.
pub const MAX_DATAGRAM: usize = 1200;

/// The most bytes of settings and records in a frame, so that the receiver's turns are short.
pub const CHUNK: usize = 16 * 1024;

/// The largest frame, in bytes: enough for a [`CHUNK`] and a car.
pub const MAX_FRAME: usize = 32 * 1024;

const MAGIC: [u8; 2] = *b"LM";
pub const VERSION: u8 = 6;
const HEADER: usize = 4;
const CHECK: usize = 4;

/// Room for most messages, so that the buffer of one does not grow piece by piece.
const USUAL_SIZE: usize = 512;

/// How many bytes of body fit into a datagram, with a tag or without.
pub const DATAGRAM_BODY: usize = MAX_DATAGRAM - HEADER - TAG;

/// Sixteen bytes at a time, because every datagram on the LAN is checked.
static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Bytes that are not a valid message. The message is dropped; the node's state is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("not a Liftmesh message")]
    Foreign,
    /// A version that this node does not speak.
    #[error("protocol version {0}, this node speaks {VERSION}")]
    Version(u8),
    #[error("unknown key id {0}")]
    Key(u8),
    #[error("not authenticated with the fleet key")]
    Unauthenticated,
    /// It announces a key that this node has, but was not made with it, or is damaged.
    #[error("the tag was not made with the fleet key")]
    Forged,
    #[error("damaged: the checksum does not match")]
    Damaged,
    #[error("malformed body: {0}")]
    Malformed(postcard::Error),
    #[error("{size} bytes, more than the {limit} allowed")]
    TooLarge { size: usize, limit: usize },
}

/// Encodes a beacon as a datagram, with the key that the keyring sends.
///
/// # Errors
/// [`WireError::TooLarge`]: more than [`MAX_DATAGRAM`] bytes.
pub fn encode_beacon(beacon: &Beacon, keys: &Keyring) -> Result<Vec<u8>, WireError> {
    let Some(key) = keys.sent() else {
        return encode(beacon, MAX_DATAGRAM);
    };
    let mut bytes = with_header(key.id(), beacon)?;
    let tag = key.tag(Purpose::Datagram, &bytes);
    bytes.extend(tag);
    limited(bytes, MAX_DATAGRAM)
}

/// Decodes the beacon in a datagram, if it comes from somebody whom the keyring accepts.
///
/// # Errors
/// The bytes are not exactly one undamaged beacon, or not of the fleet.
pub fn decode_beacon(bytes: &[u8], keys: &Keyring) -> Result<Beacon, WireError> {
    match *bytes {
        [b'L', b'M', _, NO_KEY, ..]
            if keys.accepts_anybody() || is_seeded(SeededBug::TagNotChecked) =>
        {
            decode(bytes)
        }
        [b'L', b'M', _, NO_KEY, ..] => Err(WireError::Unauthenticated),
        [b'L', b'M', version, id, ..] => {
            let (covered, tag) = split::<TAG>(bytes)?;
            verify(keys, id, Purpose::Datagram, covered, tag)?;
            if version == VERSION { decode_body(covered) } else { Err(WireError::Version(version)) }
        }
        _ => Err(WireError::Foreign),
    }
}

/// Whether a message announces a key: somebody has authenticated it, if it can be decoded.
#[must_use]
pub fn announces_key(bytes: &[u8]) -> bool {
    matches!(*bytes, [b'L', b'M', _, id, ..] if id != NO_KEY)
}

/// Encodes a frame, without the length that delimits it.
///
/// # Errors
/// [`WireError::TooLarge`]: more than [`MAX_FRAME`] bytes.
pub fn encode_frame(frame: &Frame) -> Result<Vec<u8>, WireError> {
    encode(frame, MAX_FRAME)
}

/// Decodes a frame.
///
/// # Errors
/// The bytes are not exactly one undamaged frame.
pub fn decode_frame(bytes: &[u8]) -> Result<Frame, WireError> {
    decode(bytes)
}

/// What the node that dials says first on a link with a key. Nothing in it is secret, and nothing
/// is believed before the handshake that follows has confirmed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preamble {
    pub from: NodeId,
    pub to: NodeId,
}

/// The first frame on a link, which the node that dials sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening<'a> {
    /// A hello that nobody authenticates.
    Plain(Hello),
    Handshake {
        key: u8,
        preamble: Preamble,
        /// The bytes of the header and the preamble, which both sides have to have seen alike.
        prologue: &'a [u8],
        message: &'a [u8],
    },
}

/// Encodes the header and the preamble of a handshake; its first message follows them.
///
/// # Errors
/// Never for a valid preamble.
pub fn encode_preamble(key: &FleetKey, preamble: &Preamble) -> Result<Vec<u8>, WireError> {
    with_header(key.id(), preamble)
}

/// Decodes the first frame on a link.
///
/// # Errors
/// The bytes are neither exactly one undamaged hello nor the start of a handshake.
pub fn decode_opening(bytes: &[u8]) -> Result<Opening<'_>, WireError> {
    let [b'L', b'M', version, key, ..] = *bytes else {
        return Err(WireError::Foreign);
    };
    if key == NO_KEY {
        let hello = decode::<Frame>(bytes)?.into_hello().ok_or_else(bad_encoding)?;
        return Ok(Opening::Plain(hello));
    }
    if version != VERSION {
        return Err(WireError::Version(version));
    }
    let (preamble, message) =
        postcard::take_from_bytes(&bytes[HEADER..]).map_err(WireError::Malformed)?;
    let prologue = &bytes[..bytes.len() - message.len()];
    Ok(Opening::Handshake { key, preamble, prologue, message })
}

/// A packet of an election with a separate port, as nodes with a key exchange it.
///
/// ```text
///   "LM" │ version │ key id │ nonce │ sequence │ beacon │ to │ packet │ tag
///      2 │       1 │      1 │     8 │        8 │      8 │  4 │        │ 16 bytes
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedPacket<'a> {
    /// The incarnation that has sent it.
    pub nonce: Nonce,
    /// Counts the packets of the incarnation, from 1.
    pub sequence: u64,
    /// The sequence of the latest beacon that the incarnation had sent by then; 0: none.
    pub beacon: u64,
    /// The address that it is sent to: the receiver's, or that of everybody.
    pub to: Ipv4Addr,
    pub packet: &'a [u8],
}

/// How many bytes a key adds to a packet.
pub const PACKET_SEAL: usize = HEADER + 3 * size_of::<u64>() + size_of::<Ipv4Addr>() + TAG;

#[must_use]
pub fn seal_packet(sealed: SealedPacket<'_>, key: &FleetKey) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([VERSION, key.id()]);
    bytes.extend(sealed.nonce.0.to_le_bytes());
    bytes.extend(sealed.sequence.to_le_bytes());
    bytes.extend(sealed.beacon.to_le_bytes());
    bytes.extend(sealed.to.octets());
    bytes.extend(sealed.packet);
    let tag = key.tag(Purpose::Packet, &bytes);
    bytes.extend(tag);
    bytes
}

/// Decodes a packet with a key; `None` if it announces none: it may be a bare packet.
///
/// # Errors
/// It announces a key that is not accepted, was not made with it, or has another version.
#[must_use]
pub fn open_packet<'a>(
    bytes: &'a [u8],
    keys: &Keyring,
) -> Option<Result<SealedPacket<'a>, WireError>> {
    match *bytes {
        [b'L', b'M', version, id, ..] if id != NO_KEY => Some(opened(bytes, version, id, keys)),
        _ => None,
    }
}

fn opened<'a>(
    bytes: &'a [u8],
    version: u8,
    id: u8,
    keys: &Keyring,
) -> Result<SealedPacket<'a>, WireError> {
    let (covered, tag) = split::<TAG>(bytes)?;
    verify(keys, id, Purpose::Packet, covered, tag)?;
    if version != VERSION {
        return Err(WireError::Version(version));
    }
    let number = |bytes: &'a [u8]| {
        let parts = bytes.split_first_chunk();
        parts.map(|(number, rest)| (u64::from_le_bytes(*number), rest)).ok_or(WireError::Foreign)
    };
    let (nonce, rest) = number(&covered[HEADER..])?;
    let (sequence, rest) = number(rest)?;
    let (beacon, rest) = number(rest)?;
    let (to, packet) = rest.split_first_chunk::<4>().ok_or(WireError::Foreign)?;
    Ok(SealedPacket { nonce: Nonce(nonce), sequence, beacon, to: Ipv4Addr::from(*to), packet })
}

fn verify(
    keys: &Keyring,
    id: u8,
    purpose: Purpose,
    covered: &[u8],
    tag: &[u8; TAG],
) -> Result<(), WireError> {
    if is_seeded(SeededBug::TagNotChecked) {
        return Ok(());
    }
    keys.verify(id, purpose, covered, tag).map_err(|error| match error {
        KeyError::Unknown => WireError::Key(id),
        KeyError::Forged => WireError::Forged,
    })
}

/// The encoded size of a part of a message, in bytes.
#[must_use]
pub fn size<T: Serialize>(part: &T) -> usize {
    postcard::experimental::serialized_size(part).unwrap_or(usize::MAX)
}

fn encode<T: Serialize>(message: &T, limit: usize) -> Result<Vec<u8>, WireError> {
    let mut bytes = with_header(NO_KEY, message)?;
    let check = CRC.checksum(&bytes);
    bytes.extend(check.to_le_bytes());
    limited(bytes, limit)
}

fn with_header<T: Serialize>(key: u8, message: &T) -> Result<Vec<u8>, WireError> {
    let mut bytes = Vec::with_capacity(USUAL_SIZE);
    bytes.extend(MAGIC);
    bytes.extend([VERSION, key]);
    postcard::to_extend(message, bytes).map_err(WireError::Malformed)
}

fn limited(bytes: Vec<u8>, limit: usize) -> Result<Vec<u8>, WireError> {
    let size = bytes.len();
    if size > limit { Err(WireError::TooLarge { size, limit }) } else { Ok(bytes) }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    let [b'L', b'M', version, key, ..] = *bytes else {
        return Err(WireError::Foreign);
    };
    if key != NO_KEY {
        return Err(WireError::Key(key));
    }
    let (covered, check) = split::<CHECK>(bytes)?;
    if CRC.checksum(covered) != u32::from_le_bytes(*check) {
        return Err(WireError::Damaged);
    }
    // Every version has the same check, so a version whose byte was damaged is not reported.
    if version == VERSION { decode_body(covered) } else { Err(WireError::Version(version)) }
}

/// What a check of this size covers, and the check.
fn split<const SIZE: usize>(bytes: &[u8]) -> Result<(&[u8], &[u8; SIZE]), WireError> {
    let parts = bytes.split_last_chunk::<SIZE>();
    parts.filter(|(covered, _)| covered.len() >= HEADER).ok_or(WireError::Foreign)
}

fn decode_body<T: DeserializeOwned>(covered: &[u8]) -> Result<T, WireError> {
    match postcard::take_from_bytes(&covered[HEADER..]).map_err(WireError::Malformed)? {
        (message, []) => Ok(message),
        (_, [_, ..]) => Err(bad_encoding()),
    }
}

fn bad_encoding() -> WireError {
    WireError::Malformed(postcard::Error::DeserializeBadEncoding)
}

#[cfg(test)]
pub(crate) mod tests;
