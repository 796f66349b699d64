//! What programs have asked for, and what came of it: nothing is fulfilled twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::session::Session;
use super::{Register, Setting, Version};
use crate::model::{Call, Dot};

/// The most requests that a fleet remembers beside the open sessions. Of more, the programs with
/// the most lose their oldest ones, and all nodes keep the same ones.
pub const MOST_REQUESTS: usize = 512;

/// The most sessions that are open, however many nodes have opened some at the same time. Of more,
/// which takes a faulty node, all nodes keep those with the least names.
const MOST_OPEN: usize = 64;

/// The name of a program's request, and of its trip or session; as 24 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId {
    pub owner: u32,
    pub request: u64,
}

impl RequestId {
    const DIGITS: usize = 24;

    /// Set in the `owner` of programs that nobody can tell apart: they share one part.
    pub const ANYBODY: u32 = 1 << 31;

    /// Whose requests count together with this one.
    fn share(self) -> u32 {
        if self.owner & Self::ANYBODY == 0 { self.owner } else { Self::ANYBODY }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != Self::DIGITS || !text.bytes().all(is_lower_hex) {
            return None;
        }
        let (owner, request) = text.split_at_checked(8)?;
        let owner = u32::from_str_radix(owner, 16).ok()?;
        Some(Self { owner, request: u64::from_str_radix(request, 16).ok()? })
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}{:016x}", self.owner, self.request)
    }
}

/// People and programs read it as it is displayed.
impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            return to.collect_str(self);
        }
        (self.owner, self.request).serialize(to)
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            let text = String::deserialize(from)?;
            return Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not 24 hex digits"));
        }
        <(u32, u64)>::deserialize(from).map(|(owner, request)| Self { owner, request })
    }
}

/// What a program has asked for, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Call {
        id: RequestId,
        call: Call,
        /// The press that was made; `None` if the call was absorbed.
        press: Option<Dot>,
    },
    Session(Session),
}

impl Request {
    #[must_use]
    pub fn id(&self) -> RequestId {
        match self {
            Self::Call { id, .. } => *id,
            Self::Session(session) => session.id,
        }
    }
}

/// Every request that this node remembers: every session that is open and, of the others, ordered
/// by how many later ones their program has, and then by version, the latest first, the first
/// [`MOST_REQUESTS`]. That is a function of all that were merged, with one exception: a session
/// whose end was dropped reopens if a node that missed the end still has it open. Its time limit
/// ends it then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Requests {
    known: BTreeMap<RequestId, Register>,
    /// Those that are over of each program that has any, by age.
    over: BTreeMap<u32, BTreeSet<(Version, RequestId)>>,
    open: BTreeSet<RequestId>,
}

impl Requests {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Register> {
        self.known.values()
    }

    pub(super) fn get(&self, id: RequestId) -> Option<&Register> {
        self.known.get(&id)
    }

    /// The sessions that are open, by name.
    pub(super) fn open(&self) -> impl Iterator<Item = &Register> {
        self.open.iter().filter_map(|id| self.known.get(id))
    }

    /// Takes in what is said of a request, which is later than what is known. Returns what it has
    /// taken the place of: what was known of it, or another request; `Err` if it would exceed the
    /// bound.
    pub(super) fn insert(&mut self, id: RequestId, said: Register) -> Result<Vec<Register>, ()> {
        let is_open = said.session().is_some_and(Session::is_open);
        let is_full = is_open && self.open.len() >= MOST_OPEN && !self.open.contains(&id);
        let last = self.open.last().copied().filter(|_| is_full);
        if last.is_some_and(|last| last < id) {
            return Err(());
        }
        let mut gone: Vec<Register> = self.remove(id).into_iter().collect();
        gone.extend(last.and_then(|last| self.remove(last)));
        if is_open {
            self.open.insert(id);
        } else {
            self.over.entry(id.share()).or_default().insert((said.version, id));
        }
        self.known.insert(id, said);
        let last =
            (self.known.len() - self.open.len() > MOST_REQUESTS).then(|| self.last()).flatten();
        if let Some(last) = last {
            let removed = self.remove(last);
            // A session that was open before is not forgotten by its end.
            if last == id && gone.is_empty() {
                return Err(());
            }
            gone.extend(removed.filter(|_| last != id));
        }
        Ok(gone)
    }

    /// The one to drop first: the oldest of the programs with the most.
    fn last(&self) -> Option<RequestId> {
        let most = self.over.values().map(BTreeSet::len).max()?;
        let greedy = self.over.values().filter(|places| places.len() == most);
        let (_, id) = greedy.filter_map(BTreeSet::first).min()?;
        Some(*id)
    }

    fn remove(&mut self, id: RequestId) -> Option<Register> {
        let removed = self.known.remove(&id)?;
        self.open.remove(&id);
        if let Some(places) = self.over.get_mut(&id.share()) {
            places.remove(&(removed.version, id));
            if places.is_empty() {
                self.over.remove(&id.share());
            }
        }
        Some(removed)
    }
}

impl Register {
    /// The session that it is about, if it is about one.
    pub(crate) fn session(&self) -> Option<&Session> {
        let Setting::Request(Request::Session(session)) = &self.setting else { return None };
        Some(session)
    }
}
