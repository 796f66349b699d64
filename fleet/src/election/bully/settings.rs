use std::time::Duration;

use super::{Bully, PROFILE};
use crate::election::{Candidate, Election, Profile, Rules};
use crate::model::{NodeId, Nonce, Protocol};

/// The settings of `bully`. For operators, `src/config/tables/elections.rs` describes each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    pub estimate: Estimate,
    /// Whether a clearly fitter node replaces a working master, which has a bonus (B10).
    pub challenges: bool,
    /// By how much an estimate must exceed the master's to start an election (B10). 0 counts as 1.
    pub hysteresis: u32,
    /// For how long (B10); at least a few beacon periods, until it hears of its followers.
    pub hold_off: Duration,
    /// How long a higher node may announce itself first (B2): two beacon periods.
    pub head_start: Duration,
    /// T: how long a candidate waits for an *answer* (B2).
    pub answer_wait: Duration,
    pub ask_again: Duration,
    /// How long a candidate that was answered waits for *master* (B4).
    pub coordinator_wait: Duration,
    /// Whether the mesh's reports of losses count (C5); otherwise `silence` does.
    pub mesh_detection: bool,
    /// A master that sends no beacon for this time counts as silent (B2).
    pub silence: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            estimate: Estimate::Health,
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
    /// As in the source: the mesh's reports do not count, a candidate asks once and at once, and
    /// nobody challenges a master that works. The source has no figures: they are the fleet's.
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

    /// Whether a node is fitter than the master by enough to call for an election (B10).
    pub(super) fn exceeds(&self, node: u32, master: u32) -> bool {
        node >= master.saturating_add(self.hysteresis.max(1))
    }

    /// The estimate that a master of this fitness sends. Its bonus is all but 1 of the hysteresis,
    /// and 1 as long as nobody follows it, so that one that was on its own yields to the others.
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

    /// Links and the loss, then two elections, the first of which runs out because a message was
    /// lost; as in the source, where nothing is sent again, three. All nodes hold theirs at a time.
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

    /// With changing estimates a node outranks the master by the hysteresis; not in the source.
    fn outranks(&self, node: (u32, &NodeId), master: (u32, &NodeId)) -> bool {
        match self.estimate {
            Estimate::Fixed(_) => node > master,
            Estimate::Health => self.challenges && self.exceeds(node.0, master.0),
        }
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(Bully::new(own, self.clone()))
    }
}

/// How fit a node is to lead (B1); of two equal nodes, the higher name leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimate {
    /// This, as long as the node runs; 0 bars it (B6): it neither answers nor leads.
    Fixed(u32),
    /// The node's [health](crate::node::health), and while it leads the master's bonus.
    Health,
}
