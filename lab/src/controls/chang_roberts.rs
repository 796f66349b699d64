//! The algorithm of Chang and Roberts.
//!
//! The nodes form a ring in the order of their names. A candidate travels round it and replaces
//! every lower one on its way; the one that comes back to its own node has won, and *elected* goes
//! round once more.
//!
//! What the paper leaves open, because its ring is complete and its messages arrive, is ours: the
//! mesh reports who is lost, a node starts an election when it starts, loses its master or finds a
//! second one, and a candidate that brings no result is sent again.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::election::{Candidate, Detail, Election, Input, Output, Profile, Rules};
use elevator_fleet::election::{Message as Any, experiment};
use elevator_fleet::model::NodeId;
use elevator_fleet::wire::{NodeState, Nonce, Protocol};

use super::{PROFILE, name_of, send};

const BEGIN: &str = "begin";
const RETRY: &str = "retry";

/// Times for a LAN.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// How long a node that starts looks for others.
    discovery: Duration,
    /// How long a candidate may take to bring a result in a ring of two.
    retry: Duration,
    /// So much longer for each node more.
    retry_per_node: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            discovery: Duration::from_millis(100),
            retry: Duration::from_millis(100),
            retry_per_node: Duration::from_millis(20),
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

    /// The links, and three candidates that get lost.
    fn bound(&self, linked_within: Duration, nodes: usize) -> Duration {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        linked_within + self.discovery + (self.retry + self.retry_per_node * nodes) * 2 * 4
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(ChangRoberts {
            own: own.node,
            settings: *self,
            peers: BTreeMap::new(),
            is_candidate: false,
            node_state: NodeState::Seeking,
        })
    }
}

#[derive(Debug)]
struct ChangRoberts {
    own: NodeId,
    settings: Settings,
    /// Whether each is a master.
    peers: BTreeMap<NodeId, bool>,
    /// A candidate of this node, or one that it let pass, is on its way.
    is_candidate: bool,
    node_state: NodeState,
}

impl ChangRoberts {
    /// The next node in the order of the names, round the ring.
    fn successor(&self) -> Option<&NodeId> {
        let after = self.peers.keys().find(|peer| **peer > self.own);
        after.or_else(|| self.peers.keys().next())
    }

    fn pass_on(&self, kind: &'static str, node: &NodeId, outputs: &mut Vec<Output>) {
        if let Some(to) = self.successor() {
            let node = Some(node.clone());
            outputs.push(send(to, experiment::Message { kind, number: 0, node }));
        }
    }

    fn begin(&mut self, draw: u64, outputs: &mut Vec<Output>) {
        if self.peers.is_empty() {
            self.is_candidate = false;
            self.node_state = NodeState::Master;
            return;
        }
        self.send_candidate(&self.own.clone(), draw, outputs);
    }

    fn send_candidate(&mut self, node: &NodeId, draw: u64, outputs: &mut Vec<Output>) {
        self.is_candidate = true;
        self.pass_on("candidate", node, outputs);
        let nodes = u32::try_from(self.peers.len()).unwrap_or(u32::MAX);
        let wait = self.settings.retry + self.settings.retry_per_node * nodes;
        let part = u32::try_from(draw % 1024).unwrap_or(0);
        outputs.push(Output::Arm(experiment::Timer(RETRY).into(), wait + wait * part / 1024));
    }

    fn settle(&mut self, node_state: NodeState, outputs: &mut Vec<Output>) {
        self.is_candidate = false;
        self.node_state = node_state;
        outputs.push(Output::Disarm(experiment::Timer(RETRY).into()));
    }

    fn on_candidate(&mut self, node: &NodeId, draw: u64, outputs: &mut Vec<Output>) {
        if *node == self.own {
            self.settle(NodeState::Master, outputs);
            self.pass_on("elected", &self.own.clone(), outputs);
        } else if *node > self.own {
            self.send_candidate(node, draw, outputs);
        } else if !self.is_candidate {
            self.begin(draw, outputs);
        }
    }

    fn on_elected(&mut self, node: &NodeId, draw: u64, outputs: &mut Vec<Output>) {
        if *node == self.own {
            return;
        }
        if *node < self.own || !self.peers.contains_key(node) {
            // An election that this node had no part in.
            if !self.is_candidate {
                self.begin(draw, outputs);
            }
            return;
        }
        self.settle(NodeState::Slave { master: node.clone() }, outputs);
        self.pass_on("elected", node, outputs);
    }

    fn on_heard(&mut self, peer: &Candidate, leads: bool, draw: u64, outputs: &mut Vec<Output>) {
        self.peers.insert(peer.node.clone(), leads);
        let is_split = match &self.node_state {
            NodeState::Master => leads,
            NodeState::Slave { master } => *master == peer.node && !leads,
            NodeState::Seeking => false,
        };
        if is_split && !self.is_candidate {
            self.begin(draw, outputs);
        }
    }
}

impl Election for ChangRoberts {
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>) {
        match input {
            Input::Start => {
                let begin = experiment::Timer(BEGIN).into();
                outputs.push(Output::Arm(begin, self.settings.discovery));
            }
            Input::Heard { peer, node_state, .. } => {
                self.on_heard(peer, *node_state == NodeState::Master, draw, outputs);
            }
            Input::Lost { peer } => {
                self.peers.remove(peer);
                if self.node_state == (NodeState::Slave { master: peer.clone() }) {
                    self.node_state = NodeState::Seeking;
                    self.begin(draw, outputs);
                }
            }
            Input::Message { message: Any::Experiment(heard), .. } => {
                match (heard.kind, &heard.node) {
                    ("candidate", Some(node)) => self.on_candidate(node, draw, outputs),
                    ("elected", Some(node)) => self.on_elected(node, draw, outputs),
                    _ => {}
                }
            }
            Input::Fired(timer) => match name_of(timer) {
                Some(BEGIN) if !self.is_candidate && self.node_state == NodeState::Seeking => {
                    self.begin(draw, outputs);
                }
                Some(RETRY) if self.is_candidate => self.begin(draw, outputs),
                _ => {}
            },
            Input::Message { .. }
            | Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Estimate(_) => {}
        }
    }

    fn node_state(&self) -> NodeState {
        self.node_state.clone()
    }

    fn details(&self) -> Vec<Detail> {
        Vec::new()
    }

    fn profile(&self) -> &Profile {
        &PROFILE
    }
}
