//! Directives: what operators command the fleet until they command something else.
//!
//! A directive is a register: a [`Key`], which says what it sets, and the latest value. Every node
//! has all of them, on disk as well. Of two directives with one key the later [`Version`] wins, and of
//! two with one version the greater value, so that [`Directives::merge`] is commutative, associative
//! and idempotent like the merge of orders. Of fire recalls the greater number wins.
//!
//! Keys and values are text of bounded length. A node keeps and passes on what it does not
//! understand, so that a later program can set more than this one without another wire version.
//! [`Topic`] names what the brain understands; what else this program does, such as the tokens of the
//! HTTP API (`token/NAME`), is the process's.

mod errands;
mod firefighter;
mod hang;
mod key_switch;
mod recalls;
mod receipts;
mod sessions;
mod text;

use std::collections::BTreeMap;
use std::hash::Hasher;

use elevator_driver::Floor;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::model::bounds::JUMP;
use crate::model::{Mode, NodeId, Nonce};

pub use self::errands::{EmergencyPower, PriorityCall, Turn};
use self::errands::{is_priority_key, read_priorities};
pub(crate) use self::firefighter::firefighter_key;
use self::firefighter::is_firefighter_key;
pub use self::hang::hang_of;
use self::hang::is_hang_key;
pub(crate) use self::hang::{hang_key, hang_value};
pub(crate) use self::key_switch::key_switch_key;
pub use self::recalls::is_recall_key;
pub(crate) use self::recalls::{Recall, is_recall};
use self::receipts::Receipts;
pub(crate) use self::receipts::{Asked, Receipt};
pub use self::receipts::{MOST_RECEIPTS, RequestId};
pub use self::sessions::{MOST_SESSIONS, Session, SessionEnd, SessionState};
pub(crate) use self::sessions::{SESSION_SLOTS, SlotSession};
use self::sessions::{is_session_key, read_sessions};
pub use self::text::{Key, TextError, Value, Words, is_hidden};

/// The most directives of a fleet: with the modes of the largest fleet, room for as many others.
///
/// If there are more, those with the greatest keys are dropped, so that all nodes keep the same ones:
/// why cars hung before all others, and never a fire recall or one of `Topic::URGENT`, nor, for less
/// than these, which cars firefighters have.
pub const MOST_DIRECTIVES: usize = 512;

/// The greatest counter of a version. Nobody gives so many commands; a greater one is refused, so
/// that no node can use up the counters of the others.
const MOST_CHANGES: u64 = 1 << 48;

/// One directive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directive {
    /// What it sets.
    pub key: Key,
    /// Which of two is the later one.
    pub version: Version,
    /// To what.
    pub value: Value,
    /// Who set it, for people.
    pub operator: Words,
}

/// The version of a directive. The greater one is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    /// One more than any that the node knew when it took the command.
    pub counter: u64,
    /// The incarnation of the node that took the command: it decides between two nodes that took one
    /// at the same time.
    pub incarnation: Nonce,
}

/// What this program understands of directives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    /// `mode/CAR`: the service mode of a car, a [`Mode`] by its name.
    Mode(NodeId),
    /// `lock/FLOOR`: whether a call to a floor needs a right of access: `on` or `off`.
    FloorLock(Floor),
    /// `priority/CAR`: the [`PriorityCall`] of a car, or `off`.
    Priority(NodeId),
    /// `emergency-power`: an [`EmergencyPower`], or `off`.
    EmergencyPower,
    /// `emergency-power/cars`: how many cars the fleet has, as far as any master has known since
    /// emergency power was commanded.
    Cars,
    /// `emergency-power/turn`: a [`Turn`], which the master gives.
    Turn,
    /// `session/SLOT`: the [`Session`] that was last given this slot.
    Session(u8),
}

impl Topic {
    const MODE: &str = "mode/";
    const FLOOR_LOCK: &str = "lock/";
    const PRIORITY: &str = "priority/";
    const EMERGENCY_POWER: &str = "emergency-power";
    const CARS: &str = "emergency-power/cars";
    const TURN: &str = "emergency-power/turn";
    const SESSION: &str = "session/";

    /// What decides whether a motor may run: beacons carry these ahead of all others.
    pub(crate) const URGENT: [Self; 3] = [Self::EmergencyPower, Self::Cars, Self::Turn];

