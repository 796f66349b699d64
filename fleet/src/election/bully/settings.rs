use std::time::Duration;

use super::{Bully, PROFILE};
use crate::election::{Candidate, Election, Profile, Rules};
use crate::model::{NodeId, Nonce, Protocol};

/// The estimate of a node without any health, where the lowest wins: high enough to take a bonus
/// off it.
const NO_HEALTH: u32 = 1_000;

/// The settings of `bully`. The defaults suit a LAN with 40 ms of jitter and 5 % loss.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// How fit this node is to lead (B1). Default [`Estimate::Health`]; alike on every node of the
    /// fleet, or fixed on every node, for the two have different scales.
    pub estimate: Estimate,
    /// Which estimate wins, alike on every node. Default [`Wins::Highest`].
    pub wins: Wins,
    /// Whether a node that is clearly fitter than a working master replaces it, and the master has
    /// a bonus (B10). Default `true`. Otherwise estimates count in elections only, as in the
    /// source.
    pub challenges: bool,
    /// By how much a node's estimate must exceed the master's before it starts an election
    /// (B10). 0 counts as 1. Default 25: a car that leaves service (20) changes no leader, a panel
    /// or a disk that fails does. With [`Estimate::Health`] a master that is followed is
    /// ahead by 1 less in every election, no matter who starts it.
    pub hysteresis: u32,
    /// How long a node's estimate must have exceeded the master's before it starts an
    /// election (B10). Default 500 ms: a panel's line that is soon back changes no leader. At least
    /// a few beacon periods, in which a new master hears of its followers.
    pub hold_off: Duration,
    /// How long a node that misses the master lets a higher node announce itself before it asks
    /// (B2). Default 50 ms: two beacon periods, in which the announcement or a beacon of the new
    /// master arrives. 0, as in the source, asks at once.
    pub head_start: Duration,
    /// T: how long a candidate waits for an *answer* (B2). Default 200 ms; at least the way
    /// there and back, and a few times `ask_again`.
    pub answer_wait: Duration,
    /// While nobody answers, *election* is sent again this often, for it or its answer may be lost.
    /// Default 50 ms; at most `answer_wait`, which keeps to a single *election*.
    pub ask_again: Duration,
    /// How long a candidate that was answered waits for *master* (B4). Default 400 ms; at
    /// least `answer_wait`, which the node that answered may need itself, and the way there and
    /// back.
    pub coordinator_wait: Duration,
    /// Whether the master counts as silent when the mesh has lost it, and a node that the mesh has
    /// lost is not asked any more (C5). Default `true`. Otherwise nodes are asked whether they
    /// live or not, as in the source, and `silence` decides.
    pub mesh_detection: bool,
    /// Without `mesh_detection`: a master that sends no beacon for this time counts as silent
    /// (B2). Default 400 ms; at least eight beacon periods.
    pub silence: Duration,
}

/// For a fleet of elevators on one LAN.
impl Default for Settings {
    fn default() -> Self {
        Self {
            estimate: Estimate::Health,
            wins: Wins::Highest,
            challenges: true,
            hysteresis: 25,
            hold_off: Duration::from_millis(500),
            head_start: Duration::from_millis(50),
            answer_wait: Duration::from_millis(200),
            ask_again: Duration::from_millis(50),
            coordinator_wait: Duration::from_millis(400),
            mesh_detection: true,
            silence: Duration::from_millis(400),
        }
    }
}

impl Settings {
    /// As in the source: the peers' losses and states that the mesh reports do not count, a
    /// candidate asks once and at once, and nobody challenges a master that works. The source has
    /// no figures: T and the wait for *master* are those of the fleet.
    #[must_use]
    pub fn source() -> Self {
        let fleet = Self::default();
        Self {
            mesh_detection: false,
            challenges: false,
            head_start: Duration::ZERO,
            ask_again: fleet.answer_wait,
            ..fleet
        }
    }
}

impl Settings {
    /// What ranks an estimate: more is better, and nothing is below a barred node.
    pub(super) fn merit(&self, estimate: u32) -> u32 {
        match self.wins {
            Wins::Highest => estimate,
            Wins::Lowest if estimate == 0 => 0,
            Wins::Lowest => u32::MAX - estimate.min(u32::MAX - 1),
        }
    }

    /// Whether a node is fitter than the master by enough to call for an election (B10).
    #[must_use]
    pub fn exceeds(&self, node: u32, master: u32) -> bool {
        self.merit(node) >= self.merit(master).saturating_add(self.hysteresis.max(1))
    }

    /// The estimate that a master sends, of a node of this fitness.
    pub(super) fn as_master(&self, fitness: u32, is_followed: bool) -> u32 {
        let bonus = self.bonus(is_followed);
        match self.wins {
            Wins::Highest => fitness.saturating_add(bonus),
            Wins::Lowest => fitness.saturating_sub(bonus).max(fitness.min(1)),
        }
    }

    /// The bonus of a master's estimate: all but 1 of the hysteresis, so that a node that
    /// is fitter by the hysteresis outranks it; and 1 as long as nobody follows it, so that those
    /// who have been on their own yield to the others. A number that was configured ranks as it is.
    fn bonus(&self, is_followed: bool) -> u32 {
        let most = self.hysteresis.saturating_sub(1);
        match self.estimate {
            Estimate::Fixed(_) => 0,
            Estimate::Health if !self.challenges => 0,
            Estimate::Health if is_followed => most,
            Estimate::Health => most.min(1),
        }
    }
}

impl Rules for Settings {
    fn protocol(&self) -> Protocol {
        Protocol::Bully
    }

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    /// C3: two elections in a row, the first of which runs out because a message was lost, after
    /// the loss has been detected and the links are up; as in the source, where nothing is sent
    /// again, three. The number of nodes plays no part: all hold their elections at a time.
    fn bound(&self, linked_within: Duration, _nodes: usize) -> Duration {
        let silence = if self.mesh_detection { Duration::ZERO } else { self.silence };
        let elections = if self.mesh_detection { 2 } else { 3 };
        linked_within + silence + elections * (self.answer_wait + self.coordinator_wait)
    }

    fn estimate(&self, health: u32) -> u32 {
        match self.estimate {
            Estimate::Fixed(estimate) => estimate,
            Estimate::Health => match self.wins {
                Wins::Highest => health,
                Wins::Lowest => NO_HEALTH.saturating_sub(health).max(1),
            },
        }
    }

    /// Where estimates change, a node outranks the master by the hysteresis only; as in the source
    /// it does in the next election.
    fn outranks(&self, node: (u32, &NodeId), master: (u32, &NodeId)) -> bool {
        match self.estimate {
            Estimate::Fixed(_) => (self.merit(node.0), node.1) > (self.merit(master.0), master.1),
            Estimate::Health => self.challenges && self.exceeds(node.0, master.0),
        }
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(Bully::new(own, self.clone()))
    }
}

/// Which estimate wins an election (B1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wins {
    Highest,
    /// The lowest but 0, which bars a node here too: the variant of the source.
    Lowest,
}

/// How fit a node is to lead (B1). The better estimate leads; of two equal ones, the node with the
/// higher name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimate {
    /// This, as long as the node runs. A node with the estimate 0 is barred: it neither answers nor
    /// leads, and follows the master (B6). In a fleet in which every node is barred each serves
    /// alone.
    Fixed(u32),
    /// The node's health, from 1 to 100, and while it leads the master's bonus: see
    /// [`health`](crate::node::health) and [`hysteresis`](Settings::hysteresis). Where the lowest
    /// estimate wins, what the health lacks to 1000, less the bonus.
    Health,
}
