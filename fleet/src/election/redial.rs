//! How long to wait before a peer is dialled again.
//!
//! The waits grow, so that a peer that is heard and can't be reached costs little; but never by
//! much, because nothing reports when the cause has gone.

use std::time::Duration;

use crate::model::MeshTimes;

/// The wait after a failed dial is doubled at most this often.
const MOST_DOUBLINGS: u32 = 3;

/// A dial and its link may take so many times the first wait to join.
const JOIN_WAITS: u32 = 32;

/// The wait after a dial that failed when so many before it had failed in a row: `redial_after`,
/// doubled for each of them, and up to one and a half times that, so that two nodes fall out of
/// step.
pub(crate) fn wait(redial_after: Duration, failures: u32, draw: u64) -> Duration {
    let wait = redial_after * (1 << failures.min(MOST_DOUBLINGS));
    wait + wait * u32::try_from(draw % 512).unwrap_or(0) / 1024
}

/// How long two nodes that hear and can reach each other may take until they are synced. Each
/// detects the loss of a former link (`dead_after`), a pending dial fails (as long again), and the
/// longest wait before the next dial passes.
pub(crate) fn linked_within(mesh: &MeshTimes) -> Duration {
    let longest_wait = mesh.redial_after * (1 << MOST_DOUBLINGS) * 3 / 2;
    mesh.dead_after * 2 + longest_wait
}

/// How long a dial and its link may take to join. Over a line that loses packets a fresh link is
/// soon better than one that waits to send again.
pub(crate) fn limit(redial_after: Duration) -> Duration {
    redial_after * JOIN_WAITS
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDIAL: Duration = Duration::from_millis(50);

    #[test]
    fn a_link_is_up_after_the_longest_wait_and_two_losses() {
        let mesh = MeshTimes::default();
        let longest = wait(mesh.redial_after, u32::MAX, 511);
        let linked = linked_within(&mesh);
        assert!(linked >= longest + mesh.dead_after * 2);
        assert_eq!(linked, Duration::from_secs(1));
        let slower = MeshTimes { redial_after: mesh.redial_after * 2, ..mesh };
        assert_eq!(linked_within(&slower), Duration::from_millis(1_600));
    }

    #[test]
    fn the_jitter_is_at_most_half_the_wait() {
        for draw in [0, 1, 511, 512, u64::MAX] {
            let wait = wait(REDIAL, 0, draw);
            assert!((REDIAL..REDIAL * 3 / 2).contains(&wait), "{wait:?}");
        }
    }
}
