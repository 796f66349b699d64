//! The mastership from this node's point of view: the election, the state, and overdue calls.
//!
//! ```text
//!   Input ──▶ Election ──▶ Output: timers, messages, links
//!                │
//!                ▼
//!            state, term ──▶ Change       Bank ──▶ Overdue ──▶ calls taken over
//! ```
//!
//! It knows no link, order or plan.

mod overdue;
mod terms;

use std::collections::BTreeMap;
use std::time::Duration;

use self::overdue::Overdue;
use self::terms::Terms;
use crate::election::{
    Candidate, Election, ElectionSettings, ElectionTimer, Input, LinkRule, Output, Profile,
};
use crate::model::{Hello, MeshTimes, NodeId, NodeState, Term, Timestamp};
use crate::peers::Membership;
use crate::report::Report;
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::Beacon;

pub(crate) use overdue::Bank;
pub use overdue::unserved_limit;

/// How long a new master waits for the lowest of the others: two beacon periods.
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
    /// Equal beacons within this time are a bunch.
    beacon_gap: Duration,
    /// What the election was told last of each peer.
    told: BTreeMap<NodeId, (Timestamp, Told)>,
}

/// What a beacon says to the election, and this node's own part in what the election does about it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    node_state: NodeState,
    term: Term,
    estimate: u32,
    own_state: NodeState,
    own_estimate: u32,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) change: Option<Change>,
    /// Whether the estimate that beacons carry has changed.
    pub(crate) has_new_estimate: bool,
    /// To be executed one by one: one may start a timer that the next restarts.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enclosed {
    Nothing,
    /// The open orders and the plan, as far as they fit.
    Orders,
}

impl Leadership {
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
            beacon_gap: mesh.beacon_gap,
            told: BTreeMap::new(),
        }
    }

    pub(crate) fn has_started(&self) -> bool {
        self.has_started
    }

    pub(crate) fn election(&self) -> &dyn Election {
        &*self.election
    }

    pub(crate) fn profile(&self) -> &'static Profile {
        self.settings.profile()
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

    pub(crate) fn has_followed(&self, peer: &NodeId) -> bool {
        self.former_master.as_ref() == Some(peer)
    }

    pub(crate) fn master(&self) -> Option<&NodeId> {
        match &self.node_state {
            NodeState::Slave { master } => Some(master),
            NodeState::Master | NodeState::Seeking => None,
        }
    }

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

    /// A peer that follows this node has sent a beacon; `has_joined` if it did not follow before.
    pub(crate) fn hear_follower(&mut self, led: Term, has_joined: bool) {
        self.terms.outlive(led);
        if has_joined {
            self.terms.catch_up();
        }
    }

    pub(crate) fn estimate(&self) -> u32 {
        self.estimate
    }

    pub(crate) fn note_health(&mut self, health: u32) -> Option<u32> {
        let estimate = self.settings.estimate(health);
        let has_changed = estimate != self.estimate;
        self.estimate = estimate;
        has_changed.then_some(estimate)
    }

    /// Whether this node requests sensor data: as master, unless the protocol itself does.
    pub(crate) fn asks_for_readings(&self) -> bool {
        self.leads() && !self.profile().requests_sensor_data
    }

    /// Whether the indicator shows the display data of this peer: of the master alone, if there is
    /// one.
    pub(crate) fn shows_for(&self, peer: &NodeId) -> bool {
        match &self.node_state {
            NodeState::Slave { master } => master == peer || self.profile().rotates,
            NodeState::Master => self.profile().rotates,
            NodeState::Seeking => true,
        }
    }

    /// Starts the node. The election gets [`Input::Start`] separately.
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
            self.told.remove(*peer);
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

    /// Whether the election was just told the same; if not, it is now. A process that
    /// was suspended finds in its socket what its peers sent meanwhile, and an election that reacts
    /// to the beacon of another master would react to each of these at once (C3).
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
        let last = self.told.get(&peer.node);
        let is_repeated =
            last.is_some_and(|(at, last)| now.since(*at) < self.beacon_gap && *last == told);
        if !is_repeated {
            self.told.insert(peer.node.clone(), (now, told));
        }
        is_repeated
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
        Change { from, to, term: self.term(), rotates: self.profile().rotates }
    }

    pub(crate) fn arm(&mut self, timer: ElectionTimer, at: Timestamp) {
        self.timers.insert(timer, at);
    }

    pub(crate) fn disarm(&mut self, timer: &ElectionTimer) {
        self.timers.remove(timer);
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Timestamp, &ElectionTimer)> {
        let timers = self.timers.iter().map(|(timer, at)| (*at, timer));
        timers.min_by_key(|(at, _)| *at)
    }

    /// The expired timers, in order. Each fires only if it is still due when its turn comes.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<(Timestamp, ElectionTimer)> {
        let due = self.timers.iter().filter(|(_, at)| **at <= now);
        let mut due: Vec<_> = due.map(|(timer, at)| (*at, timer.clone())).collect();
        due.sort();
        due
    }

    /// Whether a timer still has this deadline: it was neither stopped nor restarted. Removes it.
    pub(crate) fn take_due(&mut self, timer: &ElectionTimer, at: Timestamp) -> bool {
        let is_due = self.timers.get(timer) == Some(&at);
        if is_due {
            self.timers.remove(timer);
        }
        is_due
    }

    /// Whether to ignore a master because a lower peer has probably just become one too.
    pub(crate) fn waits_for_a_better(
        &self,
        peer: &NodeId,
        members: &Membership,
        now: Timestamp,
    ) -> bool {
        if self.profile().link_rule != LinkRule::Standby
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
