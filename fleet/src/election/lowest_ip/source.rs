//! `lowest-ip` as in its source: one link, from a slave to its master (F3, C6).
//!
//! ```text
//!              hears a lower master: dial it
//!                  ┌──────────────┐
//!                  │              ▼   synced: hang up on the slaves
//!   start ──▶ Master            Joining ─────────────────────────────▶ Slave
//!                  ▲              │                                      │
//!                  └──────────────┘                                      │
//!                  ▲   disconnected: wait, longer each time              │
//!                  └─────────────────────────────────────────────────────┘
//!                      disconnected from the master (joining: or it is no longer master)
//! ```
//!
//! What the master's beacons say does not count. While a node joins another master, it keeps its
//! slaves until the new link carries (C6, E4). A failed dial is repeated after a wait that grows,
//! so a master that can be heard but not reached makes no node flap (E1).

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Timer;
use crate::election::{
    Candidate, Detail, Election, ElectionTimer, Input, LinkSide, Output, redial,
};
use crate::model::{NodeId, NodeState};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// Ranks the nodes; the name decides between two nodes with one address.
    rank: (Ipv4Addr, NodeId),
    redial_after: Duration,
    state: State,
    /// How often in a row a dial of this peer has failed.
    failures: BTreeMap<NodeId, u32>,
    /// Peers that are not dialled until their timer fires.
    waiting: BTreeSet<NodeId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    Master,
    Joining { master: NodeId },
    Slave { master: NodeId },
}

impl Source {
    #[must_use]
    pub fn new(node: NodeId, address: Ipv4Addr, redial_after: Duration) -> Self {
        Self {
            rank: (address, node),
            redial_after,
            state: State::Master,
            failures: BTreeMap::new(),
            waiting: BTreeSet::new(),
        }
    }

    fn on_heard(&mut self, peer: &NodeId, address: Ipv4Addr, leads: bool) -> Option<Output> {
        match &self.state {
            State::Master => {
                let lower = (address, peer) < (self.rank.0, &self.rank.1);
                (leads && lower && !self.waiting.contains(peer)).then(|| {
                    self.state = State::Joining { master: peer.clone() };
                    Output::Dial(peer.clone())
                })
            }
            State::Joining { master } => (master == peer && !leads).then(|| {
                self.state = State::Master;
                Output::HangUp(peer.clone())
            }),
            State::Slave { .. } => None,
        }
    }

    /// A master follows whom it dialled, even if it had given the dial up in the meantime. While it
    /// joins another, and as a slave, it hangs up on everybody else.
    fn on_synced(&mut self, peer: &NodeId, side: LinkSide) -> Option<Output> {
        match (&self.state, side) {
            (State::Joining { master }, LinkSide::Dialled) if master != peer => {
                Some(Output::HangUp(peer.clone()))
            }
            (State::Master | State::Joining { .. }, LinkSide::Dialled) => {
                self.state = State::Slave { master: peer.clone() };
                self.failures.remove(peer);
                Some(Output::HangUpAllBut(peer.clone()))
            }
            (State::Slave { master }, LinkSide::Dialled | LinkSide::Accepted) => {
                Some(Output::HangUpAllBut(master.clone()))
            }
            (State::Master | State::Joining { .. }, LinkSide::Accepted) => None,
        }
    }

    fn on_disconnected(&mut self, peer: &NodeId, draw: u64) -> Option<Output> {
        match &self.state {
            State::Joining { master } if master == peer => {
                self.state = State::Master;
                let failures = self.failures.entry(peer.clone()).or_default();
                let wait = redial::wait(self.redial_after, *failures, draw);
                *failures += 1;
                self.waiting.insert(peer.clone());
                Some(Output::Arm(Timer::Redial(peer.clone()).into(), wait))
            }
            State::Slave { master } if master == peer => {
                self.state = State::Master;
                None
            }
            State::Master | State::Joining { .. } | State::Slave { .. } => None,
        }
    }
}

impl Election for Source {
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>) {
        let output = match input {
            Input::Heard { peer, node_state, .. } => {
                let leads = *node_state == NodeState::Master;
                let output = self.on_heard(&peer.node, peer.address, leads);
                if let Some(Output::Dial(peer)) = &output {
                    let limit = redial::limit(self.redial_after);
                    outputs.push(Output::Arm(Timer::Join(peer.clone()).into(), limit));
                }
                output
            }
            Input::Synced { peer, side } => self.on_synced(peer, side),
            Input::Disconnected { peer } => self.on_disconnected(peer, draw),
            Input::Lost { peer } => {
                let output = self.on_disconnected(peer, draw);
                self.failures.remove(peer);
                output
            }
            Input::Fired(ElectionTimer::LowestIp(Timer::Redial(peer))) => {
                self.waiting.remove(peer);
                None
            }
            Input::Fired(ElectionTimer::LowestIp(Timer::Join(peer))) => match &self.state {
                State::Joining { master } if master == peer => {
                    outputs.push(Output::HangUp(peer.clone()));
                    self.on_disconnected(peer, draw)
                }
                State::Master | State::Joining { .. } | State::Slave { .. } => None,
            },
            Input::Start | Input::Message { .. } | Input::Estimate(_) | Input::Fired(_) => None,
        };
        outputs.extend(output);
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::Master | State::Joining { .. } => NodeState::Master,
            State::Slave { master } => NodeState::Slave { master: master.clone() },
        }
    }

    fn outranks(&self, master: &Candidate) -> bool {
        (self.rank.0, &self.rank.1) < (master.address, &master.node)
    }

    fn details(&self) -> Vec<Detail> {
        match &self.state {
            State::Joining { master } => vec![Detail::new("joining", master)],
            State::Master | State::Slave { .. } => Vec::new(),
        }
    }
}
