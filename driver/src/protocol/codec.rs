//! From a frame to the bytes on the line and back.
//!
//! ```text
//! 0x00  COBS( version  type  sequence  body …  CRC-32C )  0x00
//! ```

use std::marker::PhantomData;

use crc::{CRC_32_ISCSI, Crc, Table};

use super::frame::Frame;

/// The protocol's version, the first byte of every frame. It changes when a receiver of the old
/// one could misunderstand the new one; a further frame type, or further bytes at the end of a
/// body, do not change it.
pub const VERSION: u8 = 1;

/// The longest frame on the wire in bytes, delimiters included. A receiver gives up on anything
/// longer, so that noise can't make it hoard.
pub const MAX_WIRE_LENGTH: usize = 96;

/// Castagnoli's polynomial, reflected, as in iSCSI.
const CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISCSI);

/// The header of every body: version, type, sequence.
const HEADER_LENGTH: usize = 3;
const CRC_LENGTH: usize = 4;
const DELIMITER: u8 = 0;

/// The bytes of one frame, with a delimiter before and after it.
///
/// The delimiter in front costs a byte and saves the frame that follows noise.
#[must_use]
pub fn encode<F: Frame>(frame: &F, sequence: u8) -> Vec<u8> {
    let mut raw = vec![VERSION, frame.kind(), sequence];
    frame.encode_body(&mut raw);
    let checksum = CRC.checksum(&raw);
    raw.extend_from_slice(&checksum.to_be_bytes());
    cobs::encode_vec_including_sentinels(&raw)
}

/// A frame and the number that its sender gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered<F> {
    /// Counts the sender's frames, modulo 256, so that the receiver notices lost ones.
    pub sequence: u8,
    /// What was sent or received under that number.
    pub frame: F,
}

/// Why the bytes between two delimiters were not taken for a frame. None of these frames is acted
/// on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than any frame, or not COBS, or too short to be a frame.
    #[error("the bytes between two delimiters are not a frame")]
    Framing,
    /// The check sum differs.
    #[error("the frame's checksum is wrong")]
    Checksum,
    /// An intact frame of another version of the protocol.
    #[error("the frame is of protocol version {0}, not {VERSION}")]
    Version(u8),
    /// An intact frame of a type that this receiver doesn't know.
    #[error("the frame is of the unknown type {kind:#04x}")]
    Unknown {
        /// The frame's type byte.
        kind: u8,
        /// The frame's number, so that it isn't taken for lost.
        sequence: u8,
    },
    /// An intact frame of a known type with a value that its field can't have.
    #[error("a frame of type {kind:#04x} has an impossible value")]
    Malformed {
        /// The frame's type byte.
        kind: u8,
        /// The frame's number, so that it isn't taken for lost.
        sequence: u8,
    },
}

/// Finds the frames of one direction in a stream of bytes, however it is chopped up.
///
/// After any garbage it is in step again at the next delimiter.
#[derive(Debug)]
pub struct Decoder<F> {
    pending: Vec<u8>,
    overlong: bool,
    frames: PhantomData<F>,
}

impl<F: Frame> Decoder<F> {
    /// A decoder that has seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { pending: Vec::with_capacity(MAX_WIRE_LENGTH), overlong: false, frames: PhantomData }
    }

    /// Takes the next byte of the stream; answers a frame, or what was wrong with it, at the
    /// delimiter behind it.
    pub fn push(&mut self, byte: u8) -> Option<Result<Numbered<F>, FrameError>> {
        if byte != DELIMITER {
            if self.pending.len() < MAX_WIRE_LENGTH {
                self.pending.push(byte);
            } else {
                self.overlong = true;
            }
            return None;
        }
        if self.pending.is_empty() {
            return None;
        }
        let decoded = if self.overlong { Err(FrameError::Framing) } else { decode(&self.pending) };
        self.forget();
        Some(decoded)
    }

    /// Drops a frame that has begun: the line was reopened.
    pub fn forget(&mut self) {
        self.pending.clear();
        self.overlong = false;
    }
}

impl<F: Frame> Default for Decoder<F> {
    fn default() -> Self {
        Self::new()
    }
}

/// Decodes the bytes between two delimiters.
fn decode<F: Frame>(stuffed: &[u8]) -> Result<Numbered<F>, FrameError> {
    let raw = cobs::decode_vec(stuffed).map_err(|_bad_stuffing| FrameError::Framing)?;
    let (content, checksum) = raw.split_last_chunk::<CRC_LENGTH>().ok_or(FrameError::Framing)?;
    let (&[version, kind, sequence], body) =
        content.split_first_chunk::<HEADER_LENGTH>().ok_or(FrameError::Framing)?;
    if CRC.checksum(content) != u32::from_be_bytes(*checksum) {
        return Err(FrameError::Checksum);
    }
    if version != VERSION {
        return Err(FrameError::Version(version));
    }
    if !F::KINDS.contains(&kind) {
        return Err(FrameError::Unknown { kind, sequence });
    }
    let frame = F::decode_body(kind, body).ok_or(FrameError::Malformed { kind, sequence })?;
    Ok(Numbered { sequence, frame })
}

#[cfg(test)]
mod tests;
