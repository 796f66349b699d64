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
//! A session is a request, so that it survives the master and the restart of the car's node. The
//! car leaves the group as for a priority call. Nodes share no clock: the time at a floor is
//! counted by the node of the car, and starts anew with it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::Floor;

use super::Bank;
use super::access::{Access, these_floors};
use crate::car::{Errand, SessionLeg};
use crate::model::{Call, NodeId, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::settings::{
    Asked, MOST_SESSIONS, Request, RequestId, Session, SessionEnd, SessionState, SettingError,
};

/// The longest time for which a robot may have a door held open at a floor, in seconds.
pub const LONGEST_HOLD: u16 = 120;

/// How long a session may have a car, by the node of the car, which begins anew at a restart.
const LONGEST_SESSION: Duration = Duration::from_mins(10);

/// How long a session waits for a car.
const QUEUE_LIMIT: Duration = Duration::from_mins(10);

/// How long the node of a car may be away, as for a restart, before its session goes on.
const ABSENCE: Duration = Duration::from_secs(30);

/// For how long a car serves passengers who wait between two sessions.
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
    #[error("there is no floor {floor}: the building has floors 0 to {top}")]
    NoSuchFloor { floor: Floor, top: u8 },
    #[error("a trip from floor {0} to floor {0} goes nowhere")]
    SameFloor(Floor),
    #[error("a door can be held open for 1 to {LONGEST_HOLD} s")]
    Time,
    #[error("there is no car {0}")]
    UnknownCar(NodeId),
    #[error("no car in service serves {}", these_floors(.0))]
    NotServed(Vec<Floor>),
    #[error("all cars are recalled")]
    Recalled,
    #[error("the building runs on emergency power")]
    EmergencyPower,
    #[error("floor {0} is locked")]
    FloorLocked(Floor),
    #[error("{MOST_SESSIONS} sessions are open already")]
    TooMany,
    #[error("an earlier request with this id was for something else")]
    Reused,
    /// No session of this name is open, or remembered.
    #[error("no open session has this id")]
    NotOpen,
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// What a node knows of sessions besides what is set.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// The session of this node's car, and since when.
    own: Option<(RequestId, Timestamp)>,
    /// As master: since when each session has waited, for a car or for the node of its car.
    waiting: BTreeMap<RequestId, Timestamp>,
    given: BTreeSet<NodeId>,
    /// When cars were last given back.
    given_back: BTreeMap<NodeId, Timestamp>,
    due: Option<Timestamp>,
}

impl Session {
    pub(crate) fn with(self, state: SessionState) -> Self {
        Self { state, ..self }
    }

    pub(crate) fn errand(&self) -> Errand {
        let time = Duration::from_secs(self.seconds.into());
        let leg = SessionLeg { id: self.id, leg: self.leg };
        Errand::Session { leg, floor: self.floor, time }
    }
}

/// What a robot's request, which may be repeated, comes to: a session, and whether it is new.
pub(crate) fn open(
    bank: &Bank<'_>,
    request: &SessionRequest,
) -> Result<(Session, bool), SessionRefused> {
    let SessionRequest { id, bearer: _, asked, access } = request;
    match bank.settings().request(*id) {
        Some(Request::Session(known)) if known.asked == *asked => {
            return Ok((known.clone(), false));
        }
        Some(Request::Session(_) | Request::Call { .. }) => return Err(SessionRefused::Reused),
        None => {}
    }
    let Asked { floor, to, seconds, car } = asked.clone();
    if let Some(car) = car.as_ref().filter(|car| !bank.has_heard_of(car)) {
        return Err(SessionRefused::UnknownCar(car.clone()));
    }
    if to == Some(floor) {
        return Err(SessionRefused::SameFloor(floor));
    }
    check_served(bank, car.as_ref(), floor, to)?;
    for there in [floor].into_iter().chain(to) {
        check(bank, there, seconds, *access)?;
    }
    if bank.settings().open_sessions().len() >= MOST_SESSIONS {
        return Err(SessionRefused::TooMany);
    }
    let (id, state) = (*id, SessionState::Queued);
    Ok((Session { id, asked: asked.clone(), floor, to, seconds, leg: 0, state }, true))
}

