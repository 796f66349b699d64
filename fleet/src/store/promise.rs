//! When an order lamp may be lit.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Dot, NodeId};
use crate::seeded::{SeededBug, is_seeded};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Holding {
    /// In memory.
    Held,
    /// In memory and on disk.
    Durable,
}

/// The orders that are promised to the passenger, as far as this node knows (P1).
///
/// An order is promised once it would survive the loss of any one node and a power cut of the whole
/// building: two living nodes hold it, and at least one of them has it on disk. A node that hears
/// nobody needs its own disk (F12, F13). A promise stands until the order is served.
#[derive(Debug, Clone)]
pub(super) struct Promise {
    own: NodeId,
    holdings: BTreeMap<Dot, BTreeMap<NodeId, Holding>>,
    made: BTreeSet<Dot>,
    /// Held and not promised: few, and the only ones that a review examines.
    pending: BTreeSet<Dot>,
    /// A holding, or the set of peers that are heard, has changed since the last review.
    is_dirty: bool,
}

impl Promise {
    /// Creates an empty set of promises for the node of this name.
    #[must_use]
    pub(super) fn new(own: NodeId) -> Self {
        Self {
            own,
            holdings: BTreeMap::new(),
            made: BTreeSet::new(),
            pending: BTreeSet::new(),
            is_dirty: true,
        }
    }

    /// Other peers are heard: the next [`review`](Self::review) has to look at every order.
    pub(super) fn invalidate(&mut self) {
        self.is_dirty = true;
    }

    /// Records that a node holds an open order. A holding never becomes weaker.
    pub(super) fn record(&mut self, dot: Dot, node: &NodeId, holding: Holding) {
        let known = self.holdings.entry(dot).or_default();
        if known.get(node).is_some_and(|present| *present >= holding) {
            return;
        }
        known.insert(node.clone(), holding);
        self.is_dirty = true;
        if !self.made.contains(&dot) {
            self.pending.insert(dot);
        }
    }

    /// Forgets an order that has been served.
    pub(super) fn forget(&mut self, dot: Dot) {
        self.holdings.remove(&dot);
        self.made.remove(&dot);
        self.pending.remove(&dot);
    }

    /// A later press replaces an earlier one. If that was promised, so is the later one, because
    /// other stores keep the earlier one until they receive the later.
    pub(super) fn inherit(&mut self, earlier: Dot, later: Dot) {
        self.holdings.remove(&earlier);
        self.pending.remove(&earlier);
        if self.made.remove(&earlier) && !is_seeded(SeededBug::PromiseLostWithRepeat) {
            self.made.insert(later);
            self.pending.remove(&later);
        }
    }

    /// Forgets what a node was known to hold: it was lost, and may have lost its orders.
    pub(super) fn forget_node(&mut self, node: &NodeId) {
        for known in self.holdings.values_mut() {
            known.remove(node);
        }
        if is_seeded(SeededBug::PromiseEndsWithHolder) {
            self.made.retain(|dot| self.holdings.get(dot).is_some_and(|known| known.len() > 1));
        }
    }

    pub(super) fn forget_holdings(&mut self, dot: Dot) {
        self.holdings.remove(&dot);
    }

    pub(super) fn forget_holding(&mut self, dot: Dot, node: &NodeId) {
        if let Some(known) = self.holdings.get_mut(&dot) {
            known.remove(node);
        }
    }

    /// This node's disk has failed: the orders on it count as held in memory only (P5).
    pub(super) fn doubt_own(&mut self) {
        for known in self.holdings.values_mut() {
            if let Some(holding) = known.get_mut(&self.own) {
                *holding = Holding::Held;
            }
        }
    }

    /// How a node is known to hold an order.
    #[cfg(test)]
    pub(super) fn holding(&self, dot: Dot, node: &NodeId) -> Option<Holding> {
        self.holdings.get(&dot)?.get(node).copied()
    }

