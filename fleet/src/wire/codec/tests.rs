use core::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::{Direction, FloorCount};

use super::*;
use crate::dispatch::CarPlan;
use crate::dispatch::tests::{call as hall, node};
use crate::election::Message;
use crate::election::testing::floor;
use crate::model::{
    BuildingHash, Call, CarPhase, CarView, Dot, FleetName, HallCall, Mac, Mode, NodeState,
    Protocol, Role, Term, Timestamp,
};
use crate::settings::{Key, Register, Setting, Settings, Version, Why, Words};
use crate::store::{OrderStore, Record, RecordState, Service};
use crate::wire::keyring::{Credential, SECRET};
use crate::wire::{Ack, Delta, Echo, Piggybacked, PlanEntry, StateTransfer, StoreDigest};

/// The golden vectors are there, for authors of other nodes.
const DOCUMENT: &str = include_str!("../../../../docs/PROTOCOL.md");

/// The bytes of the listing of this name in the document: hex digits, then a bar and a remark.
pub(crate) fn documented(name: &str) -> Vec<u8> {
    let opening = format!("```hex {name}\n");
    let (_, listing) = DOCUMENT.split_once(&opening).expect("a listing");
    let (listing, _) = listing.split_once("```").expect("its end");
    let digits = |line: &str| line.split('|').next().unwrap_or_default().replace(' ', "");
    let digits: String = listing.lines().map(digits).collect();
    let pair = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("two hex digits")
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

fn dot(incarnation: u64, sequence: u64) -> Dot {
    let incarnation = Nonce(incarnation);
    Dot { incarnation, sequence }
}

fn hello() -> Hello {
    Hello {
        fleet: FleetName::new("tower").expect("a name"),
        node: node("A"),
        address: Ipv4Addr::new(192, 168, 1, 11),
        nonce: Nonce(1000),
        floors: FloorCount::new(4).expect("a count"),
        building: BuildingHash::default(),
        protocol: Protocol::LowestIp,
        mac: Mac([2, 0, 192, 168, 1, 11]),
        role: Role::Cabin,
    }
}

fn delta() -> Delta {
    let trip = HallCall::to(floor(0), floor(3)).expect("a trip");
    Delta {
        car: Some(CarView {
            phase: CarPhase::Moving {
                direction: Direction::Up,
                stop_at: floor(3),
                next_stop: floor(2),
            },
            elapsed: Duration::from_millis(1500),
            direction: Some(Direction::Up),
            ..CarView::idle_at(floor(1))
        }),
        settings: vec![register()],
        records: vec![open_record()],
        acks: vec![
            Ack::Press { dot: dot(9, 7), served: false, durable: true, recall: 2 },
            Ack::Setting { key: Key::FloorLock(floor(3)), hash: 0x1234 },
        ],
        plan: vec![
            PlanEntry { version: 6, call: hall(2, Direction::Down), car: node("A") },
            PlanEntry { version: 7, call: trip, car: node("A") },
        ],
    }
}

fn open_record() -> Record {
    Record {
        dot: dot(500, 41),
        origin: node("A"),
        call: Call::Hall(hall(2, Direction::Down)),
        state: RecordState::Open { waited: Duration::from_secs(2), recall: 1 },
        absorbed: vec![dot(400, 6)],
    }
}

fn served_record() -> Record {
    let service = Service { waited: Duration::from_millis(9_380), car: node("B") };
    Record {
        dot: dot(9, 7),
        origin: node("B"),
        call: Call::ride(&node("B"), floor(0)),
        state: RecordState::Served(service),
        absorbed: Vec::new(),
    }
}

fn beacon() -> Beacon {
    Beacon {
        hello: hello(),
        link_port: 46100,
        sequence: 300,
        period: 25,
        node_state: NodeState::Master,
        term: Term(5),
        led: Term(5),
        estimate: 7,
        digest: 0xabcd,
        power: 0x1234,
        durable: true,
        probe: false,
        echoes: vec![Echo { nonce: Nonce(2000), sequence: 299 }],
        delta: delta(),
        piggybacked: Some(Piggybacked { to: Some(node("B")), message: Message::SensorRequest }),
    }
}

fn register() -> Register {
    Register {
        version: Version { counter: 3, incarnation: Nonce(500) },
        setting: Setting::Mode(node("B"), Mode::Independent),
        operator: Words::new("kovac").expect("a name"),
        reason: Why::of("new carpet"),
    }
}

fn frames() -> [(&'static str, Frame); 9] {
    let state = StateTransfer {
        term: Term(5),
        settings: vec![register()],
        records: vec![open_record(), served_record()],
        durable: true,
        more: false,
    };
    let digest = StoreDigest { term: Term(5), digest: 0xabcd, durable: true };
    let plan = CarPlan { direction: Some(Direction::Up), park: Some(floor(3)) };
    [
        ("hello", Frame::Hello(hello())),
        ("state", Frame::State(state)),
        ("synced", Frame::Synced),
        ("delta", Frame::Delta(delta())),
        ("probe", Frame::Probe),
        ("alive", Frame::Alive),
        ("store", Frame::Digest(digest)),
        ("next", Frame::Next),
        ("car-plan", Frame::CarPlan(plan)),
    ]
}

/// A message with this body, whatever it is, and the right header and checksum.
fn sealed(body: &[u8]) -> Vec<u8> {
    let bytes = [&[b'L', b'M', VERSION, NO_KEY], body].concat();
    let check = CRC.checksum(&bytes).to_le_bytes();
    [bytes.as_slice(), &check].concat()
}

fn body(message: &[u8]) -> &[u8] {
    &message[HEADER..message.len() - CHECK]
}

#[test]
fn a_beacon_has_the_bytes_that_the_document_shows() {
    let bytes = documented("beacon");
    assert_eq!(encode_beacon(&beacon(), &Keyring::default()), Ok(bytes.clone()));
    assert_eq!(decode_beacon(&bytes, &Keyring::default()), Ok(beacon()));
}

#[test]
fn every_kind_of_frame_has_the_bytes_that_the_document_shows() {
    for (name, frame) in frames() {
        let bytes = documented(name);
        assert_eq!(encode_frame(&frame), Ok(bytes.clone()), "{name}");
        assert_eq!(decode_frame(&bytes), Ok(frame), "{name}");
    }
}

/// O7: nodes compare digests, so every implementation has to reckon alike.
#[test]
fn stores_and_settings_have_the_digests_that_the_document_shows() {
    let (mut store, mut settings) = (OrderStore::default(), Settings::default());
    assert_eq!(store.digest(), 0);
    for record in [open_record(), served_record()] {
        store.merge(record, Timestamp::START);
    }
    settings.merge(register());
    assert_eq!(store.digest().to_be_bytes(), *documented("digest"));
    assert_eq!(settings.digest().to_be_bytes(), *documented("settings-digest"));
}

/// F5
#[test]
fn a_message_cut_short_or_lengthened_is_noticed() {
    let whole = encode_beacon(&beacon(), &Keyring::default()).expect("it fits");
    for length in 0..whole.len() {
        let expected =
            if length < HEADER + CHECK { WireError::Foreign } else { WireError::Damaged };
        assert_eq!(decode_beacon(&whole[..length], &Keyring::default()), Err(expected), "{length}");
    }
    let longer = [whole.as_slice(), &[0]].concat();
    assert_eq!(decode_beacon(&longer, &Keyring::default()), Err(WireError::Damaged));
}

#[test]
fn other_protocols_other_versions_and_other_keys_are_told_apart() {
    let whole = encode_frame(&Frame::Probe).expect("it fits");
    assert_eq!(decode_frame(b"GET / HTTP/1.1"), Err(WireError::Foreign));
    assert_eq!(decode_frame(b""), Err(WireError::Foreign));
    let with = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        decode_frame(&bytes)
    };
    assert_eq!(with(2, 1), Err(WireError::Damaged), "nobody has written that version");
    assert_eq!(with(3, 1), Err(WireError::Key(1)));
    let mut other = whole[..whole.len() - CHECK].to_vec();
    other[2] = 1;
    other.extend(CRC.checksum(&other).to_le_bytes());
    assert_eq!(decode_frame(&other), Err(WireError::Version(1)));
}

/// What is decoded is valid: a name is a name, a floor exists in some shaft.
#[test]
fn values_that_their_types_do_not_have_are_malformed() {
    let whole = encode_frame(&Frame::Hello(hello())).expect("it fits");
    let body = body(&whole);
    assert_eq!(decode_frame(&sealed(body)), Ok(Frame::Hello(hello())));
    assert!(matches!(decode_frame(&sealed(&[255; 40])), Err(WireError::Malformed(_))));
    let trailing = [body, &[0]].concat();
    assert_eq!(decode_frame(&sealed(&trailing)), Err(bad_encoding()));
    // The fleet's name starts at 2 (frame kind, length), the node's at 8; floors, 32
    // bytes about the building, protocol, six of the MAC address and the role end the body.
    let role = body.len() - 1;
    let protocol = role - 7;
    let floors = protocol - 33;
    let floors = [(floors, 1), (floors, 255)];
    let others = [(2, b' '), (8, b'/'), (1, 0), (protocol, 77), (role, 3)];
    for (at, value) in floors.into_iter().chain(others) {
        let mut wrong = body.to_vec();
        wrong[at] = value;
        let decoded = decode_frame(&sealed(&wrong));
        assert!(matches!(decoded, Err(WireError::Malformed(_))), "{value} at {at}: {decoded:?}");
    }
}

#[test]
fn a_beacon_that_does_not_fit_a_datagram_is_not_encoded() {
    let mut large = beacon();
    large.delta.records = vec![open_record(); 120];
    let (size, limit) = (HEADER + size(&large) + CHECK, MAX_DATAGRAM);
    assert!(size > limit);
    let encoded = encode_beacon(&large, &Keyring::default());
    assert_eq!(encoded, Err(WireError::TooLarge { size, limit }));
    assert!(encode_frame(&Frame::Delta(large.delta)).is_ok());
}

fn keyring(secret: u8, fleet: &str) -> Keyring {
    let fleet = fleet.parse().expect("a name");
    Keyring::new([Credential::Key(FleetKey::new(&[secret; SECRET], &fleet))])
}

#[test]
fn a_beacon_with_the_fleet_key_is_read_by_those_who_have_it() {
    let own = keyring(7, "tower");
    let bytes = encode_beacon(&beacon(), &own).expect("it fits");
    assert_eq!(decode_beacon(&bytes, &own), Ok(beacon()));
    assert_eq!(bytes.len(), HEADER + size(&beacon()) + TAG);

    let id = own.sent().expect("a key").id();
    assert_eq!(decode_beacon(&bytes, &Keyring::default()), Err(WireError::Key(id)));
    let bare = encode_beacon(&beacon(), &Keyring::default()).expect("it fits");
    assert_eq!(decode_beacon(&bare, &own), Err(WireError::Unauthenticated));
    for (secret, fleet) in [(8, "tower"), (7, "annex")] {
        let mut other = encode_beacon(&beacon(), &keyring(secret, fleet)).expect("it fits");
        other[3] = id;
        assert_eq!(decode_beacon(&other, &own), Err(WireError::Forged), "{secret} {fleet}");
    }
}

/// The message as a node of the next version would send it, its tag right.
fn of_next_version(mut message: Vec<u8>, key: &FleetKey, purpose: Purpose) -> Vec<u8> {
    message.truncate(message.len() - TAG);
    message[2] = VERSION + 1;
    let tag = key.tag(purpose, &message);
    message.extend(tag);
    message
}

/// The version too: a stranger can't make a node report one.
#[test]
fn the_tag_is_verified_before_anything_else_is_looked_at() {
    let own = keyring(7, "tower");
    let whole = encode_beacon(&beacon(), &own).expect("it fits");
    for at in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let expected = match at / 8 {
            0 | 1 => WireError::Foreign,
            3 if bytes[3] == NO_KEY => WireError::Unauthenticated,
            3 => WireError::Key(bytes[3]),
            _ => WireError::Forged,
        };
        assert_eq!(decode_beacon(&bytes, &own), Err(expected), "bit {at}");
    }
    for length in 0..whole.len() {
        let expected = if length < HEADER + TAG { WireError::Foreign } else { WireError::Forged };
        assert_eq!(decode_beacon(&whole[..length], &own), Err(expected), "{length}");
    }

    let next = of_next_version(whole, own.sent().expect("a key"), Purpose::Datagram);
    assert_eq!(decode_beacon(&next, &own), Err(WireError::Version(VERSION + 1)));
}

