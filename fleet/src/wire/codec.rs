//! Encoding and decoding of beacons and frames.
//!
//! ```text
//!   magic "LM" │ version │ key id │ postcard body │ check
//!      2 bytes │  1 byte │ 1 byte │               │ CRC-32C, little-endian (key id 0)
//! ```
//!
//! Key id 0 means that the sender is not authenticated, and a checksum protects against damage only
//! (F5). Any other key id announces an authenticator in place of the checksum.

use crc::{CRC_32_ISCSI, Crc, Table};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Beacon, Frame};

/// The largest datagram, in bytes. It crosses every LAN in one piece.
pub const MAX_DATAGRAM: usize = 1200;

/// The most bytes of records or acknowledgements in a frame. More is split into several frames, so
/// that one turn of the receiver's loop has little to do.
pub const CHUNK: usize = 16 * 1024;

/// The largest frame, in bytes: enough for a [`CHUNK`] and a car.
pub const MAX_FRAME: usize = 32 * 1024;

const MAGIC: [u8; 2] = *b"LM";
/// The version of the wire protocol.
pub const VERSION: u8 = 3;
const NO_KEY: u8 = 0;
const HEADER: usize = 4;
const CHECK: usize = 4;
/// Room for a 16-byte authenticator, so that adding one does not reduce what fits.
const RESERVED_CHECK: usize = 16;

/// How many bytes of body fit into a datagram.
pub const DATAGRAM_BODY: usize = MAX_DATAGRAM - HEADER - RESERVED_CHECK;

/// Sixteen bytes at a time, because every datagram on the LAN is checked.
static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Bytes that are not a valid message. The message is dropped; the node's state is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Too short, or not a Liftmesh message.
    #[error("not a Liftmesh message")]
    Foreign,
    /// A version that this node does not speak.
    #[error("protocol version {0}, this node speaks {VERSION}")]
    Version(u8),
    /// A key that this node does not have.
    #[error("unknown key id {0}")]
    Key(u8),
    /// The checksum does not match.
    #[error("damaged: the checksum does not match")]
    Damaged,
    /// The body can't be decoded.
    #[error("malformed body: {0}")]
    Malformed(postcard::Error),
    /// The message is larger than its carrier allows.
    #[error("{size} bytes, more than the {limit} allowed")]
    TooLarge {
        /// Its size, in bytes.
        size: usize,
        /// The limit, in bytes.
        limit: usize,
    },
}

/// Encodes a beacon as a datagram.
///
/// # Errors
/// [`WireError::TooLarge`]: more than [`MAX_DATAGRAM`] bytes.
pub fn encode_beacon(beacon: &Beacon) -> Result<Vec<u8>, WireError> {
    encode(beacon, MAX_DATAGRAM)
}

/// Decodes the beacon in a datagram.
///
/// # Errors
/// The bytes are not exactly one undamaged beacon.
pub fn decode_beacon(bytes: &[u8]) -> Result<Beacon, WireError> {
    decode(bytes)
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

/// The encoded size of a part of a message, in bytes.
#[must_use]
pub fn size<T: Serialize>(part: &T) -> usize {
    postcard::experimental::serialized_size(part).unwrap_or(usize::MAX)
}

fn encode<T: Serialize>(message: &T, limit: usize) -> Result<Vec<u8>, WireError> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([VERSION, NO_KEY]);
    let mut bytes = postcard::to_extend(message, bytes).map_err(WireError::Malformed)?;
    let check = CRC.checksum(&bytes);
    bytes.extend(check.to_le_bytes());
    let size = bytes.len();
    if size > limit { Err(WireError::TooLarge { size, limit }) } else { Ok(bytes) }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    let [b'L', b'M', version, key, ..] = *bytes else {
        return Err(WireError::Foreign);
    };
    if version != VERSION {
        return Err(WireError::Version(version));
    }
    if key != NO_KEY {
        return Err(WireError::Key(key));
    }
    let Some((covered, check)) =
        bytes.split_last_chunk::<CHECK>().filter(|(covered, _)| covered.len() >= HEADER)
    else {
        return Err(WireError::Foreign);
    };
    if CRC.checksum(covered) != u32::from_le_bytes(*check) {
        return Err(WireError::Damaged);
    }
    match postcard::take_from_bytes(&covered[HEADER..]).map_err(WireError::Malformed)? {
        (message, []) => Ok(message),
        (_, [_, ..]) => Err(WireError::Malformed(postcard::Error::DeserializeBadEncoding)),
    }
}

#[cfg(test)]
mod tests;