    /// The key of directives about it.
    #[must_use]
    pub fn key(&self) -> Key {
        let text = match self {
            Self::Mode(car) => format!("{}{car}", Self::MODE),
            Self::FloorLock(floor) => format!("{}{floor}", Self::FLOOR_LOCK),
            Self::Priority(car) => format!("{}{car}", Self::PRIORITY),
            Self::EmergencyPower => Self::EMERGENCY_POWER.to_owned(),
            Self::Cars => Self::CARS.to_owned(),
            Self::Turn => Self::TURN.to_owned(),
            Self::Session(slot) => format!("{}{slot}", Self::SESSION),
        };
        Key::new(&text).unwrap_or_else(|error| unreachable!("a name is short: {error}"))
    }

    /// What a key is about, if this program understands it.
    #[must_use]
    pub fn of(key: &Key) -> Option<Self> {
        let key = key.as_str();
        let names = [Self::EMERGENCY_POWER, Self::CARS, Self::TURN];
        if let Some(found) = names.iter().position(|name| *name == key) {
            return Self::URGENT.into_iter().nth(found);
        }
        if let Some(floor) = key.strip_prefix(Self::FLOOR_LOCK) {
            let topic = Floor::try_from(floor.parse::<u8>().ok()?).ok().map(Self::FloorLock)?;
            // `lock/05` is none, as only `lock/5` is looked at.
            return (topic.key().as_str() == key).then_some(topic);
        }
        if let Some(slot) = key.strip_prefix(Self::SESSION) {
            let slot = slot.parse().ok().filter(|slot| *slot < SESSION_SLOTS)?;
            let topic = Self::Session(slot);
            return (topic.key().as_str() == key).then_some(topic);
        }
        let of_car = |kind: &str| NodeId::new(key.strip_prefix(kind)?).ok();
        of_car(Self::MODE).map(Self::Mode).or_else(|| of_car(Self::PRIORITY).map(Self::Priority))
    }
}

/// A command that can't become a directive. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DirectiveError {
    /// A recall is to end, and none is known here.
    #[error(
        "no fire recall is known here: end it at a node that shows it, such as that of a recalled car"
    )]
    NoRecall,
    /// There are [`MOST_DIRECTIVES`].
    #[error("the fleet has {MOST_DIRECTIVES} directives already, and keeps no more")]
    Full,
    /// The counter of versions has reached its end, which takes a buggy node.
    #[error(
        "the versions of directives are used up: a faulty node has counted them up; directives keep \
         their present values"
    )]
    Spent,
}

/// Every directive that this node knows of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directives {
    registers: BTreeMap<Key, Directive>,
    digest: u64,
    /// What [`Self::registers`] say of sessions.
    sessions: Vec<SlotSession>,
    /// What they say of priority calls.
    priorities: BTreeMap<NodeId, PriorityCall>,
    receipts: Receipts,
}

impl Directives {
    /// Sets a value, as the latest one; returns the directive.
    ///
    /// # Errors
    /// [`DirectiveError`]: nothing has changed.
    pub fn set(
        &mut self,
        key: Key,
        value: Value,
        operator: Words,
        incarnation: Nonce,
    ) -> Result<Directive, DirectiveError> {
        if self.has_no_room_for(&key) && !self.may_displace(&key) {
            return Err(DirectiveError::Full);
        }
        let counter = self.highest().unwrap_or(0) + 1;
        let version = Version { counter, incarnation };
        let directive = Directive { key, version, value, operator };
        if !directive.is_possible() {
            return Err(DirectiveError::Spent);
        }
        self.merge(directive.clone());
        Ok(directive)
    }

    /// Merges a directive of any source; `true` if that changed anything.
    pub fn merge(&mut self, directive: Directive) -> bool {
        if !directive.is_possible() {
            return false;
        }
        if directive.is_receipt() {
            return self.receipts.merge(directive);
        }
        let known = self.registers.get(&directive.key);
        if known.is_some_and(|known| known.rank() >= directive.rank()) {
            return false;
        }
        if self.has_no_room_for(&directive.key)
            && let Some(last) = self.last().cloned()
        {
            if Precedence::of(&directive.key) > Precedence::of(&last) {
                return false;
            }
            self.remove(&last);
        }
        self.remove(&directive.key);
        self.digest ^= directive.hash();
        let key = directive.key.clone();
        self.registers.insert(key.clone(), directive);
        self.read_again(&key);
        true
    }

