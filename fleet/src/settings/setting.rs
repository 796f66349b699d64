//! What can be commanded or set, each with its value.

use std::fmt;
use std::time::{Duration, SystemTime};

use elevator_driver::{Alarm, Floor, KeySwitch};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::recalls::Recall;
use super::requests::{Request, RequestId};
use super::text::Name;
use crate::model::{HangEvidence, Mode, NodeId, Nonce};

/// What a setting sets. Where there are too many, the last ones in this order are dropped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Key {
    EmergencyPower,
    /// How many cars the fleet has, as far as any master has known since that was commanded.
    Cars,
    Turn,
    /// The fire recalls that nodes with this incarnation have started.
    FireRecall(Nonce),
    Firefighter(NodeId),
    Mode(NodeId),
    /// Whether a call to a floor needs a right of access.
    FloorLock(Floor),
    Priority(NodeId),
    KeySwitch(NodeId),
    Token(Name),
    /// Why a car hung: it is only shown.
    Hang(NodeId),
    /// What a program has asked for. These are kept apart from the others.
    Request(RequestId),
    Alarm(NodeId),
}

impl Key {
    /// What decides whose turn it is on emergency power.
    pub(crate) const POWER: [Self; 3] = [Self::EmergencyPower, Self::Cars, Self::Turn];

