//! What the mesh counts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Count {
    Sent,
    /// Datagrams that the system did not take: no network, no route, no buffer.
    SendFailed,
    /// Datagrams that were not sent because too many waited already.
    SendQueueFull,
    /// Beacons and packets that came in, not counting one's own.
    Received,
    /// Beacons and packets that were dropped because the runtime loop was behind.
    InboxFull,
    /// Datagrams that are not beacons, and, without a key, beacons of another fleet.
    Foreign,
    Oversized,
    Version,
    /// Datagrams with a key that this node does not have.
    Key,
    /// Datagrams that nobody has authenticated, where the fleet key is required.
    Unauthenticated,
    /// Datagrams whose tag was not made with their key, and frames of links that were changed.
    Forged,
    /// Beacons and packets of an incarnation that is no peer, or not yet.
    Unproven,
    /// Beacons that were sent before, and packets that were, or long ago, or to somebody else.
    Replayed,
    /// Datagrams whose checksum does not match (F5).
    Damaged,
    /// Datagrams with a sound checksum and an unsound body, and frames that are none.
    Malformed,
    /// Beacons of a node that has another address than the one they came from.
    Address,
    /// Connections that were refused: too many at once, no or an unfitting `Hello`.
    Refused,
}

impl Count {
    /// Everything that is counted, in order, and what `status` calls it.
    pub(crate) const ALL: [(Self, &'static str); 17] = [
        (Self::Sent, "sent"),
        (Self::SendFailed, "send_failed"),
        (Self::SendQueueFull, "send_queue_full"),
        (Self::Received, "received"),
        (Self::InboxFull, "inbox_full"),
        (Self::Foreign, "foreign"),
        (Self::Oversized, "oversized"),
        (Self::Version, "version"),
        (Self::Key, "key"),
        (Self::Unauthenticated, "unauthenticated"),
        (Self::Forged, "forged"),
        (Self::Unproven, "unproven"),
        (Self::Replayed, "replayed"),
        (Self::Damaged, "damaged"),
        (Self::Malformed, "malformed"),
        (Self::Address, "address"),
        (Self::Refused, "refused"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters([AtomicU64; Count::ALL.len()]);

impl Counters {
    pub(crate) fn get(&self, count: Count) -> u64 {
        self.0[count as usize].load(Ordering::Relaxed)
    }

    /// Everything that has happened at least once, by name.
    pub(crate) fn by_name(&self) -> BTreeMap<String, u64> {
        let counted = Count::ALL.map(|(count, name)| (name.to_owned(), self.get(count)));
        counted.into_iter().filter(|(_, so_far)| *so_far > 0).collect()
    }

    pub(super) fn add(&self, count: Count) {
        self.0[count as usize].fetch_add(1, Ordering::Relaxed);
    }
}
