//! The outboxes: what was not sent to, or not acknowledged by, each peer.

use std::collections::{BTreeMap, BTreeSet};

use super::Item;
use crate::model::NodeId;

/// The outboxes of all peers. Bounded by what the store keeps times the peers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replication {
    outbox: BTreeMap<NodeId, Outbox>,
    /// When each item in any outbox was last told or changed, in turns.
    turns: BTreeMap<Item, u64>,
    /// The same by turn, so that a beacon costs what it carries and not what waits.
    queue: BTreeSet<(u64, Item)>,
    /// Acknowledgements for the next beacon.
    acks: BTreeSet<Item>,
    /// Acknowledgements for the next frame to each linked peer.
    link_acks: BTreeMap<NodeId, BTreeSet<Item>>,
    /// Counts changes, so that beacons send the oldest first.
    turn: u64,
    /// There may be something that was not sent over the links yet.
    is_dirty: bool,
}

/// What one peer has not acknowledged; each item is in one of the two sets.
#[derive(Debug, Clone, Default)]
struct Outbox {
    unsent: BTreeSet<Item>,
    /// Sent over the current link: TCP delivers them, or breaks.
    sent: BTreeSet<Item>,
}

impl Outbox {
    fn contains(&self, item: &Item) -> bool {
        self.unsent.contains(item) || self.sent.contains(item)
    }

    fn remove(&mut self, item: &Item) -> bool {
        self.unsent.remove(item) || self.sent.remove(item)
    }

    fn iter(&self) -> impl Iterator<Item = &Item> {
        self.unsent.iter().chain(&self.sent)
    }
}

impl Replication {
    /// A peer was discovered: its outbox gets everything that it may lack.
    pub(super) fn found(&mut self, peer: &NodeId, items: impl Iterator<Item = Item>) {
        self.acked_all(peer);
        let unsent: BTreeSet<Item> = items.collect();
        for item in &unsent {
            self.wait(item);
        }
        self.outbox.insert(peer.clone(), Outbox { unsent, ..Outbox::default() });
        self.is_dirty = true;
    }

    pub(super) fn lost(&mut self, peer: &NodeId) {
        self.acked_all(peer);
        self.outbox.remove(peer);
        self.link_acks.remove(peer);
    }

    /// Full states have been exchanged over a new link, which is to carry these acknowledgements
    /// first.
    pub(super) fn linked(&mut self, peer: &NodeId, acks: BTreeSet<Item>) {
        self.link_acks.insert(peer.clone(), acks);
        self.is_dirty = true;
        if let Some(outbox) = self.outbox.get_mut(peer) {
            outbox.unsent.append(&mut outbox.sent);
        }
    }

    pub(crate) fn disconnected(&mut self, peer: &NodeId) {
        self.link_acks.remove(peer);
    }

    /// Something has changed: it goes to every outbox except that of the peer that sent it.
    pub(super) fn changed(&mut self, item: &Item, from: Option<&NodeId>) {
        self.turn += 1;
        self.is_dirty = true;
        for (peer, outbox) in &mut self.outbox {
            outbox.remove(item);
            if from != Some(peer) {
                outbox.unsent.insert(item.clone());
            }
        }
        self.leave(item);
        if self.is_owed(item) {
            self.wait(item);
        }
    }

    /// A peer lacks this, or may lack it.
    pub(super) fn enqueue(&mut self, peer: &NodeId, item: &Item) {
        if let Some(outbox) = self.outbox.get_mut(peer) {
            self.is_dirty = true;
            if !outbox.contains(item) {
                outbox.unsent.insert(item.clone());
                self.wait(item);
            }
        }
    }

    pub(super) fn acked(&mut self, peer: &NodeId, item: &Item) {
        if let Some(outbox) = self.outbox.get_mut(peer)
            && outbox.remove(item)
            && !self.is_owed(item)
        {
            self.leave(item);
        }
    }

    /// A peer's store equals this node's.
    pub(super) fn acked_all(&mut self, peer: &NodeId) {
        if let Some(outbox) = self.outbox.get_mut(peer) {
            let owed = std::mem::take(outbox);
            for item in owed.iter().filter(|item| !self.is_owed(item)).collect::<Vec<_>>() {
                self.leave(item);
            }
        }
    }

    /// The store no longer has it, and has nothing to say about it.
    pub(super) fn replaced(&mut self, item: &Item) {
        self.dropped(item);
        self.acks.remove(item);
    }

    /// A recall has ended it. Records of it are still acknowledged, so that peers stop sending
    /// them.
    pub(super) fn dropped(&mut self, item: &Item) {
        for outbox in self.outbox.values_mut() {
            outbox.remove(item);
        }
        self.leave(item);
    }

    /// Some peer is owed it. What waits already keeps its turn.
    fn wait(&mut self, item: &Item) {
        if !self.turns.contains_key(item) {
            self.turns.insert(item.clone(), self.turn);
            self.queue.insert((self.turn, item.clone()));
        }
    }

    fn leave(&mut self, item: &Item) {
        if let Some(turn) = self.turns.remove(item) {
            self.queue.remove(&(turn, item.clone()));
        }
    }

