//! Encryption of a link: the Noise handshake `NNpsk0` with the fleet key, and the frames after it.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use elevator_fleet::wire::codec::MAX_FRAME;
use snow::{Builder, HandshakeState, StatelessTransportState};
use tokio_util::codec::{Decoder, Encoder, LengthDelimitedCodec};

/// Fresh keys for each link, which only somebody with the fleet key can agree on.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

const TAG: usize = 16;

#[derive(Debug, thiserror::Error)]
#[error("the handshake was not made with the fleet key")]
pub(super) struct HandshakeError(#[from] snow::Error);

#[derive(Debug)]
pub(super) struct Handshake(Box<HandshakeState>);

impl Handshake {
    /// The side that dials. Both sides must have seen the same prologue.
    pub(super) fn dialling(key: &[u8; 32], prologue: &[u8]) -> Result<Self, HandshakeError> {
        Ok(Self(Box::new(builder(key, prologue)?.build_initiator()?)))
    }

    pub(super) fn accepting(key: &[u8; 32], prologue: &[u8]) -> Result<Self, HandshakeError> {
        Ok(Self(Box::new(builder(key, prologue)?.build_responder()?)))
    }

    pub(super) fn write(&mut self, payload: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        const EPHEMERAL_KEY: usize = 32;
        let mut message = vec![0; payload.len() + EPHEMERAL_KEY + TAG];
        let length = self.0.write_message(payload, &mut message)?;
        message.truncate(length);
        Ok(message)
    }

    pub(super) fn read(&mut self, message: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        let mut payload = vec![0; message.len()];
        let length = self.0.read_message(message, &mut payload)?;
        payload.truncate(length);
        Ok(payload)
    }

    pub(super) fn finish(self) -> Result<Arc<StatelessTransportState>, HandshakeError> {
        Ok(Arc::new(self.0.into_stateless_transport_mode()?))
    }
}

fn builder<'a>(key: &'a [u8; 32], prologue: &'a [u8]) -> Result<Builder<'a>, HandshakeError> {
    Ok(Builder::new(PATTERN.parse()?).psk(0, key)?.prologue(prologue)?)
}

/// A connection in frames: a length (32 bits, big-endian), then the bytes, encrypted with a key.
#[derive(Debug)]
pub(super) struct LinkCodec {
    frames: LengthDelimitedCodec,
    cipher: Option<Cipher>,
}

#[derive(Debug)]
struct Cipher {
    state: Arc<StatelessTransportState>,
    /// Numbers the frames, so that none can be left out, repeated or reordered.
    next: u64,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CodecError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("a frame was modified in transit")]
    Forged,
}

impl LinkCodec {
    /// Frames in the clear, of at most this many bytes.
    pub(super) fn plain(longest: usize) -> Self {
        let frames = LengthDelimitedCodec::builder().max_frame_length(longest).new_codec();
        Self { frames, cipher: None }
    }

    pub(super) fn encrypt(&mut self, state: Arc<StatelessTransportState>) {
        self.cipher = Some(Cipher { state, next: 0 });
    }

    /// The peer has proven who it is: it may send frames of any kind.
    pub(super) fn admit(&mut self) {
        let tag = if self.cipher.is_some() { TAG } else { 0 };
        self.frames.set_max_frame_length(MAX_FRAME + tag);
    }
}

impl Decoder for LinkCodec {
    type Item = BytesMut;
    type Error = CodecError;

    fn decode(&mut self, source: &mut BytesMut) -> Result<Option<BytesMut>, CodecError> {
        let decoded = self.frames.decode(source);
        let Some(Cipher { state, next }) = &mut self.cipher else {
            return Ok(decoded?);
        };
        // Nobody authenticates the length, so the peer is not to blame for one that can't be.
        let decoded = decoded.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => CodecError::Forged,
            _ => CodecError::Io(error),
        });
        let Some(mut frame) = decoded? else {
            return Ok(None);
        };
        let mut opened = BytesMut::zeroed(frame.len());
        let read = state.read_message(*next, &frame, &mut opened);
        let length = read.map_err(|_error| CodecError::Forged)?;
        *next += 1;
        opened.truncate(length);
        frame.clear();
        Ok(Some(opened))
    }
}

