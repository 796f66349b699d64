//! What each event does in each state: of each state, a total match over the events.

use super::{Ballot, Event, Held, Message, Output, Reported, Round, State, Timer};
use crate::election::Message as Any;
use crate::model::NodeId;
use crate::seeded::{SeededBug, is_seeded};

impl Ballot {
    pub(super) fn next(&self, event: Event<'_>, draw: u32, outputs: &mut Vec<Output>) -> State {
        match (self.state.clone(), event) {
            (_, Event::Start) if self.regular => self.take_over(outputs),
            (_, Event::Start) => self.wait(None, outputs),
            // It was set for a state that is gone.
            (state, Event::Fired(timer)) if !state.timers().contains(&timer) => state,
            (State::Waiting { held }, event) => self.waiting(held, event, draw, outputs),
            (State::Following { leader, round, .. }, event) => {
                self.following(leader, round, event, draw, outputs)
            }
            (State::Voting { held, own, best }, event) => {
                self.voting(held, own, best, event, draw, outputs)
            }
            (State::Leading(round), event) => self.leading(round, event, draw, outputs),
        }
    }

    fn waiting(
        &self,
        held: Option<NodeId>,
        event: Event<'_>,
        draw: u32,
        outputs: &mut Vec<Output>,
    ) -> State {
        match event {
            Event::Control(from) | Event::Reset(from) => self.follow(from, Round::Quiet, outputs),
            Event::Vote { vote, .. } => self.answer(held.into(), vote, draw, outputs),
            Event::Fired(_) => self.vote(Held::Nothing, draw, outputs),
            Event::Heard { peer, leads, .. } if !leads && self.settings.mesh_detection => {
                State::Waiting { held: held.filter(|leader| leader != peer) }
            }
            Event::Lost(peer) if self.settings.mesh_detection => {
                State::Waiting { held: held.filter(|leader| leader != peer) }
            }
            Event::Start | Event::Heard { .. } | Event::Lost(_) => State::Waiting { held },
        }
    }

    fn following(
        &self,
        leader: NodeId,
        round: Round,
        event: Event<'_>,
        draw: u32,
        outputs: &mut Vec<Output>,
    ) -> State {
        match event {
            Event::Control(from) if *from == leader => self.on_sign_of_life(outputs),
            Event::Control(from) | Event::Reset(from) if self.outranks(from, &leader) => {
                self.follow(from, round, outputs)
            }
            Event::Reset(from) if *from == leader => self.on_sign_of_life(outputs),
            // The vote of a leader is between it and another one (V12).
            Event::Vote { from, vote }
                if round == Round::Quiet && !self.regular && !self.leads(from) =>
            {
                self.answer(Held::Leader(leader), vote, draw, outputs)
            }
            Event::Heard { peer, leads, .. } if *peer == leader => {
                self.on_leader_heard(leads, outputs)
            }
            Event::Lost(peer) if *peer == leader && self.settings.mesh_detection => {
                self.on_leader_lost(draw, outputs)
            }
            Event::Fired(Timer::Round) => self.on_round_over(),
            Event::Fired(Timer::Silence | Timer::Control) => self.on_silence(draw, outputs),
            Event::Start
            | Event::Control(_)
            | Event::Vote { .. }
            | Event::Reset(_)
            | Event::Heard { .. }
            | Event::Lost(_) => self.state.clone(),
        }
    }

