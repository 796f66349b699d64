use std::time::Duration;

use super::{Bully, PROFILE};
use crate::election::{Candidate, Election, Profile, Rules};
use crate::model::{NodeId, Nonce, Protocol};

/// The settings of `bully`. For operators, `src/config/tables/elections.rs` describes each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// How fit this node is to lead (B1).
    pub estimate: Estimate,
    /// Which estimate wins (B1).
    pub wins: Wins,
    /// Whether a node that is clearly fitter than a working master replaces it, and the master has
    /// a bonus (B10).
    pub challenges: bool,
    /// By how much a node's estimate must exceed the master's before it starts an election
    /// (B10). 0 counts as 1. A car that leaves service (20) changes no master, a panel or a disk
    /// that fails does.
    pub hysteresis: u32,
    /// For how long (B10): a panel's line that is soon back changes no master. At least a few
    /// beacon periods, in which a new master hears of its followers.
    pub hold_off: Duration,
    /// How long a node that misses the master lets a higher node announce itself before it asks
    /// (B2): two beacon periods, in which the announcement or a beacon of the new master arrives.
    pub head_start: Duration,
    /// T: how long a candidate waits for an *answer* (B2); at least the way there and back, and a
    /// few times `ask_again`.
    pub answer_wait: Duration,
    /// How often *election* is sent again, for it or its answer may be lost.
    pub ask_again: Duration,
    /// How long a candidate that was answered waits for *master* (B4); at least `answer_wait`,
    /// which the node that answered may need itself, and the way there and back.
    pub coordinator_wait: Duration,
    /// Whether the mesh's reports of losses count (C5). Otherwise nodes are asked whether they
    /// live or not, and `silence` decides.
    pub mesh_detection: bool,
    /// Without `mesh_detection`: a master that sends no beacon for this time counts as silent
    /// (B2); at least eight beacon periods.
    pub silence: Duration,
}

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

    /// The estimate that a master of this fitness sends. Its bonus is all but 1 of the hysteresis,
    /// so that a node that is fitter by the hysteresis outranks it; and 1 as long as nobody follows
    /// it, so that those who have been on their own yield to the others. A number that was
    /// configured ranks as it is.
    pub(super) fn as_master(&self, fitness: u32, is_followed: bool) -> u32 {
        let most = self.hysteresis.saturating_sub(1);
        fitness.saturating_add(match self.estimate {
            Estimate::Fixed(_) => 0,
            Estimate::Health if !self.challenges => 0,
            Estimate::Health if is_followed => most,
            Estimate::Health => most.min(1),
        })
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
            Estimate::Health => health,
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
    /// The lowest but 0, which bars a node here too: the variant of the source, for
    /// [fixed](Estimate::Fixed) estimates.
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
    /// The node's [health](crate::node::health), from 1 to 100, and while it leads the master's
    /// bonus.
    Health,
}