    /// This node has accepted what a peer has sent.
    pub(super) fn acknowledge(&mut self, item: &Item) {
        self.acks.insert(item.clone());
        self.is_dirty = true;
        for acks in self.link_acks.values_mut() {
            acks.insert(item.clone());
        }
    }

    /// This peer has sent again what this node has accepted before. Its link may not deliver.
    pub(super) fn acknowledge_to(&mut self, peer: &NodeId, item: &Item) {
        self.acks.insert(item.clone());
        if let Some(acks) = self.link_acks.get_mut(peer) {
            acks.insert(item.clone());
            self.is_dirty = true;
        }
    }

    /// Whether there is something to send in a beacon.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.acks.is_empty() || !self.turns.is_empty()
    }

    /// Whether a peer has not acknowledged this.
    pub(super) fn is_owed(&self, item: &Item) -> bool {
        self.outbox.values().any(|outbox| outbox.contains(item))
    }

    pub(super) fn has_all_settings(&self, peer: &NodeId) -> bool {
        let outbox = self.outbox.get(peer);
        outbox.is_some_and(|it| !it.iter().any(|item| matches!(item, Item::Setting(_))))
    }

    /// Whether there may be something to send over the links; `true` once per change.
    pub(crate) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.is_dirty)
    }

    /// Takes what to send next over a link: acknowledgements, and at most `most` others.
    pub(super) fn take_for_link(
        &mut self,
        peer: &NodeId,
        most: usize,
    ) -> (Vec<Item>, BTreeSet<Item>) {
        let acks = self.link_acks.get_mut(peer).map(std::mem::take).unwrap_or_default();
        let mut items = Vec::new();
        if let Some(outbox) = self.outbox.get_mut(peer) {
            while items.len() < most
                && let Some(item) = outbox.unsent.pop_first()
            {
                outbox.sent.insert(item.clone());
                items.push(item);
            }
            self.is_dirty |= !outbox.unsent.is_empty();
        }
        (items, acks)
    }

    /// The acknowledgements for the next beacon: those of presses first, as a lamp may wait for
    /// them.
    pub(super) fn acks(&self) -> impl Iterator<Item = &Item> {
        self.acks.iter().rev()
    }

    /// A beacon carries the first this many of them.
    pub(super) fn told_acks(&mut self, many: usize) {
        for _ in 0..many {
            self.acks.pop_last();
        }
    }

    /// What is in any outbox, what was sent longest ago first.
    pub(super) fn queue(&self) -> impl Iterator<Item = &Item> {
        self.queue.iter().map(|(_, item)| item)
    }

    /// A beacon carries these. They stay in the outboxes.
    pub(super) fn told(&mut self, items: &[Item]) {
        for item in items {
            self.turn += 1;
            if self.turns.contains_key(item) {
                self.leave(item);
                self.wait(item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Dot, Nonce};

    fn press(sequence: u64) -> Item {
        Item::Press(Dot { incarnation: Nonce(1), sequence })
    }

    fn told(replication: &mut Replication, most: usize) -> Vec<Item> {
        let told: Vec<Item> = replication.queue().take(most).cloned().collect();
        replication.told(&told);
        told
    }

    #[test]
    fn beacons_tell_the_longest_untold_first_and_each_once() {
        let mut replication = Replication::default();
        let peer = NodeId::new("B").expect("a name");
        replication.found(&peer, (1..=3).map(press));
        assert_eq!(told(&mut replication, 2), [press(1), press(2)]);
        replication.changed(&press(4), None);
        assert_eq!(told(&mut replication, 2), [press(3), press(1)]);
        replication.acked(&peer, &press(2));
        assert_eq!(told(&mut replication, 9), [press(4), press(3), press(1)]);
    }

    proptest! {
        #[test]
        fn beacons_tell_exactly_what_any_peer_is_owed(
            steps in prop::collection::vec((0_u8..9, 0_usize..3, 0_u64..6), 1..200)
        ) {
            let peers = ["B", "C", "D"].map(|name| NodeId::new(name).expect("a name"));
            let mut replication = Replication::default();
            for (step, peer, sequence) in steps {
                let (peer, item) = (&peers[peer], &press(sequence));
                match step {
                    0 => replication.found(peer, (0..sequence).map(press)),
                    1 => replication.lost(peer),
                    2 => replication.linked(peer, BTreeSet::new()),
                    3 => replication.changed(item, None),
                    4 => replication.changed(item, Some(peer)),
                    5 => replication.enqueue(peer, item),
                    6 => replication.acked(peer, item),
                    7 => replication.dropped(item),
                    _ => drop(replication.take_for_link(peer, 2)),
                }
                let waiting = (0..6).map(press).filter(|item| replication.is_owed(item));
                let waiting: BTreeSet<Item> = waiting.collect();
                prop_assert_eq!(replication.turns.len(), replication.queue.len());
                prop_assert_eq!(replication.is_waiting(), !waiting.is_empty());
                let told: BTreeSet<Item> = told(&mut replication, 9).into_iter().collect();
                prop_assert_eq!(told, waiting);
            }
        }
    }
}