    fn voting(
        &self,
        held: Held,
        own: u32,
        best: Option<u32>,
        event: Event<'_>,
        draw: u32,
        outputs: &mut Vec<Output>,
    ) -> State {
        match event {
            Event::Control(from) if self.ends_vote(from, &held) => {
                self.follow(from, Round::Answered, outputs)
            }
            Event::Reset(from) => self.follow(from, Round::Answered, outputs),
            Event::Vote { vote, .. } => {
                let best = best.max(Some(vote));
                State::Voting { held, own, best }
            }
            Event::Fired(_) if best < Some(own) || is_seeded(SeededBug::EveryVoteWins) => {
                self.take_over(outputs)
            }
            // The tied vote again (V5).
            Event::Fired(_) if best == Some(own) => self.vote(held, draw, outputs),
            Event::Fired(_) => match held {
                Held::Leader(leader) => self.wait(Some(leader), outputs),
                Held::Nothing | Held::Mastership => self.wait(None, outputs),
            },
            Event::Heard { peer, leads, .. } if !leads && self.settings.mesh_detection => {
                let held = held.without(peer);
                State::Voting { held, own, best }
            }
            Event::Lost(peer) if self.settings.mesh_detection => {
                let held = held.without(peer);
                State::Voting { held, own, best }
            }
            Event::Start | Event::Control(_) | Event::Heard { .. } | Event::Lost(_) => {
                State::Voting { held, own, best }
            }
        }
    }

    fn leading(
        &self,
        round: Round,
        event: Event<'_>,
        draw: u32,
        outputs: &mut Vec<Output>,
    ) -> State {
        match event {
            Event::Control(from) | Event::Reset(from) if self.yields_to(from) => {
                self.follow(from, Round::Quiet, outputs)
            }
            Event::Control(_) | Event::Reset(_) | Event::Vote { .. } if self.regular => {
                outputs.push(Output::Broadcast(Message::Reset.into()));
                State::Leading(round)
            }
            Event::Heard { peer, is_change, .. }
                if self.regular && is_change && !self.yields_to(peer) =>
            {
                outputs.push(Output::Broadcast(Message::Reset.into()));
                State::Leading(round)
            }
            // Two stand-ins: both vote (V12).
            Event::Control(_) if !is_seeded(SeededBug::StandInsNeverVote) => {
                self.vote(Held::Mastership, draw, outputs)
            }
            Event::Vote { from, vote } if self.leads(from) => {
                self.answer(Held::Mastership, vote, draw, outputs)
            }
            Event::Vote { .. } => self.on_vote_while_leading(round, outputs),
            Event::Fired(Timer::Round) => State::Leading(Round::Quiet),
            Event::Fired(Timer::Control | Timer::Silence) => self.control(round, outputs),
            Event::Start
            | Event::Control(_)
            | Event::Reset(_)
            | Event::Heard { .. }
            | Event::Lost(_) => State::Leading(round),
        }
    }

    /// A follower has missed control packets: the next one is due now, once a round.
    fn on_vote_while_leading(&self, round: Round, outputs: &mut Vec<Output>) -> State {
        match round {
            Round::Quiet => {
                self.arm(Timer::Round, outputs);
                self.control(Round::Answered, outputs)
            }
            Round::Answered => State::Leading(round),
        }
    }

