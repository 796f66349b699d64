//! The mastership from this node's point of view: the election, the node's state, and calls that no
//! master has served in time.
//!
//! ```text
//!   Input ──▶ Election ──▶ Output ──▶ timers of the election
//!                │            └─────▶ Wish: send, dial, hang up
//!                ▼
//!            state, term ──▶ Change       Bank ──▶ Overdue ──▶ calls taken over
//! ```
//!
//! It knows no link, order or plan. What it needs of them comes in as arguments, and what others
//! have to do goes out as values.

mod overdue;
mod repeats;
mod terms;

use std::collections::BTreeMap;
use std::time::Duration;

use self::overdue::Overdue;
use self::repeats::{Repeats, Told};
use self::terms::Terms;
use crate::election::{
    Candidate, Election, ElectionSettings, ElectionTimer, Input, LinkRule, Message, Output,
};
use crate::model::{Hello, MeshTimes, NodeId, NodeState, Term, Timestamp};
use crate::peers::Membership;
use crate::report::Report;
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::Beacon;

pub(crate) use overdue::Bank;

/// How long a new master waits for the lowest of the others before it follows another: two beacon
/// periods.
const PATIENCE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Leadership {
    has_started: bool,
    settings: ElectionSettings,
    election: Box<dyn Election>,
    timers: BTreeMap<ElectionTimer, Timestamp>,
    node_state: NodeState,
    node_state_since: Timestamp,
    /// The master that this node followed before its present state.
    former_master: Option<NodeId>,
    pub(crate) terms: Terms,
    /// The node's fitness to lead (B1).
    estimate: u32,
    pub(crate) overdue: Overdue,
    repeats: Repeats,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) change: Option<Change>,
    /// Whether the estimate that beacons carry has changed.
    pub(crate) has_new_estimate: bool,
    /// The election's outputs, in order. Pass each to [`Leadership::wish`].
    pub(crate) outputs: Vec<Output>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    from: NodeState,
    to: NodeState,
    term: Term,
    rotates: bool,
}

impl Change {
    pub(crate) fn report(self) -> Report {
        let Self { from, to, term, rotates } = self;
        let settled = from != NodeState::Seeking && to != NodeState::Seeking;
        if settled && rotates {
            Report::Rotated { from, to, term }
        } else {
            Report::NodeState { from, to, term }
        }
    }
}

