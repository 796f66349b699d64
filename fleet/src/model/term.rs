//! Terms of masters.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::bounds::bounded;

/// The number of a mastership: a new master takes the highest term it knows plus one (E3).
/// Masterships that could not hear each other may share one, and are ordered by (term, address).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Term(pub u64);

/// A restored term above this was not reached by counting: a faulty node has made it up.
const MOST_RESTORED: Term = Term(1 << 63);

impl Term {
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The higher of two terms, for a node that knows this one and receives another. A single
    /// message raises it by 2^32 at most, so that there is always a next one.
    #[must_use]
    pub(crate) fn hear(self, other: Self) -> Self {
        self.max(Self(bounded(self.0, other.0)))
    }

    /// The term with which a node continues after finding this one on its disk.
    #[must_use]
    pub(crate) fn restored(self) -> Self {
        self.min(MOST_RESTORED)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