    /// A control packet or reset of the leader has come.
    fn on_sign_of_life(&self, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Silence, outputs);
        let mut state = self.state.clone();
        if let State::Following { missed, .. } = &mut state {
            *missed = 0;
        }
        state
    }

    /// A beacon of the leader: whether it leads.
    fn on_leader_heard(&self, leads: bool, outputs: &mut Vec<Output>) -> State {
        let mut state = self.state.clone();
        if !self.settings.mesh_detection {
            return state;
        }
        match &mut state {
            State::Following { reported, .. } => match reported {
                Reported::None | Reported::Stale | Reported::Fresh if leads => {
                    *reported = Reported::Fresh;
                }
                Reported::None => {}
                Reported::Stale | Reported::Fresh if self.regular => {
                    return self.take_over(outputs);
                }
                Reported::Stale | Reported::Fresh => return self.wait(None, outputs),
            },
            State::Waiting { .. } | State::Voting { .. } | State::Leading(_) => {}
        }
        state
    }

    /// Votes are of another round from now on.
    fn on_round_over(&self) -> State {
        let mut state = self.state.clone();
        if let State::Following { round, .. } = &mut state {
            *round = Round::Quiet;
        }
        state
    }

    /// No control packet has come for `lost_after`.
    fn on_silence(&self, draw: u32, outputs: &mut Vec<Output>) -> State {
        match self.state.clone() {
            State::Following { leader, reported: Reported::Fresh, missed, round }
                if missed + 1 < self.settings.patience =>
            {
                self.arm(Timer::Silence, outputs);
                State::Following { leader, reported: Reported::Stale, missed: missed + 1, round }
            }
            State::Following { .. }
            | State::Waiting { .. }
            | State::Voting { .. }
            | State::Leading(_) => self.on_leader_lost(draw, outputs),
        }
    }

    /// The leader is lost: a vote (V3), unless this node is the regular leader.
    fn on_leader_lost(&self, draw: u32, outputs: &mut Vec<Output>) -> State {
        if self.regular { self.take_over(outputs) } else { self.vote(Held::Nothing, draw, outputs) }
    }

    fn wait(&self, held: Option<NodeId>, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Silence, outputs);
        State::Waiting { held }
    }

    /// Follows a leader, and waits for its next control packet (V6).
    fn follow(&self, leader: &NodeId, round: Round, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Silence, outputs);
        State::Following { leader: leader.clone(), reported: Reported::None, missed: 0, round }
    }

    /// Opens a round with its own vote.
    fn vote(&self, held: Held, own: u32, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Round, outputs);
        outputs.push(Output::Broadcast(Message::Vote(own).into()));
        let best = None;
        State::Voting { held, own, best }
    }

    /// Takes part in the round of another; its own vote is sent only if it may win (V4).
    fn answer(&self, held: Held, heard: u32, own: u32, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Round, outputs);
        if own > heard {
            outputs.push(Output::Broadcast(Message::Vote(own).into()));
        }
        let best = Some(heard);
        State::Voting { held, own, best }
    }

    /// Becomes master; the regular leader announces this with a reset (V7).
    fn take_over(&self, outputs: &mut Vec<Output>) -> State {
        if self.regular {
            outputs.push(Output::Broadcast(Message::Reset.into()));
        }
        self.control(Round::Quiet, outputs)
    }

    /// Leads, and shows it (V2).
    fn control(&self, round: Round, outputs: &mut Vec<Output>) -> State {
        self.arm(Timer::Control, outputs);
        outputs.push(Output::Broadcast(Any::SensorRequest));
        State::Leading(round)
    }

    fn arm(&self, timer: Timer, outputs: &mut Vec<Output>) {
        let wait = match timer {
            Timer::Control => self.settings.control_period,
            Timer::Silence => self.settings.lost_after,
            Timer::Round => self.settings.round,
        };
        outputs.push(Output::Arm(timer.into(), wait));
    }

    /// Whether the control packet of this node ends a vote of this one.
    fn ends_vote(&self, from: &NodeId, held: &Held) -> bool {
        match held {
            Held::Nothing => true,
            Held::Leader(leader) => leader == from || self.is_regular(from),
            Held::Mastership => self.is_regular(from),
        }
    }

    /// A regular leader outranks a stand-in, and of two regular leaders the lower name leads.
    fn outranks(&self, peer: &NodeId, leader: &NodeId) -> bool {
        self.is_regular(peer) && (!self.is_regular(leader) || peer < leader)
    }

    fn yields_to(&self, peer: &NodeId) -> bool {
        self.is_regular(peer) && (!self.regular || *peer < self.name)
    }
}

impl From<Option<NodeId>> for Held {
    fn from(leader: Option<NodeId>) -> Self {
        leader.map_or(Self::Nothing, Self::Leader)
    }
}

impl Held {
    /// What is left once this leader is gone.
    fn without(self, peer: &NodeId) -> Self {
        match self {
            Self::Leader(leader) if leader == *peer => Self::Nothing,
            Self::Nothing | Self::Leader(_) | Self::Mastership => self,
        }
    }
}
