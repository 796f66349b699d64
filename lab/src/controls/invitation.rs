//! The invitation algorithm.
//!
//! ```text
//!            another master is heard: invite it and the own slaves
//!   Master ──────────────────────────────────▶ Inviting
//!    ▲  │▲                                         │
//!    │  │└─────────────────────────────────────────┘ the time for answers is up: ready to all
//!    │  │ invited                                       that accepted
//!    │  ▼
//!    │ Accepted ──────────▶ Slave
//!    │  │          ready      │
//!    └──┴─────────────────────┘ the inviter is lost, or does not get ready: a group of one
//! ```
//!
//! A group has a number that its master gave it, so that the answer to one invitation does not pass
//! for one to another. Of several masters the one with the highest name invites first, each other
//! one a little later (the paper: a delay by priority). Whether a master is there, and whether
//! another is, is read from beacons instead of asked by *are you there* and *are you coordinator*.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_fleet::election::Detail;
use elevator_fleet::election::experiment::Message;
use elevator_fleet::model::NodeId;
use elevator_fleet::wire::NodeState;

use super::{Algorithm, Outputs};

/// How long a master that hears others waits before it invites them, and so much longer for each
/// master with a higher name.
const MERGE: &str = "merge";
const MERGE_WAIT: Duration = Duration::from_millis(50);

/// How long an inviter waits for answers.
const ANSWERS: &str = "answers";
const ANSWERS_WAIT: Duration = Duration::from_millis(100);

/// How long a node that accepted waits for *ready*.
const READY: &str = "ready";
const READY_WAIT: Duration = Duration::from_millis(300);

/// Four invitations, of which three fail.
pub(super) fn bound(nodes: u32) -> Duration {
    (MERGE_WAIT + MERGE_WAIT * nodes + READY_WAIT) * 4
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Invitation {
    own: NodeId,
    peers: BTreeMap<NodeId, NodeState>,
    /// The number of the last group that this node formed.
    group: u64,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    Master { is_merging: bool },
    Inviting { accepted: BTreeSet<NodeId> },
    Accepted { inviter: NodeId, group: u64 },
    Slave { master: NodeId, group: u64 },
}

impl Invitation {
    pub(super) fn new(own: NodeId) -> Self {
        let state = State::Master { is_merging: false };
        Self { own, peers: BTreeMap::new(), group: 0, state }
    }

    #[cfg(test)]
    pub(super) fn group(&self) -> u64 {
        self.group
    }

    /// The master of the group that it belongs to, and the number of that group.
    #[cfg(test)]
    pub(super) fn follows(&self) -> Option<(&NodeId, u64)> {
        if let State::Slave { master, group } = &self.state { Some((master, *group)) } else { None }
    }

    /// *Recovery*: a group of one.
    fn recover(&mut self, outputs: &mut Outputs<'_>) {
        outputs.disarm(ANSWERS);
        outputs.disarm(READY);
        self.group += 1;
        self.state = State::Master { is_merging: false };
    }

    fn masters(&self) -> impl Iterator<Item = &NodeId> {
        let masters = self.peers.iter().filter(|(_, state)| **state == NodeState::Master);
        masters.map(|(node, _)| node)
    }

    fn slaves(&self) -> impl Iterator<Item = &NodeId> {
        let follows =
            |state: &NodeState| matches!(state, NodeState::Slave { master } if *master == self.own);
        self.peers.iter().filter(move |(_, state)| follows(state)).map(|(node, _)| node)
    }

    fn invite(&mut self, outputs: &mut Outputs<'_>) {
        if self.masters().next().is_none() {
            self.state = State::Master { is_merging: false };
            return;
        }
        self.group += 1;
        for node in self.masters().chain(self.slaves()) {
            outputs.send(node, "invitation", self.group, None);
        }
        outputs.arm(ANSWERS, ANSWERS_WAIT);
        self.state = State::Inviting { accepted: BTreeSet::new() };
    }

    /// A master passes the invitation on to its slaves.
    fn on_invited(&mut self, inviter: &NodeId, group: u64, outputs: &mut Outputs<'_>) {
        match &self.state {
            State::Master { .. } => {
                for slave in self.slaves().filter(|slave| *slave != inviter) {
                    outputs.send(slave, "invitation", group, Some(inviter));
                }
            }
            State::Slave { .. } => {}
            State::Inviting { .. } | State::Accepted { .. } => return,
        }
        if *inviter == self.own || !self.peers.contains_key(inviter) {
            return;
        }
        outputs.send(inviter, "acceptance", group, None);
        outputs.disarm(MERGE);
        outputs.arm(READY, READY_WAIT);
        self.state = State::Accepted { inviter: inviter.clone(), group };
    }
}

impl Algorithm for Invitation {
    fn on_heard(&mut self, peer: &NodeId, state: &NodeState, outputs: &mut Outputs<'_>) {
        self.peers.insert(peer.clone(), state.clone());
        match (&self.state, state) {
            (State::Master { is_merging: false }, NodeState::Master) => {
                let above = self.masters().filter(|node| **node > self.own).count();
                let ranks = u32::try_from(above).unwrap_or(u32::MAX);
                outputs.arm(MERGE, MERGE_WAIT + MERGE_WAIT * ranks);
                self.state = State::Master { is_merging: true };
            }
            // It follows another now, and the invitation that it passed on was lost.
            (State::Slave { master, .. }, NodeState::Slave { .. }) if master == peer => {
                self.recover(outputs);
            }
            _ => {}
        }
    }

    fn on_lost(&mut self, peer: &NodeId, outputs: &mut Outputs<'_>) {
        self.peers.remove(peer);
        let (State::Slave { master: node, .. } | State::Accepted { inviter: node, .. }) =
            &self.state
        else {
            return;
        };
        if node == peer {
            self.recover(outputs);
        }
    }

    fn on_message(&mut self, from: &NodeId, heard: &Message, outputs: &mut Outputs<'_>) {
        match (heard.kind, &mut self.state) {
            ("invitation", _) => {
                self.on_invited(heard.node.as_ref().unwrap_or(from), heard.number, outputs);
            }
            ("acceptance", State::Inviting { accepted }) if heard.number == self.group => {
                accepted.insert(from.clone());
            }
            ("ready", State::Accepted { inviter, group })
                if inviter == from && *group == heard.number =>
            {
                self.state = State::Slave { master: from.clone(), group: *group };
                outputs.disarm(READY);
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: &str, outputs: &mut Outputs<'_>) {
        match (timer, &self.state) {
            (MERGE, State::Master { .. }) => self.invite(outputs),
            (ANSWERS, State::Inviting { accepted }) => {
                for node in accepted {
                    outputs.send(node, "ready", self.group, None);
                }
                self.state = State::Master { is_merging: false };
            }
            (READY, State::Accepted { .. }) => self.recover(outputs),
            _ => {}
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::Master { .. } => NodeState::Master,
            State::Inviting { .. } | State::Accepted { .. } => NodeState::Seeking,
            State::Slave { master, .. } => NodeState::Slave { master: master.clone() },
        }
    }

    fn detail(&self) -> Option<Detail> {
        Some(Detail { name: "group".into(), value: self.group.to_string() })
    }
}
