//! The master is the node with the lowest IPv4 address (F2, F3).
//!
//! ```text
//!              hears a lower master, with which orders are exchanged
//!             ┌───────────────────────────────────────┐
//!             │                                       ▼        ┐ the master yields to a lower one
//!   start ──▶ Master                                Slave ◀────┘
//!             ▲                                       │
//!             └───────────────────────────────────────┘
//!              disconnected from the master, or it is no longer master
//! ```
//!
//! It has no messages and no timers: it reads the state of each peer in its beacons. The node keeps
//! the links ([`LinkRule::Standby`]) to the master and to its heir, the next lowest address, so a
//! failover needs no new link. Of two nodes with the same address the lower name leads. [`Source`]
//! does without the standby link.

mod source;

use core::net::Ipv4Addr;
use std::collections::BTreeSet;
use std::time::Duration;

use super::{Candidate, Detail, Election, Input, LinkRule, Output, Preferred, Profile, Rules};
use crate::model::{NodeId, NodeState, Nonce, Protocol};
use crate::seeded::{SeededBug, is_seeded};

pub use source::Source;

/// The timers of `lowest-ip` without a standby link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// This peer may be dialled again.
    Redial(NodeId),
    /// The link to this peer has had its time to carry.
    Join(NodeId),
}

const STANDBY: Profile = Profile {
    preferred: Preferred::LowestAddress,
    link_rule: LinkRule::Standby,
    detail_lines: 1,
    ..Profile::USUAL
};

const SOURCE: Profile = Profile { link_rule: LinkRule::FollowState, ..STANDBY };

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Whether a slave also keeps a link to the heir; default `true`. Otherwise as in the source
    /// (F3): a slave has one link, and leaves its master when that ends and for no other reason.
    pub standby: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { standby: true }
    }
}

impl Settings {
    #[must_use]
    pub fn source() -> Self {
        Self { standby: false }
    }
}

impl Rules for Settings {
    fn protocol(&self) -> Protocol {
        Protocol::LowestIp
    }

    fn profile(&self) -> &'static Profile {
        if self.standby { &STANDBY } else { &SOURCE }
    }

    /// Links are made twice: a master that joins another one drops its slaves, which then dial
    /// too; or a slave gave up its dial just before it was needed.
    fn bound(&self, linked_within: Duration, _nodes: usize) -> Duration {
        linked_within * 2
    }

    fn elect(&self, own: Candidate, _: Nonce, redial_after: Duration) -> Box<dyn Election> {
        if self.standby {
            Box::new(LowestIp::new(own.node, own.address))
        } else {
            Box::new(Source::new(own.node, own.address, redial_after))
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LowestIp {
    /// Ranks the nodes; the name decides between two nodes with one address.
    rank: (Ipv4Addr, NodeId),
    state: State,
    /// The masters with lower addresses, lowest first.
    masters: BTreeSet<(Ipv4Addr, NodeId)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    Master,
    Slave { master: NodeId },
}

impl LowestIp {
    /// A node at its start: a master (F2).
    #[must_use]
    pub fn new(node: NodeId, address: Ipv4Addr) -> Self {
        Self { rank: (address, node), state: State::Master, masters: BTreeSet::new() }
    }

    fn forget(&mut self, peer: &NodeId) {
        self.masters.retain(|(_, master)| master != peer);
    }

    /// A slave stays with its master while that is one, whatever lower masters it hears (F3).
    fn choose(&mut self) {
        let stays = match &self.state {
            State::Master => false,
            State::Slave { master } => self.masters.iter().any(|(_, known)| known == master),
        };
        if !stays {
            self.state = match self.masters.first() {
                Some((_, master)) => State::Slave { master: master.clone() },
                None => State::Master,
            };
        }
    }
}

impl Election for LowestIp {
    fn handle(&mut self, input: Input<'_>, _draw: u64, _outputs: &mut Vec<Output>) {
        match input {
            Input::Heard { peer, node_state, .. } => {
                self.forget(&peer.node);
                let rank = (peer.address, peer.node.clone());
                let is_lower = if is_seeded(SeededBug::AddressesComparedAsText) {
                    rank.0.to_string() < self.rank.0.to_string()
                } else {
                    rank < self.rank && !is_seeded(SeededBug::MasterNeverYields)
                };
                if *node_state == NodeState::Master && is_lower {
                    self.masters.insert(rank);
                }
                self.choose();
            }
            Input::Lost { peer } => {
                self.forget(peer);
                self.choose();
            }
            Input::Start
            | Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Message { .. }
            | Input::Estimate(_)
            | Input::Fired(_) => {}
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::Master => NodeState::Master,
            State::Slave { master } => NodeState::Slave { master: master.clone() },
        }
    }

    fn outranks(&self, master: &Candidate) -> bool {
        (self.rank.0, &self.rank.1) < (master.address, &master.node)
    }

    fn details(&self) -> Vec<Detail> {
        Vec::new()
    }
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests;
