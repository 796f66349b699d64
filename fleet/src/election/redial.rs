//! How long to wait before a peer is dialled again: longer each time, but never by much.

use std::time::Duration;

use crate::model::MeshTimes;

/// The wait after a failed dial is doubled at most this often.
const MOST_DOUBLINGS: u32 = 3;

/// A dial and its link may take this many times the first wait to join.
const JOIN_WAITS: u32 = 32;

/// The wait after this many failed dials in a row; random, so that two nodes fall out of step.
pub(crate) fn wait(redial_after: Duration, failures: u32, draw: u64) -> Duration {
    let wait = redial_after * (1 << failures.min(MOST_DOUBLINGS));
    wait + wait * u32::try_from(draw % 512).unwrap_or(0) / 1024
}

/// How long two nodes that can reach each other may take until they are synced: each detects the
/// loss of a former link, a pending dial fails, and the longest wait before the next dial passes.
pub(crate) fn linked_within(mesh: &MeshTimes) -> Duration {
    let longest_wait = mesh.redial_after * (1 << MOST_DOUBLINGS) * 3 / 2;
    mesh.dead_after * 2 + longest_wait
}

/// How long a dial and its link may take: with loss, a fresh link is soon better than an old one.
pub(crate) fn limit(redial_after: Duration) -> Duration {
    redial_after * JOIN_WAITS
}
