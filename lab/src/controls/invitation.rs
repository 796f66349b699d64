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

use elevator_fleet::election::{Candidate, Detail, Election, Input, Output, Profile, Rules};
use elevator_fleet::election::{Message as Any, experiment};
use elevator_fleet::model::NodeId;
use elevator_fleet::wire::{NodeState, Nonce, Protocol};

use super::{PROFILE, message, name_of, send};

const MERGE: &str = "merge";
const ANSWERS: &str = "answers";
const READY: &str = "ready";

/// Times for a LAN.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// How long a master that hears others waits before it invites them.
    merge: Duration,
    /// So much longer for each master with a higher name.
    merge_per_rank: Duration,
    /// How long an inviter waits for answers.
    answers: Duration,
    /// How long a node that accepted waits for *ready*.
    ready: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            merge: Duration::from_millis(50),
            merge_per_rank: Duration::from_millis(50),
            answers: Duration::from_millis(100),
            ready: Duration::from_millis(300),
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

    /// The links, and four invitations, of which three fail.
    fn bound(&self, linked_within: Duration, nodes: usize) -> Duration {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        linked_within + (self.merge + self.merge_per_rank * nodes + self.ready) * 4
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(Invitation {
            own: own.node,
            settings: *self,
            peers: BTreeMap::new(),
            group: 0,
            state: State::Master { is_merging: false },
        })
    }
}

#[derive(Debug)]
struct Invitation {
    own: NodeId,
    settings: Settings,
    peers: BTreeMap<NodeId, NodeState>,
    /// The number of the last group that this node formed.
    group: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Master { is_merging: bool },
    Inviting { accepted: BTreeSet<NodeId> },
    Accepted { inviter: NodeId, group: u64 },
    Slave { master: NodeId },
}

impl Invitation {
    /// *Recovery*: a group of one.
    fn recover(&mut self, outputs: &mut Vec<Output>) {
        outputs.extend([ANSWERS, READY].map(|name| Output::Disarm(experiment::Timer(name).into())));
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

    fn merge_later(&mut self, outputs: &mut Vec<Output>) {
        if let State::Master { is_merging } = &mut self.state
            && !*is_merging
        {
            *is_merging = true;
            let above = self.masters().filter(|node| **node > self.own).count();
            let ranks = u32::try_from(above).unwrap_or(u32::MAX);
            let wait = self.settings.merge + self.settings.merge_per_rank * ranks;
            outputs.push(Output::Arm(experiment::Timer(MERGE).into(), wait));
        }
    }

    fn invite(&mut self, outputs: &mut Vec<Output>) {
        let State::Master { .. } = self.state else {
            return;
        };
        if self.masters().next().is_none() {
            self.state = State::Master { is_merging: false };
            return;
        }
        self.group += 1;
        let invited = self.masters().chain(self.slaves());
        outputs.extend(invited.map(|node| send(node, message("invitation", self.group))));
        outputs.push(Output::Arm(experiment::Timer(ANSWERS).into(), self.settings.answers));
        self.state = State::Inviting { accepted: BTreeSet::new() };
    }

    /// A master passes the invitation on to its slaves.
    fn on_invited(&mut self, inviter: &NodeId, group: u64, outputs: &mut Vec<Output>) {
        match &self.state {
            State::Master { .. } => {
                let node = Some(inviter.clone());
                let forwarded = experiment::Message { kind: "invitation", number: group, node };
                let slaves = self.slaves().filter(|slave| *slave != inviter);
                outputs.extend(slaves.map(|slave| send(slave, forwarded.clone())));
            }
            State::Slave { .. } => {}
            State::Inviting { .. } | State::Accepted { .. } => return,
        }
        if *inviter == self.own || !self.peers.contains_key(inviter) {
            return;
        }
        outputs.push(send(inviter, message("acceptance", group)));
        outputs.push(Output::Disarm(experiment::Timer(MERGE).into()));
        outputs.push(Output::Arm(experiment::Timer(READY).into(), self.settings.ready));
        self.state = State::Accepted { inviter: inviter.clone(), group };
    }

    fn on_message(
        &mut self,
        from: &NodeId,
        heard: &experiment::Message,
        outputs: &mut Vec<Output>,
    ) {
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
                self.state = State::Slave { master: from.clone() };
                outputs.push(Output::Disarm(experiment::Timer(READY).into()));
            }
            _ => {}
        }
    }

    fn on_heard(&mut self, peer: &NodeId, state: &NodeState, outputs: &mut Vec<Output>) {
        self.peers.insert(peer.clone(), state.clone());
        match (&self.state, state) {
            (State::Master { .. }, NodeState::Master) => self.merge_later(outputs),
            // It follows another now, and the invitation that it passed on was lost.
            (State::Slave { master }, NodeState::Slave { .. }) if master == peer => {
                self.recover(outputs);
            }
            (
                State::Master { .. }
                | State::Inviting { .. }
                | State::Accepted { .. }
                | State::Slave { .. },
                _,
            ) => {}
        }
    }

    fn on_timer(&mut self, timer: &str, outputs: &mut Vec<Output>) {
        match (timer, &mut self.state) {
            (MERGE, State::Master { .. }) => self.invite(outputs),
            (ANSWERS, State::Inviting { accepted }) => {
                let accepted = std::mem::take(accepted);
                let ready = message("ready", self.group);
                outputs.extend(accepted.iter().map(|node| send(node, ready.clone())));
                self.state = State::Master { is_merging: false };
            }
            (READY, State::Accepted { .. }) => self.recover(outputs),
            _ => {}
        }
    }
}

impl Election for Invitation {
    fn handle(&mut self, input: Input<'_>, _: u64, outputs: &mut Vec<Output>) {
        match input {
            Input::Heard { peer, node_state, .. } => {
                self.on_heard(&peer.node, node_state, outputs);
            }
            Input::Lost { peer } => {
                self.peers.remove(peer);
                let is_gone = match &self.state {
                    State::Slave { master: node } | State::Accepted { inviter: node, .. } => {
                        node == peer
                    }
                    State::Master { .. } | State::Inviting { .. } => false,
                };
                if is_gone {
                    self.recover(outputs);
                }
            }
            Input::Message { from, message: Any::Experiment(heard) } => {
                self.on_message(from, heard, outputs);
            }
            Input::Fired(timer) => {
                if let Some(name) = name_of(timer) {
                    self.on_timer(name, outputs);
                }
            }
            Input::Start
            | Input::Message { .. }
            | Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Estimate(_) => {}
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::Master { .. } => NodeState::Master,
            State::Inviting { .. } | State::Accepted { .. } => NodeState::Seeking,
            State::Slave { master } => NodeState::Slave { master: master.clone() },
        }
    }

    fn details(&self) -> Vec<Detail> {
        vec![Detail { name: "group".into(), value: self.group.to_string() }]
    }

    fn profile(&self) -> &Profile {
        &PROFILE
    }
}
