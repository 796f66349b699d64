//! Links, as bytes on the line: frames in pieces, encrypted or not, and the handshake.

use core::net::Ipv4Addr;

use arbitrary::{Result, Unstructured};
use elevator_fleet::wire::codec::MAX_FRAME;
use elevator_fleet::wire::{Hello, Nonce};
use liftmesh::fuzzing::{self, Fate, Packets};

use crate::split::{as_stream, pieces};
use crate::wire::{fleet_key, hello, keyring, node};

/// The length before each frame.
const LENGTH: usize = 4;

/// The longest frame before the peer has said who it is.
const LONGEST_HELLO: usize = 1024;

/// A link without a key, whose bytes arrive in pieces: the same frames whatever the pieces, and no
/// more memory than the longest frame.
pub(crate) fn link(bytes: &[u8]) {
    let (stream, pieces) = pieces(bytes);
    for (admitted, longest) in [(false, LONGEST_HELLO), (true, MAX_FRAME)] {
        let whole = fuzzing::plain_link(&[stream], admitted);
        let read = fuzzing::plain_link(&pieces, admitted);
        assert_eq!((&read.frames, read.failed), (&whole.frames, whole.failed), "the pieces matter");
        assert!(read.kept <= LENGTH + longest, "{} bytes are kept", read.kept);
        let mut rest = stream;
        for frame in &read.frames {
            assert!(frame.len() <= longest);
            let (length, after) = rest.split_at(LENGTH);
            assert_eq!(length, u32::try_from(frame.len()).expect("short").to_be_bytes());
            rest = after.strip_prefix(frame.as_slice()).expect("the frame as it was sent");
        }
    }
}

pub(crate) fn link_seeds() -> Vec<Vec<u8>> {
    let in_frame = |frame: &[u8]| {
        let length = u32::try_from(frame.len()).expect("short").to_be_bytes();
        [&length[..], frame].concat()
    };
    let frames = [in_frame(b"one"), in_frame(b""), in_frame(&[7; 900])].concat();
    vec![as_stream(&frames), as_stream(&in_frame(&[1; 1025])), as_stream(&[0xff; 8])]
}

/// An encrypted link and its handshake, on which somebody changes bytes: what arrives was sent, and
/// a change ends it.
pub(crate) fn encrypted_link(bytes: &[u8]) {
    match encrypted(&mut Unstructured::new(bytes)) {
        // A script that ends too early has been run up to there.
        Ok(()) | Err(_) => {}
    }
}

fn encrypted(script: &mut Unstructured<'_>) -> Result<()> {
    let key = fleet_key();
    let (at, flips): (u8, u8) = (script.arbitrary()?, script.arbitrary()?);
    let message = usize::from(script.arbitrary::<bool>()?);
    let cut: bool = script.arbitrary()?;
    let linked = fuzzing::handshake(&key, |number, bytes| {
        if number == message {
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= flips;
            if cut {
                bytes.truncate(at);
            }
        }
    });
    assert_eq!(linked, flips == 0 && !cut, "message {message}, byte {at}, {flips:#x}");

    let count = script.int_in_range(1..=4)?;
    let mut frames = Vec::new();
    for _ in 0..count {
        let length = script.int_in_range(0..=40)?;
        frames.push(script.bytes(length)?);
    }
    let (at, flips): (u16, u8) = (script.arbitrary()?, script.arbitrary()?);
    let piece = script.int_in_range(1..=64)?;
    let is_changed = flips != 0;
    let change = |line: &mut Vec<u8>| {
        let at = usize::from(at) % line.len();
        line[at] ^= flips;
    };
    let read = fuzzing::link(&key, &frames, change, piece).expect("a link");
    assert!(read.frames.len() <= frames.len());
    assert!(frames.iter().zip(&read.frames).all(|(sent, read)| sent == read), "it was not sent");
    assert_eq!(read.frames.len() == frames.len(), !is_changed);
    assert!(!read.failed || is_changed);
    Ok(())
}

pub(crate) fn encrypted_link_seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![vec![0; 64], vec![1; 64]];
    let change = [&[40, 1, 0, 0, 3][..], &[9; 48], &[3; 16]].concat();
    seeds.push(change);
    seeds
}

