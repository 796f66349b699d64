//! Conflicts with other nodes, for the operator.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Building;
use serde::{Deserialize, Serialize};

use crate::model::{Hello, Timestamp};
use crate::wire::codec::{VERSION, WireError};

/// The most conflicts of one kind that are kept. Further ones are ignored.
const MOST_OF_A_KIND: usize = 16;

/// How long after its last sign a conflict is over.
const KEPT_FOR: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Default)]
pub(crate) struct Conflicts(BTreeMap<String, Conflict>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) kind: ConflictKind,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    Name,
    Address,
    /// A node has another building.
    Building,
    /// A node elects by another protocol.
    Election,
    /// A node speaks another version of the wire protocol.
    Version,
    /// A node has another fleet key, one has none, or it is a node of another fleet.
    Key,
    /// A node sent over its link what is not a frame.
    Garbage,
    /// Nodes of another fleet are on this network, either intentionally or because of a wrong
    /// `fleet`.
    Fleet,
}

/// Why a node that says this can't be a peer of this one.
#[must_use]
pub fn misfit(own: &Hello, building: &Building, hello: &Hello) -> Option<(ConflictKind, String)> {
    let Hello { fleet, node, address, floors, protocol, .. } = hello;
    let (kind, what) = if *fleet != own.fleet {
        let what =
            format!("nodes of fleet {fleet} are heard, but this one is in fleet {}", own.fleet);
        (ConflictKind::Fleet, what)
    } else if *node == own.node {
        (ConflictKind::Name, format!("another node, at {address}, is also named {node}"))
    } else if *floors != own.floors {
        let (floors, own) = (floors.get(), own.floors.get());
        (ConflictKind::Building, format!("node {node} has {floors} floors, but this one has {own}"))
    } else if hello.building != own.building {
        let lines = own.building.differences(hello.building, building);
        let lines = if lines.is_empty() { "it has more cars".to_owned() } else { lines.join("; ") };
        (ConflictKind::Building, format!("node {node} has another building than this one: {lines}"))
    } else if *protocol != own.protocol {
        let own = own.protocol;
        let what = format!("node {node} uses election {protocol}, but this one uses {own}");
        (ConflictKind::Election, what)
    } else {
        return None;
    };
    Some((kind, what))
}

/// What a datagram from this address that can't be read as a beacon says of its sender.
#[must_use]
pub fn unreadable(from: Ipv4Addr, error: &WireError) -> Option<(ConflictKind, String)> {
    match error {
        WireError::Version(version) => {
            let what = format!(
                "a node at {from} speaks version {version} of the wire protocol, this one {VERSION}"
            );
            Some((ConflictKind::Version, what))
        }
        WireError::Key(_) | WireError::Forged => {
            Some((ConflictKind::Key, format!("a node at {from} has another fleet key")))
        }
        WireError::Unauthenticated => Some((
            ConflictKind::Key,
            format!("a node at {from} has no fleet key, but this one does"),
        )),
        WireError::Foreign
        | WireError::Damaged
        | WireError::Malformed(_)
        | WireError::TooLarge { .. } => None,
    }
}

impl Conflicts {
    /// Notes a conflict. Returns it if it is new, and there is room to note it: then it has to be
    /// reported.
    pub(super) fn note(
        &mut self,
        kind: ConflictKind,
        what: String,
        now: Timestamp,
    ) -> Option<String> {
        if let Some(known) = self.0.get_mut(&what)
            && now.since(known.last) < KEPT_FOR
        {
            known.last = now;
            return None;
        }
        self.0.retain(|_, known| now.since(known.last) < KEPT_FOR);
        let of_kind = self.0.values().filter(|known| known.kind == kind);
        if of_kind.count() >= MOST_OF_A_KIND {
            return None;
        }
        let conflict = Conflict { kind, first: now, last: now };
        self.0.insert(what.clone(), conflict);
        Some(what)
    }

    /// The conflicts of the last minute, by their text.
    pub(crate) fn recent(&self, now: Timestamp) -> impl Iterator<Item = (&str, &Conflict)> {
        self.0
            .iter()
            .filter(move |(_, known)| now.since(known.last) < KEPT_FOR)
            .map(|(what, known)| (what.as_str(), known))
    }
}
