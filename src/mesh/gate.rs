//! Rate limits for what peers and strangers can cause: lines of the log, and work.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::bucket::Bucket;

/// The most kinds that are tracked, because strangers may choose them; further ones wait.
const KINDS: usize = 256;

#[derive(Debug)]
pub(super) struct Gate<K> {
    burst: f64,
    period: Duration,
    kinds: BTreeMap<K, Bucket>,
}

impl<K: Ord + Clone> Gate<K> {
    /// For a state that is reported once, and again each minute while it lasts.
    pub(super) fn once() -> Self {
        Self::new(1, Duration::from_mins(1))
    }

    /// For events that also happen in a healthy network: 20 a minute.
    pub(super) fn some() -> Self {
        Self::new(20, Duration::from_mins(1))
    }

    pub(super) fn new(burst: u32, period: Duration) -> Self {
        Self { burst: burst.into(), period, kinds: BTreeMap::new() }
    }

    pub(super) fn opens(&mut self, kind: &K) -> bool {
        self.opens_at(kind, Instant::now())
    }

    fn opens_at(&mut self, kind: &K, now: Instant) -> bool {
        if !self.kinds.contains_key(kind) && self.kinds.len() >= KINDS {
            self.kinds.retain(|_, bucket| !bucket.is_full(now));
            if self.kinds.len() >= KINDS {
                return false;
            }
        }
        let rate = self.burst / self.period.as_secs_f64();
        let bucket =
            self.kinds.entry(kind.clone()).or_insert_with(|| Bucket::new(rate, self.burst, now));
        bucket.take(now)
    }

    pub(super) fn give_back(&mut self, kind: &K) {
        if let Some(bucket) = self.kinds.get_mut(kind) {
            bucket.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_limit() {
        let (mut gate, now) = (Gate::new(32, Duration::from_secs(1)), Instant::now());
        for _ in 0..100 {
            assert!(gate.opens_at(&1, now));
            gate.give_back(&1);
        }
        let mut count = |kind, at| (0..1000).filter(|_| gate.opens_at(&kind, at)).count();
        assert_eq!([count(2, now), count(2, now + Duration::from_millis(500))], [32, 16]);
        assert_eq!(count(1, now), 32);
    }

    #[test]
    fn the_number_of_tracked_kinds_is_bounded() {
        let (mut gate, start) = (Gate::once(), Instant::now());
        let passed = (0..10_000).filter(|name| gate.opens_at(name, start));
        assert_eq!(passed.count(), KINDS);
        assert!(gate.opens_at(&10_000, start + Duration::from_mins(1)));
        assert_eq!(gate.kinds.len(), 1);
    }
}
