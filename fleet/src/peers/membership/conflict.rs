//! Conflicts with other nodes, for the operator.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{NodeId, Timestamp};

/// The most conflicts of one kind that are kept, so that a flood of strangers does not fill the
/// memory. Further ones are ignored.
const MOST_OF_A_KIND: usize = 16;

/// How long after its last sign a conflict is over, unless it is seen to be over before.
const KEPT_FOR: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Default)]
pub(crate) struct Conflicts(BTreeMap<String, Conflict>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) kind: ConflictKind,
    /// The node that it is about, if that is known.
    node: Option<NodeId>,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
}

/// The kind of a conflict between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Two nodes have one name.
    Name,
    /// Two nodes have one address.
    Address,
    /// A node has another number of floors.
    Floors,
    /// A node elects by another protocol.
    Election,
    /// A node speaks another version of the wire protocol.
    Version,
    /// A node sent over its link what no node may send.
    Garbage,
    /// Nodes of another fleet are on this network, either intentionally or because of a wrong
    /// `fleet`.
    Fleet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sighting {
    New,
    /// Seen before, or there is no room to note it.
    Known,
}

impl Conflicts {
    /// Notes a conflict, about this node if one is known.
    pub(super) fn note(
        &mut self,
        kind: ConflictKind,
        node: Option<&NodeId>,
        what: &str,
        now: Timestamp,
    ) -> Sighting {
        if let Some(known) = self.0.get_mut(what)
            && now.since(known.last) < KEPT_FOR
        {
            known.last = now;
            return Sighting::Known;
        }
        self.0.retain(|_, known| now.since(known.last) < KEPT_FOR);
        let of_kind = self.0.values().filter(|known| known.kind == kind);
        if of_kind.count() >= MOST_OF_A_KIND {
            return Sighting::Known;
        }
        let (first, last) = (now, now);
        let conflict = Conflict { kind, node: node.cloned(), first, last };
        self.0.insert(what.to_owned(), conflict);
        Sighting::New
    }

    /// This node counts from now on, so it is the only one of its name, and configured as it has to be.
    /// It may still have the address of this node.
    pub(super) fn clear(&mut self, node: &NodeId) {
        self.0.retain(|_, known| {
            known.node.as_ref() != Some(node) || known.kind == ConflictKind::Address
        });
    }

    /// The conflicts of the last minute, by their text.
    pub(crate) fn recent(&self, now: Timestamp) -> impl Iterator<Item = (&str, &Conflict)> {
        self.0
            .iter()
            .filter(move |(_, known)| now.since(known.last) < KEPT_FOR)
            .map(|(what, known)| (what.as_str(), known))
    }
}
