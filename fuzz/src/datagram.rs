//! Beacons and packets: as they come in, and behind a tag that was made with the key.

use core::net::Ipv4Addr;

use elevator_fleet::climate::{DisplayData, Reading};
use elevator_fleet::election::Message;
use elevator_fleet::election::ballot::packet;
use elevator_fleet::model::Term;
use elevator_fleet::wire::codec::{
    MAX_DATAGRAM, SealedPacket, VERSION, WireError, announces_key, decode_beacon, encode_beacon,
    open_packet, seal_packet,
};
use elevator_fleet::wire::keyring::{Keyring, Purpose, TAG};
use elevator_fleet::wire::{Beacon, Echo, NodeState, Nonce, Piggybacked};

use crate::wire::{body_of, checked, delta, fleet_key, hello, keyring, node};

/// A datagram on the beacons' port as it comes in, at a node without a key and at one with it.
pub(crate) fn beacon(bytes: &[u8]) {
    for (keys, is_keyed) in [(Keyring::default(), false), (keyring(), true)] {
        if let Ok(beacon) = decode_beacon(bytes, &keys) {
            assert_eq!(announces_key(bytes), is_keyed, "nobody has authenticated it");
            assert_same_again(&beacon, bytes.len(), &keys);
        }
    }
}

/// A beacon that came in as this many bytes is the same after another journey. It may have had
/// numbers in more bytes than they need, and a datagram may be longer than any that is sent.
fn assert_same_again(beacon: &Beacon, length: usize, keys: &Keyring) {
    if length <= MAX_DATAGRAM {
        let again = encode_beacon(beacon, keys).expect("it was no longer than the longest");
        assert!(again.len() <= length, "it has got longer");
        assert_eq!(decode_beacon(&again, keys).as_ref(), Ok(beacon));
    }
}

pub(crate) fn beacon_seeds() -> Vec<Vec<u8>> {
    let encode = |keys: &Keyring| encode_beacon(&busy_beacon(), keys).expect("it fits");
    vec![encode(&Keyring::default()), encode(&keyring())]
}

/// The body of a beacon that somebody with the key has sealed, whatever it says: it is a beacon, or
/// malformed, and never forged. The same body with a checksum means the same.
pub(crate) fn sealed_beacon(body: &[u8]) {
    let key = fleet_key();
    let mut bytes = [&[b'L', b'M', VERSION, key.id()], body].concat();
    bytes.extend(key.tag(Purpose::Datagram, &bytes));
    let sealed = decode_beacon(&bytes, &keyring());
    match &sealed {
        Ok(beacon) => assert_same_again(beacon, bytes.len(), &keyring()),
        Err(error) => assert!(matches!(error, WireError::Malformed(_)), "a right tag, and {error}"),
    }
    assert_eq!(sealed, decode_beacon(&checked(body), &Keyring::default()));
    let bare = decode_beacon(&checked(body), &keyring());
    assert_eq!(bare, Err(WireError::Unauthenticated), "nobody has authenticated it");
    // A tag for one purpose is none for another.
    assert_eq!(open_packet(&bytes, &keyring()), Some(Err(WireError::Forged)));
    // F5: whatever bit is flipped.
    let at = body.len() % bytes.len();
    bytes[at] ^= 1 << (body.len() % 8);
    assert!(decode_beacon(&bytes, &keyring()).is_err(), "it was changed on its way");
}

pub(crate) fn sealed_beacon_seeds() -> Vec<Vec<u8>> {
    vec![body_of(&beacon_seeds()[0])]
}

/// A datagram on the port of `ballot`: bare, and sealed with the key.
pub(crate) fn packet(bytes: &[u8]) {
    if let Ok(message) = packet::decode(bytes) {
        assert!(bytes.len() <= packet::MAX_PACKET);
        let again = packet::encode(&message).expect("it came in a packet");
        assert_eq!(again.len(), bytes.len());
        // Text and number of a temperature may say it in other forms, light has one more value
        // than is sent.
        let settled = packet::decode(&again).expect("it is one that a node sends");
        assert_eq!(packet::encode(&settled), Some(again), "it changes with each journey");
    }
    if let Some(Ok(_)) = open_packet(bytes, &keyring()) {
        assert!(announces_key(bytes));
    }
    let to = Ipv4Addr::LOCALHOST;
    let sealed = SealedPacket { nonce: Nonce(1), sequence: 2, beacon: 3, to, packet: bytes };
    let mut datagram = seal_packet(sealed, &fleet_key());
    assert_eq!(open_packet(&datagram, &keyring()), Some(Ok(sealed)));
    assert_eq!(decode_beacon(&datagram, &keyring()), Err(WireError::Forged));
    let last = datagram.len() - 1;
    datagram[last - bytes.len() % TAG] ^= 1;
    assert_eq!(open_packet(&datagram, &keyring()), Some(Err(WireError::Forged)));
}

pub(crate) fn packet_seeds() -> Vec<Vec<u8>> {
    let display = DisplayData { temperature: Some(-105), time: 1_790_000_000, brightness: 30 };
    let reading = Reading { temperature: Some(-12), illuminance: Some(200) };
    let messages =
        [Message::SensorRequest, Message::SensorData(reading), Message::DisplayData(display)];
    let encoded = messages.iter().filter_map(packet::encode);
    encoded.chain([vec![4, 0, 0, 1, 44], vec![5]]).collect()
}

/// A beacon with some of everything.
fn busy_beacon() -> Beacon {
    let message = Message::SensorData(Reading { temperature: Some(21), illuminance: None });
    Beacon {
        hello: hello(),
        link_port: 46_000,
        sequence: 70_000,
        period: 25,
        node_state: NodeState::Slave { master: node("B") },
        term: Term(12),
        led: Term(0),
        estimate: 0,
        digest: 0,
        durable: true,
        probe: true,
        echoes: vec![Echo { nonce: Nonce(7), sequence: 300 }; 3],
        delta: delta(),
        piggybacked: Some(Piggybacked { to: Some(node("B")), message }),
        power: 0,
    }
}