/// An output of the election that other components execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Send a message to one node, or to all if there is no addressee.
    Send {
        to: Option<NodeId>,
        message: Message,
        enclosed: Enclosed,
    },
    Dial(NodeId),
    HangUp(NodeId),
    HangUpAllBut(NodeId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enclosed {
    Nothing,
    /// The open orders and the plan, as far as they fit.
    Orders,
}

impl Leadership {
    /// The election of the node with this hello, which has this `health` and knows this term.
    pub(crate) fn new(
        settings: ElectionSettings,
        hello: &Hello,
        health: u32,
        term: Term,
        mesh: MeshTimes,
    ) -> Self {
        let estimate = settings.estimate(health);
        let candidate = Candidate::new(hello, estimate);
        let election = settings.elect(candidate, hello.nonce, mesh.redial_after);
        Self {
            settings,
            has_started: false,
            node_state: election.node_state(),
            election,
            timers: BTreeMap::new(),
            node_state_since: Timestamp::START,
            former_master: None,
            terms: Terms::new(term),
            estimate,
            overdue: Overdue::default(),
            repeats: Repeats::new(mesh.beacon_gap),
        }
    }

    pub(crate) fn has_started(&self) -> bool {
        self.has_started
    }

    pub(crate) fn election(&self) -> &dyn Election {
        &*self.election
    }

    pub(crate) fn node_state(&self) -> &NodeState {
        &self.node_state
    }

    pub(crate) fn node_state_since(&self) -> Timestamp {
        self.node_state_since
    }

    pub(crate) fn leads(&self) -> bool {
        self.node_state == NodeState::Master
    }

    pub(crate) fn follows(&self, peer: &NodeId) -> bool {
        matches!(&self.node_state, NodeState::Slave { master } if master == peer)
    }

    /// Whether this node followed that peer in its state before the present one.
    pub(crate) fn has_followed(&self, peer: &NodeId) -> bool {
        self.former_master.as_ref() == Some(peer)
    }

    pub(crate) fn master(&self) -> Option<&NodeId> {
        match &self.node_state {
            NodeState::Slave { master } => Some(master),
            NodeState::Master | NodeState::Seeking => None,
        }
    }

    /// The term of this node's mastership; without one, the highest known (E3).
    pub(crate) fn term(&self) -> Term {
        self.terms.present()
    }

    /// A beacon of a peer, which may not prove yet that the peer hears this node.
    pub(crate) fn hear_beacon(&mut self, beacon: &Beacon) {
        self.terms.hear(beacon.term);
        if beacon.node_state == NodeState::Master
            && self.election.outranks(&Candidate::new(&beacon.hello, beacon.estimate))
        {
            self.terms.outlive(beacon.term);
        }
    }

    /// A peer that follows this node has sent a beacon. `has_joined` if it did not follow before, as
    /// far as this node has heard.
    pub(crate) fn hear_follower(&mut self, led: Term, has_joined: bool) {
        self.terms.outlive(led);
        if has_joined {
            self.terms.catch_up();
        }
    }

    /// The node's fitness to lead; 0 under a protocol that does not use it.
    pub(crate) fn estimate(&self) -> u32 {
        self.estimate
    }

    /// Updates the node's health. Returns its fitness to lead, if that has changed.
    pub(crate) fn note_health(&mut self, health: u32) -> Option<u32> {
        let estimate = self.settings.estimate(health);
        let has_changed = estimate != self.estimate;
        self.estimate = estimate;
        has_changed.then_some(estimate)
    }

    /// Whether this node requests sensor data: as master, unless the protocol itself does.
    pub(crate) fn asks_for_readings(&self) -> bool {
        self.leads() && !self.election.profile().requests_sensor_data
    }

    /// Whether the indicator shows the display data of this peer. A node with a master shows only
    /// the master's: between two groups that partly hear each other, the display would otherwise
    /// change with every message.
    pub(crate) fn shows_for(&self, peer: &NodeId) -> bool {
        match &self.node_state {
            NodeState::Slave { master } => master == peer || self.election.profile().rotates,
            NodeState::Master => self.election.profile().rotates,
            NodeState::Seeking => true,
        }
    }

    /// Starts the node: under `lowest-ip` as master (F2). The election gets [`Input::Start`]
    /// separately.
    pub(crate) fn start(&mut self, now: Timestamp) {
        self.has_started = true;
        self.node_state = self.election.node_state();
        self.node_state_since = now;
        if self.leads() {
            self.terms.begin();
        }
    }

    pub(crate) fn handle(&mut self, input: Input<'_>, draw: u64, now: Timestamp) -> Outcome {
        let mut outputs = Vec::new();
        let estimate = self.election.estimate();
        if let Input::Lost { peer } = &input {
            self.repeats.forget(peer);
            self.terms.catch_up();
        }
        let is_master = |peer: &NodeId| self.follows(peer);
        let is_kept = matches!(&input, Input::Lost { peer } if is_master(peer))
            && is_seeded(SeededBug::SlaveKeepsLostMaster);
        if !is_kept {
            self.election.handle(input, draw, &mut outputs);
        }
        let to = self.election.node_state();
        Outcome {
            change: (to != self.node_state).then(|| self.change_state(to, now)),
            has_new_estimate: self.election.estimate() != estimate,
            outputs,
        }
    }

    /// Whether the election already knows what a beacon says about its sender, from one that
    /// arrived just before.
    pub(crate) fn is_repeated(
        &mut self,
        peer: &Candidate,
        node_state: &NodeState,
        term: Term,
        now: Timestamp,
    ) -> bool {
        let told = Told {
            node_state: node_state.clone(),
            term,
            estimate: peer.estimate,
            own_state: self.node_state.clone(),
            own_estimate: self.election.estimate(),
        };
        self.repeats.covers(&peer.node, told, now)
    }

    /// Changes the node's state. A master leads under a term of its own (E3).
    pub(crate) fn change_state(&mut self, to: NodeState, now: Timestamp) -> Change {
        if to != NodeState::Master {
            self.terms.end();
        } else if !is_seeded(SeededBug::TermNotRaised) {
            self.terms.begin();
        }
        let from = std::mem::replace(&mut self.node_state, to.clone());
        self.node_state_since = now;
        self.former_master = match &from {
            NodeState::Slave { master } => Some(master.clone()),
            NodeState::Master | NodeState::Seeking => None,
        };
        Change { from, to, term: self.term(), rotates: self.election.profile().rotates }
    }

    /// Starts and stops the election's timers; returns what other components have to do.
    ///
    /// Outputs are passed one by one, because executing one may start a timer that the next output
    /// restarts.
    pub(crate) fn wish(&mut self, output: Output, now: Timestamp) -> Option<Wish> {
        let send = |to, message, enclosed| Wish::Send { to, message, enclosed };
        Some(match output {
            Output::Arm(timer, wait) => {
                self.timers.insert(timer, now + wait);
                return None;
            }
            Output::Disarm(timer) => {
                self.timers.remove(&timer);
                return None;
            }
            Output::Broadcast(message) => send(None, message, Enclosed::Nothing),
            Output::Send(to, message) => {
                send(Some(to), message.under(self.terms.known()), Enclosed::Nothing)
            }
            Output::HandOver(to, message) => send(Some(to), message, Enclosed::Orders),
            Output::Dial(peer) => Wish::Dial(peer),
            Output::HangUp(peer) => Wish::HangUp(peer),
            Output::HangUpAllBut(peer) => Wish::HangUpAllBut(peer),
        })
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Timestamp, &ElectionTimer)> {
        let timers = self.timers.iter().map(|(timer, at)| (*at, timer));
        timers.min_by_key(|(at, _)| *at)
    }

    /// The election's timers that have expired, in order. Each fires only if it is still
    /// [due](Self::take_due) when its turn comes.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<(Timestamp, ElectionTimer)> {
        let due = self.timers.iter().filter(|(_, at)| **at <= now);
        let mut due: Vec<_> = due.map(|(timer, at)| (*at, timer.clone())).collect();
        due.sort();
        due
    }

    /// Whether a timer still has this deadline, so that it was neither stopped nor restarted since.
    /// Removes it.
    pub(crate) fn take_due(&mut self, timer: &ElectionTimer, at: Timestamp) -> bool {
        let is_due = self.timers.get(timer) == Some(&at);
        if is_due {
            self.timers.remove(timer);
        }
        is_due
    }

    /// Whether to ignore a master because a lower peer has probably just become one too. Without
    /// this, the survivors of a master follow one another in chains, with a state transfer each
    /// time.
    pub(crate) fn waits_for_a_better(
        &self,
        peer: &NodeId,
        members: &Membership,
        now: Timestamp,
    ) -> bool {
        if self.election.profile().link_rule != LinkRule::Standby
            || !self.leads()
            || now >= self.node_state_since + PATIENCE
        {
            return false;
        }
        let Some(heard) = members.get(peer) else {
            return false;
        };
        let rank = (heard.hello.address, peer);
        let is_gone = |name: &NodeId| {
            self.former_master.as_ref() == Some(name) || members.get(name).is_none()
        };
        members.peers().any(|(name, known)| {
            let is_bound = match &known.node_state {
                NodeState::Slave { master } => !is_gone(master),
                NodeState::Master | NodeState::Seeking => is_gone(name),
            };
            (known.hello.address, name) < rank && !is_bound
        })
    }
}

