//! How far the beacons of each incarnation have come, which dates the packets that name them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use elevator_fleet::wire::Nonce;
use tokio::sync::watch;

use super::proven::Proven;

/// Beyond so many incarnations, those that are not peers are forgotten. As many as the membership
/// tracks, so that the peers always have room.
const MOST: usize = 512;

/// An address, and a process at it.
pub(super) type Incarnation = (Ipv4Addr, Nonce);

#[derive(Debug)]
pub(super) struct Hearing {
    heard: watch::Sender<BTreeMap<Incarnation, u64>>,
    proven: Proven,
}

/// The latest beacon of each incarnation at any moment.
#[derive(Debug, Clone)]
pub(super) struct Heard(watch::Receiver<BTreeMap<Incarnation, u64>>);

impl Hearing {
    pub(super) fn start(proven: Proven) -> (Self, Heard) {
        let (heard, known) = watch::channel(BTreeMap::new());
        (Self { heard, proven }, Heard(known))
    }

    /// Notes a beacon of this incarnation. One that was recorded makes no packet look younger.
    pub(super) fn note(&self, incarnation: Incarnation, sequence: u64) {
        self.heard.send_if_modified(|known| {
            if known.len() >= MOST && !known.contains_key(&incarnation) {
                known.retain(|(address, nonce), _| self.proven.is(*address, *nonce));
            }
            let latest = known.entry(incarnation).or_default();
            *latest = sequence.max(*latest);
            // Nobody waits for it.
            false
        });
    }
}

impl Heard {
    /// The highest sequence that was heard of this incarnation.
    pub(super) fn latest(&self, incarnation: Incarnation) -> Option<u64> {
        self.0.borrow().get(&incarnation).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

    #[test]
    fn beacons_sent_again_take_no_incarnation_back() {
        let (_peers, proven) = Proven::nobody();
        let (hearing, heard) = Hearing::start(proven);
        let of = |nonce| (ADDRESS, Nonce(nonce));
        assert_eq!(heard.latest(of(1)), None);
        for sequence in [7, 9, 8, 1] {
            hearing.note(of(1), sequence);
        }
        assert_eq!(heard.latest(of(1)), Some(9));
        assert_eq!(heard.latest((Ipv4Addr::LOCALHOST, Nonce(1))), None, "at another address");
    }

    /// Somebody who has recorded many restarts takes no room from peers.
    #[test]
    fn strangers_are_forgotten_and_no_peer_is() {
        let (peers, proven) = Proven::nobody();
        let (hearing, heard) = Hearing::start(proven);
        let of = |nonce| (ADDRESS, Nonce(nonce));
        peers.send_replace([of(0), of(3)].into());
        for nonce in 0..=MOST as u64 {
            hearing.note(of(nonce), 5);
        }
        let known = (0..=MOST as u64).filter(|nonce| heard.latest(of(*nonce)).is_some());
        assert_eq!(known.collect::<Vec<_>>(), [0, 3, MOST as u64]);
    }
}
