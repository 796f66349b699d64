//! Sessions of robots, as directives say it: who has a car, and who waits for one.
//!
//! A session takes one of a fixed number of slots, each a register like any other. One that has ended
//! keeps its slot until another needs it, the oldest first, so that what it came to can be read for a
//! while, and sessions never fill the directives.
//!
//! A robot that has had no answer may ask again at nodes that have not heard of its request, and its
//! session has several slots. All nodes go by the one that has come furthest; the others count as free.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use elevator_driver::Floor;

use super::{Directive, Directives, Key, RequestId, Topic, Value, Version, of_kind};
use crate::model::NodeId;

/// The most sessions that may be open in a fleet.
pub const MOST_SESSIONS: usize = 16;

/// How many sessions are remembered, with those that are open.
pub(crate) const SESSION_SLOTS: u8 = 32;

/// A session: a robot has a car to itself for a while, or waits for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The request that it came of, which is its name.
    pub id: RequestId,
    /// Where the car is to hold its door open.
    pub floor: Floor,
    /// Where the car goes by itself when the door has been open for long enough, and stays once
    /// more.
    pub to: Option<Floor>,
    /// How long the door stays open at a floor, in seconds.
    pub seconds: u16,
    /// How often the robot has asked for a floor again.
    pub leg: u16,
    /// The car that was asked for; any, if there is none.
    pub wish: Option<NodeId>,
    /// How far it is.
    pub state: SessionState,
}

/// How far a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// No car is free.
    Queued,
    /// This car is on its way to the floor.
    Coming(NodeId),
    /// This car holds its door open at the floor.
    Open(NodeId),
    /// It has ended.
    Ended(SessionEnd),
}

/// Why a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// The robot has ended it, or the car has held its door open at the last floor.
    Done,
    /// The robot has used up its time.
    Time,
    /// There was a fire recall, or emergency power.
    Recalled,
    /// The car was lost.
    CarLost,
    /// No car has become free.
    NoCar,
    /// The robot has withdrawn its call before the trip was over.
    Withdrawn,
    /// An operator has ended it, has revoked its token, or has taken its car out of service.
    Operator,
}

impl SessionEnd {
    /// Every one.
    pub const ALL: [Self; 7] = [
        Self::Done,
        Self::Time,
        Self::Recalled,
        Self::CarLost,
        Self::NoCar,
        Self::Withdrawn,
        Self::Operator,
    ];

    /// Its name, as in directives and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Time => "time",
            Self::Recalled => "recalled",
            Self::CarLost => "car_lost",
            Self::NoCar => "no_car",
            Self::Withdrawn => "withdrawn",
            Self::Operator => "operator",
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Time => "its time was up",
            Self::Recalled => "fire recall or emergency power",
            Self::CarLost => "its car was lost",
            Self::NoCar => "no car became free",
            Self::Withdrawn => "withdrawn",
            Self::Operator => "by an operator",
        }
    }
}

impl Session {
    const ANY: &str = "*";
    const NOWHERE: &str = "-";
    const QUEUED: &str = "queued";
    const COMING: &str = "coming";
    const OPEN: &str = "open";
    const ENDED: &str = "ended";

    /// The car that the session has.
    #[must_use]
    pub fn car(&self) -> Option<&NodeId> {
        match &self.state {
            SessionState::Coming(car) | SessionState::Open(car) => Some(car),
            SessionState::Queued | SessionState::Ended(_) => None,
        }
    }

    /// Whether it has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(self.state, SessionState::Ended(_))
    }

    /// That of a directive with this key and value, if it is one of a session.
    #[must_use]
    pub fn at(key: &Key, value: &Value) -> Option<Self> {
        let Topic::Session(_) = Topic::of(key)? else { return None };
        Self::parse(value.as_str())
    }

    /// How far it is, for people, such as `car C is on its way to floor 3, then to floor 5`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { floor, to, seconds, .. } = self;
        let then = |verb: &str| to.map_or_else(String::new, |to| format!("{verb} to floor {to}"));
        match &self.state {
            SessionState::Queued => {
                let car = self.wish.as_ref().map_or("a car".to_owned(), |car| format!("car {car}"));
                format!("waits at floor {floor} for {car}{}", then(""))
            }
            SessionState::Coming(car) => {
                format!("car {car} is on its way to floor {floor}{}", then(", then"))
            }
            SessionState::Open(car) => {
                let then = then(", then goes");
                format!("car {car} holds its door open at floor {floor} for {seconds} s{then}")
            }
            SessionState::Ended(end) => format!("has ended: {}", end.in_words()),
        }
    }

    /// What never goes back: whether it has ended, what the robot has asked for last, and whether it has
    /// a door open there.
    pub(crate) fn progress(&self) -> (bool, u16, bool) {
        (!self.is_open(), self.leg, matches!(self.state, SessionState::Open(_)))
    }

    /// The value of a directive; `None` if it is not understood.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let [id, floor, to, seconds, leg, wish, ref state @ ..] = words[..] else {
            return None;
        };
        let floor_of = |text: &str| Floor::try_from(text.parse::<u8>().ok()?).ok();
        let node = |text: &str| NodeId::new(text).ok();
        let state = match *state {
            [Self::QUEUED] => SessionState::Queued,
            [Self::COMING, car] => SessionState::Coming(node(car)?),
            [Self::OPEN, car] => SessionState::Open(node(car)?),
            [Self::ENDED, why] => {
                SessionState::Ended(SessionEnd::ALL.into_iter().find(|end| end.name() == why)?)
            }
            _ => return None,
        };
        Some(Self {
            id: RequestId::parse(id)?,
            floor: floor_of(floor)?,
            to: if to == Self::NOWHERE { None } else { Some(floor_of(to)?) },
            seconds: seconds.parse().ok()?,
            leg: leg.parse().ok()?,
            wish: if wish == Self::ANY { None } else { Some(node(wish)?) },
            state,
        })
    }
}

