//! Packets of an election with a separate port, as nodes with a fleet key exchange them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use elevator_fleet::wire::codec::{self, SealedPacket};
use elevator_fleet::wire::keyring::{FleetKey, Keyring};
use elevator_fleet::wire::{Hello, Nonce};

use super::Count;
use super::datagram::count_of;
use super::heard::{Heard, Incarnation};
use super::proven::Proven;

/// How many beacons a packet may be behind its sender's latest one: about 1.6 s at the usual period.
/// A packet that was withheld for longer, or is sent again to a node that has restarted since, counts
/// for nothing. The sender's probes count too; a packet that is merely late is not that late.
const MOST_BEHIND: u64 = 64;

/// Seals this node's packets, and opens those of peers, each once.
#[derive(Debug)]
pub(super) struct Seal {
    own: Nonce,
    /// Where packets for this node are sent to: to itself, or to everybody.
    addresses: [Ipv4Addr; 2],
    /// How many packets this node has sealed.
    sent: u64,
    /// The sequence of this node's latest beacon.
    beacon: Arc<AtomicU64>,
    proven: Proven,
    heard: Heard,
    /// What was received of each peer. A peer that is lost for a moment keeps its window.
    windows: BTreeMap<Incarnation, Window>,
}

/// Which of a peer's latest packets were received: those to everybody and those to this node come by
/// two sockets, so that one may overtake another.
#[derive(Debug, Default)]
struct Window {
    latest: u64,
    /// Bit *n*: the one that is *n* before the latest.
    received: u64,
}

impl Seal {
    pub(super) fn new(
        own: &Hello,
        everybody: Ipv4Addr,
        beacon: Arc<AtomicU64>,
        proven: Proven,
        heard: Heard,
    ) -> Self {
        Self {
            own: own.nonce,
            addresses: [own.address, everybody],
            sent: 0,
            beacon,
            proven,
            heard,
            windows: BTreeMap::new(),
        }
    }

    /// Seals a packet to this address.
    pub(super) fn seal(&mut self, packet: &[u8], to: Ipv4Addr, key: &FleetKey) -> Vec<u8> {
        self.sent += 1;
        let beacon = self.beacon.load(Ordering::Relaxed);
        let sealed = SealedPacket { nonce: self.own, sequence: self.sent, beacon, to, packet };
        codec::seal_packet(sealed, key)
    }

