//! Peers that are not trusted for a while.
//!
//! A peer that does not do what it is there for is treated as if it were gone: not heard, not
//! echoed, without a link. So whatever protocol runs elects another master, and the peer notices
//! that it is alone. The time grows while that goes on, and what is over is forgotten.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Action, Node, Report};
use crate::model::{NodeId, Timestamp};
use crate::wire::{Hello, Nonce};

/// How long a peer is not trusted the first time.
const FIRST: Duration = Duration::from_secs(30);

/// The time doubles with each further time, up to this.
const LONGEST: Duration = Duration::from_mins(10);

/// After this time of good conduct the next time is the first one again.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// The most peers of which it is known; the one whose time ends first makes room.
const MOST: usize = 64;

/// The peers that are not trusted, and those that were lately.
#[derive(Debug, Clone, Default)]
pub(super) struct Distrust(BTreeMap<NodeId, Distrusted>);

#[derive(Debug, Clone, Copy)]
struct Distrusted {
    /// The incarnation that gave the reason. The next one starts afresh, as it may be repaired.
    nonce: Nonce,
    until: Timestamp,
    wait: Duration,
}

impl Distrust {
    /// Hands back how long the peer is not trusted.
    fn begin(&mut self, peer: &NodeId, nonce: Nonce, now: Timestamp) -> Duration {
        self.0
            .retain(|_, entry| now < entry.until + FORGOTTEN_AFTER);
        let before = self.0.get(peer).map(|entry| entry.wait);
        let wait = before.map_or(FIRST, |wait| (wait * 2).min(LONGEST));
        if self.0.len() >= MOST && before.is_none() {
            let first = self.0.iter().min_by_key(|(_, entry)| entry.until);
            if let Some(first) = first.map(|(name, _)| name.clone()) {
                self.0.remove(&first);
            }
        }
        let until = now + wait;
        let entry = Distrusted { nonce, until, wait };
        self.0.insert(peer.clone(), entry);
        wait
    }

    /// Whether what this incarnation says is to be ignored.
    pub(super) fn covers(&self, hello: &Hello, now: Timestamp) -> bool {
        let entry = self.0.get(&hello.node);
        entry.is_some_and(|entry| entry.nonce == hello.nonce && now < entry.until)
    }
}

impl Node {
    /// Treats a peer as gone for a while.
    pub(super) fn distrust(&mut self, peer: &NodeId, reason: &str, now: Timestamp) {
        let Some(nonce) = self.membership.get(peer).map(|known| known.hello.nonce) else {
            return;
        };
        let wait = self.distrust.begin(peer, nonce, now);
        self.actions.push_back(Action::Report(Report::Distrusted {
            node: peer.clone(),
            reason: reason.to_owned(),
            wait,
        }));
        self.membership.dismiss(peer);
        self.lose(peer, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordination::nodes::name;

    #[test]
    fn the_time_doubles_and_is_forgotten_after_good_conduct() {
        let (mut distrust, mut now) = (Distrust::default(), Timestamp::START);
        let mut lasted = Vec::new();
        for _ in 0..6 {
            let wait = distrust.begin(&name(1), Nonce(1), now);
            lasted.push(wait.as_secs());
            now = now + wait + Duration::from_secs(12);
        }
        assert_eq!(lasted, [30, 60, 120, 240, 480, 600]);
        now = now + FORGOTTEN_AFTER;
        assert_eq!(distrust.begin(&name(1), Nonce(1), now), FIRST);
    }

    #[test]
    fn few_peers_are_remembered() {
        let mut distrust = Distrust::default();
        for index in 0..200 {
            distrust.begin(&name(index), Nonce(1), Timestamp::START);
        }
        assert_eq!(distrust.0.len(), MOST);
    }
}
