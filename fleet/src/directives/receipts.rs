//! Receipts: which requests of programs the fleet has fulfilled, so that none is fulfilled twice,
//! whichever node it is repeated at. There is one of each name, whatever the request was for.
//!
//! A receipt travels and is stored as a directive: its key names the request and its value the call
//! and the press. It is not gossiped in beacons, as no operator waits for it, so it is no part of the
//! digest: links carry all receipts when they come up, and each new one from then on.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use elevator_driver::Floor;

use super::{Directive, DirectiveError, Key, MOST_CHANGES, Session, Value, Version, Words};
use crate::model::{Call, Dot, NodeId, Nonce};

/// The most receipts of a fleet. Of more, the bearers with the most lose their oldest ones, so that a
/// busy bearer can't use up what others need, and all nodes keep the same ones.
pub const MOST_RECEIPTS: usize = 512;

/// The name of a program's request: that of the program, and of its request. It stands for one thing,
/// a passenger's call, a robot's trip or a robot's session, and names the session as well. Displayed
/// as 24 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId {
    /// Who makes it, and may end what came of it.
    pub owner: u32,
    /// Which one of the owner's.
    pub request: u64,
}

impl RequestId {
    const DIGITS: usize = 24;

    fn key(self) -> Key {
        let text = format!("{}{self}", Receipts::KIND);
        Key::new(&text).unwrap_or_else(|error| unreachable!("a hash is short: {error}"))
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

/// What a request was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    Call(Call),
    /// A session in which the car goes on by itself.
    Trip {
        from: Floor,
        to: Floor,
        car: Option<NodeId>,
    },
    /// A session in which the robot says where it goes.
    Session,
}

/// What a request came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// The press that was made; `None` if the call was absorbed.
    pub(crate) press: Option<Dot>,
    /// The call, as text.
    call: String,
}

impl Receipt {
    const ABSORBED: &str = "absorbed";
    const SESSION: &str = "session";
    const NOWHERE: &str = "-";
    const ANY: &str = "*";

    pub(crate) fn new(press: Option<Dot>, call: &Call) -> Self {
        Self { press, call: call.to_string() }
    }

    /// That of a request for a session, as it was asked for.
    pub(crate) fn of_session(session: &Session) -> Self {
        let Session { floor, to, seconds, wish, .. } = session;
        let to = to.map_or(Self::NOWHERE.to_owned(), |to| to.to_string());
        let car = wish.as_ref().map_or(Self::ANY, |car| car.as_str());
        Self { press: None, call: format!("{} {floor} {to} {seconds} {car}", Self::SESSION) }
    }

    /// What was asked for; `None` if it is not understood.
    pub(crate) fn asked(&self) -> Option<Asked> {
        let words: Vec<&str> = self.call.split(' ').collect();
        let [Self::SESSION, from, to, _seconds, car] = words[..] else {
            return Call::parse(&self.call).map(Asked::Call);
        };
        if to == Self::NOWHERE {
            return Some(Asked::Session);
        }
        let floor = |text: &str| Floor::try_from(text.parse::<u8>().ok()?).ok();
        let car = if car == Self::ANY { None } else { Some(NodeId::new(car).ok()?) };
        Some(Asked::Trip { from: floor(from)?, to: floor(to)?, car })
    }

    /// Whether the request was for this call.
    pub(crate) fn is_for(&self, call: &Call) -> bool {
        self.call == call.to_string()
    }

    fn parse(value: &Value) -> Option<Self> {
        let (press, call) = value.as_str().split_once(' ')?;
        let call = call.to_owned();
        if press == Self::ABSORBED {
            return Some(Self { press: None, call });
        }
        let (incarnation, sequence) = press.split_once(':')?;
        let incarnation = Nonce(u64::from_str_radix(incarnation, 16).ok()?);
        let sequence = sequence.parse().ok()?;
        Some(Self { press: Some(Dot { incarnation, sequence }), call })
    }
}

