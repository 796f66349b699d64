//! What each event does in each state: of each state, a total match over the events.

use super::{Ballot, Event, Follower, Held, Message, Reported, Round, State, Timer};
use crate::election::Message as Any;
use crate::election::reaction::Reaction;
use crate::model::NodeId;
use crate::seeded::{SeededBug, is_seeded};

impl Ballot {
    pub(super) fn next(&self, event: Event<'_>, out: &mut Reaction<'_>) -> State {
        match (self.state.clone(), event) {
            (_, Event::Start) if self.regular => self.take_over(out),
            (_, Event::Start) => self.wait(None, out),
            // It was set for a state that is gone.
            (state, Event::Fired(timer)) if !state.timers().contains(&timer) => state,
            (State::Waiting { held }, event) => self.waiting(held, event, out),
            (State::Following(of), event) => self.following(of, event, out),
            (State::Voting { held, own, best }, event) => self.voting(held, own, best, event, out),
            (State::Leading(round), event) => self.leading(round, event, out),
        }
    }

    fn waiting(&self, held: Option<NodeId>, event: Event<'_>, out: &mut Reaction<'_>) -> State {
        match event {
            Event::Control(from) | Event::Reset(from) => self.follow(from, Round::Quiet, out),
            Event::Vote { vote, .. } => self.answer(held.into(), vote, out),
            Event::Fired(_) => self.vote(Held::Nothing, out),
            Event::Heard { peer, leads, .. } if !leads && self.settings.mesh_detection => {
                State::Waiting { held: held.filter(|leader| leader != peer) }
            }
            Event::Lost(peer) if self.settings.mesh_detection => {
                State::Waiting { held: held.filter(|leader| leader != peer) }
            }
            Event::Start | Event::Heard { .. } | Event::Lost(_) => State::Waiting { held },
        }
    }

    fn following(&self, mut of: Follower, event: Event<'_>, out: &mut Reaction<'_>) -> State {
        match event {
            Event::Control(from) | Event::Reset(from) if *from == of.leader => {
                self.arm(Timer::Silence, out);
                of.missed = 0;
            }
            Event::Control(from) | Event::Reset(from) if self.outranks(from, &of.leader) => {
                return self.follow(from, of.round, out);
            }
            // The vote of a leader is between it and another one (V12).
            Event::Vote { from, vote }
                if of.round == Round::Quiet && !self.regular && !self.leads(from) =>
            {
                return self.answer(Held::Leader(of.leader), vote, out);
            }
            Event::Heard { peer, leads, .. }
                if *peer == of.leader && self.settings.mesh_detection =>
            {
                match (of.reported, leads) {
                    (_, true) => of.reported = Reported::Fresh,
                    (Reported::None, false) => {}
                    (_, false) if self.regular => return self.take_over(out),
                    (_, false) => return self.wait(None, out),
                }
            }
            Event::Lost(peer) if *peer == of.leader && self.settings.mesh_detection => {
                return self.on_leader_lost(out);
            }
            // Votes are of another round from now on.
            Event::Fired(Timer::Round) => of.round = Round::Quiet,
            Event::Fired(_)
                if of.reported == Reported::Fresh && of.missed + 1 < self.settings.patience =>
            {
                self.arm(Timer::Silence, out);
                of.reported = Reported::Stale;
                of.missed += 1;
            }
            Event::Fired(_) => return self.on_leader_lost(out),
            Event::Start
            | Event::Control(_)
            | Event::Vote { .. }
            | Event::Reset(_)
            | Event::Heard { .. }
            | Event::Lost(_) => {}
        }
        State::Following(of)
    }