impl Encoder<Bytes> for LinkCodec {
    type Error = CodecError;

    fn encode(&mut self, frame: Bytes, target: &mut BytesMut) -> Result<(), CodecError> {
        let Some(Cipher { state, next }) = &mut self.cipher else {
            return Ok(self.frames.encode(frame, target)?);
        };
        let mut sealed = vec![0; frame.len() + TAG];
        let written = state.write_message(*next, &frame, &mut sealed);
        let length = written.map_err(io::Error::other)?;
        *next += 1;
        sealed.truncate(length);
        Ok(self.frames.encode(Bytes::from(sealed), target)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::LinkEnd;
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn handshake(keys: [&[u8; 32]; 2], prologues: [&[u8]; 2]) -> Option<[LinkCodec; 2]> {
        let mut dialling = Handshake::dialling(keys[0], prologues[0]).expect("made");
        let mut accepting = Handshake::accepting(keys[1], prologues[1]).expect("made");
        let first = dialling.write(b"who dials").expect("written");
        assert_eq!(accepting.read(&first).ok()?, b"who dials");
        let second = accepting.write(b"who answers").expect("written");
        assert_eq!(dialling.read(&second).ok()?, b"who answers");
        let codec = |handshake: Handshake| {
            let mut codec = LinkCodec::plain(1024);
            codec.encrypt(handshake.finish().expect("finished"));
            codec.admit();
            codec
        };
        Some([codec(dialling), codec(accepting)])
    }

    #[test]
    fn a_handshake_takes_the_same_key_and_the_same_prologue() {
        assert!(handshake([&KEY, &KEY], [b"A to B", b"A to B"]).is_some());
        assert!(handshake([&KEY, &[8; 32]], [b"A to B", b"A to B"]).is_none());
        assert!(handshake([&KEY, &KEY], [b"A to B", b"A to C"]).is_none());
    }

    #[test]
    fn frames_cross_encrypted_both_ways_up_to_the_longest() {
        let [mut one, mut two] = handshake([&KEY, &KEY], [b"", b""]).expect("linked");
        for length in [0, 1, 100, MAX_FRAME] {
            for forth in [true, false] {
                let (from, to) = if forth { (&mut one, &mut two) } else { (&mut two, &mut one) };
                let frame = Bytes::from(vec![7; length]);
                let mut wire = BytesMut::new();
                from.encode(frame.clone(), &mut wire).expect("encoded");
                assert_eq!(wire.len(), 4 + length + TAG);
                assert!(!wire.windows(16).any(|window| window == [7; 16]));
                assert_eq!(to.decode(&mut wire).expect("decoded").expect("whole"), frame);
            }
        }
    }

    /// A frame that is changed, left out, repeated or overtaken ends the link.
    #[test]
    fn frames_that_were_tampered_with_are_noticed() {
        let encoded = |codec: &mut LinkCodec, text: &'static [u8]| {
            let mut wire = BytesMut::new();
            codec.encode(Bytes::from_static(text), &mut wire).expect("encoded");
            wire
        };
        for at in 0..4 + 5 + TAG {
            let [mut one, mut two] = handshake([&KEY, &KEY], [b"", b""]).expect("linked");
            let mut changed = encoded(&mut one, b"frame");
            changed[at] ^= 1;
            // A length that is too great waits for more.
            changed.extend(std::iter::repeat_n(0, MAX_FRAME));
            let forged = two.decode(&mut changed).expect_err("changed");
            assert!(matches!(forged, CodecError::Forged), "{at}");
            assert!(!LinkEnd::from(forged).is_malformed(), "{at}: it is not the peer's fault");
        }
        let [mut one, mut two] = handshake([&KEY, &KEY], [b"", b""]).expect("linked");
        let (first, mut second) = (encoded(&mut one, b"first"), encoded(&mut one, b"second"));
        assert!(matches!(two.decode(&mut second), Err(CodecError::Forged)), "left out");
        assert!(two.decode(&mut first.clone()).is_ok());
        assert!(matches!(two.decode(&mut first.clone()), Err(CodecError::Forged)), "repeated");
        // What one side has sent is nothing that the other has.
        assert!(matches!(one.decode(&mut first.clone()), Err(CodecError::Forged)), "reflected");
    }
}
