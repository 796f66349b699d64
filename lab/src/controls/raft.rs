//! The election of Raft, without its log.
//!
//! ```text
//!              timeout                majority
//!   Follower ──────────▶ Candidate ─────────────▶ Leader
//!      ▲                  │  │ ▲                     │
//!      │   leader, term   │  └─┘ timeout: next term  │ higher term,
//!      └──────────────────┴──────────────────────────┘ no majority answers
//! ```
//!
//! - A node votes once in a term, for the candidate that asks first.
//! - A leader that a majority has not answered for an election timeout steps down, so that a
//!   minority has none (*check quorum*).
//! - A voter that has heard its leader within the shortest timeout ignores candidates (section 6),
//!   so that a node that returns does not depose a working leader.
//! - With *pre-vote* a node first asks whether a majority would vote for it, and begins a term only
//!   then (section 9.6 of Ongaro's dissertation): a node that is cut off does not raise its term.
//!
//! Term and vote are not kept on disk: a node that restarts within a term may vote twice in it.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_fleet::election::experiment::Message;
use elevator_fleet::model::NodeId;
use elevator_fleet::wire::NodeState;

use super::{Algorithm, Outputs};

const ELECTION: &str = "election";
const STICKY: &str = "sticky";
const HEARTBEAT: &str = "heartbeat";

/// The shortest election timeout (section 9.3); the longest is twice that.
const ELECTION_TIMEOUT: Duration = Duration::from_millis(150);

/// Between two heartbeats of a leader.
const HEARTBEAT_PERIOD: Duration = Duration::from_millis(50);

/// Ties are settled by chance: no time is certain. Ten elections in a row.
pub(super) const BOUND: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Raft {
    own: NodeId,
    members: usize,
    pre_vote: bool,
    term: u64,
    voted_for: Option<NodeId>,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    /// Whom it follows, and whether that was heard within the shortest election timeout.
    Follower(Option<(NodeId, bool)>),
    /// Who would vote for it in the next term.
    PreCandidate(BTreeSet<NodeId>),
    /// Who has voted for it.
    Candidate(BTreeSet<NodeId>),
    /// Who has answered since the last check.
    Leader(BTreeSet<NodeId>),
}

impl Raft {
    pub(super) fn new(own: NodeId, members: usize, pre_vote: bool) -> Self {
        let state = State::Follower(None);
        Self { own, members, pre_vote, term: 0, voted_for: None, state }
    }

    #[cfg(test)]
    pub(super) fn term(&self) -> u64 {
        self.term
    }

    fn is_majority(&self, others: usize) -> bool {
        (others + 1) * 2 > self.members
    }

    fn ask(&mut self, outputs: &mut Outputs<'_>) {
        self.state = State::PreCandidate(BTreeSet::new());
        outputs.broadcast("pre-vote", self.term + 1);
        outputs.arm_at_random(ELECTION, ELECTION_TIMEOUT);
        self.count_votes(outputs);
    }

    fn stand(&mut self, outputs: &mut Outputs<'_>) {
        self.term += 1;
        self.voted_for = Some(self.own.clone());
        self.state = State::Candidate(BTreeSet::new());
        outputs.broadcast("request vote", self.term);
        outputs.arm_at_random(ELECTION, ELECTION_TIMEOUT);
        self.count_votes(outputs);
    }

    fn count_votes(&mut self, outputs: &mut Outputs<'_>) {
        match &self.state {
            State::PreCandidate(votes) if self.is_majority(votes.len()) => self.stand(outputs),
            State::Candidate(votes) if self.is_majority(votes.len()) => {
                self.state = State::Leader(BTreeSet::new());
                self.beat(outputs);
            }
            _ => {}
        }
    }

    /// Neither a question about the next term nor its answer begins that term.
    fn on_pre_vote(&mut self, from: &NodeId, heard: &Message, outputs: &mut Outputs<'_>) {
        match &mut self.state {
            State::PreCandidate(votes)
                if heard.kind == "would vote" && heard.number == self.term + 1 =>
            {
                votes.insert(from.clone());
                self.count_votes(outputs);
            }
            State::Leader(_) | State::Follower(Some((_, true))) => {}
            _ if heard.kind == "pre-vote" && heard.number > self.term => {
                outputs.send(from, "would vote", heard.number, None);
            }
            _ if heard.kind == "pre-vote" => outputs.send(from, "stale", self.term, None),
            _ => {}
        }
    }

    fn beat(&self, outputs: &mut Outputs<'_>) {
        outputs.broadcast("heartbeat", self.term);
        outputs.arm(HEARTBEAT, HEARTBEAT_PERIOD);
    }

    fn step_down(&mut self, outputs: &mut Outputs<'_>) {
        self.state = State::Follower(None);
        outputs.disarm(HEARTBEAT);
        outputs.arm_at_random(ELECTION, ELECTION_TIMEOUT);
    }
}

impl Algorithm for Raft {
    fn start(&mut self, outputs: &mut Outputs<'_>) {
        outputs.arm_at_random(ELECTION, ELECTION_TIMEOUT);
    }

    fn on_message(&mut self, from: &NodeId, heard: &Message, outputs: &mut Outputs<'_>) {
        if matches!(heard.kind, "pre-vote" | "would vote") {
            return self.on_pre_vote(from, heard, outputs);
        }
        let is_sticky = matches!(&self.state, State::Follower(Some((_, true))));
        if heard.kind == "request vote" && is_sticky {
            return;
        }
        if heard.number > self.term {
            self.term = heard.number;
            self.voted_for = None;
            self.step_down(outputs);
        }
        if heard.number < self.term {
            if matches!(heard.kind, "request vote" | "heartbeat") {
                outputs.send(from, "stale", self.term, None);
            }
            return;
        }
        match (heard.kind, &mut self.state) {
            ("request vote", State::Follower(_) | State::PreCandidate(_))
                if self.voted_for.as_ref().is_none_or(|voted| voted == from) =>
            {
                self.voted_for = Some(from.clone());
                outputs.send(from, "vote", self.term, None);
                outputs.arm_at_random(ELECTION, ELECTION_TIMEOUT);
            }
            ("vote", State::Candidate(votes)) => {
                votes.insert(from.clone());
                self.count_votes(outputs);
            }
            ("heartbeat", State::Follower(_) | State::PreCandidate(_) | State::Candidate(_)) => {
                self.state = State::Follower(Some((from.clone(), true)));
                outputs.send(from, "answer", self.term, None);
                outputs.arm(STICKY, ELECTION_TIMEOUT);
                outputs.arm_at_random(ELECTION, ELECTION_TIMEOUT);
            }
            ("answer", State::Leader(answered)) => {
                answered.insert(from.clone());
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: &str, outputs: &mut Outputs<'_>) {
        match (timer, &mut self.state) {
            (ELECTION, State::Leader(answered)) => {
                let answered = std::mem::take(answered).len();
                if self.is_majority(answered) {
                    outputs.arm_at_random(ELECTION, ELECTION_TIMEOUT);
                } else {
                    self.step_down(outputs);
                }
            }
            (ELECTION, _) if self.pre_vote => self.ask(outputs),
            (ELECTION, _) => self.stand(outputs),
            (HEARTBEAT, State::Leader(_)) => self.beat(outputs),
            (STICKY, State::Follower(Some((_, is_fresh)))) => *is_fresh = false,
            _ => {}
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::Follower(Some((leader, _))) => NodeState::Slave { master: leader.clone() },
            State::Follower(None) | State::PreCandidate(_) | State::Candidate(_) => {
                NodeState::Seeking
            }
            State::Leader(_) => NodeState::Master,
        }
    }
}
