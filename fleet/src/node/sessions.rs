//! Sessions of robots: which one has which car, and which ones wait.
//!
//! ```text
//!   POST /sessions at any node ──▶ queued
//!   master: a car is free ──▶ coming CAR          its node is lost for long ──▶ queued, or ended
//!   CAR: its door is held open at the floor ──▶ open CAR
//!   the robot asks for the next floor ──▶ coming CAR
//!   the robot or an operator is done; CAR: the time is over; a recall ──▶ ended
//! ```
//!
//! A session is a request, so that it survives the master and the restart of the car's node. The car
//! is taken out of the group as for a priority call: its hall calls go to others, no order is dropped,
//! and its riders get off on the way. Nodes share no clock: the time at a floor is counted by the node
//! of the car, and starts anew with it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::Floor;

use super::{Access, Node};
use crate::car::{Errand, SessionLeg};
use crate::directives::{
    Asked, DirectiveError, Key, MOST_SESSIONS, Request, RequestId, Session, SessionEnd,
    SessionState, Setting,
};
use crate::model::{Call, NodeId, Role, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

/// The longest time for which a robot may have a door held open at a floor, in seconds.
pub const LONGEST_HOLD: u16 = 120;

/// How long a session may have a car, whatever the robot asks for meanwhile. The node of the car
/// counts, and begins anew after a restart.
const LONGEST_SESSION: Duration = Duration::from_mins(10);

/// How long a session waits for a car.
const QUEUE_LIMIT: Duration = Duration::from_mins(10);

/// How long the node of a car may be away, as it is for a restart, before the session goes on without
/// it.
const ABSENCE: Duration = Duration::from_secs(30);

/// For how long a car that has just had a session serves passengers who wait, before it has the next
/// one.
const PASSENGERS_FIRST: Duration = Duration::from_secs(30);

/// A robot's request for a session, which it may repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRequest {
    /// Which request it is, which is the name of the session.
    pub id: RequestId,
    /// Who makes it, for people; cut to 64 bytes.
    pub bearer: String,
    /// What it is for. Without a car it gets the one that is there first.
    pub asked: Asked,
    /// Whether the robot has shown a right of access.
    pub access: Access,
}

/// A session that can't be opened or changed. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefused {
    /// The building has no such floor.
    #[error("there is no floor {floor} in a building with floors 0 to {top}")]
    NoSuchFloor {
        /// The rejected floor.
        floor: Floor,
        /// The highest floor.
        top: u8,
    },
    /// It would end where it begins.
    #[error("a trip from floor {0} to floor {0} goes nowhere")]
    SameFloor(Floor),
    /// No time, or too long.
    #[error("a door is held open for 1 to {LONGEST_HOLD} s")]
    Time,
    /// The car that was asked for may not exist.
    #[error("no car {0} is heard")]
    UnknownCar(NodeId),
    /// All cars go to their recall floors.
    #[error("all cars are recalled")]
    Recalled,
    /// The building has no other power than for the evacuation.
    #[error("the building runs on emergency power")]
    EmergencyPower,
    /// The floor is locked, and the robot has shown no right of access.
    #[error("floor {0} is locked")]
    FloorLocked(Floor),
    /// So many sessions are open.
    #[error("{MOST_SESSIONS} sessions are open already")]
    TooMany,
    /// An earlier request of this name was for something else.
    #[error("an earlier request of this name was for something else")]
    Reused,
    /// No session of this name is open, or remembered.
    #[error("no session of this name is open")]
    NotOpen,
    /// It can't become a directive.
    #[error(transparent)]
    Directive(#[from] DirectiveError),
}

/// What a node knows of sessions besides the directives.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// The session of this node's car, and since when.
    own: Option<(RequestId, Timestamp)>,
    /// As master: since when each session has waited, for a car or for the node of its car.
    waiting: BTreeMap<RequestId, Timestamp>,
    given: BTreeSet<NodeId>,
    /// When cars were last given back.
    given_back: BTreeMap<NodeId, Timestamp>,
    due: Option<Timestamp>,
}

impl Sessions {
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    fn wake(&mut self, at: Timestamp) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// How long a session has waited.
    fn waits(&mut self, id: RequestId, now: Timestamp) -> Duration {
        now.since(*self.waiting.entry(id).or_insert(now))
    }
}

impl Session {
    fn with(self, state: SessionState) -> Self {
        Self { state, ..self }
    }

    /// What the car is to do for it.
    pub(super) fn errand(&self) -> Errand {
        let time = Duration::from_secs(self.seconds.into());
        let leg = SessionLeg { id: self.id, leg: self.leg };
        Errand::Session { leg, floor: self.floor, time }
    }
}

