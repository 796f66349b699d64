//! Beacons that tell the election nothing new.
//!
//! A process that was suspended finds in its socket what its peers sent meanwhile. An election that
//! reacts to the beacon of another master would react to each of these at once, and the peer to each
//! of these reactions (C3). Also, each message of an election comes with a beacon, which says again
//! what the last one said. So of the equal beacons of a peer that arrive in a bunch, the first
//! counts. Whatever an election repeats at each beacon, because it may have been lost, it still
//! repeats at the periodic ones, which are further apart.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{NodeId, NodeState, Term, Timestamp};

#[derive(Debug)]
pub(super) struct Repeats {
    /// Equal beacons within this time are a bunch.
    within: Duration,
    told: BTreeMap<NodeId, (Timestamp, Told)>,
}

/// What a beacon says to the election, and this node's own part in what the election does about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) node_state: NodeState,
    pub(super) term: Term,
    pub(super) estimate: u32,
    pub(super) own_state: NodeState,
    pub(super) own_estimate: u32,
}

impl Repeats {
    pub(super) fn new(within: Duration) -> Self {
        Self { within, told: BTreeMap::new() }
    }

    /// Whether the election was told the same of this peer just before. Otherwise it is told now.
    pub(super) fn covers(&mut self, peer: &NodeId, told: Told, now: Timestamp) -> bool {
        let last = self.told.get(peer);
        let covered = last.is_some_and(|(at, last)| now.since(*at) < self.within && *last == told);
        if !covered {
            self.told.insert(peer.clone(), (now, told));
        }
        covered
    }

    /// The election forgets a peer that is lost.
    pub(super) fn forget(&mut self, peer: &NodeId) {
        self.told.remove(peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::name;

    const WITHIN: Duration = Duration::from_millis(4);

    fn told(estimate: u32) -> Told {
        Told {
            node_state: NodeState::Master,
            term: Term(1),
            estimate,
            own_state: NodeState::Seeking,
            own_estimate: 5,
        }
    }

    /// C3
    #[test]
    fn equal_beacons_count_once_in_a_bunch() {
        let at = |millis| Timestamp::START + Duration::from_millis(millis);
        let mut repeats = Repeats::new(WITHIN);
        let mut is_new = |peer, told, millis| !repeats.covers(&name(peer), told, at(millis));
        assert!(is_new(1, told(1), 0));
        assert!(!is_new(1, told(1), 0) && !is_new(1, told(1), 3));
        assert!(is_new(2, told(1), 3), "of another peer");
        assert!(is_new(1, told(1), 4), "the next");
        assert!(is_new(1, told(2), 4), "it says something else");
        assert!(is_new(1, Told { own_state: NodeState::Master, ..told(2) }, 4));
        assert!(is_new(1, Told { own_estimate: 6, ..told(2) }, 4));
        repeats.forget(&name(1));
        let told = Told { own_estimate: 6, ..told(2) };
        assert!(!repeats.covers(&name(1), told, at(4)), "it was lost");
    }
}