    /// The register of this key has changed.
    fn read_again(&mut self, key: &Key) {
        if is_session_key(key) {
            self.sessions = read_sessions(&self.registers);
        } else if is_priority_key(key) {
            self.priorities = read_priorities(&self.registers);
        }
    }

    fn has_no_room_for(&self, key: &Key) -> bool {
        !self.registers.contains_key(key) && self.registers.len() >= MOST_DIRECTIVES
    }

    /// Whether a command about this key may take the place of another directive: in a fire the number
    /// of locks and tokens does not count.
    fn may_displace(&self, key: &Key) -> bool {
        let Precedence { weight, .. } = Precedence::of(key);
        let last = self.last().map(|last| Precedence::of(last).weight);
        last.is_some_and(|last| weight < last)
    }

    /// The key that is dropped first.
    fn last(&self) -> Option<&Key> {
        self.registers.keys().max_by_key(|key| Precedence::of(key))
    }

    /// Whether the version of a directive of a peer, or the number of a recall, is not too far ahead
    /// of those that are known here. Without this bound a single one would use up those of the whole
    /// fleet. A node that knows none yet has to believe what operators have commanded, but no
    /// receipt: a request that is not remembered is fulfilled again.
    pub(crate) fn is_in_reach(&self, directive: &Directive) -> bool {
        let known = if directive.is_receipt() {
            self.receipts.highest().unwrap_or(0)
        } else {
            self.highest().unwrap_or(MOST_CHANGES)
        };
        let recalls = Recall::of(&directive.key, &directive.value).map_or(0, |it| it.number);
        directive.version.counter <= known.saturating_add(JUMP)
            && recalls <= self.recall_count().saturating_add(JUMP)
    }

    fn highest(&self) -> Option<u64> {
        self.registers.values().map(|directive| directive.version.counter).max()
    }

    /// All directives but receipts, by key.
    pub fn iter(&self) -> impl Iterator<Item = &Directive> {
        self.registers.values()
    }

    /// All directives, and then all receipts: what is on disk, and what a new link carries.
    pub fn with_receipts(&self) -> impl Iterator<Item = &Directive> {
        self.iter().chain(self.receipts.iter())
    }

    /// What a request came to, if the fleet has fulfilled it and has not forgotten it yet.
    pub(crate) fn receipt(&self, id: RequestId) -> Option<Receipt> {
        self.receipts.get(id)
    }

    /// Adds the receipt for a request, as the latest one.
    ///
    /// # Errors
    /// [`DirectiveError::Spent`]: nothing has changed.
    pub(crate) fn add_receipt(
        &mut self,
        id: RequestId,
        receipt: &Receipt,
        bearer: Words,
        incarnation: Nonce,
    ) -> Result<Directive, DirectiveError> {
        self.receipts.add(id, receipt, bearer, incarnation)
    }

    /// The directives from this key on, by key, and then those before it.
    pub(crate) fn from(&self, key: Option<&Key>) -> impl Iterator<Item = &Directive> {
        let is_before = move |it: &&Directive| key.is_some_and(|key| it.key < *key);
        let (later, earlier) = (self.iter(), self.iter());
        later.filter(move |it| !is_before(it)).chain(earlier.filter(is_before))
    }