    fn voting(
        &self,
        held: Held,
        own: u32,
        best: Option<u32>,
        event: Event<'_>,
        out: &mut Reaction<'_>,
    ) -> State {
        match event {
            Event::Control(from) if self.ends_vote(from, &held) => {
                self.follow(from, Round::Answered, out)
            }
            Event::Reset(from) => self.follow(from, Round::Answered, out),
            Event::Vote { vote, .. } => {
                let best = best.max(Some(vote));
                State::Voting { held, own, best }
            }
            Event::Fired(_) if best < Some(own) || is_seeded(SeededBug::EveryVoteWins) => {
                self.take_over(out)
            }
            // The tied vote again (V5).
            Event::Fired(_) if best == Some(own) => self.vote(held, out),
            Event::Fired(_) => match held {
                Held::Leader(leader) => self.wait(Some(leader), out),
                Held::Nothing | Held::Mastership => self.wait(None, out),
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

    fn leading(&self, round: Round, event: Event<'_>, out: &mut Reaction<'_>) -> State {
        match event {
            Event::Control(from) | Event::Reset(from) if self.yields_to(from) => {
                self.follow(from, Round::Quiet, out)
            }
            Event::Control(_) | Event::Reset(_) | Event::Vote { .. } if self.regular => {
                out.broadcast(Message::Reset);
                State::Leading(round)
            }
            Event::Heard { peer, is_change, .. }
                if self.regular && is_change && !self.yields_to(peer) =>
            {
                out.broadcast(Message::Reset);
                State::Leading(round)
            }
            // Two stand-ins: both vote (V12).
            Event::Control(_) if !is_seeded(SeededBug::StandInsNeverVote) => {
                self.vote(Held::Mastership, out)
            }
            Event::Vote { from, vote } if self.leads(from) => {
                self.answer(Held::Mastership, vote, out)
            }
            Event::Vote { .. } => self.on_vote_while_leading(round, out),
            Event::Fired(Timer::Round) => State::Leading(Round::Quiet),
            Event::Fired(Timer::Control | Timer::Silence) => self.control(round, out),
            Event::Start
            | Event::Control(_)
            | Event::Reset(_)
            | Event::Heard { .. }
            | Event::Lost(_) => State::Leading(round),
        }
    }

    /// A follower has missed control packets: the next one is due now, once a round.
    fn on_vote_while_leading(&self, round: Round, out: &mut Reaction<'_>) -> State {
        match round {
            Round::Quiet => {
                self.arm(Timer::Round, out);
                self.control(Round::Answered, out)
            }
            Round::Answered => State::Leading(round),
        }
    }

    /// The leader is lost: a vote (V3), unless this node is the regular leader.
    fn on_leader_lost(&self, out: &mut Reaction<'_>) -> State {
        if self.regular { self.take_over(out) } else { self.vote(Held::Nothing, out) }
    }

    fn wait(&self, held: Option<NodeId>, out: &mut Reaction<'_>) -> State {
        self.arm(Timer::Silence, out);
        State::Waiting { held }
    }

    /// Follows a leader, and waits for its next control packet (V6).
    fn follow(&self, leader: &NodeId, round: Round, out: &mut Reaction<'_>) -> State {
        self.arm(Timer::Silence, out);
        let leader = leader.clone();
        State::Following(Follower { leader, reported: Reported::None, missed: 0, round })
    }

    fn vote(&self, held: Held, out: &mut Reaction<'_>) -> State {
        let own = number(out.draw);
        self.arm(Timer::Round, out);
        out.broadcast(Message::Vote(own));
        let best = None;
        State::Voting { held, own, best }
    }

    /// Takes part in the round of another; its own vote is sent only if it may win (V4).
    fn answer(&self, held: Held, heard: u32, out: &mut Reaction<'_>) -> State {
        let own = number(out.draw);
        self.arm(Timer::Round, out);
        if own > heard {
            out.broadcast(Message::Vote(own));
        }
        let best = Some(heard);
        State::Voting { held, own, best }
    }

    /// Becomes master; the regular leader announces this with a reset (V7).
    fn take_over(&self, out: &mut Reaction<'_>) -> State {
        if self.regular {
            out.broadcast(Message::Reset);
        }
        self.control(Round::Quiet, out)
    }

    /// Leads, and shows it (V2).
    fn control(&self, round: Round, out: &mut Reaction<'_>) -> State {
        self.arm(Timer::Control, out);
        out.broadcast(Any::SensorRequest);
        State::Leading(round)
    }

    fn arm(&self, timer: Timer, out: &mut Reaction<'_>) {
        let wait = match timer {
            Timer::Control => self.settings.control_period,
            Timer::Silence => self.settings.lost_after,
            Timer::Round => self.settings.round,
        };
        out.arm(timer, wait);
    }

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

fn number(draw: u64) -> u32 {
    let [a, b, c, d, ..] = draw.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
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
