//! Sessions of robots: which robot has a car, and which one waits.

use elevator_driver::Floor;
use serde::{Deserialize, Serialize};

use super::RequestId;
use crate::model::NodeId;

pub const MOST_SESSIONS: usize = 16;

/// How many sessions that have ended are shown, the latest ones.
pub(super) const MOST_ENDED: usize = 32;

/// What a robot has asked for with a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Asked {
    /// Where the car is to hold its door open first.
    pub floor: Floor,
    /// Where it is to go then by itself.
    pub to: Option<Floor>,
    /// For how many seconds, at each floor.
    pub seconds: u16,
    /// The car; any, if there is none.
    pub car: Option<NodeId>,
}

/// A session: a robot has a car to itself for a while, or waits for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Session {
    /// The request that it came of, which is its name.
    pub id: RequestId,
    pub asked: Asked,
    /// Where the car is to hold its door open.
    pub floor: Floor,
    /// Where the car goes by itself when the door has been open for its time, and stays again.
    pub to: Option<Floor>,
    /// How long the door stays open at a floor, in seconds.
    pub seconds: u16,
    /// How often the robot has asked for a floor again.
    pub leg: u16,
    pub state: SessionState,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    Queued,
    /// This car is on its way to the floor.
    Coming(NodeId),
    /// This car holds its door open at the floor.
    Open(NodeId),
    Ended(SessionEnd),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    /// The robot has ended it, or the car has held its door open at the last floor.
    Done,
    /// The robot has used up its time.
    Time,
    /// There was a fire recall, or emergency power.
    Recalled,
    CarLost,
    NoCar,
    /// The robot has withdrawn its call before the trip was over.
    Withdrawn,
    /// An operator has ended it, has revoked its token, or has taken its car out of service.
    Operator,
}

impl SessionEnd {
    /// Its name, as in JSON.
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
    #[must_use]
    pub fn car(&self) -> Option<&NodeId> {
        match &self.state {
            SessionState::Coming(car) | SessionState::Open(car) => Some(car),
            SessionState::Queued | SessionState::Ended(_) => None,
        }
    }

    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(self.state, SessionState::Ended(_))
    }

    /// How far it is, for people, such as `car C is on its way to floor 3, then to floor 5`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { floor, to, seconds, .. } = self;
        let then = |verb: &str| to.map_or_else(String::new, |to| format!("{verb} to floor {to}"));
        match &self.state {
            SessionState::Queued => {
                let car = self.asked.car.as_ref();
                let car = car.map_or("a car".to_owned(), |car| format!("car {car}"));
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

    /// What never goes back: the end, the robot's latest wish, and a door that is open for it.
    pub(super) fn progress(&self) -> (u64, u64, bool) {
        let is_there = matches!(self.state, SessionState::Open(_));
        ((!self.is_open()).into(), self.leg.into(), is_there)
    }
}
