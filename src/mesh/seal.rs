//! Packets of an election with a separate port, as nodes with a fleet key exchange them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use elevator_fleet::wire::Nonce;
use elevator_fleet::wire::codec::{self, SealedPacket};
use elevator_fleet::wire::keyring::{FleetKey, Keyring};

use super::Count;
use super::datagram::count_of;
use super::proven::Proven;

/// Seals this node's packets, and opens those of peers, each once.
#[derive(Debug)]
pub(super) struct Seal {
    own: Nonce,
    /// How many packets this node has sealed.
    sent: u64,
    proven: Proven,
    /// What was received of each peer.
    windows: BTreeMap<(Ipv4Addr, Nonce), Window>,
}

/// Which of a peer's latest packets were received.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    latest: u64,
    /// Bit *n*: the one that is *n* before the latest.
    received: u64,
}

impl Seal {
    pub(super) fn new(own: Nonce, proven: Proven) -> Self {
        Self { own, sent: 0, proven, windows: BTreeMap::new() }
    }

    /// Seals a packet.
    pub(super) fn seal(&mut self, packet: &[u8], key: &FleetKey) -> Vec<u8> {
        self.sent += 1;
        codec::seal_packet(SealedPacket { nonce: self.own, sequence: self.sent, packet }, key)
    }

    /// The packet in a datagram from this address, or what it counts as. Bare packets of others than
    /// peers are let through if there are devices that have no key.
    pub(super) fn open<'a>(
        &mut self,
        bytes: &'a [u8],
        from: Ipv4Addr,
        keys: &Keyring,
        foreign_devices: bool,
    ) -> Result<&'a [u8], Count> {
        let Some(sealed) = codec::open_packet(bytes, keys) else {
            let is_foreign = || foreign_devices && !self.proven.is_at(from);
            return if keys.accepts_anybody() || is_foreign() {
                Ok(bytes)
            } else {
                Err(Count::Unauthenticated)
            };
        };
        let sealed = sealed.map_err(|error| count_of(&error))?;
        let (peer, sequence) = ((from, sealed.nonce), sealed.sequence);
        if !self.proven.is(from, sealed.nonce) {
            return Err(Count::Replayed);
        }
        let proven = &self.proven;
        self.windows.retain(|known, _| *known == peer || proven.is(known.0, known.1));
        if self.windows.entry(peer).or_default().takes(sequence) {
            Ok(sealed.packet)
        } else {
            Err(Count::Replayed)
        }
    }
}

impl Window {
    /// Notes this packet, unless it was received before or is too old to know.
    fn takes(&mut self, sequence: u64) -> bool {
        if sequence > self.latest {
            let shift = u32::try_from(sequence - self.latest).unwrap_or(u32::MAX);
            self.received = self.received.checked_shl(shift).unwrap_or(0) | 1;
            self.latest = sequence;
            return true;
        }
        let bit = u32::try_from(self.latest - sequence).ok().and_then(|age| 1_u64.checked_shl(age));
        match bit {
            Some(bit) if self.received & bit == 0 && sequence > 0 => {
                self.received |= bit;
                true
            }
            Some(_) | None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use elevator_fleet::model::FleetName;
    use elevator_fleet::wire::keyring::{Credential, SECRET};

    use super::*;

    const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
    const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

    fn keyring(secret: u8) -> Keyring {
        let fleet = FleetName::new("tower").expect("a name");
        Keyring::new([Credential::Key(FleetKey::new(&[secret; SECRET], &fleet))])
    }

    #[test]
    fn a_packet_of_a_peer_is_taken_in_once() {
        let keys = keyring(7);
        let key = keys.sent().expect("a key");
        let (peers, proven) = Proven::nobody();
        let mut sender = Seal::new(Nonce(2), proven.clone());
        let mut receiver = Seal::new(Nonce(1), proven);
        let packets: Vec<Vec<u8>> = (0..70).map(|_| sender.seal(b"vote", key)).collect();
        let mut open = |number: usize, from| receiver.open(&packets[number], from, &keys, false);

        assert_eq!(open(0, PEER), Err(Count::Replayed), "of nobody who counts");
        peers.send_replace([(PEER, Nonce(2))].into());
        assert_eq!(open(1, PEER), Ok(&b"vote"[..]));
        assert_eq!(open(1, PEER), Err(Count::Replayed));
        assert_eq!(open(0, PEER), Ok(&b"vote"[..]), "overtaken");
        assert_eq!(open(0, PEER), Err(Count::Replayed));
        assert_eq!(open(2, OTHER), Err(Count::Replayed), "from another address");
        assert_eq!(open(69, PEER), Ok(&b"vote"[..]));
        assert_eq!(open(6, PEER), Ok(&b"vote"[..]), "64 are remembered");
        assert_eq!(open(6, PEER), Err(Count::Replayed));
        assert_eq!(open(5, PEER), Err(Count::Replayed), "too old to know");
        // The peer has restarted.
        peers.send_replace([(PEER, Nonce(3))].into());
        assert_eq!(open(50, PEER), Err(Count::Replayed));
    }

    #[test]
    fn what_nobody_has_sealed_is_of_a_device_without_a_key_or_forged() {
        let keys = keyring(7);
        let (peers, proven) = Proven::nobody();
        peers.send_replace([(PEER, Nonce(2))].into());
        let mut seal = Seal::new(Nonce(1), proven.clone());
        assert_eq!(seal.open(b"vote", OTHER, &keys, false), Err(Count::Unauthenticated));
        assert_eq!(seal.open(b"vote", OTHER, &keys, true), Ok(&b"vote"[..]));
        assert_eq!(
            seal.open(b"vote", PEER, &keys, true),
            Err(Count::Unauthenticated),
            "it has one"
        );
        assert_eq!(seal.open(b"vote", PEER, &Keyring::default(), false), Ok(&b"vote"[..]));

        let other = keyring(8);
        let sealed = Seal::new(Nonce(2), proven).seal(b"vote", other.sent().expect("a key"));
        let mut claimed = sealed.clone();
        claimed[3] = keys.sent().expect("a key").id();
        assert_eq!(seal.open(&sealed, PEER, &keys, true), Err(Count::Key));
        assert_eq!(seal.open(&claimed, PEER, &keys, true), Err(Count::Forged));
    }
}
