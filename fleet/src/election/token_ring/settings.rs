use std::time::Duration;

use super::{PROFILE, TokenRing};
use crate::election::{Candidate, Election, Profile, Rules};
use crate::model::{Nonce, Protocol};

/// The settings of `token-ring`. For operators, `src/config/tables/elections.rs` describes each. The
/// defaults suit a LAN with 40 ms of jitter and 5 % of loss.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// T: between two signs of life of a holder. Longer than `acknowledgement_wait`, so that a
    /// hand-over that fails is no loss of the token.
    pub t: Duration,
    /// So much longer than T a waiting node waits before it recovers the token: longer than the
    /// LAN's jitter.
    pub grace: Duration,
    /// For how long a holder keeps the token before it looks for the next node (T2): several times
    /// `search_wait` and `acknowledgement_wait`, so that little time is spent on hand-overs.
    pub hold: Duration,
    /// k: the part of T, in per cent, that an exchange between two holders may take at least; the
    /// rest is drawn by lot. With 100 three holders that wait for each other in a cycle may never
    /// get out of it.
    pub k: u8,
    /// How long answers to a search are waited for; with `mesh_detection` less if every node that is
    /// heard has answered.
    pub search_wait: Duration,
    /// After so many searches without an answer a holder serves alone.
    pub search_tries: u8,
    /// How long a hand-over may take until it is acknowledged: some beacon periods longer than a
    /// message and its answer take, as a lost one is repeated at each beacon of its receiver.
    pub acknowledgement_wait: Duration,
    /// How long a claim is open to objections.
    pub claim_wait: Duration,
    /// So much later than the node before it in the ring, counted from the last holder, a waiting
    /// node claims: longer than a message takes as a rule. Claims that cross are compared.
    pub claim_wait_per_rank: Duration,
    /// Whether the mesh's reports of peers count (C5): the loss of the holder as the silence of a
    /// holder, and a state in a beacon as a sign of life.
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
    /// the peers' losses and states that the mesh reports do not count. The source has T, in seconds,
    /// and k, without figures: T is 1 s. The waits, which it can't do without, are those of the
    /// fleet.
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

    /// C3: the links are up, a recovery has run in which the last of the ring claims, and three
    /// exchanges have taken their longest; as in the source, where nothing is sent again, five.
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
