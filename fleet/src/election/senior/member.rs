//! Which of two nodes prevails.

use std::cmp::{Ordering, Reverse};

use crate::election::Candidate;
use crate::model::{Mac, NodeId, Role};

/// A node as the protocol ranks it. The greater one prevails (M4, M9).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) node: NodeId,
    pub(super) mac: Mac,
    pub(super) kind: Kind,
}

/// The two kinds of nodes (M2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Indicator,
    Control,
}

impl Member {
    pub(super) fn of(candidate: &Candidate) -> Self {
        Self {
            node: candidate.node.clone(),
            mac: candidate.mac,
            kind: match candidate.role {
                Role::ControlUnit => Kind::Control,
                Role::Cabin | Role::Indicator => Kind::Indicator,
            },
        }
    }

    /// A control unit is above every indicator unit; of two indicator units the higher MAC address
    /// is above. Where the source knows no order, between two control units and between two equal
    /// addresses, the lower name is above, as under `lowest-ip`.
    fn rank(&self) -> impl Ord {
        let mac = (self.kind == Kind::Indicator).then_some(self.mac);
        (self.kind, mac, Reverse(&self.node), self.mac)
    }
}

impl Ord for Member {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Member {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
