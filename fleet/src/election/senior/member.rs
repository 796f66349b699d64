//! Which of two nodes prevails.

use std::cmp::Ordering;

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
}

impl Ord for Member {
    /// A control unit is above every indicator unit; of two indicator units the higher MAC address
    /// is above. Where the source knows no order, between two control units and between two equal
    /// addresses, the lower name is above, as under `lowest-ip`.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_name = || other.node.cmp(&self.node);
        self.kind.cmp(&other.kind).then_with(|| match self.kind {
            Kind::Control => by_name().then_with(|| self.mac.cmp(&other.mac)),
            Kind::Indicator => self.mac.cmp(&other.mac).then_with(by_name),
        })
    }
}

impl PartialOrd for Member {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