impl Node {
    /// A robot asks for a car, to have it to itself for a while: see `node/sessions.rs`. Repeated with
    /// the same name at any node it opens nothing again, and returns what has become of it.
    ///
    /// # Errors
    /// [`SessionRefused`]: nothing has changed.
    pub fn handle_session(
        &mut self,
        request: &SessionRequest,
        now: Timestamp,
    ) -> Result<(Session, bool), SessionRefused> {
        let SessionRequest { id, bearer, asked, access } = request;
        match self.directives().request(*id) {
            Some(Request::Session(known)) if known.asked == *asked => {
                return Ok((known.clone(), false));
            }
            Some(Request::Session(_) | Request::Call { .. }) => return Err(SessionRefused::Reused),
            None => {}
        }
        let Asked { floor, to, seconds, car } = asked.clone();
        if let Some(car) = car.filter(|car| !self.has_heard_of_car(car)) {
            return Err(SessionRefused::UnknownCar(car));
        }
        if to == Some(floor) {
            return Err(SessionRefused::SameFloor(floor));
        }
        for there in [floor].into_iter().chain(to) {
            self.check_session(there, seconds, *access)?;
        }
        if self.directives().open_sessions().len() >= MOST_SESSIONS {
            return Err(SessionRefused::TooMany);
        }
        let (id, state) = (*id, SessionState::Queued);
        let session = Session { id, asked: asked.clone(), floor, to, seconds, leg: 0, state };
        self.change_session(session.clone(), bearer, now)?;
        // The master may have found a car at once.
        Ok((self.directives().session(id).cloned().unwrap_or(session), true))
    }

    /// Somebody says what becomes of a session.
    fn change_session(
        &mut self,
        session: Session,
        by: &str,
        now: Timestamp,
    ) -> Result<(), DirectiveError> {
        let setting = Setting::Request(Request::Session(session));
        self.handle_setting(setting, by, now)
    }

    /// Whether there is such a car: it is heard, was heard before it was lost, or has a mode.
    fn has_heard_of_car(&self, car: &NodeId) -> bool {
        let members = self.peers.members();
        let is_heard = members.get(car).is_some_and(|peer| peer.hello.role == Role::Cabin);
        let is_lost = members.lost().get(car).is_some_and(|peer| peer.role == Role::Cabin);
        let is_here = *car == self.hello.node && self.cabin.car().is_some();
        let mode = Key::Mode(car.clone());
        is_here || is_heard || is_lost || self.directives().get(&mode).is_some()
    }

    /// The robot asks for the next floor, or for more time at this one.
    ///
    /// # Errors
    /// [`SessionRefused`]: nothing has changed.
    pub fn handle_session_floor(
        &mut self,
        id: RequestId,
        floor: Floor,
        seconds: Option<u16>,
        (access, bearer): (Access, &str),
        now: Timestamp,
    ) -> Result<Session, SessionRefused> {
        let known = self.directives().session(id).filter(|it| it.is_open());
        let session = known.ok_or(SessionRefused::NotOpen)?.clone();
        let seconds = seconds.unwrap_or(session.seconds);
        self.check_session(floor, seconds, access)?;
        let state = match session.state {
            SessionState::Open(car) => SessionState::Coming(car),
            SessionState::Queued | SessionState::Coming(_) | SessionState::Ended(_) => {
                session.state
            }
        };
        // More time here delays a trip. Another floor is where it wants to go now.
        let to = session.to.filter(|_| floor == session.floor);
        let leg = session.leg.saturating_add(1);
        let session = Session { floor, to, seconds, leg, state, ..session };
        self.change_session(session.clone(), bearer, now)?;
        Ok(self.directives().session(id).cloned().unwrap_or(session))
    }

    /// The robot needs the car no more. Ending a session again changes nothing. A trip that has not
    /// come to its end is withdrawn by that.
    ///
    /// # Errors
    /// [`SessionRefused`]: nothing has changed.
    pub fn handle_session_end(
        &mut self,
        id: RequestId,
        bearer: &str,
        now: Timestamp,
    ) -> Result<Session, SessionRefused> {
        let session = self.directives().session(id).ok_or(SessionRefused::NotOpen)?;
        let is_there = matches!(session.state, SessionState::Open(_));
        let is_on_the_way = |to: Floor| session.floor != to || !is_there;
        let is_early = session.asked.to.is_some_and(is_on_the_way);
        let end = if is_early { SessionEnd::Withdrawn } else { SessionEnd::Done };
        self.end_session(id, end, bearer, now)
    }

