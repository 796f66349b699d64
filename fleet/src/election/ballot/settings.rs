use std::time::Duration;

use super::{Ballot, PROFILE};
use crate::election::{Candidate, Election, Profile, Rules};
use crate::model::{Nonce, Protocol};

/// The settings of `ballot`. For operators, `src/config/tables/elections.rs` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Between two control packets of the leader (V2).
    pub control_period: Duration,
    /// A leader that sends no control packet for this time is lost (V2); a node that lost a vote
    /// waits as long for the winner (V6).
    pub lost_after: Duration,
    /// How long a round of votes lasts (V5): a vote has to get to everybody, and the answers back.
    pub round: Duration,
    /// While a leader's beacons report that it leads, so many times `lost_after` may pass without a
    /// control packet of it before it counts as lost.
    pub patience: u32,
    /// Whether the mesh's reports of losses count (C5), and `patience`.
    pub mesh_detection: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            control_period: Duration::from_millis(100),
            lost_after: Duration::from_millis(200),
            round: Duration::from_millis(100),
            patience: 5,
            mesh_detection: true,
        }
    }
}

impl Settings {
    /// As in the source: a leader is lost after two periods without a control packet (V2), and
    /// nothing that the mesh reports counts as a loss, nor `patience`.
    ///
    /// The source takes the network for reliable: where packets get lost, two in a row open a vote.
    /// It gives no figure for the period and the round (V2, V5); those here are the fleet's.
    #[must_use]
    pub fn source() -> Self {
        let control_period = Duration::from_millis(100);
        Self {
            control_period,
            lost_after: control_period * 2,
            round: Duration::from_millis(100),
            patience: 1,
            mesh_detection: false,
        }
    }
}

impl Rules for Settings {
    fn protocol(&self) -> Protocol {
        Protocol::Ballot
    }

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    /// C3: links are made and the leader's loss is noticed, then a few votes decide, should
    /// packets of the first ones get lost.
    fn bound(&self, linked_within: Duration, _nodes: usize) -> Duration {
        linked_within + (self.lost_after + self.round) * 4
    }

    /// Without `patience` two control packets lost in a row are a lost leader: the source takes the
    /// network for reliable.
    fn bears_loss(&self) -> bool {
        self.mesh_detection
    }

    fn request_period(&self) -> Option<Duration> {
        Some(self.control_period)
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(Ballot::new(own, *self))
    }
}
