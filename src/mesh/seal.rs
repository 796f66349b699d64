//! Packets of an election with a separate port, as nodes with a fleet key exchange them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use elevator_fleet::wire::codec::{self, SealedPacket};
use elevator_fleet::wire::keyring::{FleetKey, Keyring};
use elevator_fleet::wire::{Hello, Nonce};

use super::Count;
use super::datagram::count_of;
use super::proven::{Incarnation, Proven};

/// How many beacons a packet may be behind its sender's latest one, about 1.6 s at the usual
/// period: one that was withheld, or is sent again after a restart, counts for nothing.
const MOST_BEHIND: u64 = 64;

/// Beyond this many incarnations, those that are not peers are forgotten.
const INCARNATIONS: usize = 512;

const WINDOW: u64 = 64;

/// Seals this node's packets, and opens those of peers, each once.
#[derive(Debug)]
pub(super) struct Seal {
    own: Nonce,
    /// Where packets for this node are sent to: to itself, or to everybody.
    addresses: [Ipv4Addr; 2],
    sent: u64,
    beacon: Arc<AtomicU64>,
    proven: Proven,
    /// The latest packets of each peer, also of one lost for a moment; one may overtake another.
    received: BTreeMap<Incarnation, BTreeSet<u64>>,
}

impl Seal {
    pub(super) fn new(
        own: &Hello,
        everybody: Ipv4Addr,
        beacon: Arc<AtomicU64>,
        proven: Proven,
    ) -> Self {
        Self {
            own: own.nonce,
            addresses: [own.address, everybody],
            sent: 0,
            beacon,
            proven,
            received: BTreeMap::new(),
        }
    }

    pub(super) fn seal(&mut self, packet: &[u8], to: Ipv4Addr, key: &FleetKey) -> Vec<u8> {
        self.sent += 1;
        let beacon = self.beacon.load(Ordering::Relaxed);
        let sealed = SealedPacket { nonce: self.own, sequence: self.sent, beacon, to, packet };
        codec::seal_packet(sealed, key)
    }

    /// The packet in a datagram from this address, or what it counts as; `None`: a peer's bare copy
    /// of a sealed one. With `foreign_devices`, bare packets of others than peers are let through.
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
        let latest = self.proven.latest(peer).ok_or(Count::Unproven)?;
        let is_recent = sealed.beacon.saturating_add(MOST_BEHIND) >= latest;
        if self.addresses.contains(&sealed.to) && is_recent && self.is_new(peer, sealed.sequence) {
            Ok(Some(sealed.packet))
        } else {
            Err(Count::Replayed)
        }
    }

    fn is_new(&mut self, peer: Incarnation, sequence: u64) -> bool {
        if self.received.len() >= INCARNATIONS {
            self.received.retain(|known, _| *known == peer || self.proven.latest(*known).is_some());
        }
        let received = self.received.entry(peer).or_default();
        let latest = received.last().copied().unwrap_or(0);
        let is_new = sequence.saturating_add(WINDOW) > latest && received.insert(sequence);
        if received.len() as u64 > WINDOW {
            received.pop_first();
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use elevator_fleet::model::FleetName;
    use elevator_fleet::wire::keyring::{Credential, SECRET};

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

    fn node(address: Ipv4Addr, nonce: u64) -> Seal {
        let own = Hello { address, nonce: Nonce(nonce), ..Lan::new().settings(1).hello };
        Seal::new(&own, EVERYBODY, Arc::default(), Proven::default())
    }

    fn vote(seal: &mut Seal, beacon: u64, to: Ipv4Addr) -> Vec<u8> {
        seal.beacon.store(beacon, Ordering::Relaxed);
        seal.seal(b"vote", to, keyring(7).sent().expect("a key"))
    }

    /// The peer of this incarnation counts, and no other; its beacon is heard.
    fn prove(seal: &Seal, nonce: u64, sequence: u64) {
        seal.proven.set(&[(PEER, Nonce(nonce))].into());
        seal.proven.note((PEER, Nonce(nonce)), sequence);
    }

    fn open(seal: &mut Seal, bytes: &[u8], from: Ipv4Addr) -> Result<(), Count> {
        let opened = seal.open(bytes, from, &keyring(7), false)?;
        assert_eq!(opened, Some(&b"vote"[..]));
        Ok(())
    }

    #[test]
    fn a_packet_of_a_peer_is_taken_in_once() {
        let (mut sender, mut receiver) = (node(PEER, 2), node(OWN, 1));
        let [first, second, third] = [(); 3].map(|()| vote(&mut sender, 0, EVERYBODY));
        let replayed = Err(Count::Replayed);
        assert_eq!(open(&mut receiver, &first, PEER), Err(Count::Unproven));
        prove(&receiver, 2, 1);
        for (packet, from, expected) in [
            (&second, PEER, Ok(())),
            (&second, PEER, replayed),
            (&first, PEER, Ok(())),
            (&first, PEER, replayed),
            (&third, OTHER, Err(Count::Unproven)),
            (&third, PEER, Ok(())),
        ] {
            assert_eq!(open(&mut receiver, packet, from), expected);
        }
        prove(&receiver, 3, 1);
        assert_eq!(open(&mut receiver, &third, PEER), Err(Count::Unproven));
        prove(&receiver, 2, 1);
        assert_eq!(open(&mut receiver, &third, PEER), replayed);
        for (to, expected) in [(EVERYBODY, Ok(())), (OWN, Ok(())), (OTHER, replayed)] {
            assert_eq!(open(&mut receiver, &vote(&mut sender, 2, to), PEER), expected);
        }
    }

    /// A receiver that has restarted has received nothing yet, but hears how old a packet is.
    #[test]
    fn a_packet_that_was_withheld_is_worth_nothing_after_64_beacons() {
        let (mut sender, mut receiver) = (node(PEER, 2), node(OWN, 1));
        let [older, younger, ahead] = [5, 6, 71].map(|beacon| vote(&mut sender, beacon, EVERYBODY));
        prove(&receiver, 2, 70);
        // No beacon that is sent again makes a packet young.
        receiver.proven.note((PEER, Nonce(2)), 5);
        assert_eq!(open(&mut receiver, &older, PEER), Err(Count::Replayed));
        assert_eq!(open(&mut receiver, &younger, PEER), Ok(()));
        assert_eq!(open(&mut receiver, &ahead, PEER), Ok(()), "it has overtaken the beacon");
    }

    #[test]
    fn what_nobody_has_sealed_is_of_a_device_without_a_key_or_forged() {
        let (mut seal, keys) = (node(OWN, 1), keyring(7));
        prove(&seal, 2, 1);
        assert_eq!(seal.open(b"vote", OTHER, &keys, false), Err(Count::Unauthenticated));
        assert_eq!(seal.open(b"vote", OTHER, &keys, true), Ok(Some(&b"vote"[..])));
        assert_eq!(seal.open(b"vote", PEER, &keys, false), Err(Count::Unauthenticated));
        assert_eq!(seal.open(b"vote", PEER, &keys, true), Ok(None), "it seals its packets as well");
        assert_eq!(seal.open(b"vote", PEER, &Keyring::default(), false), Ok(Some(&b"vote"[..])));

        let sealed = node(PEER, 2).seal(b"vote", EVERYBODY, keyring(8).sent().expect("a key"));
        let mut claimed = sealed.clone();
        claimed[3] = keys.sent().expect("a key").id();
        assert_eq!(seal.open(&sealed, PEER, &keys, true), Err(Count::Key));
        assert_eq!(seal.open(&claimed, PEER, &keys, true), Err(Count::Forged));
    }
}
