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
//!
//! Term and vote are not kept on disk: a node that restarts within a term may vote twice in it.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_fleet::election::{Candidate, Detail, Election, Input, Output, Profile, Rules};
use elevator_fleet::election::{Message as Any, experiment};
use elevator_fleet::model::NodeId;
use elevator_fleet::wire::{NodeState, Nonce, Protocol};

use super::{PROFILE, message, name_of, send};

const ELECTION: &str = "election";
const STICKY: &str = "sticky";
const HEARTBEAT: &str = "heartbeat";

/// The times of the paper (section 9.3), for a LAN.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// The configured members, which decide what a majority is.
    members: usize,
    /// The shortest election timeout; the longest is twice that.
    election_timeout: Duration,
    /// Between two heartbeats of a leader.
    heartbeat: Duration,
}

impl Settings {
    pub(super) fn new(members: usize) -> Self {
        Self {
            members,
            election_timeout: Duration::from_millis(150),
            heartbeat: Duration::from_millis(50),
        }
    }
}

impl Rules for Settings {
    fn protocol(&self) -> Protocol {
        Protocol::Ballot
    }

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    /// Ties are settled by chance: no time is certain. Ten elections in a row.
    fn bound(&self, linked_within: Duration, _: usize) -> Duration {
        linked_within + self.election_timeout * 20
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(Raft {
            own: own.node,
            settings: *self,
            term: 0,
            voted_for: None,
            state: State::Follower { leader: None },
        })
    }
}

#[derive(Debug)]
struct Raft {
    own: NodeId,
    settings: Settings,
    term: u64,
    voted_for: Option<NodeId>,
    state: State,
}

#[derive(Debug)]
enum State {
    Follower {
        leader: Option<Leader>,
    },
    Candidate {
        votes: BTreeSet<NodeId>,
    },
    /// Who has answered since the last check.
    Leader {
        answered: BTreeSet<NodeId>,
    },
}

#[derive(Debug)]
struct Leader {
    node: NodeId,
    /// It was heard within the shortest election timeout.
    is_fresh: bool,
}

impl Raft {
    fn arm_election(&self, draw: u64) -> Output {
        let shortest = self.settings.election_timeout;
        let part = u32::try_from(draw % 1024).unwrap_or(0);
        Output::Arm(experiment::Timer(ELECTION).into(), shortest + shortest * part / 1024)
    }

    fn is_majority(&self, others: usize) -> bool {
        (others + 1) * 2 > self.settings.members
    }

    fn stand(&mut self, draw: u64, outputs: &mut Vec<Output>) {
        self.term += 1;
        self.voted_for = Some(self.own.clone());
        self.state = State::Candidate { votes: BTreeSet::new() };
        outputs.push(Output::Broadcast(message("request vote", self.term).into()));
        outputs.push(self.arm_election(draw));
        self.count_votes(outputs);
    }

    fn count_votes(&mut self, outputs: &mut Vec<Output>) {
        if let State::Candidate { votes } = &self.state
            && self.is_majority(votes.len())
        {
            self.state = State::Leader { answered: BTreeSet::new() };
            self.beat(outputs);
        }
    }

    fn beat(&self, outputs: &mut Vec<Output>) {
        outputs.push(Output::Broadcast(message("heartbeat", self.term).into()));
        outputs.push(Output::Arm(experiment::Timer(HEARTBEAT).into(), self.settings.heartbeat));
    }

    fn step_down(&mut self, draw: u64, outputs: &mut Vec<Output>) {
        self.state = State::Follower { leader: None };
        outputs.push(Output::Disarm(experiment::Timer(HEARTBEAT).into()));
        outputs.push(self.arm_election(draw));
    }

    fn on_message(
        &mut self,
        from: &NodeId,
        heard: &experiment::Message,
        draw: u64,
        outputs: &mut Vec<Output>,
    ) {
        let is_sticky =
            matches!(&self.state, State::Follower { leader: Some(leader) } if leader.is_fresh);
        if heard.kind == "request vote" && is_sticky {
            return;
        }
        if heard.number > self.term {
            self.term = heard.number;
            self.voted_for = None;
            self.step_down(draw, outputs);
        }
        if heard.number < self.term {
            if matches!(heard.kind, "request vote" | "heartbeat") {
                outputs.push(send(from, message("stale", self.term)));
            }
            return;
        }
        match (heard.kind, &mut self.state) {
            ("request vote", State::Follower { .. })
                if self.voted_for.as_ref().is_none_or(|voted| voted == from) =>
            {
                self.voted_for = Some(from.clone());
                outputs.push(send(from, message("vote", self.term)));
                outputs.push(self.arm_election(draw));
            }
            ("vote", State::Candidate { votes }) => {
                votes.insert(from.clone());
                self.count_votes(outputs);
            }
            ("heartbeat", State::Follower { .. } | State::Candidate { .. }) => {
                let leader = Leader { node: from.clone(), is_fresh: true };
                self.state = State::Follower { leader: Some(leader) };
                outputs.push(send(from, message("answer", self.term)));
                let sticky = experiment::Timer(STICKY).into();
                outputs.push(Output::Arm(sticky, self.settings.election_timeout));
                outputs.push(self.arm_election(draw));
            }
            ("answer", State::Leader { answered }) => {
                answered.insert(from.clone());
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: &str, draw: u64, outputs: &mut Vec<Output>) {
        match (timer, &mut self.state) {
            (ELECTION, State::Leader { answered }) => {
                let answered = std::mem::take(answered).len();
                if self.is_majority(answered) {
                    outputs.push(self.arm_election(draw));
                } else {
                    self.step_down(draw, outputs);
                }
            }
            (ELECTION, State::Follower { .. } | State::Candidate { .. }) => {
                self.stand(draw, outputs);
            }
            (HEARTBEAT, State::Leader { .. }) => self.beat(outputs),
            (STICKY, State::Follower { leader: Some(leader) }) => leader.is_fresh = false,
            _ => {}
        }
    }
}

impl Election for Raft {
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>) {
        match input {
            Input::Start => outputs.push(self.arm_election(draw)),
            Input::Message { from, message: Any::Experiment(heard) } => {
                self.on_message(from, heard, draw, outputs);
            }
            Input::Fired(timer) => {
                if let Some(name) = name_of(timer) {
                    self.on_timer(name, draw, outputs);
                }
            }
            Input::Message { .. }
            | Input::Heard { .. }
            | Input::Lost { .. }
            | Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Estimate(_) => {}
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::Follower { leader: Some(leader) } => {
                NodeState::Slave { master: leader.node.clone() }
            }
            State::Follower { leader: None } | State::Candidate { .. } => NodeState::Seeking,
            State::Leader { .. } => NodeState::Master,
        }
    }

    fn details(&self) -> Vec<Detail> {
        Vec::new()
    }

    fn profile(&self) -> &Profile {
        &PROFILE
    }
}
