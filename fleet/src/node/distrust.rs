//! Peers that are treated as gone for a time, because of what they did while they were trusted.
//!
//! Such a peer is not heard, echoed or linked with, so the rest of the fleet elects and serves
//! without it, by the ordinary ways. It comes back by itself. Each time soon after the last doubles
//! the time, up to [`LONGEST`]: a sound fleet is whole again that soon after a peer was repaired.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::time::Duration;

use super::{Node, Report};
use crate::model::{NodeId, Timestamp};

/// How long a peer is distrusted the first time.
const SHORTEST: Duration = Duration::from_secs(1);

/// How long it is distrusted at most.
const LONGEST: Duration = Duration::from_secs(8);

/// After this time of good conduct the next time is the first again.
const PROBATION: Duration = Duration::from_mins(1);

/// The most addresses that are remembered. Beyond it the one that is trusted again the soonest is
/// forgotten.
const MOST: usize = 256;

/// Who is distrusted, by address: a faulty node may change its name, and a link proves the address.
#[derive(Debug, Clone, Default)]
pub(super) struct Distrusted(BTreeMap<Ipv4Addr, Spell>);

#[derive(Debug, Clone, Copy)]
struct Spell {
    until: Timestamp,
    length: Duration,
}

impl Distrusted {
    /// Distrusts an address from here on; hands back for how long.
    pub(super) fn add(&mut self, address: Ipv4Addr, now: Timestamp) -> Duration {
        self.0.retain(|_, spell| now < spell.until + PROBATION);
        let before = self.0.get(&address);
        let length = before.map_or(SHORTEST, |spell| (spell.length * 2).min(LONGEST));
        let soonest = self.0.iter().min_by_key(|(_, spell)| spell.until);
        if self.0.len() >= MOST
            && let Some(soonest) = soonest.map(|(address, _)| *address)
        {
            self.0.remove(&soonest);
        }
        let until = now + length;
        self.0.insert(address, Spell { until, length });
        length
    }

    pub(super) fn holds(&self, address: Ipv4Addr, now: Timestamp) -> bool {
        let spell = self.0.get(&address);
        spell.is_some_and(|spell| now < spell.until)
    }
}

impl Node {
    /// Treats a peer as gone for a time.
    pub(super) fn distrust(&mut self, peer: &NodeId, reason: &str, now: Timestamp) {
        let Some(wait) = self.membership.distrust(peer, now) else {
            return;
        };
        self.report(Report::Distrusted {
            node: peer.clone(),
            reason: reason.to_owned(),
            wait,
        });
        self.lose(peer, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(index: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(0x7f01_0000 + index)
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::START + Duration::from_secs(seconds)
    }

    #[test]
    fn trust_comes_back_later_each_time_and_at_last_as_before() {
        let mut distrusted = Distrusted::default();
        let peer = address(1);
        let mut now = at(0);
        for seconds in [1, 2, 4, 8, 8] {
            let length = Duration::from_secs(seconds);
            assert_eq!(distrusted.add(peer, now), length);
            assert!(distrusted.holds(peer, now));
            assert!(!distrusted.holds(address(2), now));
            now = now + length;
            assert!(!distrusted.holds(peer, now));
        }
        assert_eq!(distrusted.add(peer, now + PROBATION), SHORTEST);
    }

    #[test]
    fn the_number_of_distrusted_addresses_is_bounded() {
        let mut distrusted = Distrusted::default();
        for index in 0..1_000 {
            distrusted.add(address(index), at(0) + Duration::from_micros(index.into()));
        }
        assert_eq!(distrusted.0.len(), MOST);
        assert!(distrusted.holds(address(999), at(0)));
    }
}
