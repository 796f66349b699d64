//! Orders and what identifies them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Call, NodeId, Nonce, Timestamp};

/// The identity of one press: never used twice (O4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dot {
    /// The incarnation of the node at which the press was made.
    pub incarnation: Nonce,
    /// Counts from 1 within the incarnation.
    pub sequence: u64,
}

impl Dot {
    #[must_use]
    pub fn is_later_press_of(self, press: Self) -> bool {
        self.incarnation == press.incarnation && self.sequence >= press.sequence
    }
}

/// The greatest possible sequence: no node makes that many presses.
pub(crate) const MOST_SEQUENCE: u64 = 1 << 56;

impl fmt::Display for Dot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.incarnation, self.sequence)
    }
}

/// A press that has not been served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub dot: Dot,
    /// The node at which the press was made.
    pub origin: NodeId,
    pub call: Call,
    /// When the first press of this call was made, on the clock of the node with the store.
    pub placed: Timestamp,
    /// How many fire recalls its node knew of when it was placed, or has learned of after their
    /// end.
    pub recall: u64,
}