/// The value of a directive, such as `00c0ffee00c0ffee00c0ffee 3 - 30 0 * coming B`.
impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.id, self.floor.index())?;
        match self.to {
            Some(to) => write!(f, "{}", to.index())?,
            None => f.write_str(Self::NOWHERE)?,
        }
        write!(f, " {} {} ", self.seconds, self.leg)?;
        f.write_str(self.wish.as_ref().map_or(Self::ANY, NodeId::as_str))?;
        match &self.state {
            SessionState::Queued => write!(f, " {}", Self::QUEUED),
            SessionState::Coming(car) => write!(f, " {} {car}", Self::COMING),
            SessionState::Open(car) => write!(f, " {} {car}", Self::OPEN),
            SessionState::Ended(end) => write!(f, " {} {}", Self::ENDED, end.name()),
        }
    }
}

impl Directive {
    /// The session that it is about, if it is about one.
    pub(crate) fn session(&self) -> Option<Session> {
        Session::at(&self.key, &self.value)
    }
}

/// A session, and the slot that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlotSession {
    pub(crate) slot: u8,
    pub(crate) version: Version,
    pub(crate) session: Session,
}

/// What registers say of sessions, by name. It is asked for at every input, and hardly ever changes.
pub(super) fn read_sessions(registers: &BTreeMap<Key, Directive>) -> Vec<SlotSession> {
    let mut furthest: BTreeMap<RequestId, SlotSession> = BTreeMap::new();
    for directive in of_kind(registers, Topic::SESSION) {
        let Some(Topic::Session(slot)) = Topic::of(&directive.key) else { continue };
        let Some(session) = directive.session() else { continue };
        let is_ahead = furthest.get(&session.id).is_none_or(|other| {
            (other.session.progress(), other.version) < (session.progress(), directive.version)
        });
        if is_ahead {
            let version = directive.version;
            furthest.insert(session.id, SlotSession { slot, version, session });
        }
    }
    furthest.into_values().collect()
}

/// Whether a directive of this key may be one of a session.
pub(super) fn is_session_key(key: &Key) -> bool {
    key.as_str().starts_with(Topic::SESSION)
}

impl Directives {
    /// The sessions that are remembered, with their slots.
    pub(crate) fn sessions(&self) -> &[SlotSession] {
        &self.sessions
    }

    /// All directives but receipts, and slots of sessions that don't count or are not understood, by
    /// key.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = &Directive> {
        let slots: BTreeSet<u8> = self.sessions.iter().map(|it| it.slot).collect();
        self.iter().filter(move |directive| match Topic::of(&directive.key) {
            Some(Topic::Session(slot)) => slots.contains(&slot),
            _ => true,
        })
    }

    /// The sessions that are remembered: those that are open, and of the others the latest.
    pub fn remembered_sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter().map(|it| &it.session)
    }

    /// The session of a name, if it is remembered, and its slot.
    pub(crate) fn session_in_slot(&self, id: RequestId) -> Option<(u8, &Session)> {
        let found = self.sessions.iter().find(|it| it.session.id == id)?;
        Some((found.slot, &found.session))
    }

    /// The session of a name, if it is remembered.
    #[must_use]
    pub fn session(&self, id: RequestId) -> Option<&Session> {
        self.session_in_slot(id).map(|(_, session)| session)
    }

    /// The session that has this car.
    #[must_use]
    pub fn session_of(&self, car: &NodeId) -> Option<&Session> {
        self.remembered_sessions().find(|session| session.car() == Some(car))
    }

    /// The slot for another session: one that was never used, or that does not count, or that of the
    /// session whose end is the longest ago. `None` if all are in use.
    pub(crate) fn free_slot(&self) -> Option<u8> {
        let counted: BTreeMap<u8, bool> =
            self.sessions.iter().map(|it| (it.slot, it.session.is_open())).collect();
        let slots = (0..SESSION_SLOTS).map(|slot| {
            let used = self.get(&Topic::Session(slot).key());
            (used.map(|it| (counted.contains_key(&slot), it.version)), slot)
        });
        let free = slots.filter(|(_, slot)| counted.get(slot) != Some(&true));
        free.min().map(|(_, slot)| slot)
    }
}
