//! The algorithm of Chang and Roberts.
//!
//! The nodes form a ring in the order of their names. A candidate travels round it and replaces
//! every lower one on its way; the one that comes back to its own node has won, and *elected* goes
//! round once more.
//!
//! What the paper leaves open, because its ring is complete and its messages arrive, is ours: the
//! mesh reports who is lost, a node starts an election when it starts, loses its master or finds a
//! second one, a candidate that brings no result is sent again, and each node lets the candidate of
//! a node that it has lost pass only once.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::election::experiment::Message;
use elevator_fleet::model::NodeId;
use elevator_fleet::wire::NodeState;

use super::{Algorithm, Outputs};

/// How long a node that starts looks for others.
const BEGIN: &str = "begin";
const DISCOVERY: Duration = Duration::from_millis(100);

const RETRY: &str = "retry";

/// How long a candidate may take to bring a result.
fn retry(nodes: u32) -> Duration {
    Duration::from_millis(100) + Duration::from_millis(20) * nodes
}

/// The discovery, and three candidates that get lost.
pub(super) fn bound(nodes: u32) -> Duration {
    DISCOVERY + retry(nodes) * 2 * 4
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ChangRoberts {
    own: NodeId,
    /// Whether each is a master.
    peers: BTreeMap<NodeId, bool>,
    /// The nodes lost since they were last heard, and whether a candidate of each has passed here.
    lost: BTreeMap<NodeId, bool>,
    /// A candidate of this node, or one that it let pass, is on its way.
    is_candidate: bool,
    node_state: NodeState,
}

impl ChangRoberts {
    pub(super) fn new(own: NodeId) -> Self {
        let node_state = NodeState::Seeking;
        let (peers, lost) = (BTreeMap::new(), BTreeMap::new());
        Self { own, peers, lost, is_candidate: false, node_state }
    }

    /// To the next node in the order of the names, round the ring.
    fn pass_on(&self, kind: &'static str, node: &NodeId, outputs: &mut Outputs<'_>) {
        let after = self.peers.keys().find(|peer| **peer > self.own);
        if let Some(to) = after.or_else(|| self.peers.keys().next()) {
            outputs.send(to, kind, 0, Some(node));
        }
    }

    fn begin(&mut self, outputs: &mut Outputs<'_>) {
        if self.peers.is_empty() {
            self.is_candidate = false;
            self.node_state = NodeState::Master;
            return;
        }
        self.send_candidate(&self.own.clone(), outputs);
    }

    fn send_candidate(&mut self, node: &NodeId, outputs: &mut Outputs<'_>) {
        self.is_candidate = true;
        self.pass_on("candidate", node, outputs);
        let nodes = u32::try_from(self.peers.len()).unwrap_or(u32::MAX);
        outputs.arm_at_random(RETRY, retry(nodes));
    }

    fn settle(&mut self, node_state: NodeState, elected: &NodeId, outputs: &mut Outputs<'_>) {
        self.is_candidate = false;
        self.node_state = node_state;
        outputs.disarm(RETRY);
        self.pass_on("elected", elected, outputs);
    }

    fn on_candidate(&mut self, node: &NodeId, outputs: &mut Outputs<'_>) {
        if *node == self.own {
            self.settle(NodeState::Master, node, outputs);
        } else if *node > self.own {
            // Its node may be back without being heard yet; if it is dead, nobody else stops it.
            let has_passed = self.lost.get_mut(node);
            if !has_passed.is_some_and(|passed| std::mem::replace(passed, true)) {
                self.send_candidate(node, outputs);
            }
        } else if !self.is_candidate {
            self.begin(outputs);
        }
    }

    fn on_elected(&mut self, node: &NodeId, outputs: &mut Outputs<'_>) {
        if *node > self.own && self.peers.contains_key(node) {
            self.settle(NodeState::Slave { master: node.clone() }, node, outputs);
        } else if *node != self.own && !self.is_candidate {
            // An election that this node had no part in.
            self.begin(outputs);
        }
    }
}

impl Algorithm for ChangRoberts {
    fn start(&mut self, outputs: &mut Outputs<'_>) {
        outputs.arm(BEGIN, DISCOVERY);
    }

    fn on_heard(&mut self, peer: &NodeId, state: &NodeState, outputs: &mut Outputs<'_>) {
        let leads = *state == NodeState::Master;
        self.peers.insert(peer.clone(), leads);
        self.lost.remove(peer);
        let is_split = match &self.node_state {
            NodeState::Master => leads,
            NodeState::Slave { master } => master == peer && !leads,
            NodeState::Seeking => false,
        };
        if is_split && !self.is_candidate {
            self.begin(outputs);
        }
    }

    fn on_lost(&mut self, peer: &NodeId, outputs: &mut Outputs<'_>) {
        if self.peers.remove(peer).is_some() {
            self.lost.insert(peer.clone(), false);
        }
        if self.node_state == (NodeState::Slave { master: peer.clone() }) {
            self.node_state = NodeState::Seeking;
            self.begin(outputs);
        }
    }

    fn on_message(&mut self, _: &NodeId, heard: &Message, outputs: &mut Outputs<'_>) {
        match (heard.kind, &heard.node) {
            ("candidate", Some(node)) => self.on_candidate(node, outputs),
            ("elected", Some(node)) => self.on_elected(node, outputs),
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: &str, outputs: &mut Outputs<'_>) {
        match timer {
            BEGIN if !self.is_candidate && self.node_state == NodeState::Seeking => {
                self.begin(outputs);
            }
            RETRY if self.is_candidate => self.begin(outputs),
            _ => {}
        }
    }

    fn node_state(&self) -> NodeState {
        self.node_state.clone()
    }
}
