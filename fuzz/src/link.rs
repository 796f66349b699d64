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
        assert!(read.frames.iter().all(|frame| frame.len() <= longest));
        let sent: Vec<u8> = read.frames.iter().flat_map(|frame| in_frame(frame)).collect();
        assert!(stream.starts_with(&sent), "the frames as they were sent");
    }
}

fn in_frame(frame: &[u8]) -> Vec<u8> {
    let length = u32::try_from(frame.len()).expect("short").to_be_bytes();
    [&length[..], frame].concat()
}

pub(crate) fn link_seeds() -> Vec<Vec<u8>> {
    let frames = [in_frame(b"one"), in_frame(b""), in_frame(&[7; 900])].concat();
    vec![as_stream(&frames), as_stream(&in_frame(&[1; 1025])), as_stream(&[0xff; 8])]
}

/// An encrypted link and its handshake, on which somebody changes bytes: what arrives was sent, and
/// a change ends it.
pub(crate) fn encrypted_link(bytes: &[u8]) {
    // A script that ends too early has been run up to there.
    encrypted(&mut Unstructured::new(bytes)).unwrap_or_default();
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
            bytes.truncate(if cut { at } else { bytes.len() });
        }
    });
    assert_eq!(linked, flips == 0 && !cut, "message {message}, byte {at}, {flips:#x}");

    let mut frames = Vec::new();
    for _ in 0..script.int_in_range(1..=4)? {
        let length = script.int_in_range(0..=40)?;
        frames.push(script.bytes(length)?);
    }
    let (at, flips): (u16, u8) = (script.arbitrary()?, script.arbitrary()?);
    let change = |line: &mut Vec<u8>| {
        let at = usize::from(at) % line.len();
        line[at] ^= flips;
    };
    let read = fuzzing::link(&key, &frames, change, script.int_in_range(1..=64)?).expect("a link");
    assert!(frames.iter().zip(&read.frames).all(|(sent, read)| sent == read), "it was not sent");
    let is_whole = read.frames.len() == frames.len() && !read.failed;
    assert!(if flips == 0 { is_whole } else { read.frames.len() < frames.len() });
    Ok(())
}

pub(crate) fn encrypted_link_seeds() -> Vec<Vec<u8>> {
    let change = [&[40, 1, 0, 0, 3][..], &[9; 48], &[3; 16]].concat();
    vec![vec![0; 64], vec![1; 64], change]
}

/// The packets of an election with a separate port, between two nodes with the key: each is taken
/// in once at most, only from its sender, and only as it was sent.
pub(crate) fn sealed_packets(bytes: &[u8]) {
    exchange(&mut Unstructured::new(bytes)).unwrap_or_default();
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
    // What was sent, sealed, to whom, and whether it was taken in.
    let mut sent: Vec<(&[u8], Vec<u8>, Ipv4Addr, bool)> = Vec::new();
    let mut is_proven = false;
    while !script.is_empty() {
        let step = script.int_in_range(0..=5_u8)?;
        let beacon = script.int_in_range(0..=200)?;
        let length = script.int_in_range(0..=12)?;
        match (step, sent.len()) {
            (0, _) => receiver.hear(SENDER, *script.choose(&[NONCE, Nonce(6)])?, beacon),
            (1, _) => {
                is_proven = script.ratio(3_u8, 4)?;
                receiver.prove(is_proven.then_some((SENDER, NONCE)));
            }
            (2, _) | (_, 0) => {
                let (packet, to) =
                    (script.bytes(length)?, *script.choose(&[own.address, EVERYBODY, OTHER])?);
                let sealed = sender.seal(packet, beacon, to).expect("it has the key");
                sent.push((packet, sealed, to, false));
            }
            (3, _) => {
                let bytes = script.bytes(length)?;
                assert_eq!(receiver.open(bytes, SENDER, false), Fate::Refused, "not sealed");
                // Devices without a key may send bare packets, peers may not.
                let announced = bytes.starts_with(b"LM") && bytes.get(3).is_some_and(|id| *id != 0);
                let bare = receiver.open(bytes, OTHER, true);
                assert_eq!(bare == Fate::Taken(bytes.to_vec()), !announced);
                let by_peer = receiver.open(bytes, SENDER, true);
                assert!(!is_proven || !matches!(by_peer, Fate::Taken(_)));
            }
            (4, _) => {
                let (_, sealed, ..) = script.choose(&sent)?;
                assert_eq!(receiver.open(sealed, OTHER, false), Fate::Refused, "not its sender");
                let mut changed = sealed.clone();
                let at = usize::from(script.arbitrary::<u8>()?) % changed.len();
                changed[at] ^= script.int_in_range(1..=255)?;
                assert_eq!(receiver.open(&changed, SENDER, false), Fate::Refused, "byte {at}");
            }
            (_, count) => {
                let (packet, sealed, to, was_taken) = &mut sent[length % count];
                if let Fate::Taken(taken) = receiver.open(sealed, SENDER, false) {
                    assert_eq!(taken, *packet);
                    assert!(is_proven && !*was_taken && *to != OTHER, "once, by a peer, to it");
                    *was_taken = true;
                }
            }
        }
    }
    Ok(())
}

pub(crate) fn sealed_packets_seeds() -> Vec<Vec<u8>> {
    // Heard, proven, sent, taken in, twice; a changed one; a bare one.
    let round = [0, 7, 0, 0, 1, 0, 0, 1, 2, 7, 2, 9, 9, 0, 5, 0, 0, 5, 0, 0, 4, 0, 0, 0, 1, 1];
    vec![round.repeat(8), vec![2; 80], [&round[..], &[3; 40]].concat()]
}