/// The value of a receipt, such as `00c0ffee00c0ffee:17 hall 3 up` or `absorbed car A 5`.
impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.press {
            Some(press) => write!(f, "{press} {}", self.call),
            None => write!(f, "{} {}", Self::ABSORBED, self.call),
        }
    }
}

/// Every receipt that this node keeps.
///
/// Ordered by how many later ones their bearer has, and then by version, the latest first, the first
/// [`MOST_RECEIPTS`] are kept. This set is a function of the union of all that were merged, so that
/// merging is commutative, associative and idempotent; it takes a faulty node to give one request two
/// bearers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Receipts {
    receipts: BTreeMap<Key, Directive>,
    /// Those of each bearer that has any, by age.
    by_bearer: BTreeMap<Words, BTreeSet<Place>>,
}

/// Where a receipt is among those of its bearer.
type Place = (Version, Key);

impl Receipts {
    const KIND: &str = "receipt/";

    /// Whether directives with this key are receipts.
    pub(super) fn hold(key: &Key) -> bool {
        key.as_str().starts_with(Self::KIND)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Directive> {
        self.receipts.values()
    }

    /// What a request came to, if it was fulfilled and is not forgotten.
    pub(super) fn get(&self, id: RequestId) -> Option<Receipt> {
        Receipt::parse(&self.receipts.get(&id.key())?.value)
    }

    /// The counter of the latest one.
    pub(super) fn highest(&self) -> Option<u64> {
        let latest = self.by_bearer.values().filter_map(BTreeSet::last);
        latest.map(|(version, _)| version.counter).max()
    }

    /// Adds a receipt, as the latest one. The versions may be used up, which takes a faulty node.
    pub(super) fn add(
        &mut self,
        id: RequestId,
        receipt: &Receipt,
        bearer: Words,
        incarnation: Nonce,
    ) -> Result<Directive, DirectiveError> {
        let value = Value::new(&receipt.to_string())
            .unwrap_or_else(|error| unreachable!("a press and a call are short: {error}"));
        let version = Version { counter: self.highest().unwrap_or(0) + 1, incarnation };
        if version.counter > MOST_CHANGES {
            return Err(DirectiveError::Spent);
        }
        let directive = Directive { key: id.key(), version, value, operator: bearer };
        self.merge(directive.clone());
        Ok(directive)
    }

    /// Merges a receipt of any source; `true` if that changed anything.
    pub(super) fn merge(&mut self, receipt: Directive) -> bool {
        let known = self.receipts.get(&receipt.key);
        if known.is_some_and(|known| known.rank() >= receipt.rank()) {
            return false;
        }
        let known = known.map(|known| known.key.clone());
        if let Some(known) = known {
            self.remove(&known);
        }
        let place = (receipt.version, receipt.key.clone());
        self.by_bearer.entry(receipt.operator.clone()).or_default().insert(place);
        let key = receipt.key.clone();
        self.receipts.insert(key.clone(), receipt);
        if self.receipts.len() > MOST_RECEIPTS
            && let Some(last) = self.last()
        {
            self.remove(&last);
            return last != key;
        }
        true
    }

    /// The one to drop first: the oldest of the bearer with the most; of several such bearers, the
    /// oldest of all.
    fn last(&self) -> Option<Key> {
        let most = self.by_bearer.values().map(BTreeSet::len).max()?;
        let greedy = self.by_bearer.values().filter(|places| places.len() == most);
        let (_, key) = greedy.filter_map(BTreeSet::first).min()?;
        Some(key.clone())
    }

    fn remove(&mut self, key: &Key) {
        let Some(removed) = self.receipts.remove(key) else { return };
        if let Entry::Occupied(mut places) = self.by_bearer.entry(removed.operator) {
            places.get_mut().remove(&(removed.version, removed.key));
            if places.get().is_empty() {
                places.remove();
            }
        }
    }
}
