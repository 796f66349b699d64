//! Settings: what operators command, what nodes set about their cars, what programs ask for.
//!
//! A setting is a register: a [`Key`] and the latest [`Setting`]. Every node has all of them, on
//! disk as well. Of two with one key the one that has come further wins, then the later
//! [`Version`], then the greater value, so that [`Settings::merge`] is commutative, associative and
//! idempotent as long as nothing has to be dropped.

pub(crate) mod json;
mod recalls;
mod requests;
mod session;
mod setting;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;

use elevator_driver::{Alarm, Floor, KeySwitch};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::model::bounds::JUMP;
use crate::model::{HangEvidence, Mode, NodeId, Nonce};

pub use self::recalls::Recall;
use self::requests::Requests;
pub use self::requests::{MOST_REQUESTS, Request, RequestId};
use self::session::MOST_ENDED;
pub use self::session::{Asked, MOST_SESSIONS, Session, SessionEnd, SessionState};
pub use self::setting::{
    EmergencyPower, Key, PriorityCall, Scope, Setting, Token, TokenHash, Turn,
};
pub use self::text::{By, Name, TextError, Why, Words, is_hidden};

/// The most settings of a fleet, requests apart. Those with the greatest [`Key`]s are dropped.
pub const MOST_SETTINGS: usize = 512;

/// The greatest counter of a version, so that no node can use up those of the others.
const MOST_CHANGES: u64 = 1 << 48;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    pub setting: Setting,
    /// Which of two is the later one.
    pub version: Version,
    /// Who set it, for people.
    pub operator: Words,
    /// Why, for people.
    pub reason: Option<Why>,
}

/// The version of a setting. The greater one is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    /// One more than any that the node knew when it took the command.
    pub counter: u64,
    /// The incarnation of the node that took the command decides between two with one counter.
    pub incarnation: Nonce,
}

/// A command that can't become a setting. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A recall is to end, and none is known here.
    #[error(
        "this node knows of no fire recall: end it at a node that shows it, such as that of a \
         recalled car"
    )]
    NoRecall,
    #[error("the fleet already has {MOST_SETTINGS} settings, the maximum")]
    Full,
    /// The counter of versions has reached its end, which takes a buggy node.
    #[error(
        "the versions of settings are used up, because of a faulty node; settings keep their \
         current values"
    )]
    Spent,
}

#[derive(Debug, Clone, Default)]
pub struct Settings {
    registers: BTreeMap<Key, Register>,
    requests: Requests,
    digest: u64,
    /// What was dropped to keep within the bounds: the disk may still hold it.
    dropped: BTreeSet<Key>,
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.all().eq(other.all())
    }
}

impl Eq for Settings {}

impl Settings {
    /// Sets something, as the latest word on it; returns the setting.
    ///
    /// # Errors
    /// [`SettingError`]: nothing has changed.
    pub fn set(
        &mut self,
        setting: Setting,
        by: impl Into<By>,
        incarnation: Nonce,
    ) -> Result<Register, SettingError> {
        let key = setting.key();
        let is_full = self.registers.len() >= MOST_SETTINGS && self.get(&key).is_none();
        let displaces = || {
            let last = self.registers.keys().next_back();
            last.is_some_and(|last| key.class() < last.class())
        };
        if is_full && !matches!(key, Key::Request(_)) && !displaces() {
            return Err(SettingError::Full);
        }
        let version = Version { counter: self.highest().unwrap_or(0) + 1, incarnation };
        let By { operator, reason } = by.into();
        let register = Register { setting, version, operator, reason };
        if !register.is_possible() {
            return Err(SettingError::Spent);
        }
        if self.merge(register.clone()) { Ok(register) } else { Err(SettingError::Full) }
    }

    /// Merges a setting of any source; `true` if that changed anything.
    pub fn merge(&mut self, register: Register) -> bool {
        let key = register.setting.key();
        let is_known = |known: &Register| known.rank() >= register.rank();
        if !register.is_possible() || self.get(&key).is_some_and(is_known) {
            return false;
        }
        let hash = register.hash();
        let gone: Vec<Register> = if let Key::Request(id) = key {
            let Ok(gone) = self.requests.insert(id, register) else {
                self.dropped.insert(key);
                return false;
            };
            gone
        } else {
            let is_last = self.registers.keys().next_back().is_some_and(|last| *last < key);
            let is_full =
                self.registers.len() >= MOST_SETTINGS && !self.registers.contains_key(&key);
            if is_full && is_last {
                self.dropped.insert(key);
                return false;
            }
            let dropped =
                is_full.then(|| self.registers.pop_last()).flatten().map(|(_, last)| last);
            self.registers.insert(key.clone(), register).into_iter().chain(dropped).collect()
        };
        self.digest = gone.iter().fold(self.digest, |digest, gone| digest ^ gone.hash());
        self.dropped.extend(gone.iter().map(|it| it.setting.key()));
        // An end that is too old to be remembered is not kept.
        if self.get(&key).is_some() {
            self.digest ^= hash;
            self.dropped.remove(&key);
        }
        true
    }