#[cfg(test)]
impl Leadership {
    pub(crate) fn set_state(&mut self, node_state: NodeState) {
        self.node_state = node_state;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::lowest_ip;
    use crate::election::testing::name;
    use crate::model::Protocol;
    use crate::node::tests::node;

    fn timer(index: u8) -> ElectionTimer {
        ElectionTimer::LowestIp(lowest_ip::Timer::Redial(name(index)))
    }

    fn leadership() -> Leadership {
        let (settings, hello) =
            (ElectionSettings::of(Protocol::LowestIp), node(1, 1).hello().clone());
        Leadership::new(settings, &hello, 100, Term(7), MeshTimes::default())
    }

    #[test]
    fn timers_run_out_in_the_order_of_their_times() {
        let (mut leadership, now) = (leadership(), Timestamp::START);
        let second = Duration::from_secs(1);
        for (index, wait) in [(2, second * 2), (3, second), (4, second * 9)] {
            assert_eq!(leadership.wish(Output::Arm(timer(index), wait), now), None);
        }
        assert_eq!(leadership.poll_timeout(), Some((now + second, &timer(3))));
        let due = leadership.due(now + second * 2);
        let expected = [(now + second, timer(3)), (now + second * 2, timer(2))];
        assert_eq!(due, expected);
        assert!(leadership.take_due(&timer(3), now + second));
        assert_eq!(leadership.wish(Output::Disarm(timer(2)), now), None);
        assert!(!leadership.take_due(&timer(2), now + second * 2));
        assert_eq!(leadership.wish(Output::Arm(timer(4), second), now + second * 9), None);
        assert!(!leadership.take_due(&timer(4), now + second * 9), "armed again in the same tick");
    }
}