/// The packets of an election with a separate port, between two nodes with the key: each is taken
/// in once at most, only from its sender, and only as it was sent.
pub(crate) fn sealed_packets(bytes: &[u8]) {
    match exchange(&mut Unstructured::new(bytes)) {
        Ok(()) | Err(_) => {}
    }
}

const SENDER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 4);
const EVERYBODY: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 255);

/// The incarnation of the sender.
const NONCE: Nonce = Nonce(5);

fn exchange(script: &mut Unstructured<'_>) -> Result<()> {
    let own = hello();
    let peer = Hello { node: node("C"), address: SENDER, nonce: NONCE, ..hello() };
    let mut receiver = Packets::new(&own, EVERYBODY, keyring());
    let mut sender = Packets::new(&peer, EVERYBODY, keyring());
    let mut sent: Vec<(Vec<u8>, Vec<u8>, Ipv4Addr, bool)> = Vec::new();
    let mut is_proven = false;
    for _ in 0..200 {
        if script.is_empty() {
            break;
        }
        match script.int_in_range(0..=7_u8)? {
            0 => {
                let sequence = if script.ratio(1_u8, 8)? {
                    script.arbitrary()?
                } else {
                    script.int_in_range(0..=200)?
                };
                receiver.hear(SENDER, *script.choose(&[NONCE, Nonce(6)])?, sequence);
            }
            1 => {
                is_proven = script.ratio(3_u8, 4)?;
                receiver.prove(is_proven.then_some((SENDER, NONCE)));
            }
            2 | 3 => {
                let length = script.int_in_range(0..=12)?;
                let packet = script.bytes(length)?;
                let to = *script.choose(&[own.address, EVERYBODY, OTHER])?;
                let sealed = sender.seal(packet, script.int_in_range(0..=200)?, to);
                sent.push((packet.to_vec(), sealed.expect("it has the key"), to, false));
            }
            4 => {
                let length = script.int_in_range(0..=64)?;
                let bytes = script.bytes(length)?;
                let fate = receiver.open(bytes, SENDER, false);
                assert_eq!(fate, Fate::Refused, "nobody has sealed it");
                // Devices without a key may send bare packets, peers may not.
                let bare = receiver.open(bytes, OTHER, true);
                let announced = bytes.starts_with(b"LM") && bytes.get(3).is_some_and(|id| *id != 0);
                assert_eq!(bare == Fate::Taken(bytes.to_vec()), !announced);
                assert!(
                    !is_proven || !matches!(receiver.open(bytes, SENDER, true), Fate::Taken(_))
                );
            }
            _ if sent.is_empty() => {}
            5 => {
                let (_, sealed, _, _) = script.choose(&sent)?;
                let mut changed = sealed.clone();
                let at = usize::from(script.arbitrary::<u8>()?) % changed.len();
                changed[at] ^= script.int_in_range(1..=255)?;
                assert_eq!(receiver.open(&changed, SENDER, false), Fate::Refused, "byte {at}");
            }
            6 => {
                let (_, sealed, _, _) = script.choose(&sent)?;
                assert_eq!(receiver.open(sealed, OTHER, false), Fate::Refused, "not its sender");
            }
            _ => {
                let at = script.choose_index(sent.len())?;
                let (packet, sealed, to, was_taken) = &mut sent[at];
                match receiver.open(sealed, SENDER, false) {
                    Fate::Taken(taken) => {
                        assert_eq!(taken, *packet);
                        assert!(is_proven, "not a peer");
                        assert!(!*was_taken, "twice");
                        assert_ne!(*to, OTHER, "to another node");
                        *was_taken = true;
                    }
                    Fate::Dropped | Fate::Refused => {}
                }
            }
        }
    }
    Ok(())
}

pub(crate) fn sealed_packets_seeds() -> Vec<Vec<u8>> {
    let round = [0, 0, 1, 1, 1, 2, 4, 1, 2, 3, 4, 0, 9, 7, 0, 7, 0];
    vec![round.repeat(8), vec![2; 80], vec![7; 40]]
}
