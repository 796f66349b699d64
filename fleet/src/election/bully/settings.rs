//! What can be set about `bully`.

use std::time::Duration;

use super::{Bully, PROFILE};
use crate::election::{Candidate, Election, Preset, Profile, Rules};
use crate::model::NodeId;
use crate::wire::{Nonce, Protocol};

/// The settings of `bully`. The defaults suit a LAN with 40 ms of jitter and 5 % loss.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// How fit this node is to lead (B1). Default [`Estimate::Health`]; alike on every node of the
    /// fleet, or fixed on every node, for the two have different scales.
    pub estimate: Estimate,
    /// By how much a node's estimate must exceed the master's before it starts an election
    /// (B10). 0 counts as 1. Default 25: a car that leaves service (20) changes no leader, a panel
    /// or a disk that fails does. With [`Estimate::Health`] a master that is followed is
    /// ahead by 1 less in every election, no matter who starts it.
    pub hysteresis: u32,
    /// How long a node's estimate must have exceeded the master's before it starts an
    /// election (B10). Default 500 ms: a panel's line that is soon back changes no leader. At least
    /// a few beacon periods, in which a new master hears of its followers.
    pub hold_off: Duration,
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

impl Default for Settings {
    fn default() -> Self {
        Self::fleet()
    }
}

impl Settings {
    /// The preset.
    #[must_use]
    pub fn of(preset: Preset) -> Self {
        match preset {
            Preset::Fleet => Self::fleet(),
            Preset::Source => Self::source(),
        }
    }

    /// For a fleet of elevators on one LAN; the default.
    #[must_use]
    pub fn fleet() -> Self {
        Self {
            estimate: Estimate::Health,
            hysteresis: 25,
            hold_off: Duration::from_millis(500),
            answer_wait: Duration::from_millis(200),
            ask_again: Duration::from_millis(50),
            coordinator_wait: Duration::from_millis(400),
            mesh_detection: true,
            silence: Duration::from_millis(400),
        }
    }

    /// As in the source: the peers' losses and states that the mesh reports do not count.
    #[must_use]
    pub fn source() -> Self {
        Self { mesh_detection: false, ..Self::fleet() }
    }
}

impl Settings {
    /// Whether a node is fitter than the master by enough to call for an election (B10).
    #[must_use]
    pub fn exceeds(&self, node: u32, master: u32) -> bool {
        node >= master.saturating_add(self.hysteresis.max(1))
    }

    /// The bonus of a master's estimate: all but 1 of the hysteresis, so that a node that
    /// is fitter by the hysteresis outranks it; and 1 as long as nobody follows it, so that those
    /// who have been on their own yield to the others. A number that was configured ranks as it is.
    pub(super) fn bonus(&self, is_followed: bool) -> u32 {
        let most = self.hysteresis.saturating_sub(1);
        match self.estimate {
            Estimate::Fixed(_) => 0,
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
    /// the loss has been detected and the links are up.
    fn bound(&self, linked_within: Duration, _nodes: usize) -> Duration {
        let silence = if self.mesh_detection { Duration::ZERO } else { self.silence };
        linked_within + silence + 2 * (self.answer_wait + self.coordinator_wait)
    }

    fn estimate(&self, health: u32) -> u32 {
        match self.estimate {
            Estimate::Fixed(estimate) => estimate,
            Estimate::Health => health,
        }
    }

    /// Where estimates change, a node outranks the master by the hysteresis only.
    fn outranks(&self, node: (u32, &NodeId), master: (u32, &NodeId)) -> bool {
        match self.estimate {
            Estimate::Fixed(_) => node > master,
            Estimate::Health => self.exceeds(node.0, master.0),
        }
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(Bully::new(own, self.clone()))
    }
}

/// How fit a node is to lead (B1). The higher estimate leads; of two equal ones, the node with the
/// higher name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimate {
    /// This, as long as the node runs. A node with the estimate 0 is barred: it neither answers nor
    /// leads, and follows the master (B6). In a fleet in which every node is barred each serves
    /// alone.
    Fixed(u32),
    /// The node's health, from 1 to 100, and while it leads the master's bonus: see
    /// [`health`](crate::node::health) and [`hysteresis`](Settings::hysteresis).
    Health,
}