/// The session, once its robot has asked for the next floor, or for more time at this one.
pub(crate) fn go_on(
    bank: &Bank<'_>,
    id: RequestId,
    floor: Floor,
    seconds: Option<u16>,
    access: Access,
) -> Result<Session, SessionRefused> {
    let known = bank.settings().session(id).filter(|it| it.is_open());
    let session = known.ok_or(SessionRefused::NotOpen)?.clone();
    let seconds = seconds.unwrap_or(session.seconds);
    check(bank, floor, seconds, access)?;
    let car = session.car().or(session.asked.car.as_ref());
    check_served(bank, car, floor, None)?;
    let state = match session.state {
        SessionState::Open(car) => SessionState::Coming(car),
        SessionState::Queued | SessionState::Coming(_) | SessionState::Ended(_) => session.state,
    };
    // More time here delays a trip. Another floor is where it wants to go now.
    let to = session.to.filter(|_| floor == session.floor);
    let leg = session.leg.saturating_add(1);
    Ok(Session { floor, to, seconds, leg, state, ..session })
}

/// How a session ends whose robot needs the car no more: an unfinished trip is withdrawn.
pub(crate) fn end_of(session: &Session) -> SessionEnd {
    let is_there = matches!(session.state, SessionState::Open(_));
    let is_on_the_way = |to: Floor| session.floor != to || !is_there;
    let is_early = session.asked.to.is_some_and(is_on_the_way);
    if is_early { SessionEnd::Withdrawn } else { SessionEnd::Done }
}

/// Whether this car, or without one some car in service, stops where the robot wants to go.
fn check_served(
    bank: &Bank<'_>,
    car: Option<&NodeId>,
    floor: Floor,
    to: Option<Floor>,
) -> Result<(), SessionRefused> {
    let stops: Vec<Floor> = [floor].into_iter().chain(to).collect();
    let is_served = match car {
        Some(car) => bank.serves(car, &stops),
        None => bank.has_car(|car| bank.serves(car, &stops)),
    };
    if !is_served && stops.iter().any(|floor| bank.building().is_restricted(*floor)) {
        return Err(SessionRefused::NotServed(stops));
    }
    Ok(())
}

fn check(
    bank: &Bank<'_>,
    floor: Floor,
    seconds: u16,
    access: Access,
) -> Result<(), SessionRefused> {
    if !bank.own.floors.contains(floor) {
        let top = bank.own.floors.top().index();
        return Err(SessionRefused::NoSuchFloor { floor, top });
    }
    if !(1..=LONGEST_HOLD).contains(&seconds) {
        return Err(SessionRefused::Time);
    }
    if bank.settings().is_fire_recalled() {
        return Err(SessionRefused::Recalled);
    }
    if bank.settings().emergency_power().is_some() {
        return Err(SessionRefused::EmergencyPower);
    }
    if access == Access::Public && bank.settings().is_locked(floor) {
        return Err(SessionRefused::FloorLocked(floor));
    }
    Ok(())
}

/// The session of this node's car, once its door is held open for it.
pub(crate) fn on_open(bank: &Bank<'_>, leg: SessionLeg) -> Option<Session> {
    Some(own_session(bank, leg)?.with(SessionState::Open(bank.own.node.clone())))
}

/// The session of this node's car, once its time is over or something more important comes.
pub(crate) fn on_over(bank: &Bank<'_>, leg: SessionLeg, end: SessionEnd) -> Option<Session> {
    let session = own_session(bank, leg)?;
    if end == SessionEnd::Time && is_seeded(SeededBug::SessionNeverEnds) {
        return None;
    }
    Some(match session.to {
        Some(to) if end == SessionEnd::Time && session.floor != to => {
            let leg = session.leg.saturating_add(1);
            let state = SessionState::Coming(bank.own.node.clone());
            Session { floor: to, leg, state, ..session }
        }
        Some(_) if end == SessionEnd::Time => session.with(SessionState::Ended(SessionEnd::Done)),
        Some(_) | None => session.with(SessionState::Ended(end)),
    })
}

/// The session of this node's car, if it is still the one that the car speaks of.
fn own_session(bank: &Bank<'_>, SessionLeg { id, leg }: SessionLeg) -> Option<Session> {
    let known = bank.settings().session(id);
    known.filter(|session| session.car() == Some(&bank.own.node) && session.leg == leg).cloned()
}