    /// The packet in a datagram from this address, or what it counts as. If there are devices that
    /// have no key, bare packets of others than peers are let through; `None`: one of a peer, which
    /// it has sealed as well.
    pub(super) fn open<'a>(
        &mut self,
        bytes: &'a [u8],
        from: Ipv4Addr,
        keys: &Keyring,
        foreign_devices: bool,
    ) -> Result<Option<&'a [u8]>, Count> {
        let Some(sealed) = codec::open_packet(bytes, keys) else {
            return if keys.accepts_anybody() {
                Ok(Some(bytes))
            } else if foreign_devices {
                Ok((!self.proven.is_at(from)).then_some(bytes))
            } else {
                Err(Count::Unauthenticated)
            };
        };
        let sealed = sealed.map_err(|error| count_of(&error))?;
        let peer = (from, sealed.nonce);
        let Some(latest) = self.heard.latest(peer).filter(|_| self.proven.is(from, sealed.nonce))
        else {
            return Err(Count::Unproven);
        };
        let is_recent = sealed.beacon.saturating_add(MOST_BEHIND) >= latest;
        if self.addresses.contains(&sealed.to) && is_recent && self.is_new(peer, sealed.sequence) {
            Ok(Some(sealed.packet))
        } else {
            Err(Count::Replayed)
        }
    }

    /// Notes this packet, unless it was received before or is too old to know. What is known of an
    /// incarnation goes with its beacons.
    fn is_new(&mut self, peer: Incarnation, sequence: u64) -> bool {
        if !self.windows.contains_key(&peer) {
            self.windows.retain(|known, _| self.heard.latest(*known).is_some());
        }
        let window = self.windows.entry(peer).or_default();
        let shifted =
            |bits: u64, by: u64| u32::try_from(by).ok().and_then(|by| bits.checked_shl(by));
        if sequence > window.latest {
            window.received = shifted(window.received, sequence - window.latest).unwrap_or(0);
            window.latest = sequence;
        }
        let bit = shifted(1, window.latest - sequence).unwrap_or(0);
        let is_new = bit != 0 && window.received & bit == 0;
        window.received |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use elevator_fleet::model::FleetName;
    use elevator_fleet::wire::keyring::{Credential, SECRET};
    use tokio::sync::watch;

    use super::super::heard::Hearing;
    use super::super::proven::Peers;
    use super::super::tests::Lan;
    use super::*;

    const OWN: Ipv4Addr = Ipv4Addr::LOCALHOST;
    const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
    const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
    const EVERYBODY: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 255);

    fn keyring(secret: u8) -> Keyring {
        let fleet = FleetName::new("tower").expect("a name");
        Keyring::new([Credential::Key(FleetKey::new(&[secret; SECRET], &fleet))])
    }

    /// A node, and what its other tasks tell the one of the packets.
    struct Node {
        seal: Seal,
        keys: Keyring,
        beacon: Arc<AtomicU64>,
        peers: watch::Sender<Peers>,
        hearing: Hearing,
    }

    impl Node {
        fn at(address: Ipv4Addr, nonce: u64) -> Self {
            let (peers, proven) = Proven::nobody();
            let (hearing, heard) = Hearing::start(proven.clone());
            let beacon = Arc::new(AtomicU64::new(0));
            let own = Hello { address, nonce: Nonce(nonce), ..Lan::new().settings(1).hello };
            let seal = Seal::new(&own, EVERYBODY, Arc::clone(&beacon), proven, heard);
            Self { seal, keys: keyring(7), beacon, peers, hearing }
        }

        /// A packet to this address, sealed after this beacon.
        fn vote(&mut self, beacon: u64, to: Ipv4Addr) -> Vec<u8> {
            self.beacon.store(beacon, Ordering::Relaxed);
            self.seal.seal(b"vote", to, self.keys.sent().expect("a key"))
        }

        /// Hears this beacon of the peer.
        fn hear(&self, nonce: u64, sequence: u64) {
            self.hearing.note((PEER, Nonce(nonce)), sequence);
        }

        /// The peer of this incarnation counts, and no other.
        fn prove(&self, nonce: u64) {
            self.peers.send_replace([(PEER, Nonce(nonce))].into());
        }

        fn open(&mut self, bytes: &[u8], from: Ipv4Addr) -> Result<(), Count> {
            let opened = self.seal.open(bytes, from, &self.keys, false)?;
            assert_eq!(opened, Some(&b"vote"[..]));
            Ok(())
        }
    }

    /// A receiver that takes each of these packets of the peer as it says, after this beacon.
    fn assert_taken(receiver: &mut Node, packets: &[(&[u8], Result<(), Count>)]) {
        for (number, (packet, expected)) in packets.iter().enumerate() {
            assert_eq!(receiver.open(packet, PEER), *expected, "packet {number}");
        }
    }

    #[test]
    fn a_packet_of_a_peer_is_taken_in_once() {
        let (mut sender, mut receiver) = (Node::at(PEER, 2), Node::at(OWN, 1));
        let [first, second, third] = [(); 3].map(|()| sender.vote(0, EVERYBODY));
        receiver.hear(2, 1);
        assert_taken(&mut receiver, &[(&first, Err(Count::Unproven))]);
        receiver.prove(2);
        let replayed = Err(Count::Replayed);
        // The first was overtaken.
        let expected =
            [(&second[..], Ok(())), (&second, replayed), (&first, Ok(())), (&first, replayed)];
        assert_taken(&mut receiver, &expected);
        assert_eq!(receiver.open(&third, OTHER), Err(Count::Unproven), "from another address");
        assert_taken(&mut receiver, &[(&third, Ok(()))]);
        // The peer is lost for a moment: an earlier process of it counts, as far as is known.
        receiver.hear(3, 1);
        receiver.prove(3);
        let earlier = Node::at(PEER, 3).vote(1, EVERYBODY);
        assert_taken(&mut receiver, &[(&earlier, Ok(())), (&third, Err(Count::Unproven))]);
        receiver.prove(2);
        let next = sender.vote(2, EVERYBODY);
        assert_taken(&mut receiver, &[(&third, replayed), (&next, Ok(()))]);
        for (to, expected) in [(OWN, Ok(())), (OTHER, replayed)] {
            assert_taken(&mut receiver, &[(&sender.vote(2, to), expected)]);
        }
    }

    /// A receiver that has restarted has received nothing yet, but hears how old a packet is.
    #[test]
    fn a_packet_that_was_withheld_is_worth_nothing_after_64_beacons() {
        let (mut sender, mut receiver) = (Node::at(PEER, 2), Node::at(OWN, 1));
        receiver.prove(2);
        let [older, younger, ahead, last] =
            [5, 6, 71, u64::MAX].map(|beacon| sender.vote(beacon, EVERYBODY));
        assert_taken(&mut receiver, &[(&younger, Err(Count::Unproven))]);
        receiver.hear(2, 70);
        assert_taken(&mut receiver, &[(&older, Err(Count::Replayed))]);
        // No beacon that is sent again makes a packet young.
        receiver.hear(2, 5);
        // The packet that is ahead has overtaken the beacon.
        let expected = [(&older[..], Err(Count::Replayed)), (&younger, Ok(())), (&ahead, Ok(()))];
        assert_taken(&mut receiver, &expected);
        receiver.hear(2, u64::MAX);
        assert_taken(&mut receiver, &[(&last, Ok(()))]);
    }

    #[test]
    fn what_nobody_has_sealed_is_of_a_device_without_a_key_or_forged() {
        let mut node = Node::at(OWN, 1);
        node.hear(2, 1);
        node.prove(2);
        let (seal, keys) = (&mut node.seal, &node.keys);
        assert_eq!(seal.open(b"vote", OTHER, keys, false), Err(Count::Unauthenticated));
        assert_eq!(seal.open(b"vote", OTHER, keys, true), Ok(Some(&b"vote"[..])));
        assert_eq!(seal.open(b"vote", PEER, keys, false), Err(Count::Unauthenticated));
        assert_eq!(seal.open(b"vote", PEER, keys, true), Ok(None), "it seals its packets as well");
        assert_eq!(seal.open(b"vote", PEER, &Keyring::default(), false), Ok(Some(&b"vote"[..])));

        let mut other = Node { keys: keyring(8), ..Node::at(PEER, 2) };
        let sealed = other.vote(1, EVERYBODY);
        let mut claimed = sealed.clone();
        claimed[3] = keys.sent().expect("a key").id();
        assert_eq!(seal.open(&sealed, PEER, keys, true), Err(Count::Key));
        assert_eq!(seal.open(&claimed, PEER, keys, true), Err(Count::Forged));
    }
}
