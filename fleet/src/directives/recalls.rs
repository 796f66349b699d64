//! Fire recalls of the whole fleet (ASME A17.1 *Phase I*): `fire-recall/ORIGIN`.
//!
//! A recall is known by its origin, the incarnation of the node that started it, and its number there.
//! The value is `on 2` while the second recall of its origin is in force, and `off 2` once that is over.
//! The greater number wins, and of one number `off`. So the recalls that are started on two sides of
//! a partition are two, and each ends only when it is ended itself.

use super::{Directives, Key, OFF, ON, Value, of_kind};
use crate::model::Nonce;

const PREFIX: &str = "fire-recall/";

/// At most this many origins. Beyond that, a new recall reuses an existing origin.
const MOST_ORIGINS: usize = 64;

/// The latest recall of one origin. The greater one is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Recall {
    /// Counts from 1.
    pub(crate) number: u64,
    pub(crate) is_over: bool,
}

impl Recall {
    /// What a directive says of a recall. What this program does not understand is in force.
    pub(super) fn of(key: &Key, value: &Value) -> Option<Self> {
        is_recall_key(key).then(|| {
            let (state, number) = value.as_str().split_once(' ').unwrap_or((value.as_str(), ""));
            Self { number: number.parse().unwrap_or(1), is_over: state == OFF }
        })
    }

    fn value(self) -> Value {
        let state = if self.is_over { OFF } else { ON };
        let text = format!("{state} {}", self.number);
        Value::new(&text).unwrap_or_else(|error| unreachable!("a number is short: {error}"))
    }
}

/// Whether a directive of this key is about a fire recall.
#[must_use]
pub fn is_recall_key(key: &Key) -> bool {
    key.as_str().starts_with(PREFIX)
}

/// Whether a directive says that a fire recall is in force.
pub(crate) fn is_recall(key: &Key, value: &Value) -> bool {
    Recall::of(key, value).is_some_and(|recall| !recall.is_over)
}

impl Directives {
    /// The latest recall of each origin.
    pub(crate) fn recalls(&self) -> impl Iterator<Item = (&Key, Recall)> {
        let all = of_kind(&self.registers, PREFIX);
        all.filter_map(|it| Some((&it.key, Recall::of(&it.key, &it.value)?)))
    }

    /// Whether all cars are recalled: a recall is in force.
    #[must_use]
    pub fn is_fire_recalled(&self) -> bool {
        self.recalls().any(|(_, recall)| !recall.is_over)
    }

    /// How many fire recalls there have been, as far as is known here. It grows with each that starts.
    #[must_use]
    pub fn recall_count(&self) -> u64 {
        self.recalls().fold(0, |count, (_, recall)| count.saturating_add(recall.number))
    }

    /// The key of a recall that is in force, or of the one that ended last: what a beacon says first.
    pub(crate) fn latest_recall(&self) -> Option<&Key> {
        let all = of_kind(&self.registers, PREFIX);
        let latest = all.max_by_key(|it| (is_recall(&it.key, &it.value), it.version));
        latest.map(|it| &it.key)
    }

    /// What starts a recall at the node with this incarnation. A node that lost what its disk knew of
    /// earlier recalls has another one.
    pub(crate) fn next_recall(&self, Nonce(incarnation): Nonce) -> (Key, Value) {
        let own = Key::new(&format!("{PREFIX}{incarnation:016x}"));
        let own = own.unwrap_or_else(|error| unreachable!("a number is short: {error}"));
        let is_full = self.recalls().count() >= MOST_ORIGINS;
        let other = self.recalls().map(|(key, _)| key).last().filter(|_| is_full);
        let key = if self.get(&own).is_some() { own } else { other.cloned().unwrap_or(own) };
        let known = self.get(&key).and_then(|it| Recall::of(&it.key, &it.value));
        let number = known.map_or(0, |known| known.number).saturating_add(1);
        (key, Recall { number, is_over: false }.value())
    }

    /// What ends every recall that is in force.
    pub(crate) fn ends_of_recalls(&self) -> Vec<(Key, Value)> {
        let in_force = self.recalls().filter(|(_, recall)| !recall.is_over);
        in_force.map(|(key, it)| (key.clone(), Recall { is_over: true, ..it }.value())).collect()
    }
}
