//! What nodes and disks keep of a press.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Call, Dot, NodeId};

/// One entry of a register, as sent between nodes and as stored on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub dot: Dot,
    /// The node at which it was made.
    pub origin: NodeId,
    pub call: Call,
    pub state: RecordState,
    /// The presses of other incarnations that it has absorbed, the latest of each.
    pub absorbed: Vec<Dot>,
}

impl Record {
    /// The latest press of each incarnation that it names.
    pub fn presses(&self) -> impl Iterator<Item = Dot> {
        self.absorbed.iter().copied().chain([self.dot])
    }

    /// Whether it says something of this press, or of one that took its place in the register.
    #[must_use]
    pub fn covers(&self, dot: Dot, call: &Call) -> bool {
        self.call == *call && self.presses().any(|press| press.is_later_press_of(dot))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordState {
    Open {
        /// How long it had waited when the record was made: nodes share no clock.
        waited: Duration,
        recall: u64,
    },
    Served(Service),
}

/// How a press was served, for people: of two services every merge keeps the shorter wait.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Service {
    /// How long the press had waited when it was served: nodes share no clock.
    pub waited: Duration,
    pub car: NodeId,
}

impl RecordState {
    #[must_use]
    pub fn is_served(&self) -> bool {
        matches!(self, Self::Served(_))
    }

    #[cfg(test)]
    pub(crate) fn open(waited: Duration) -> Self {
        Self::Open { waited, recall: 0 }
    }

    #[cfg(test)]
    pub(crate) fn served() -> Self {
        let car = NodeId::new("B").unwrap_or_else(|error| unreachable!("{error}"));
        Self::Served(Service { waited: Duration::from_secs(9), car })
    }
}
