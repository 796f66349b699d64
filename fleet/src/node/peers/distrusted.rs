//! Peers that are treated as lost for a time because they were faulty.
//!
//! Such a peer is not heard, echoed or linked to. So the rest of the fleet elects and serves
//! without it by the normal means of its protocol, and the peer notices that it is alone. It
//! returns by itself. Each repetition soon after the last doubles the time.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::Timestamp;
use crate::node::DistrustedStatus;
use crate::wire::{Hello, Nonce};

/// After this time of good conduct, the next offence counts as the first again.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// The most addresses that are remembered. Beyond it, the one whose time ends first is forgotten.
const MOST: usize = 256;

/// Why a peer is distrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::node) enum Offence {
    /// It sends what no sound node sends. The time is short: it only has to bound the work that the
    /// peer causes, and its car should be back soon. It applies to every process at the address,
    /// because a faulty one may change its name.
    Rubbish,
    /// It leads and does not assign calls. The time is long, because calls wait until that is
    /// detected. The node's next process is trusted: it may be repaired.
    Neglect,
}

impl Offence {
    /// For how long the peer is distrusted, the first time and at most.
    fn times(self) -> (Duration, Duration) {
        match self {
            Self::Rubbish => (Duration::from_secs(1), Duration::from_secs(8)),
            Self::Neglect => (Duration::from_secs(30), Duration::from_mins(10)),
        }
    }
}

/// The distrusted peers, by address: a link proves it.
#[derive(Debug, Clone, Default)]
pub(super) struct Distrusted {
    spells: BTreeMap<Ipv4Addr, Spell>,
    counts: DistrustedStatus,
}

#[derive(Debug, Clone, Copy)]
struct Spell {
    until: Timestamp,
    length: Duration,
    /// The process, or `None` for every process at the address.
    process: Option<Nonce>,
}

impl Distrusted {
    /// Distrusts a peer from now on; returns for how long.
    pub(super) fn add(&mut self, peer: &Hello, offence: Offence, now: Timestamp) -> Duration {
        match offence {
            Offence::Rubbish => self.counts.rubbish += 1,
            Offence::Neglect => self.counts.neglect += 1,
        }
        self.spells.retain(|_, spell| now < spell.until + FORGOTTEN_AFTER);
        let (first, longest) = offence.times();
        let before = self.spells.get(&peer.address);
        let length = before.map_or(first, |spell| (spell.length * 2).clamp(first, longest));
        let soonest = self.spells.iter().min_by_key(|(_, spell)| spell.until);
        if self.spells.len() >= MOST
            && let Some(soonest) = soonest.map(|(address, _)| *address)
        {
            self.spells.remove(&soonest);
        }
        let spell = Spell {
            until: now + length,
            length,
            process: match offence {
                Offence::Rubbish => None,
                Offence::Neglect => Some(peer.nonce),
            },
        };
        self.spells.insert(peer.address, spell);
        length
    }

    /// How often peers were distrusted since the start.
    pub(super) fn counts(&self) -> DistrustedStatus {
        self.counts
    }

    /// Whether messages from this address, and from this process if known, are ignored.
    pub(super) fn holds(&self, address: Ipv4Addr, process: Option<Nonce>, now: Timestamp) -> bool {
        self.spells.get(&address).is_some_and(|spell| {
            let is_meant = process.is_none() || spell.process.is_none() || spell.process == process;
            is_meant && now < spell.until
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::tests::node;

    fn hello(index: u8, incarnation: u64) -> Hello {
        node(index, incarnation).hello().clone()
    }

    #[test]
    fn trust_comes_back_later_each_time_and_at_last_as_before() {
        for (offence, lengths) in [
            (Offence::Rubbish, [1, 2, 4, 8, 8, 8]),
            (Offence::Neglect, [30, 60, 120, 240, 480, 600]),
        ] {
            let mut distrusted = Distrusted::default();
            let (peer, other) = (hello(1, 1), hello(2, 1));
            let mut now = Timestamp::START;
            for seconds in lengths {
                let length = Duration::from_secs(seconds);
                assert_eq!(distrusted.add(&peer, offence, now), length);
                assert!(distrusted.holds(peer.address, Some(peer.nonce), now));
                assert!(distrusted.holds(peer.address, None, now));
                assert!(!distrusted.holds(other.address, Some(other.nonce), now));
                now = now + length;
                assert!(!distrusted.holds(peer.address, Some(peer.nonce), now));
            }
            let later = now + FORGOTTEN_AFTER;
            let first = Duration::from_secs(lengths[0]);
            assert_eq!(distrusted.add(&peer, offence, later), first);
        }
    }

    /// A restart may repair a fault; the next process of a node that sends rubbish may be made up.
    #[test]
    fn the_next_process_of_a_neglectful_master_is_trusted() {
        for (offence, holds) in [(Offence::Rubbish, true), (Offence::Neglect, false)] {
            let mut distrusted = Distrusted::default();
            let (peer, next) = (hello(1, 1), hello(1, 2));
            let now = Timestamp::START;
            distrusted.add(&peer, offence, now);
            assert_eq!(distrusted.holds(next.address, Some(next.nonce), now), holds, "{offence:?}");
        }
    }

    #[test]
    fn the_number_of_distrusted_addresses_is_bounded() {
        let mut distrusted = Distrusted::default();
        for index in 0..1_000 {
            let address = Ipv4Addr::from_bits(0x7f01_0000 + index);
            let peer = Hello { address, ..hello(1, 1) };
            let now = Timestamp::START + Duration::from_micros(index.into());
            distrusted.add(&peer, Offence::Rubbish, now);
        }
        assert_eq!(distrusted.spells.len(), MOST);
    }
}
