//! The outboxes: what was not sent to, or not acknowledged by, each peer.

mod turns;

use std::collections::{BTreeMap, BTreeSet};

use self::turns::Turns;
use crate::model::{Dot, NodeId};

/// The outboxes of all peers: records that they have not acknowledged, and acknowledgements.
///
/// Bounded by the presses that the store keeps times the peers.
#[derive(Debug, Clone, Default)]
pub(super) struct Replication {
    outbox: BTreeMap<NodeId, Outbox>,
    /// The records in any outbox, in the order in which beacons send them.
    turns: Turns<Dot>,
    /// Acknowledgements for the next beacon.
    acks: BTreeSet<Dot>,
    /// Acknowledgements for the next frame to each linked peer.
    link_acks: BTreeMap<NodeId, BTreeSet<Dot>>,
    /// Counts changes, so that beacons send the oldest first.
    turn: u64,
    /// There may be something that was not sent over the links yet.
    is_dirty: bool,
}

/// The records that one peer has not acknowledged; each is in one of the two sets.
#[derive(Debug, Clone, Default)]
struct Outbox {
    unsent: BTreeSet<Dot>,
    /// Sent over the current link: TCP delivers them, or breaks.
    sent: BTreeSet<Dot>,
}

impl Outbox {
    fn contains(&self, dot: Dot) -> bool {
        self.unsent.contains(&dot) || self.sent.contains(&dot)
    }

    fn remove(&mut self, dot: Dot) -> bool {
        self.unsent.remove(&dot) || self.sent.remove(&dot)
    }

    fn iter(&self) -> impl Iterator<Item = Dot> {
        self.unsent.iter().chain(&self.sent).copied()
    }
}

impl Replication {
    /// A peer was discovered: its outbox gets everything that it may lack.
    pub(super) fn found(&mut self, peer: &NodeId, dots: impl Iterator<Item = Dot>) {
        self.acked_all(peer);
        let outbox = self.outbox.entry(peer.clone()).or_default();
        for dot in dots {
            if outbox.unsent.insert(dot) {
                self.turns.add(dot, self.turn);
            }
        }
        self.is_dirty = true;
    }

    pub(super) fn lost(&mut self, peer: &NodeId) {
        self.acked_all(peer);
        self.outbox.remove(peer);
        self.link_acks.remove(peer);
    }

    /// Full states have been exchanged over a new link, which is to carry these acknowledgements first.
    pub(super) fn linked(&mut self, peer: &NodeId, acks: BTreeSet<Dot>) {
        self.link_acks.insert(peer.clone(), acks);
        self.is_dirty = true;
        if let Some(outbox) = self.outbox.get_mut(peer) {
            outbox.unsent.append(&mut outbox.sent);
        }
    }

    /// A repair has sent this peer records that the next frame is to acknowledge, too. One that is not
    /// linked yet gets these acknowledgements when it [is](Self::linked).
    pub(super) fn repaired(&mut self, peer: &NodeId, acks: impl Iterator<Item = Dot>) {
        if let Some(known) = self.link_acks.get_mut(peer) {
            known.extend(acks);
            self.is_dirty = true;
        }
    }

    pub(super) fn disconnected(&mut self, peer: &NodeId) {
        self.link_acks.remove(peer);
    }

    /// A record has changed: it goes to every outbox except that of the peer that sent it.
    pub(super) fn changed(&mut self, dot: Dot, from: Option<&NodeId>) {
        self.turn += 1;
        self.is_dirty = true;
        for (peer, outbox) in &mut self.outbox {
            let was_queued = outbox.remove(dot);
            let is_queued = from != Some(peer) && outbox.unsent.insert(dot);
            match (was_queued, is_queued) {
                (false, true) => self.turns.add(dot, self.turn),
                (true, false) => self.turns.remove(dot),
                (true, true) | (false, false) => {}
            }
        }
        self.turns.set(dot, self.turn);
    }

    /// A peer lacks this record, or may lack it.
    pub(super) fn enqueue(&mut self, peer: &NodeId, dot: Dot) {
        if let Some(outbox) = self.outbox.get_mut(peer) {
            if !outbox.contains(dot) {
                outbox.unsent.insert(dot);
                self.turns.add(dot, self.turn);
            }
            self.is_dirty = true;
        }
    }

    /// A peer has acknowledged this record.
    pub(super) fn acked(&mut self, peer: &NodeId, dot: Dot) {
        if let Some(outbox) = self.outbox.get_mut(peer)
            && outbox.remove(dot)
        {
            self.turns.remove(dot);
        }
    }

    /// A peer's store equals this node's.
    pub(super) fn acked_all(&mut self, peer: &NodeId) {
        if let Some(outbox) = self.outbox.get_mut(peer) {
            for dot in std::mem::take(outbox).iter() {
                self.turns.remove(dot);
            }
        }
    }

    /// A later press has taken the place of this one.
    pub(super) fn replaced(&mut self, dot: Dot) {
        self.dropped(dot);
        self.acks.remove(&dot);
    }

