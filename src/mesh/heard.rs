//! How far the beacons of each incarnation have come, which dates the packets that name them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use elevator_fleet::wire::Nonce;
use tokio::sync::watch;

use super::proven::Proven;

/// The most incarnations that are known; one more replaces the one that was silent for longest. As
/// many as the membership tracks, so that the peers always have room.
const MOST: usize = 512;

/// An address, and a process at it.
pub(super) type Incarnation = (Ipv4Addr, Nonce);

/// Notes the beacons that come in.
#[derive(Debug)]
pub(super) struct Hearing {
    heard: watch::Sender<Incarnations>,
    proven: Proven,
}

/// The latest beacon of each incarnation at any moment.
#[derive(Debug, Clone)]
pub(super) struct Heard(watch::Receiver<Incarnations>);

#[derive(Debug, Default)]
struct Incarnations {
    latest: BTreeMap<Incarnation, Latest>,
    /// How many beacons were noted.
    noted: u64,
}

#[derive(Debug, Clone, Copy)]
struct Latest {
    /// The highest sequence.
    sequence: u64,
    /// The number of the beacon that was noted last.
    noted: u64,
}

impl Hearing {
    /// Nobody was heard yet.
    pub(super) fn start(proven: Proven) -> (Self, Heard) {
        let (heard, known) = watch::channel(Incarnations::default());
        (Self { heard, proven }, Heard(known))
    }

    /// Notes a beacon of this incarnation.
    pub(super) fn note(&self, incarnation: Incarnation, sequence: u64) {
        self.heard.send_if_modified(|known| {
            known.note(incarnation, sequence, &self.proven);
            // Nobody waits for it.
            false
        });
    }
}

impl Heard {
    /// The highest sequence that was heard of this incarnation.
    pub(super) fn latest(&self, incarnation: Incarnation) -> Option<u64> {
        self.0.borrow().latest.get(&incarnation).map(|latest| latest.sequence)
    }
}

impl Incarnations {
    fn note(&mut self, incarnation: Incarnation, sequence: u64, proven: &Proven) {
        self.noted += 1;
        let noted = self.noted;
        if let Some(latest) = self.latest.get_mut(&incarnation) {
            // A beacon that was recorded makes no packet look younger.
            *latest = Latest { sequence: latest.sequence.max(sequence), noted };
            return;
        }
        if self.latest.len() >= MOST && !self.make_room(proven) {
            return;
        }
        self.latest.insert(incarnation, Latest { sequence, noted });
    }

    /// Forgets the incarnation that was silent for longest and is not a peer, if there is one.
    fn make_room(&mut self, proven: &Proven) -> bool {
        let strangers = self.latest.iter().filter(|((at, nonce), _)| !proven.is(*at, *nonce));
        let silent = strangers.min_by_key(|(_, latest)| latest.noted).map(|(known, _)| *known);
        silent.is_some_and(|silent| self.latest.remove(&silent).is_some())
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

    /// Somebody who has recorded many restarts makes no room for packets of peers.
    #[test]
    fn strangers_replace_each_other_and_no_peer() {
        let (peers, proven) = Proven::nobody();
        let (hearing, heard) = Hearing::start(proven);
        let of = |nonce| (ADDRESS, Nonce(nonce));
        let all = || 0..2 * MOST as u64;
        peers.send_replace([of(0), of(3)].into());
        for nonce in all() {
            hearing.note(of(nonce), 5);
            // It is heard all the time.
            hearing.note(of(1), nonce);
        }
        let known: Vec<u64> = all().filter(|nonce| heard.latest(of(*nonce)).is_some()).collect();
        assert_eq!(known.len(), MOST);
        assert_eq!(known[..3], [0, 1, 3]);
        assert_eq!(known[3], 2 * MOST as u64 - (MOST as u64 - 3), "the latest ones");

        peers.send_replace(known.iter().map(|nonce| of(*nonce)).collect());
        hearing.note(of(2), 1);
        assert_eq!(heard.latest(of(2)), None, "there are peers only");
    }
}