    /// Which nodes hold an order, and how, of this node and the `heard` ones, by name.
    pub(super) fn living_holdings<'a>(
        &'a self,
        dot: Dot,
        heard: &'a BTreeSet<NodeId>,
    ) -> impl Iterator<Item = (&'a NodeId, Holding)> {
        let known = self.holdings.get(&dot).into_iter().flatten();
        let is_living = |node: &NodeId| *node == self.own || heard.contains(node);
        known.map(|(node, how)| (node, *how)).filter(move |(node, _)| is_living(node))
    }

    /// Makes every promise that can be made while just these other nodes are heard, and returns the
    /// new ones. Does nothing if nothing has changed since the last review.
    pub(super) fn review(&mut self, heard: impl FnOnce() -> BTreeSet<NodeId>) -> Vec<Dot> {
        if !std::mem::take(&mut self.is_dirty) {
            return Vec::new();
        }
        let heard = heard();
        let kept = |known: &BTreeMap<NodeId, Holding>| {
            let living =
                || known.iter().filter(|(node, _)| **node == self.own || heard.contains(*node));
            let is_alone = heard.is_empty() || is_seeded(SeededBug::LampWithOneHolder);
            let needed = if is_alone { 1 } else { 2 };
            let is_durable = |how| how == Holding::Durable || is_seeded(SeededBug::LampBeforeDisk);
            living().count() >= needed && living().any(|(_, how)| is_durable(*how))
        };
        let is_fresh = |dot: &&Dot| self.holdings.get(dot).is_some_and(kept);
        let fresh: Vec<Dot> = self.pending.iter().filter(is_fresh).copied().collect();
        for dot in &fresh {
            self.pending.remove(dot);
            self.made.insert(*dot);
        }
        fresh
    }

    #[must_use]
    pub(super) fn is_made(&self, dot: Dot) -> bool {
        self.made.contains(&dot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Nonce;

    const DOT: Dot = Dot { incarnation: Nonce(1), sequence: 1 };

    fn node(name: &str) -> NodeId {
        NodeId::new(name).expect("a name")
    }

    /// What is promised from now on, while these peers are heard.
    fn review(promise: &mut Promise, heard: &[&str]) -> Vec<Dot> {
        promise.invalidate();
        promise.review(|| heard.iter().map(|name| node(name)).collect())
    }

    /// F12, F13, P1: a node alone needs its own disk.
    #[test]
    fn a_lamp_needs_two_living_holders_and_one_disk() {
        use Holding::{Durable, Held};
        for (holders, heard, is_promised) in [
            (&[("A", Held), ("C", Durable)][..], &["B"][..], false),
            (&[("A", Held), ("B", Held)], &["B"], false),
            (&[("A", Durable), ("B", Held)], &["B"], true),
            (&[("A", Held), ("B", Durable)], &["B"], true),
            (&[("A", Held), ("B", Durable)], &[], false),
            (&[("A", Durable)], &[], true),
            (&[("A", Durable)], &["B"], false),
        ] {
            let mut promise = Promise::new(node("A"));
            for (name, how) in holders {
                promise.record(DOT, &node(name), *how);
            }
            let promised = review(&mut promise, heard);
            assert_eq!(promised.contains(&DOT), is_promised, "{holders:?}, {heard:?}");
            assert!(review(&mut promise, heard).is_empty(), "told once");
        }
    }

    /// P5
    #[test]
    fn a_failed_disk_makes_no_promise_and_breaks_none() {
        let later = Dot { sequence: 2, ..DOT };
        let mut promise = Promise::new(node("A"));
        promise.record(DOT, &node("A"), Holding::Durable);
        promise.record(DOT, &node("B"), Holding::Held);
        review(&mut promise, &["B"]);
        promise.record(later, &node("A"), Holding::Durable);
        promise.doubt_own();
        assert!(review(&mut promise, &[]).is_empty(), "its own disk");
        promise.record(later, &node("B"), Holding::Held);
        assert!(review(&mut promise, &["B"]).is_empty(), "its own disk");
        promise.record(later, &node("B"), Holding::Durable);
        assert_eq!(review(&mut promise, &["B"]), [later], "another's disk");
        assert!(promise.is_made(DOT));
    }

    /// P1
    #[test]
    fn a_promise_stands_when_a_holder_dies_and_ends_with_the_service() {
        let mut promise = Promise::new(node("A"));
        promise.record(DOT, &node("A"), Holding::Held);
        promise.record(DOT, &node("B"), Holding::Durable);
        review(&mut promise, &["B"]);
        review(&mut promise, &["C"]);
        assert!(promise.is_made(DOT));
        promise.forget(DOT);
        assert!(!promise.is_made(DOT));
        assert_eq!(promise.holding(DOT, &node("B")), None);
    }
}
