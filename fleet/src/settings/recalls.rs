//! Fire recalls of the whole fleet (ASME A17.1 *Phase I*).
//!
//! A recall is known by its origin, the incarnation of the node that started it, and its number
//! there. The greater number wins, and of one number the end. So the recalls that are started on
//! two sides of a partition are two, and each ends only when it is ended itself.

use serde::{Deserialize, Serialize};

use super::{Key, Register, Setting, Settings};
use crate::model::Nonce;

/// At most this many origins. Beyond that, a new recall reuses an existing origin.
const MOST_ORIGINS: usize = 64;

/// The latest recall of one origin. The greater one is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Recall {
    /// Counts from 1.
    pub number: u64,
    pub is_over: bool,
}

impl Setting {
    /// The fire recall that it is about, if it is about one.
    #[must_use]
    pub fn recall(&self) -> Option<Recall> {
        let Self::FireRecall(_, recall) = self else { return None };
        Some(*recall)
    }

    /// Whether it says that a fire recall is in force.
    #[must_use]
    pub fn is_recall(&self) -> bool {
        self.recall().is_some_and(|recall| !recall.is_over)
    }
}

impl Settings {
    /// The latest recall of each origin.
    pub(crate) fn recalls(&self) -> impl Iterator<Item = (Nonce, Recall)> {
        let all = self.registers.range(Key::FireRecall(Nonce(0))..);
        all.map_while(|(_, register)| {
            let Setting::FireRecall(origin, recall) = register.setting else { return None };
            Some((origin, recall))
        })
    }

    #[must_use]
    pub fn is_fire_recalled(&self) -> bool {
        self.recalls().any(|(_, recall)| !recall.is_over)
    }

    /// How many fire recalls there have been, as far as is known here. It grows with each that
    /// starts.
    #[must_use]
    pub fn recall_count(&self) -> u64 {
        self.recalls().fold(0, |count, (_, recall)| count.saturating_add(recall.number))
    }

    /// A recall that is in force, or the one that ended last: what a beacon says first.
    pub(crate) fn latest_recall(&self) -> Option<&Register> {
        let all = self.registers.values().filter(|it| it.setting.recall().is_some());
        all.max_by_key(|it| (it.setting.is_recall(), it.version))
    }

    /// What starts a recall at the node with this incarnation.
    pub(crate) fn next_recall(&self, own: Nonce) -> Setting {
        let known = || self.recalls().map(|(origin, recall)| (origin, recall.number));
        let other = || known().last().filter(|_| known().count() >= MOST_ORIGINS);
        let known = known().find(|(origin, _)| *origin == own).or_else(other);
        let (origin, number) = known.unwrap_or((own, 0));
        Setting::FireRecall(origin, Recall { number: number.saturating_add(1), is_over: false })
    }

    pub(crate) fn ends_of_recalls(&self) -> Vec<Setting> {
        let in_force = self.recalls().filter(|(_, recall)| !recall.is_over);
        let ends = in_force
            .map(|(origin, it)| Setting::FireRecall(origin, Recall { is_over: true, ..it }));
        ends.collect()
    }
}
