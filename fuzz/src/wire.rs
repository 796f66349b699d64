//! Frames of links, as they are after decryption, and the first frame of a link.

use core::net::Ipv4Addr;
use std::time::Duration;

use crc::{CRC_32_ISCSI, Crc};
use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::dispatch::CarPlan;
use elevator_fleet::model::{
    Availability, BuildingHash, Call, CarPhase, CarView, Dot, FleetName, HallCall, Mac, Mode,
    NodeId, Role, Term,
};
use elevator_fleet::settings::{Register, Setting, Version, Words};
use elevator_fleet::store::{Record, RecordState, Service};
use elevator_fleet::wire::codec::{
    MAX_FRAME, Opening, Preamble, VERSION, WireError, decode_frame, decode_opening, encode_frame,
    encode_preamble,
};
use elevator_fleet::wire::keyring::{Credential, FleetKey, Keyring, SECRET};
use elevator_fleet::wire::{
    Ack, Delta, Frame, Hello, Nonce, PlanEntry, Protocol, StateTransfer, StoreDigest,
};

/// The lengths of a message's header and checksum.
const HEADER: usize = 4;
const CHECK: usize = 4;

/// The body of a frame behind a valid header, and before its checksum: it is a frame that has the
/// same bytes again, or refused as malformed.
///
/// `postcard` also accepts numbers in more bytes than they need, so the bytes may get fewer, and
/// equal those of the frame that they are decoded to.
pub(crate) fn frame(body: &[u8]) {
    match decode_frame(&checked(body)) {
        Ok(frame) if body.len() + HEADER + CHECK <= MAX_FRAME => {
            let again = encode_frame(&frame).expect("it was no longer than the longest");
            assert!(again.len() <= body.len() + HEADER + CHECK, "it has got longer");
            assert_eq!(decode_frame(&again), Ok(frame));
        }
        Ok(_) | Err(WireError::Malformed(_)) => {}
        Err(error) => panic!("a checksum that is right, and {error}"),
    }
}

pub(crate) fn frame_seeds() -> Vec<Vec<u8>> {
    let (term, Delta { settings, records, .. }) = (Term(900), delta());
    let frames = [
        Frame::Hello(hello()),
        Frame::Digest(StoreDigest { term, digest: u64::MAX / 7, durable: true }),
        Frame::State(StateTransfer { term, settings, records, durable: false, more: true }),
        Frame::Next,
        Frame::Delta(delta()),
        Frame::CarPlan(CarPlan { direction: Some(Direction::Down), park: Some(floor(0)) }),
    ];
    frames.iter().map(|frame| body_of(&encode_frame(frame).expect("it fits"))).collect()
}

/// The first frame of a link, as it comes: a hello, the start of a handshake, or refused.
pub(crate) fn opening(bytes: &[u8]) {
    match decode_opening(bytes) {
        Ok(Opening::Plain(hello)) => {
            let again = encode_frame(&Frame::Hello(hello.clone())).expect("a hello is short");
            assert_eq!(decode_opening(&again), Ok(Opening::Plain(hello)));
        }
        Ok(Opening::Handshake { key, preamble, prologue, message }) => {
            assert_ne!(key, 0, "no key has this id");
            assert_eq!([prologue, message].concat(), bytes, "both sides sign what was sent");
            if key == fleet_key().id() {
                let again = encode_preamble(&fleet_key(), &preamble).expect("two names");
                assert!(again.len() <= prologue.len());
                let again = [&again, message].concat();
                let same = decode_opening(&again);
                assert!(
                    matches!(same, Ok(Opening::Handshake { preamble: it, .. }) if it == preamble)
                );
            }
        }
        Err(_) => {}
    }
}

pub(crate) fn opening_seeds() -> Vec<Vec<u8>> {
    let hello = encode_frame(&Frame::Hello(hello())).expect("a hello is short");
    let preamble = Preamble { from: node("A"), to: node("B") };
    let handshake = encode_preamble(&fleet_key(), &preamble).expect("two names");
    vec![hello, [&handshake[..], &[7; 48]].concat()]
}

/// This body with the header before it and the checksum behind it.
pub(crate) fn checked(body: &[u8]) -> Vec<u8> {
    let mut bytes = [&[b'L', b'M', VERSION, 0], body].concat();
    let check = Crc::<u32>::new(&CRC_32_ISCSI).checksum(&bytes);
    bytes.extend(check.to_le_bytes());
    bytes
}

/// The body of a message that has a checksum.
pub(crate) fn body_of(bytes: &[u8]) -> Vec<u8> {
    bytes[HEADER..bytes.len() - CHECK].to_vec()
}

/// The key of the fleet that the targets are of.
pub(crate) fn fleet_key() -> FleetKey {
    FleetKey::new(&[7; SECRET], &fleet())
}

/// What a node of the fleet has.
pub(crate) fn keyring() -> Keyring {
    Keyring::new([Credential::Key(fleet_key())])
}

pub(crate) fn fleet() -> FleetName {
    FleetName::new("tower").expect("a name")
}

pub(crate) fn node(name: &str) -> NodeId {
    NodeId::new(name).expect("a name")
}

pub(crate) fn hello() -> Hello {
    let address = Ipv4Addr::new(127, 0, 0, 2);
    Hello {
        building: BuildingHash::default(),
        fleet: fleet(),
        node: node("A"),
        address,
        nonce: Nonce(u64::MAX / 3),
        floors: FloorCount::new(6).expect("a count"),
        protocol: Protocol::LowestIp,
        mac: Mac::of(address),
        role: Role::Cabin,
    }
}

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

/// A delta with some of everything.
pub(crate) fn delta() -> Delta {
    let dot = |sequence| Dot { incarnation: Nonce(u64::MAX / 5), sequence };
    let waited = Duration::from_millis(1234);
    let hall = HallCall::new(floor(3), Direction::Up);
    let record = |sequence, call, state| {
        let absorbed = vec![Dot { incarnation: Nonce(9), sequence: 12 }];
        Record { dot: dot(sequence), origin: node("A"), call, state, absorbed }
    };
    let served = RecordState::Served(Service { waited, car: node("B") });
    let setting = Register {
        version: Version { counter: 3, incarnation: Nonce(7) },
        setting: Setting::Mode(node("B"), Mode::Independent),
        operator: Words::new("kovac").expect("a name"),
        reason: None,
    };
    let (direction, stop_at, next_stop) = (Direction::Up, floor(4), floor(3));
    Delta {
        car: Some(CarView {
            availability: Availability::InService,
            floor: Some(floor(2)),
            phase: CarPhase::Moving { direction, stop_at, next_stop },
            elapsed: waited,
            direction: Some(direction),
            load: Some(40),
            locked_out: [floor(0)].into_iter().collect(),
            mode: Mode::default(),
            shut: elevator_fleet::model::Shut::default(),
        }),
        records: vec![
            record(1, Call::Hall(hall), RecordState::Open { waited, recall: 0 }),
            record(300, Call::ride(&node("A"), floor(5)), served),
        ],
        acks: vec![
            Ack::Press { dot: dot(1), served: false, durable: true, recall: 3 },
            Ack::Setting { key: setting.setting.key(), hash: 9 },
        ],
        settings: vec![setting],
        plan: vec![PlanEntry { version: 300, call: hall, car: node("B") }],
    }
}
