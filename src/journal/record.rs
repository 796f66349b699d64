//! Orders as they are on disk.
//!
//! Across a restart an order ages by the wall clock, which may have been set meanwhile: it comes
//! back no younger than it was written, and at most [`OLDEST`] old. Nothing else depends on that
//! clock (E5).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use elevator_fleet::model::Dot;
use elevator_fleet::store::{Record, RecordState};
use serde::{Deserialize, Serialize};

/// The greatest age that an order has after a restart.
const OLDEST: Duration = Duration::from_hours(24);

/// A wall clock that shows less, 2024-01-01 in seconds since 1970, has not been set.
const CLOCK_UNSET: u64 = 1_704_067_200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredOrder {
    record: Record,
    /// By the wall clock, in milliseconds since 1970; `None` if that had not been set.
    written: Option<u64>,
}

impl StoredOrder {
    pub(super) fn of(record: &Record, now: SystemTime) -> Self {
        Self { record: record.clone(), written: wall(now) }
    }

    pub(super) fn at(mut self, now: SystemTime) -> Record {
        if let RecordState::Open { waited, .. } = &mut self.record.state {
            *waited = age(*waited, self.written, now);
        }
        self.record
    }
}

/// The key of a press: its incarnation and its sequence, both big-endian.
pub(super) fn order_key(dot: Dot) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&dot.incarnation.0.to_be_bytes());
    key[8..].copy_from_slice(&dot.sequence.to_be_bytes());
    key
}

fn wall(at: SystemTime) -> Option<u64> {
    let passed = at.duration_since(UNIX_EPOCH).ok()?;
    if passed.as_secs() < CLOCK_UNSET {
        return None;
    }
    u64::try_from(passed.as_millis()).ok()
}

/// The age of an order that had waited for `waited` when it was written.
fn age(waited: Duration, written: Option<u64>, now: SystemTime) -> Duration {
    let since = match (written, wall(now)) {
        (Some(written), Some(now)) => now.saturating_sub(written),
        (None, _) | (_, None) => 0,
    };
    waited.saturating_add(Duration::from_millis(since)).min(OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_goes_on_and_a_clock_that_jumps_makes_it_neither_less_nor_endless() {
        const SET: Duration = Duration::from_hours(500_000);
        const UNSET: Duration = Duration::from_secs(40);
        let seconds = Duration::from_secs;
        let day = OLDEST.as_secs();
        for (waited, written, now, expected) in [
            (3, SET, SET + seconds(60), 63),
            (0, SET, SET, 0),
            (3, SET + seconds(60), SET, 3),
            (3, SET, SET * 2, day),
            (u64::MAX, SET, SET + seconds(1), day),
            (3, UNSET, SET, 3),
            (3, SET, UNSET, 3),
            (3, UNSET, UNSET + seconds(9), 3),
        ] {
            let found = age(seconds(waited), wall(UNIX_EPOCH + written), UNIX_EPOCH + now);
            assert_eq!(found, seconds(expected), "{waited} s, {written:?}, {now:?}");
        }
    }
}