impl Sessions {
    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    fn wake(&mut self, at: Timestamp) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// How long a session has waited.
    fn waits(&mut self, id: RequestId, now: Timestamp) -> Duration {
        now.since(*self.waiting.entry(id).or_insert(now))
    }

    /// The first session whose state is to change: that of this node's car, whose time is over;
    /// and, as master, one that gets a car or loses it. To be asked again once that is set.
    pub(crate) fn review(&mut self, bank: &Bank<'_>) -> Option<Session> {
        self.due = None;
        let open = bank.settings().open_sessions();
        if open.is_empty() && self.given.is_empty() {
            self.waiting.clear();
            return None;
        }
        let given = open.iter().filter_map(|session| session.car().cloned()).collect();
        let before = std::mem::replace(&mut self.given, given);
        for car in before.difference(&self.given) {
            self.given_back.insert(car.clone(), bank.now);
        }
        self.given_back.retain(|_, at| bank.now.since(*at) < PASSENGERS_FIRST);
        self.waiting.retain(|id, _| open.iter().any(|session| session.id == *id));
        if let Some(session) = self.limit_own(bank) {
            return Some(session);
        }
        if !bank.leadership.leads() {
            self.waiting.clear();
            return None;
        }
        let changed = open.into_iter().find_map(|session| {
            let settings = bank.settings();
            let state = if settings.is_fire_recalled() || settings.emergency_power().is_some() {
                SessionState::Ended(SessionEnd::Recalled)
            } else {
                self.next_of(bank, session)?
            };
            Some(session.clone().with(state))
        })?;
        self.waiting.remove(&changed.id);
        Some(changed)
    }

    /// The session of this node's car ends, whatever the robot asks for.
    fn limit_own(&mut self, bank: &Bank<'_>) -> Option<Session> {
        let Some(session) = bank.settings().session_of(&bank.own.node) else {
            self.own = None;
            return None;
        };
        let known = self.own.filter(|(id, _)| *id == session.id);
        let (id, since) = known.unwrap_or((session.id, bank.now));
        self.own = Some((id, since));
        if bank.now.since(since) < LONGEST_SESSION {
            self.wake(since + LONGEST_SESSION);
            return None;
        }
        Some(session.clone().with(SessionState::Ended(SessionEnd::Time)))
    }

    /// As master: what becomes of an open session, if anything does.
    fn next_of(&mut self, bank: &Bank<'_>, session: &Session) -> Option<SessionState> {
        let now = bank.now;
        let Some(car) = session.car() else {
            if let Some(car) = self.car_for(bank, session) {
                return Some(SessionState::Coming(car));
            }
            let waited = self.waits(session.id, now);
            if waited >= QUEUE_LIMIT {
                return Some(SessionState::Ended(SessionEnd::NoCar));
            }
            self.wake(now + QUEUE_LIMIT.saturating_sub(waited));
            return None;
        };
        if bank.is_heard(car) {
            self.waiting.remove(&session.id);
            return None;
        }
        let away = self.waits(session.id, now);
        if away < ABSENCE {
            self.wake(now + ABSENCE.saturating_sub(away));
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

    /// The car that a session may have now: the named one, or the first to get there.
    fn car_for(&mut self, bank: &Bank<'_>, session: &Session) -> Option<NodeId> {
        let mut taken = bank.cars_with_errands();
        if !self.given_back.is_empty() {
            let rides = |car: &NodeId| {
                let mut calls = bank.store.orders().calls();
                calls.any(|call| match call {
                    Call::Hall(_) => true,
                    Call::Car { car: of, .. } => of == car,
                })
            };
            let resting = self.given_back.iter().filter(|(car, _)| rides(car));
            let resting: Vec<_> = resting.map(|(car, at)| (car.clone(), *at)).collect();
            for (car, at) in resting {
                self.wake(at + PASSENGERS_FIRST);
                taken.insert(car);
            }
        }
        let stops: Vec<Floor> = session.to.into_iter().collect();
        let named = session.asked.car.as_ref();
        bank.first_car_to(session.floor, |car| {
            named.is_none_or(|named| named == car)
                && !taken.contains(car)
                && bank.serves(car, &stops)
        })
    }
}