    /// The press was dropped. Records of it are still acknowledged, as served, so that peers stop
    /// sending them.
    pub(super) fn dropped(&mut self, dot: Dot) {
        for outbox in self.outbox.values_mut() {
            if outbox.remove(dot) {
                self.turns.remove(dot);
            }
        }
    }

    /// This node has accepted a record.
    pub(super) fn acknowledge(&mut self, dot: Dot) {
        self.acks.insert(dot);
        self.is_dirty = true;
        for acks in self.link_acks.values_mut() {
            acks.insert(dot);
        }
    }

    /// This peer has sent a record again that this node has accepted before. Its link may not deliver.
    pub(super) fn acknowledge_to(&mut self, peer: &NodeId, dot: Dot) {
        self.acks.insert(dot);
        if let Some(acks) = self.link_acks.get_mut(peer) {
            acks.insert(dot);
            self.is_dirty = true;
        }
    }

    /// Whether there is something to send in a beacon.
    pub(super) fn is_waiting(&self) -> bool {
        !self.acks.is_empty() || !self.turns.is_empty()
    }

    /// Whether there may be something to send over the links; `true` once per change.
    pub(super) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.is_dirty)
    }

    /// Takes what to send next over the link to a peer: acknowledgements, and at most `most`
    /// records.
    pub(super) fn take_for_link(
        &mut self,
        peer: &NodeId,
        most: usize,
    ) -> (Vec<Dot>, BTreeSet<Dot>) {
        let acks = self.link_acks.get_mut(peer).map(std::mem::take).unwrap_or_default();
        let mut records = Vec::new();
        if let Some(outbox) = self.outbox.get_mut(peer) {
            while records.len() < most
                && let Some(dot) = outbox.unsent.pop_first()
            {
                outbox.sent.insert(dot);
                records.push(dot);
            }
            self.is_dirty |= !outbox.unsent.is_empty();
        }
        (records, acks)
    }

    /// Takes the acknowledgements for which a beacon `has_room`.
    pub(super) fn drain_acks(&mut self, mut has_room: impl FnMut(Dot) -> bool) {
        while let Some(dot) = self.acks.first().copied() {
            if !has_room(dot) {
                break;
            }
            self.acks.pop_first();
        }
    }

    /// Offers the records in any outbox to a beacon, the one that was sent longest ago first, until
    /// it has no more room. They stay in the outboxes.
    pub(super) fn offer_records(&mut self, mut has_room: impl FnMut(Dot) -> bool) {
        // What is sent in this beacon gets a later turn.
        let last = self.turn;
        while let Some((turn, dot)) = self.turns.first()
            && turn <= last
            && has_room(dot)
        {
            self.turn += 1;
            self.turns.set(dot, self.turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Nonce;

    fn dot(sequence: u64) -> Dot {
        Dot { incarnation: Nonce(1), sequence }
    }

    fn told(replication: &mut Replication, most: usize) -> Vec<Dot> {
        let mut told = Vec::new();
        replication.offer_records(|dot| {
            let fits = told.len() < most;
            if fits {
                told.push(dot);
            }
            fits
        });
        told
    }

    #[test]
    fn beacons_tell_the_longest_untold_first_and_each_once() {
        let mut replication = Replication::default();
        let peer = NodeId::new("B").expect("a name");
        replication.found(&peer, (1..=3).map(dot));
        assert_eq!(told(&mut replication, 2), [dot(1), dot(2)]);
        replication.changed(dot(4), None);
        assert_eq!(told(&mut replication, 2), [dot(3), dot(1)]);
        replication.acked(&peer, dot(2));
        assert_eq!(told(&mut replication, 9), [dot(4), dot(3), dot(1)]);
    }

    proptest! {
        #[test]
        fn beacons_tell_exactly_what_any_peer_is_owed(
            steps in prop::collection::vec((0_u8..9, 0_usize..3, 0_u64..6), 1..200)
        ) {
            let peers = ["B", "C", "D"].map(|name| NodeId::new(name).expect("a name"));
            let mut replication = Replication::default();
            for (step, peer, sequence) in steps {
                let (peer, dot) = (&peers[peer], dot(sequence));
                match step {
                    0 => replication.found(peer, (0..sequence).map(self::dot)),
                    1 => replication.lost(peer),
                    2 => replication.linked(peer, BTreeSet::new()),
                    3 => replication.changed(dot, None),
                    4 => replication.changed(dot, Some(peer)),
                    5 => replication.enqueue(peer, dot),
                    6 => replication.acked(peer, dot),
                    7 => replication.dropped(dot),
                    _ => drop(replication.take_for_link(peer, 2)),
                }
                let queued = |dot| {
                    let outbox = replication.outbox.values();
                    outbox.filter(|outbox| outbox.contains(dot)).count()
                };
                for dot in (0..6).map(self::dot) {
                    prop_assert_eq!(replication.turns.peers(dot), queued(dot));
                }
                let waiting = (0..6).map(self::dot).filter(|dot| queued(*dot) > 0);
                let waiting: BTreeSet<Dot> = waiting.collect();
                prop_assert_eq!(replication.is_waiting(), !waiting.is_empty());
                let told: BTreeSet<Dot> = told(&mut replication, 9).into_iter().collect();
                prop_assert_eq!(told, waiting);
            }
        }
    }
}