    /// The robot needs the trip no more for which it has called a car, wherever it is on it. That is
    /// harmless if it is over.
    ///
    /// # Errors
    /// [`SessionRefused`]: nothing has changed.
    pub fn handle_session_withdrawal(
        &mut self,
        id: RequestId,
        bearer: &str,
        now: Timestamp,
    ) -> Result<Session, SessionRefused> {
        self.end_session(id, SessionEnd::Withdrawn, bearer, now)
    }

    /// An operator ends a session, wherever its robot is.
    ///
    /// # Errors
    /// [`SessionRefused`]: nothing has changed.
    pub fn handle_session_stop(
        &mut self,
        id: RequestId,
        operator: &str,
        now: Timestamp,
    ) -> Result<Session, SessionRefused> {
        self.end_session(id, SessionEnd::Operator, operator, now)
    }

    /// An operator ends the session of a car, if it has one.
    pub(super) fn end_session_of(
        &mut self,
        car: &NodeId,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), DirectiveError> {
        let Some(session) = self.directives().session_of(car).cloned() else { return Ok(()) };
        let ended = session.with(SessionState::Ended(SessionEnd::Operator));
        self.change_session(ended, operator, now)
    }

    /// A program may do nothing any more: ends all its sessions.
    pub fn handle_owner_revoked(&mut self, owner: u32, now: Timestamp) {
        for session in self.open_sessions() {
            if session.id.owner == owner {
                self.set_session(session.with(SessionState::Ended(SessionEnd::Operator)), now);
            }
        }
        self.settle(now);
    }

    fn end_session(
        &mut self,
        id: RequestId,
        end: SessionEnd,
        bearer: &str,
        now: Timestamp,
    ) -> Result<Session, SessionRefused> {
        let session = self.directives().session(id).ok_or(SessionRefused::NotOpen)?.clone();
        if !session.is_open() {
            return Ok(session);
        }
        let session = session.with(SessionState::Ended(end));
        self.change_session(session.clone(), bearer, now)?;
        Ok(session)
    }

    fn check_session(
        &self,
        floor: Floor,
        seconds: u16,
        access: Access,
    ) -> Result<(), SessionRefused> {
        if !self.hello.floors.contains(floor) {
            let top = self.hello.floors.top().index();
            return Err(SessionRefused::NoSuchFloor { floor, top });
        }
        if !(1..=LONGEST_HOLD).contains(&seconds) {
            return Err(SessionRefused::Time);
        }
        if self.directives().is_fire_recalled() {
            return Err(SessionRefused::Recalled);
        }
        if self.directives().emergency_power().is_some() {
            return Err(SessionRefused::EmergencyPower);
        }
        if access == Access::Public && self.directives().is_locked(floor) {
            return Err(SessionRefused::FloorLocked(floor));
        }
        Ok(())
    }

    fn is_recalled_or_in_emergency(&self) -> bool {
        self.directives().is_fire_recalled() || self.directives().emergency_power().is_some()
    }

    /// What the car of this node is to do besides its calls: a priority call goes first.
    pub(super) fn errand(&self) -> Option<Errand> {
        let (directives, own) = (self.directives(), &self.hello.node);
        let priority = directives.priority(own).map(|call| Errand::Priority(call.floor));
        priority.or_else(|| Some(directives.session_of(own)?.errand()))
    }

    /// What sessions ask of this node's car, and of this node as master.
    pub(super) fn refresh_sessions(&mut self, now: Timestamp) {
        self.services.sessions.due = None;
        if self.directives().open_sessions().is_empty() && self.services.sessions.given.is_empty() {
            self.services.sessions.waiting.clear();
            return;
        }
        let open = self.open_sessions();
        let given: BTreeSet<NodeId> =
            open.iter().filter_map(|session| session.car().cloned()).collect();
        let before = std::mem::replace(&mut self.services.sessions.given, given.clone());
        for car in before.difference(&given) {
            self.services.sessions.given_back.insert(car.clone(), now);
        }
        self.services.sessions.given_back.retain(|_, at| now.since(*at) < PASSENGERS_FIRST);
        self.services.sessions.waiting.retain(|id, _| open.iter().any(|session| session.id == *id));
        self.limit_own_session(now);
        if !self.leadership.leads() {
            self.services.sessions.waiting.clear();
            return;
        }
        for session in open {
            let next = if self.is_recalled_or_in_emergency() {
                Some(SessionState::Ended(SessionEnd::Recalled))
            } else {
                self.next_of_session(&session, now)
            };
            if let Some(state) = next {
                self.services.sessions.waiting.remove(&session.id);
                self.set_session(session.with(state), now);
            }
        }
    }