    /// How much depends on it, the most first: a command takes the place of one of a later class.
    pub(super) fn class(&self) -> u8 {
        match self {
            Self::EmergencyPower | Self::Cars | Self::Turn | Self::FireRecall(_) => 0,
            Self::Firefighter(_) => 1,
            Self::Mode(_)
            | Self::FloorLock(_)
            | Self::Priority(_)
            | Self::KeySwitch(_)
            | Self::Token(_)
            | Self::Request(_) => 2,
            Self::Hang(_) | Self::Alarm(_) => 3,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmergencyPower => f.write_str("emergency-power"),
            Self::Cars => f.write_str("emergency-power/cars"),
            Self::Turn => f.write_str("emergency-power/turn"),
            Self::FireRecall(origin) => write!(f, "fire-recall/{origin}"),
            Self::Firefighter(car) => write!(f, "firefighter/{car}"),
            Self::Mode(car) => write!(f, "mode/{car}"),
            Self::FloorLock(floor) => write!(f, "lock/{floor}"),
            Self::Priority(car) => write!(f, "priority/{car}"),
            Self::KeySwitch(car) => write!(f, "key/{car}"),
            Self::Token(name) => write!(f, "token/{name}"),
            Self::Hang(car) => write!(f, "hang/{car}"),
            Self::Request(id) => write!(f, "request/{id}"),
            Self::Alarm(car) => write!(f, "alarm/{car}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// `None`: the building has its usual power.
    EmergencyPower(Option<EmergencyPower>),
    Cars(u16),
    Turn(Turn),
    /// The latest recall that nodes with this incarnation have started.
    FireRecall(Nonce, Recall),
    /// Whether a firefighter has this car by its key. The node of the car sets it as the key is
    /// turned: it outlives a restart of that node, and tells the others that the car takes no
    /// calls.
    Firefighter(NodeId, bool),
    Mode(NodeId, Mode),
    /// Whether a call to this floor needs a right of access.
    FloorLock(Floor, bool),
    Priority(NodeId, Option<PriorityCall>),
    /// Where the key switch of a car stands. Its node sets it: beacons name four modes only, so
    /// that without it the others could not tell a car that a mechanic has switched off from one
    /// that waits for emergency power.
    KeySwitch(NodeId, KeySwitch),
    /// A bearer token of this name; `None` once it is revoked.
    Token(Name, Option<Token>),
    /// Why a car hung; `None` once it runs again. Its node sets it before it ends.
    Hang(NodeId, Option<HangEvidence>),
    /// What a program has asked for, and what came of it.
    Request(Request),
    /// The alarm from a car: its node sets it when the button is pressed, and when it is over.
    Alarm(NodeId, Alarm),
}

impl Setting {
    #[must_use]
    pub fn key(&self) -> Key {
        match self {
            Self::EmergencyPower(_) => Key::EmergencyPower,
            Self::Cars(_) => Key::Cars,
            Self::Turn(_) => Key::Turn,
            Self::FireRecall(origin, _) => Key::FireRecall(*origin),
            Self::Firefighter(car, _) => Key::Firefighter(car.clone()),
            Self::Mode(car, _) => Key::Mode(car.clone()),
            Self::FloorLock(floor, _) => Key::FloorLock(*floor),
            Self::Priority(car, _) => Key::Priority(car.clone()),
            Self::KeySwitch(car, _) => Key::KeySwitch(car.clone()),
            Self::Token(name, _) => Key::Token(name.clone()),
            Self::Hang(car, _) => Key::Hang(car.clone()),
            Self::Request(request) => Key::Request(request.id()),
            Self::Alarm(car, _) => Key::Alarm(car.clone()),
        }
    }

    /// What it sets, for people, such as `mode/A`.
    #[must_use]
    pub fn subject(&self) -> String {
        if let Self::Request(Request::Session(session)) = self {
            return format!("session/{}", session.id);
        }
        self.key().to_string()
    }

    /// Whether its times can be written.
    pub(super) fn has_possible_times(&self) -> bool {
        let Self::Token(_, Some(token)) = self else { return true };
        token.created.max(token.expires.unwrap_or(0)) <= LAST_SECOND
    }

    /// How far what it says has come, where that decides before its version does: a recall or a
    /// session that is over stays so, whatever a node says that has missed it.
    pub(super) fn progress(&self) -> (u64, u64, bool) {
        if let Self::FireRecall(_, recall) = self {
            (recall.number, recall.is_over.into(), false)
        } else if let Self::Request(Request::Session(session)) = self {
            session.progress()
        } else {
            (0, 0, false)
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on_off = |is_on| if is_on { "on" } else { "off" };
        match self {
            Self::EmergencyPower(Some(EmergencyPower { cars, serving })) => {
                write!(f, "on {cars}")?;
                serving.iter().try_for_each(|car| write!(f, " {car}"))
            }
            Self::EmergencyPower(None) | Self::Priority(_, None) | Self::Hang(_, None) => {
                f.write_str("off")
            }
            Self::Cars(cars) => write!(f, "{cars}"),
            Self::Turn(turn) => write!(f, "{turn}"),
            Self::FireRecall(_, Recall { number, is_over }) => {
                write!(f, "{} {number}", on_off(!is_over))
            }
            Self::Firefighter(_, is_on) | Self::FloorLock(_, is_on) => f.write_str(on_off(*is_on)),
            Self::Mode(_, mode) => write!(f, "{mode}"),
            Self::Priority(_, Some(PriorityCall { floor, any })) => {
                write!(f, "{}{}", floor.index(), if *any { " any" } else { "" })
            }
            Self::KeySwitch(_, position) => write!(f, "{position}"),
            Self::Token(_, Some(token)) => write!(f, "{token}"),
            Self::Token(_, None) => f.write_str("revoked"),
            Self::Hang(_, Some(evidence)) => evidence.fmt(f),
            Self::Request(Request::Session(session)) => f.write_str(&session.in_words()),
            Self::Request(Request::Call { call, .. }) => write!(f, "{call}"),
            Self::Alarm(_, alarm) => write!(f, "{alarm}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PriorityCall {
    pub floor: Floor,
    /// Whether another car takes the call if this one is lost: no operator has named the car.
    pub any: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EmergencyPower {
    /// How many cars the fleet has, as far as any master knew: most of them have to follow.
    pub cars: u16,
    /// The car that is to serve once all are down.
    pub serving: Option<NodeId>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    #[default]
    None,
    /// That of a car which goes down.
    Evacuates {
        car: NodeId,
        /// The master that has given it. It counts while the car's node follows this one.
        master: NodeId,
    },
    /// That of a car which serves calls.
    Serves { car: NodeId, master: NodeId },
    /// Nobody's, and a car has had it.
    Done { car: NodeId },
}

impl Turn {
    /// The car whose turn it is, and the master that has given it.
    #[must_use]
    pub fn holder(&self) -> Option<(&NodeId, &NodeId)> {
        match self {
            Self::Evacuates { car, master } | Self::Serves { car, master } => Some((car, master)),
            Self::None | Self::Done { .. } => None,
        }
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Evacuates { car, master } => write!(f, "{car} by {master}"),
            Self::Serves { car, master } => write!(f, "{car} by {master} serves"),
            Self::Done { car } => write!(f, "{car} done"),
        }
    }
}

/// What the bearer of a token may do. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    View,
    Call,
    /// Also place calls to locked floors, and release them in a car.
    Access,
    Operate,
}

impl Scope {
    pub const ALL: [Self; 4] = [Self::View, Self::Call, Self::Access, Self::Operate];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Call => "call",
            Self::Access => "access",
            Self::Operate => "operate",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The end of the year 9999, beyond which no time can be written.
const LAST_SECOND: u64 = 253_402_300_799;

/// A bearer token. Only the process knows what it opens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Token {
    pub scope: Scope,
    /// When it was made, in seconds since 1970, UTC.
    pub created: u64,
    /// From when on it no longer counts; `None` if it counts until it is revoked.
    pub expires: Option<u64>,
    /// The BLAKE3 hash of its text.
    pub hash: TokenHash,
}

/// When it was made, when it expires, and no word of its hash.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Later ones are refused: what can't be written would panic.
        let time = |seconds: u64| {
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.min(LAST_SECOND));
            humantime::format_rfc3339_seconds(at)
        };
        write!(f, "{} {}", self.scope, time(self.created))?;
        self.expires.iter().try_for_each(|at| write!(f, " {}", time(*at)))
    }
}

/// The hash of a token's text. What people and programs read lacks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenHash(pub [u8; 32]);

impl Serialize for TokenHash {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.serialize_unit() } else { self.0.serialize(to) }
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            return <()>::deserialize(from).map(|()| Self([0; 32]));
        }
        <[u8; 32]>::deserialize(from).map(Self)
    }
}