#[test]
fn a_link_opens_with_a_hello_or_with_a_handshake() {
    let plain = encode_frame(&Frame::Hello(hello())).expect("it fits");
    assert_eq!(decode_opening(&plain), Ok(Opening::Plain(hello())));

    let keys = keyring(7, "tower");
    let key = keys.sent().expect("a key");
    let preamble = Preamble { from: node("A"), to: node("B") };
    let prologue = encode_preamble(key, &preamble).expect("it fits");
    let bytes = [&prologue, &b"message"[..]].concat();
    let expected =
        Opening::Handshake { key: key.id(), preamble, prologue: &prologue, message: b"message" };
    assert_eq!(decode_opening(&bytes), Ok(expected));

    let probe = encode_frame(&Frame::Probe).expect("it fits");
    assert!(matches!(decode_opening(&probe), Err(WireError::Malformed(_))), "no hello");
    let mut other = bytes.clone();
    other[2] = 9;
    assert_eq!(decode_opening(&other), Err(WireError::Version(9)));
}

#[test]
fn a_packet_with_the_fleet_key_is_read_by_those_who_have_it() {
    let keys = keyring(7, "tower");
    let key = keys.sent().expect("a key");
    let to = Ipv4Addr::new(10, 0, 0, 7);
    let sealed = SealedPacket { nonce: Nonce(5), sequence: 9, beacon: 300, to, packet: b"vote" };
    let bytes = seal_packet(sealed, key);
    let fields = [&[5][..], &[0; 7], &[9], &[0; 7], &[0x2c, 1], &[0; 6], &[10, 0, 0, 7], b"vote"];
    assert_eq!(bytes[HEADER..bytes.len() - TAG], fields.concat());
    assert_eq!(bytes.len(), b"vote".len() + PACKET_SEAL);
    assert_eq!(open_packet(&bytes, &keys), Some(Ok(sealed)));
    assert_eq!(open_packet(b"vote", &keys), None, "bare");
    assert_eq!(open_packet(&bytes, &Keyring::default()), Some(Err(WireError::Key(key.id()))));
    for at in 16..bytes.len() * 8 {
        let mut forged = bytes.clone();
        forged[at / 8] ^= 1 << (at % 8);
        let expected = match at / 8 {
            3 if forged[3] == NO_KEY => None,
            3 => Some(Err(WireError::Key(forged[3]))),
            _ => Some(Err(WireError::Forged)),
        };
        assert_eq!(open_packet(&forged, &keys), expected, "bit {at}");
    }
    // The version is looked at once the tag is known to be right.
    let next = of_next_version(bytes.clone(), key, Purpose::Packet);
    assert_eq!(open_packet(&next, &keys), Some(Err(WireError::Version(VERSION + 1))));
    // A beacon is no packet.
    let beacon = encode_beacon(&beacon(), &keys).expect("it fits");
    assert_eq!(open_packet(&beacon, &keys), Some(Err(WireError::Forged)));
    // A tag over too little is of no use.
    let mut short = bytes[..PACKET_SEAL - TAG - 1].to_vec();
    let tag = key.tag(Purpose::Packet, &short);
    short.extend(tag);
    assert_eq!(open_packet(&short, &keys), Some(Err(WireError::Foreign)));
}
