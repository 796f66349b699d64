//! From a frame to the bytes on the line and back.
//!
//! ```text
//! 0x00  COBS( version  type  boot id  number  answered boot id  answered number  body …  CRC-32C )  0x00
//! ```

use std::marker::PhantomData;

use crc::{CRC_32_ISCSI, Crc, Table};

use super::frame::{BootId, Frame};

/// The protocol's version, the first byte of every frame. It changes when a receiver of the old
/// one could misunderstand the new one; a further frame type, or further bytes at the end of a
/// body, do not change it.
pub const VERSION: u8 = 3;

/// The longest frame on the wire in bytes, delimiters included. A receiver gives up on anything
/// longer, so that noise can't make it hoard.
pub const MAX_WIRE_LENGTH: usize = 96;

/// Castagnoli's polynomial, reflected, as in iSCSI.
const CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISCSI);

const ID_LENGTH: usize = 8;
const CRC_LENGTH: usize = 4;
const DELIMITER: u8 = 0;

/// Names one frame: which run of its sender it is from, and its number in that run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameId {
    pub boot: BootId,
    /// Counts the frames of that run from 0, modulo 2³².
    pub number: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub id: FrameId,
    /// The frame of the other end that this one answers: the other end uses only frames that answer
    /// its present run. `None` before the first.
    pub answers: Option<FrameId>,
}

/// The bytes of one frame, with a delimiter before and after it.
///
/// The delimiter in front costs a byte and saves the frame that follows noise.
#[must_use]
pub fn encode<F: Frame>(header: Header, frame: &F) -> Vec<u8> {
    let mut raw = vec![VERSION, frame.kind()];
    raw.extend_from_slice(&id_bytes(Some(header.id)));
    raw.extend_from_slice(&id_bytes(header.answers));
    frame.encode_body(&mut raw);
    let checksum = CRC.checksum(&raw);
    raw.extend_from_slice(&checksum.to_be_bytes());
    cobs::encode_vec_including_sentinels(&raw)
}

/// No frame is the boot id 0.
fn id_bytes(id: Option<FrameId>) -> [u8; ID_LENGTH] {
    let (boot, number) = id.map_or((0, 0), |id| (id.boot.get(), id.number));
    ((u64::from(boot) << u32::BITS) | u64::from(number)).to_be_bytes()
}

fn id_of(bytes: [u8; ID_LENGTH]) -> Option<FrameId> {
    let [b0, b1, b2, b3, number @ ..] = bytes;
    let boot = BootId::new(u32::from_be_bytes([b0, b1, b2, b3]))?;
    Some(FrameId { boot, number: u32::from_be_bytes(number) })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered<F> {
    pub header: Header,
    pub frame: F,
}

/// Why the bytes between two delimiters were not taken for a frame. None of these frames is acted
/// on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than any frame, not COBS, too short to be a frame, or without its sender's boot id.
    #[error("the bytes between two delimiters are not a frame")]
    Framing,
    #[error("the frame's checksum is wrong")]
    Checksum,
    #[error("the frame is of protocol version {0}, not {VERSION}")]
    Version(u8),
    /// An intact frame of a type that this receiver doesn't know. By its name it isn't taken for
    /// lost.
    #[error("the frame is of the unknown type {kind:#04x}")]
    Unknown { kind: u8, id: FrameId },
    /// The same, of a known type with a value that its field can't have.
    #[error("a frame of type {kind:#04x} has an impossible value")]
    Malformed { kind: u8, id: FrameId },
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

fn decode<F: Frame>(stuffed: &[u8]) -> Result<Numbered<F>, FrameError> {
    let raw = cobs::decode_vec(stuffed).map_err(|_bad_stuffing| FrameError::Framing)?;
    let (content, checksum) = raw.split_last_chunk::<CRC_LENGTH>().ok_or(FrameError::Framing)?;
    let (&[version, kind], rest) = content.split_first_chunk().ok_or(FrameError::Framing)?;
    if CRC.checksum(content) != u32::from_be_bytes(*checksum) {
        return Err(FrameError::Checksum);
    }
    if version != VERSION {
        return Err(FrameError::Version(version));
    }
    let (id, rest) = rest.split_first_chunk().ok_or(FrameError::Framing)?;
    let (answers, body) = rest.split_first_chunk().ok_or(FrameError::Framing)?;
    let header = Header { id: id_of(*id).ok_or(FrameError::Framing)?, answers: id_of(*answers) };
    if !F::KINDS.contains(&kind) {
        return Err(FrameError::Unknown { kind, id: header.id });
    }
    let frame = F::decode_body(kind, body).ok_or(FrameError::Malformed { kind, id: header.id })?;
    Ok(Numbered { header, frame })
}

#[cfg(test)]
mod tests;