    /// The directive of a key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Directive> {
        self.registers.get(key)
    }

    /// The directive about a topic. As a rule there are none at all, and then no key is built: this is
    /// asked at every beacon.
    fn about(&self, topic: &Topic) -> Option<&Directive> {
        if self.registers.is_empty() { None } else { self.get(&topic.key()) }
    }

    /// A number that is equal if, and in practice only if, the directives are equal; 0 without any.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The commanded mode of a car, what is commanded for the whole fleet included. A mode that this
    /// program does not know takes the car out of service: who commanded it did not want it to run
    /// as usual.
    #[must_use]
    pub fn mode(&self, car: &NodeId) -> Mode {
        let directive = self.about(&Topic::Mode(car.clone()));
        let own = directive
            .map_or(Mode::InService, |it| it.value.as_str().parse().unwrap_or(Mode::OutOfService));
        let is_sent = self.priority(car).is_some() || self.session_of(car).is_some();
        let waits = is_sent.then_some(Mode::Priority);
        let serves = matches!(self.turn(), Turn::Serves { car: serving, .. } if serving == *car);
        let is_down = self.emergency_power().is_some() && !serves;
        let by_power = is_down.then_some(Mode::EmergencyPower);
        let by_fire = self.is_fire_recalled().then_some(Mode::FireRecall);
        [waits, by_power, by_fire].into_iter().flatten().fold(own, Mode::max)
    }

    /// Whether a call to this floor needs a right of access. Only `off` ends that.
    #[must_use]
    pub fn is_locked(&self, floor: Floor) -> bool {
        self.about(&Topic::FloorLock(floor)).is_some_and(|it| it.value.as_str() != OFF)
    }

    /// The floors to which a call needs a right of access.
    pub fn locked_floors(&self) -> impl Iterator<Item = Floor> {
        let locked = self.iter().filter(|it| it.value.as_str() != OFF);
        locked.filter_map(|it| match Topic::of(&it.key)? {
            Topic::FloorLock(floor) => Some(floor),
            Topic::Mode(_)
            | Topic::Priority(_)
            | Topic::EmergencyPower
            | Topic::Cars
            | Topic::Turn
            | Topic::Session(_) => None,
        })
    }

    fn remove(&mut self, key: &Key) {
        if let Some(removed) = self.registers.remove(key) {
            self.digest ^= removed.hash();
            self.read_again(key);
        }
    }
}

/// The directives of the keys that begin with `kind`, by key.
fn of_kind<'a>(
    registers: &'a BTreeMap<Key, Directive>,
    kind: &'static str,
) -> impl Iterator<Item = &'a Directive> {
    let from = Key::new(kind).ok().into_iter().flat_map(|from| registers.range(from..));
    let of_kind = from.take_while(move |(key, _)| key.as_str().starts_with(kind));
    of_kind.map(|(_, directive)| directive)
}

/// Which directives are kept if there are too many: the lesser ones.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Precedence<'a> {
    weight: Weight,
    key: &'a Key,
}

/// How much depends on a directive, the most important first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// A fire recall, or one of [`Topic::URGENT`].
    Urgent,
    /// A firefighter has a car.
    Firefighter,
    Other,
    /// Why a car hung: it is only shown.
    Hang,
}

impl<'a> Precedence<'a> {
    fn of(key: &'a Key) -> Self {
        let is_urgent = is_recall_key(key)
            || Topic::of(key).is_some_and(|topic| Topic::URGENT.contains(&topic));
        let weight = match is_urgent {
            true => Weight::Urgent,
            false if is_firefighter_key(key) => Weight::Firefighter,
            false if is_hang_key(key) => Weight::Hang,
            false => Weight::Other,
        };
        Self { weight, key }
    }
}

/// The value that locks a floor.
pub const ON: &str = "on";

/// The value that ends it.
pub const OFF: &str = "off";

impl Directive {
    /// Whether operators can have given so many commands.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let recall = self.recall().map_or(0, |recall| recall.number);
        self.version.counter.max(recall) <= MOST_CHANGES
    }

    fn recall(&self) -> Option<Recall> {
        Recall::of(&self.key, &self.value)
    }

    /// Whether it is the receipt for a request, which no operator has commanded.
    pub(crate) fn is_receipt(&self) -> bool {
        Receipts::hold(&self.key)
    }

    /// The greater one wins. The version decides unless it is about a fire recall, or a faulty node has
    /// used one twice.
    fn rank(&self) -> (Option<Recall>, Version, &Value, &Words) {
        (self.recall(), self.version, &self.value, &self.operator)
    }

    fn hash(&self) -> u64 {
        let mut hasher = SipHasher13::new();
        for text in [self.key.as_str(), self.value.as_str(), self.operator.as_str()] {
            hasher.write(text.as_bytes());
            hasher.write(&[u8::MAX]);
        }
        hasher.write(&self.version.counter.to_le_bytes());
        hasher.write(&self.version.incarnation.0.to_le_bytes());
        hasher.finish()
    }
}

#[cfg(test)]
mod tests;
