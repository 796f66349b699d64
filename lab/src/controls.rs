//! Elections that readers know, to compare the five protocols with.
//!
//! They run as [experiments](elevator_fleet::election::experiment) in the real node, under the same
//! faults and with the same messages' delays, and in virtual time only. As each pair of nodes keeps
//! a link, they see a peer while it is synced, just as `bully` does. Their times are for a LAN.
//! Chang–Roberts and invitation assume that no message gets lost: as `chang-roberts:reliable` and
//! `invitation:reliable` they have such a network, while beacons without a message still get lost.
//!
//! | control | source | what it answers |
//! | --- | --- | --- |
//! | [`Raft`](Control::Raft) | Ongaro and Ousterhout, *In Search of an Understandable Consensus Algorithm*, 2014, section 5.2; with the pre-vote of Ongaro's dissertation, section 9.6, as `raft:pre-vote` | what a majority costs, and what it buys |
//! | [`ChangRoberts`](Control::ChangRoberts) | Chang and Roberts, *An Improved Algorithm for Decentralized Extrema-Finding in Circular Configurations of Processes*, 1979 | what a ring of neighbours costs |
//! | [`Invitation`](Control::Invitation) | Garcia-Molina, *Elections in a Distributed Computing System*, 1982, section 5 | how groups merge without a preferred master |

mod chang_roberts;
mod invitation;
#[cfg(test)]
mod model;
mod raft;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use elevator_fleet::election::experiment::{Message, Timer};
use elevator_fleet::election::{
    Candidate, Detail, Election, ElectionSettings, ElectionTimer, Experiment, Input, LinkRule,
    Message as Any, Output, Profile, Rules,
};
use elevator_fleet::model::NodeId;
use elevator_fleet::wire::{NodeState, Nonce, Protocol};
use serde::Serialize;

use self::chang_roberts::ChangRoberts;
use self::invitation::Invitation;
use self::raft::Raft;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// A leader of a term, elected by a majority of the configured members.
    Raft,
    /// The highest name, found by messages round a ring.
    ChangRoberts,
    /// Coordinators invite each other's groups.
    Invitation,
}

impl Control {
    pub const ALL: [Self; 3] = [Self::Raft, Self::ChangRoberts, Self::Invitation];

    /// Its settings, in a fleet of this many members; Raft may have its pre-vote.
    #[must_use]
    pub fn settings(self, members: usize, pre_vote: bool) -> ElectionSettings {
        ElectionSettings::Experiment(Experiment::new(Setup { control: self, members, pre_vote }))
    }

    /// Whether so many of the members can have a master at all.
    pub(crate) fn can_elect(self, group: usize, members: usize) -> bool {
        self != Self::Raft || group * 2 > members
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What the controls have in common: a link between each two nodes, and one line of details.
const PROFILE: Profile =
    Profile { link_rule: LinkRule::EveryPair, detail_lines: 1, ..Profile::USUAL };

#[derive(Debug)]
struct Setup {
    control: Control,
    /// The configured members, which decide what a majority is.
    members: usize,
    pre_vote: bool,
}

impl Rules for Setup {
    fn protocol(&self) -> Protocol {
        match self.control {
            Control::Raft => Protocol::Ballot,
            Control::ChangRoberts | Control::Invitation => Protocol::Bully,
        }
    }

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn bound(&self, linked_within: Duration, nodes: usize) -> Duration {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        linked_within
            + match self.control {
                Control::Raft => raft::BOUND,
                Control::ChangRoberts => chang_roberts::bound(nodes),
                Control::Invitation => invitation::bound(nodes),
            }
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        match self.control {
            Control::Raft => Box::new(Running(Raft::new(own.node, self.members, self.pre_vote))),
            Control::ChangRoberts => Box::new(Running(ChangRoberts::new(own.node))),
            Control::Invitation => Box::new(Running(Invitation::new(own.node))),
        }
    }
}

/// What an algorithm does on what concerns it.
trait Algorithm: fmt::Debug + Send {
    fn start(&mut self, _: &mut Outputs<'_>) {}
    fn on_heard(&mut self, _peer: &NodeId, _state: &NodeState, _: &mut Outputs<'_>) {}
    fn on_lost(&mut self, _peer: &NodeId, _: &mut Outputs<'_>) {}
    fn on_message(&mut self, from: &NodeId, heard: &Message, outputs: &mut Outputs<'_>);
    fn on_timer(&mut self, timer: &str, outputs: &mut Outputs<'_>);
    fn node_state(&self) -> NodeState;

    fn detail(&self) -> Option<Detail> {
        None
    }
}

#[derive(Debug)]
struct Running<A>(A);

impl<A: Algorithm> Election for Running<A> {
    fn handle(&mut self, input: Input<'_>, draw: u64, list: &mut Vec<Output>) {
        let outputs = &mut Outputs { list, draw };
        match input {
            Input::Start => self.0.start(outputs),
            Input::Heard { peer, node_state, .. } => {
                self.0.on_heard(&peer.node, node_state, outputs);
            }
            Input::Lost { peer } => self.0.on_lost(peer, outputs),
            Input::Message { from, message: Any::Experiment(heard) } => {
                self.0.on_message(from, heard, outputs);
            }
            Input::Fired(ElectionTimer::Experiment(Timer(name))) => self.0.on_timer(name, outputs),
            Input::Message { .. }
            | Input::Fired(_)
            | Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Estimate(_) => {}
        }
    }

    fn node_state(&self) -> NodeState {
        self.0.node_state()
    }

    fn details(&self) -> Vec<Detail> {
        self.0.detail().into_iter().collect()
    }
}

/// What is to be done, and a number at random.
struct Outputs<'a> {
    list: &'a mut Vec<Output>,
    draw: u64,
}

impl Outputs<'_> {
    fn send(&mut self, to: &NodeId, kind: &'static str, number: u64, node: Option<&NodeId>) {
        let message = Message { kind, number, node: node.cloned() };
        self.list.push(Output::Send(to.clone(), message.into()));
    }

    fn broadcast(&mut self, kind: &'static str, number: u64) {
        self.list.push(Output::Broadcast(Message { kind, number, node: None }.into()));
    }

    fn arm(&mut self, timer: &'static str, wait: Duration) {
        self.list.push(Output::Arm(Timer(timer).into(), wait));
    }

    /// After this time, or at random up to twice as long.
    fn arm_at_random(&mut self, timer: &'static str, shortest: Duration) {
        let part = u32::try_from(self.draw % 1024).unwrap_or(0);
        self.arm(timer, shortest + shortest * part / 1024);
    }

    fn disarm(&mut self, timer: &'static str) {
        self.list.push(Output::Disarm(Timer(timer).into()));
    }
}
