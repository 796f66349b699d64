//! Lets a line into the log only now and then.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Between two lines of one kind.
const PERIOD: Duration = Duration::from_mins(1);

/// Opens once a minute for each kind of line.
#[derive(Debug)]
pub(super) struct LogGate<K>(BTreeMap<K, Instant>);

impl<K> Default for LogGate<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Clone> LogGate<K> {
    pub(super) fn opens(&mut self, kind: &K) -> bool {
        self.opens_at(kind, Instant::now())
    }

    fn opens_at(&mut self, kind: &K, now: Instant) -> bool {
        // Kinds may be named by peers, so none is kept for longer than it has an effect.
        self.0.retain(|_, last| now.duration_since(*last) < PERIOD);
        let opens = !self.0.contains_key(kind);
        if opens {
            self.0.insert(kind.clone(), now);
        }
        opens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_opens_once_a_minute_for_each_kind() {
        let mut gate = LogGate::default();
        let start = Instant::now();
        assert!(gate.opens_at(&1, start));
        assert!(gate.opens_at(&2, start));
        assert!(!gate.opens_at(&1, start + PERIOD / 2));
        assert!(gate.opens_at(&1, start + PERIOD));
        assert!(!gate.opens_at(&1, start + PERIOD + PERIOD / 2));
    }
}
