use std::time::Duration;

use super::{PROFILE, TokenRing};
use crate::election::{Candidate, Election, Profile, Rules};
use crate::model::{Nonce, Protocol};

/// The settings of `token-ring`. For operators, `src/config/tables/elections.rs` describes each.
/// The defaults suit a LAN with 40 ms of jitter and 5 % of loss.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// T: between two signs of life of a holder. Longer than `acknowledgement_wait`.
    pub t: Duration,
    /// So much longer than T a waiting node waits before it recovers the token.
    pub grace: Duration,
    /// For how long a holder keeps the token before it looks for the next node (T2).
    pub hold: Duration,
    /// k: the part of T, in per cent, that an exchange between two holders may take at least; the
    /// rest is drawn by lot. With 100 three holders may wait for each other in a cycle for ever.
    pub k: u8,
    /// How long answers to a search are waited for, unless every node that is heard has answered.
    pub search_wait: Duration,
    /// After this many searches without an answer a holder serves alone.
    pub search_tries: u8,
    /// How long a hand-over may take until it is acknowledged.
    pub acknowledgement_wait: Duration,
    /// How long a claim is open to objections.
    pub claim_wait: Duration,
    /// So much later than the node before it in the ring a waiting node claims.
    pub claim_wait_per_rank: Duration,
    /// Whether the mesh's reports of peers count (C5): losses, and the states in beacons.
    pub mesh_detection: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            t: Duration::from_millis(200),
            grace: Duration::from_millis(50),
            hold: Duration::from_secs(1),
            k: 50,
            search_wait: Duration::from_millis(100),
            search_tries: 3,
            acknowledgement_wait: Duration::from_millis(150),
            claim_wait: Duration::from_millis(100),
            claim_wait_per_rank: Duration::from_millis(25),
            mesh_detection: true,
        }
    }
}

impl Settings {
    /// As in the source: a holder computes, then searches at once, and is alone if nobody answers;
    /// the mesh's reports do not count. T is in seconds; the source gives no figures.
    #[must_use]
    pub fn source() -> Self {
        Self {
            t: Duration::from_secs(1),
            hold: Duration::ZERO,
            search_tries: 1,
            mesh_detection: false,
            ..Self::default()
        }
    }

    /// T9: how long an exchange may take.
    pub(super) fn exchange_limit(&self, draw: u64) -> Duration {
        let k = u32::from(self.k.min(100));
        self.t * k / 100 + part(self.t * (100 - k) / 100, draw)
    }

    /// T8: how long one computation of a holder that serves alone takes.
    pub(super) fn computation(&self) -> Duration {
        self.hold.max(self.t)
    }

    /// T4: until a holder that serves alone searches again.
    pub(super) fn next_search(&self, draw: u64) -> Duration {
        self.t + part(self.t / 2, draw)
    }
}

impl Rules for Settings {
    fn protocol(&self) -> Protocol {
        Protocol::TokenRing
    }

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    /// Links, a recovery in which the last of the ring claims, and three exchanges that take their
    /// longest; as in the source, where nothing is sent again, five.
    fn bound(&self, linked_within: Duration, nodes: usize) -> Duration {
        let last_rank = u32::try_from(nodes.saturating_sub(1)).unwrap_or(u32::MAX);
        let last_turn = self.claim_wait_per_rank.saturating_mul(last_rank);
        let exchanges = if self.mesh_detection { 3 } else { 5 };
        linked_within + self.t * (1 + exchanges) + self.grace + self.claim_wait + last_turn
    }

    fn settles_within(&self) -> Duration {
        self.t
    }

    fn elect(&self, own: Candidate, incarnation: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(TokenRing::new(&own, incarnation, self.clone()))
    }
}

/// A part of it, by lot.
fn part(whole: Duration, draw: u64) -> Duration {
    whole * u32::try_from(draw % 1024).unwrap_or(0) / 1024
}
