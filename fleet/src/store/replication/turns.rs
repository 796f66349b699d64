//! In which order beacons tell what is owed.

use std::collections::{BTreeMap, BTreeSet};

/// What some peer is owed, the longest untold first.
///
/// To find the next one to tell takes logarithmic time, so that a beacon costs what it carries and
/// not what waits.
#[derive(Debug, Clone)]
pub(super) struct Turns<K> {
    waiting: BTreeMap<K, Waiting>,
    /// The same by turn.
    queue: BTreeSet<(u64, K)>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// When it was last told or changed, in turns; the smallest goes first.
    turn: u64,
    /// How many peers are owed it; at least one.
    peers: usize,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), queue: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> Turns<K> {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// One more peer is owed it. What waits already keeps its turn.
    pub(super) fn add(&mut self, key: &K, turn: u64) {
        if let Some(waiting) = self.waiting.get_mut(key) {
            waiting.peers += 1;
            return;
        }
        let key = key.clone();
        self.waiting.insert(key.clone(), Waiting { turn, peers: 1 });
        self.queue.insert((turn, key));
    }

    /// One peer is owed it no longer.
    pub(super) fn remove(&mut self, key: &K) {
        let Some(waiting) = self.waiting.get_mut(key) else {
            return;
        };
        waiting.peers -= 1;
        if waiting.peers == 0 {
            self.queue.remove(&(waiting.turn, key.clone()));
            self.waiting.remove(key);
        }
    }

    /// How many peers are owed it.
    #[cfg(test)]
    pub(super) fn peers(&self, key: &K) -> usize {
        self.waiting.get(key).map_or(0, |waiting| waiting.peers)
    }

    /// What waits, the next one to be told first.
    pub(super) fn queue(&self) -> impl Iterator<Item = &K> {
        self.queue.iter().map(|(_, key)| key)
    }

    /// Puts what waits at another place.
    pub(super) fn set(&mut self, key: &K, turn: u64) {
        let Some(waiting) = self.waiting.get_mut(key) else {
            return;
        };
        self.queue.remove(&(waiting.turn, key.clone()));
        waiting.turn = turn;
        self.queue.insert((turn, key.clone()));
    }
}

#[cfg(test)]
mod tests {
    use core::cmp::Ordering;
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static COMPARISONS: Cell<u32> = const { Cell::new(0) };
    }

    /// A key that counts how often it is looked at.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Counted(u32);

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARISONS.set(COMPARISONS.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    /// Tells as many as fit a beacon, of so many that are owed; hands back how often a key was
    /// looked at.
    fn cost_of_a_beacon(outbox: u32) -> u32 {
        const FITTING: u64 = 20;
        let mut turns = Turns::default();
        for key in 0..outbox {
            turns.add(&Counted(key), 0);
        }
        COMPARISONS.set(0);
        for turn in 1..=FITTING {
            let next = *turns.queue().next().expect("outbox");
            turns.set(&next, turn);
        }
        COMPARISONS.get()
    }

    #[test]
    fn a_beacon_costs_what_it_carries_and_not_what_is_owed() {
        let (few, many) = (cost_of_a_beacon(100), cost_of_a_beacon(100_000));
        assert!(few > 0);
        assert!(many < 5 * few, "{few} and {many} comparisons");
    }
}