    /// Those that were dropped since the last time, for the disk to forget.
    pub fn take_dropped(&mut self) -> BTreeSet<Key> {
        std::mem::take(&mut self.dropped)
    }

    /// Whether the version of a peer's setting, or the number of a recall, is not too far ahead of
    /// those that are known here: a single one would use up those of the whole fleet. A node that
    /// knows none yet has to believe what operators have commanded, but no request.
    pub(crate) fn is_in_reach(&self, register: &Register) -> bool {
        let is_request = matches!(register.setting, Setting::Request(..));
        let known = self.highest().unwrap_or(if is_request { 0 } else { MOST_CHANGES });
        let recalls = register.setting.recall().map_or(0, |recall| recall.number);
        register.version.counter <= known.saturating_add(JUMP)
            && recalls <= self.recall_count().saturating_add(JUMP)
    }

    fn highest(&self) -> Option<u64> {
        self.all().map(|register| register.version.counter).max()
    }

    /// All settings but requests, by key.
    pub fn iter(&self) -> impl Iterator<Item = &Register> {
        self.registers.values()
    }

    /// All settings, by key, requests last: what is on disk, and what a peer may lack.
    pub fn all(&self) -> impl Iterator<Item = &Register> {
        self.iter().chain(self.requests.iter())
    }

    /// What is known of a request, if the fleet remembers it.
    #[must_use]
    pub fn request(&self, id: RequestId) -> Option<&Request> {
        let Setting::Request(request) = &self.requests.get(id)?.setting else { return None };
        Some(request)
    }

    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Register> {
        if let Key::Request(id) = key { self.requests.get(*id) } else { self.registers.get(key) }
    }

    fn about(&self, key: &Key) -> Option<&Setting> {
        self.registers.get(key).map(|it| &it.setting)
    }

    /// Whether exactly this is the latest word on it.
    pub(crate) fn holds(&self, register: &Register) -> bool {
        self.get(&register.setting.key()) == Some(register)
    }

    /// A number that is equal if, and in practice only if, all is equal. 0 without any.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The same for what decides whose turn it is on emergency power.
    #[must_use]
    pub fn power_digest(&self) -> u64 {
        let known = Key::POWER.iter().filter_map(|key| self.registers.get(key));
        known.fold(0, |digest, register| digest ^ register.hash())
    }

    /// The commanded mode of a car, what is commanded for the whole fleet included.
    #[must_use]
    pub fn mode(&self, car: &NodeId) -> Mode {
        let own = self.about(&Key::Mode(car.clone()));
        let own = if let Some(Setting::Mode(_, mode)) = own { *mode } else { Mode::InService };
        let is_sent = self.priority(car).is_some() || self.session_of(car).is_some();
        let waits = is_sent.then_some(Mode::Priority);
        let serves = matches!(self.turn(), Turn::Serves { car: serving, .. } if serving == *car);
        let is_down = self.emergency_power().is_some() && !serves;
        let by_power = is_down.then_some(Mode::EmergencyPower);
        let by_fire = self.is_fire_recalled().then_some(Mode::FireRecall);
        [waits, by_power, by_fire].into_iter().flatten().fold(own, Mode::max)
    }

    /// The mode of a car as it follows from commands, its key switch, and who holds the key.
    pub(crate) fn mode_with_key(&self, car: &NodeId) -> Mode {
        if self.has_firefighter(car) {
            return Mode::FireService;
        }
        self.mode(car).with_key(self.key_switch(car))
    }

    /// The mode of a car, if by command or in the hands of a firefighter it takes no car calls.
    pub(crate) fn refusing_mode(&self, car: &NodeId) -> Option<Mode> {
        let has_firefighter = self.has_firefighter(car);
        let mode = if has_firefighter { Mode::FireService } else { self.mode(car) };
        [Mode::OutOfService, Mode::FireService].contains(&mode).then_some(mode)
    }

    /// Whether a call to this floor needs a right of access.
    #[must_use]
    pub fn is_locked(&self, floor: Floor) -> bool {
        matches!(self.about(&Key::FloorLock(floor)), Some(Setting::FloorLock(_, true)))
    }

