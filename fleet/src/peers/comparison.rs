//! Comparison of a peer's store with this node's (O7).

use std::time::Duration;

use super::membership::pace;
use crate::model::{MeshTimes, Timestamp};

/// The longest time that a difference lasts before it is repaired, however often that has failed.
const MOST_REPAIR_WAIT: Duration = Duration::from_mins(1);

/// How often the wait for a repair is doubled at most while the peer's store keeps changing.
const REPAIRS_OF_A_CHANGE: u32 = 2;

/// What the beacons of one peer have shown of its store.
#[derive(Debug, Clone, Default)]
pub(super) struct Comparison {
    /// Since when its store has differed from this node's.
    differs_since: Option<Timestamp>,
    /// How often that was repaired without success.
    repairs: u32,
    /// Its digest at the last repair.
    repaired: Option<u64>,
    /// The digest with which it last showed that its store equals this node's, and whether all of
    /// it was on its disk.
    vouched: Option<(u64, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) stood: Duration,
    /// When it is repaired, if the peer is sound.
    pub(crate) repair_after: Duration,
}

impl Comparison {
    pub(super) fn forget_equal(&mut self) {
        self.vouched = None;
    }

    /// The stores are equal; `true` if that is new.
    pub(super) fn note_equal(&mut self, digest: u64, durable: bool) -> bool {
        (self.differs_since, self.repairs) = (None, 0);
        let vouched = Some((digest, durable));
        std::mem::replace(&mut self.vouched, vouched) != vouched
    }

    /// The stores differ, according to a beacon of a peer that sends one each `period`.
    pub(super) fn note_difference(
        &mut self,
        period: Duration,
        times: &MeshTimes,
        now: Timestamp,
    ) -> Difference {
        let since = *self.differs_since.get_or_insert(now);
        // Stores stay different if one refuses what the other holds. Stores that keep changing may
        // still become equal. The fewer beacons a peer sends, the older is their information.
        let usual = pace::stretched(times.repair_after, period, times);
        let doubled = usual.saturating_mul(1 << self.repairs.min(16));
        Difference {
            stood: now.since(since),
            repair_after: doubled.min(usual.max(MOST_REPAIR_WAIT)),
        }
    }

    pub(super) fn note_repair(&mut self, digest: u64, now: Timestamp) {
        self.differs_since = Some(now);
        let stands = self.repaired.replace(digest) == Some(digest);
        let most = if stands { u32::MAX } else { REPAIRS_OF_A_CHANGE };
        self.repairs = self.repairs.saturating_add(1).min(most);
    }
}