    /// Those that are open, the first in the queue first.
    fn open_sessions(&self) -> Vec<Session> {
        self.directives().open_sessions().into_iter().cloned().collect()
    }

    /// The session of this node's car ends, whatever the robot asks for.
    fn limit_own_session(&mut self, now: Timestamp) {
        let Some(session) = self.directives().session_of(&self.hello.node).cloned() else {
            self.services.sessions.own = None;
            return;
        };
        let known = self.services.sessions.own.filter(|(id, _)| *id == session.id);
        let (id, since) = known.unwrap_or((session.id, now));
        self.services.sessions.own = Some((id, since));
        if now.since(since) < LONGEST_SESSION {
            return self.services.sessions.wake(since + LONGEST_SESSION);
        }
        self.set_session(session.with(SessionState::Ended(SessionEnd::Time)), now);
    }

    /// As master: what becomes of an open session, if anything does.
    fn next_of_session(&mut self, session: &Session, now: Timestamp) -> Option<SessionState> {
        let Some(car) = session.car() else {
            if let Some(car) = self.car_for(session, now) {
                return Some(SessionState::Coming(car));
            }
            let waited = self.services.sessions.waits(session.id, now);
            if waited >= QUEUE_LIMIT {
                return Some(SessionState::Ended(SessionEnd::NoCar));
            }
            self.services.sessions.wake(now + QUEUE_LIMIT.saturating_sub(waited));
            return None;
        };
        if *car == self.hello.node || self.peers.members().get(car).is_some() {
            self.services.sessions.waiting.remove(&session.id);
            return None;
        }
        let away = self.services.sessions.waits(session.id, now);
        if away < ABSENCE {
            self.services.sessions.wake(now + ABSENCE.saturating_sub(away));
            return None;
        }
        // Once a car has been there, the robot may be in it.
        let is_empty = matches!(session.state, SessionState::Coming(_)) && session.leg == 0;
        Some(if is_empty && session.asked.car.is_none() {
            SessionState::Queued
        } else {
            SessionState::Ended(SessionEnd::CarLost)
        })
    }

    /// The car that a session may have now: that which was asked for, or the one that gets there
    /// first.
    fn car_for(&mut self, session: &Session, now: Timestamp) -> Option<NodeId> {
        let mut taken = self.cars_with_errands();
        if !self.services.sessions.given_back.is_empty() {
            let rides = |car: &NodeId| {
                let mut calls = self.store.orders().calls();
                calls.any(|call| match call {
                    Call::Hall(_) => true,
                    Call::Car { car: of, .. } => of == car,
                })
            };
            let resting = self.services.sessions.given_back.iter().filter(|(car, _)| rides(car));
            let resting: Vec<_> = resting.map(|(car, at)| (car.clone(), *at)).collect();
            for (car, at) in resting {
                self.services.sessions.wake(at + PASSENGERS_FIRST);
                taken.insert(car);
            }
        }
        self.first_car_of(session.floor, &taken, session.asked.car.as_ref(), now)
    }

    fn set_session(&mut self, session: Session, now: Timestamp) {
        self.direct(Setting::Request(Request::Session(session)), now);
    }

    /// The door of this node's car is held open for its session.
    pub(super) fn on_session_open(&mut self, leg: SessionLeg, now: Timestamp) {
        let own = self.hello.node.clone();
        if let Some(session) = self.own_session(leg) {
            self.set_session(session.with(SessionState::Open(own)), now);
        }
    }

    /// The time at the floor is over, or something more important has taken the place of the session.
    pub(super) fn on_session_over(&mut self, leg: SessionLeg, end: SessionEnd, now: Timestamp) {
        let own = self.hello.node.clone();
        let Some(session) = self.own_session(leg) else {
            return;
        };
        if end == SessionEnd::Time && is_seeded(SeededBug::SessionNeverEnds) {
            return;
        }
        let next = match session.to {
            Some(to) if end == SessionEnd::Time && session.floor != to => {
                let leg = session.leg.saturating_add(1);
                Session { floor: to, leg, state: SessionState::Coming(own), ..session }
            }
            Some(_) if end == SessionEnd::Time => {
                session.with(SessionState::Ended(SessionEnd::Done))
            }
            Some(_) | None => session.with(SessionState::Ended(end)),
        };
        self.set_session(next, now);
    }

    /// The session of this node's car, if it is still the one that the car speaks of.
    fn own_session(&self, SessionLeg { id, leg }: SessionLeg) -> Option<Session> {
        let own = Some(&self.hello.node);
        let known = self.directives().session(id);
        known.filter(|session| session.car() == own && session.leg == leg).cloned()
    }
}