    /// The floors to which a call needs a right of access.
    pub fn locked_floors(&self) -> impl Iterator<Item = Floor> {
        self.iter().filter_map(|it| {
            let Setting::FloorLock(floor, true) = it.setting else { return None };
            Some(floor)
        })
    }

    #[must_use]
    pub fn priority(&self, car: &NodeId) -> Option<PriorityCall> {
        let Setting::Priority(_, call) = self.about(&Key::Priority(car.clone()))? else {
            return None;
        };
        *call
    }

    pub fn priorities(&self) -> impl Iterator<Item = (&NodeId, PriorityCall)> {
        self.iter().filter_map(|it| {
            let Setting::Priority(car, Some(call)) = &it.setting else { return None };
            Some((car, *call))
        })
    }

    #[must_use]
    pub fn emergency_power(&self) -> Option<EmergencyPower> {
        let Setting::EmergencyPower(Some(commanded)) = self.about(&Key::EmergencyPower)? else {
            return None;
        };
        let mut commanded = commanded.clone();
        if let Some(Setting::Cars(known)) = self.about(&Key::Cars) {
            commanded.cars = commanded.cars.max(*known);
        }
        Some(commanded)
    }

    #[must_use]
    pub fn turn(&self) -> Turn {
        let Some(Setting::Turn(turn)) = self.about(&Key::Turn) else { return Turn::None };
        turn.clone()
    }

    /// Whether a firefighter has this car by its key, as far as is known here.
    #[must_use]
    pub fn has_firefighter(&self, car: &NodeId) -> bool {
        let said = self.about(&Key::Firefighter(car.clone()));
        matches!(said, Some(Setting::Firefighter(_, true)))
    }

    #[must_use]
    pub fn key_switch(&self, car: &NodeId) -> KeySwitch {
        let Some(Setting::KeySwitch(_, position)) = self.about(&Key::KeySwitch(car.clone())) else {
            return KeySwitch::Normal;
        };
        *position
    }

    /// What has become of the alarm from a car.
    #[must_use]
    pub fn alarm(&self, car: &NodeId) -> Alarm {
        let Some(Setting::Alarm(_, alarm)) = self.about(&Key::Alarm(car.clone())) else {
            return Alarm::Off;
        };
        *alarm
    }

    pub(crate) fn is_hung(&self, car: &NodeId) -> bool {
        matches!(self.about(&Key::Hang(car.clone())), Some(Setting::Hang(_, Some(_))))
    }

    /// The cars that hung, as their nodes have said, with the evidence.
    pub fn hangs(&self) -> impl Iterator<Item = (&NodeId, HangEvidence)> {
        self.iter().filter_map(|it| {
            let Setting::Hang(car, Some(evidence)) = &it.setting else { return None };
            Some((car, *evidence))
        })
    }

    #[must_use]
    pub fn session(&self, id: RequestId) -> Option<&Session> {
        self.requests.get(id)?.session()
    }

    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.requests.iter().filter_map(Register::session)
    }

    #[must_use]
    pub fn session_of(&self, car: &NodeId) -> Option<&Session> {
        self.requests.open().filter_map(Register::session).find(|it| it.car() == Some(car))
    }

    /// The sessions that are open, those whose last word is the oldest first.
    pub fn open_sessions(&self) -> Vec<&Session> {
        let mut open: Vec<&Register> = self.requests.open().collect();
        open.sort_by_key(|it| it.version);
        open.into_iter().filter_map(Register::session).collect()
    }

    /// What is shown: all but requests, the sessions that are open, and of the others the latest.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = &Register> {
        let has_ended = |it: &&Register| it.session().is_some_and(|session| !session.is_open());
        let mut ended: Vec<&Register> = self.requests.iter().filter(has_ended).collect();
        ended.sort_by_key(|it| std::cmp::Reverse(it.version));
        ended.truncate(MOST_ENDED);
        self.iter().chain(self.requests.open()).chain(ended)
    }
}

impl Register {
    /// Whether operators can have given this many commands.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let recall = self.setting.recall().map_or(0, |recall| recall.number);
        self.version.counter.max(recall) <= MOST_CHANGES && self.setting.has_possible_times()
    }

    /// Whether it says what came of a passenger's call.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self.setting, Setting::Request(Request::Call { .. }))
    }

    /// The greater one wins. A faulty node may have used one version twice.
    fn rank(&self) -> impl Ord {
        let by = (&self.operator, &self.reason);
        (self.setting.progress(), self.version, &self.setting, by)
    }

    /// What it adds to the digest, and what acknowledges it.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = SipHasher13::new();
        hasher.write(&postcard::to_allocvec(self).unwrap_or_default());
        hasher.finish()
    }
}

#[cfg(test)]
pub(crate) mod tests;
