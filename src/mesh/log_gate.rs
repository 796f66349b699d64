//! Rate limit for log lines that peers and strangers can cause.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The window of the rate limit.
const PERIOD: Duration = Duration::from_mins(1);

/// The most kinds that are tracked, because strangers may choose their names. Lines of further
/// kinds are suppressed until one expires.
const KINDS: usize = 256;

/// Limit for a state that is reported once, and again while it lasts.
pub(super) const ONE: u32 = 1;

/// Limit for events that also happen in a healthy network.
pub(super) const SOME: u32 = 20;

/// Limits the lines of each kind per minute.
#[derive(Debug)]
pub(super) struct LogGate<K> {
    allowance: u32,
    kinds: BTreeMap<K, Kind>,
}

#[derive(Debug)]
struct Kind {
    since: Instant,
    passed: u32,
    kept_out: u64,
}

impl<K: Ord + Clone> LogGate<K> {
    /// `allowance`: lines per minute and kind.
    pub(super) fn new(allowance: u32) -> Self {
        Self { allowance, kinds: BTreeMap::new() }
    }

    /// Whether a line may be logged now, and how many of its kind were suppressed before it.
    pub(super) fn opens(&mut self, kind: &K) -> Option<u64> {
        self.opens_at(kind, Instant::now())
    }

    fn opens_at(&mut self, kind: &K, now: Instant) -> Option<u64> {
        let is_over = |kind: &Kind| now.duration_since(kind.since) >= PERIOD;
        self.kinds.retain(|_, kind| !is_over(kind) || kind.kept_out > 0);
        if !self.kinds.contains_key(kind) && self.kinds.len() >= KINDS {
            self.kinds.retain(|_, kind| !is_over(kind));
            if self.kinds.len() >= KINDS {
                return None;
            }
        }
        let known =
            self.kinds.entry(kind.clone()).or_insert(Kind { since: now, passed: 0, kept_out: 0 });
        if is_over(known) {
            (known.since, known.passed) = (now, 0);
        }
        if known.passed >= self.allowance {
            known.kept_out += 1;
            return None;
        }
        known.passed += 1;
        Some(std::mem::take(&mut known.kept_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_suppressed_and_counted() {
        let mut gate = LogGate::new(2);
        let start = Instant::now();
        let passes = Some(0);
        assert_eq!(gate.opens_at(&1, start), passes);
        assert_eq!(gate.opens_at(&2, start), passes);
        assert_eq!(gate.opens_at(&1, start + PERIOD / 4), passes);
        for _ in 0..7 {
            assert_eq!(gate.opens_at(&1, start + PERIOD / 2), None);
        }
        assert_eq!(gate.opens_at(&1, start + PERIOD), Some(7));
        assert_eq!(gate.opens_at(&1, start + PERIOD), passes);
        assert_eq!(gate.opens_at(&1, start + PERIOD), None);
    }

    #[test]
    fn the_number_of_tracked_kinds_is_bounded() {
        let mut gate = LogGate::new(1);
        let start = Instant::now();
        let passed = (0..10_000).filter(|name| gate.opens_at(name, start).is_some());
        assert_eq!(passed.count(), KINDS);
        assert!(gate.kinds.len() <= KINDS);
        assert_eq!(gate.opens_at(&10_000, start + PERIOD), Some(0));
    }
}
