//! Which peer has yet to be told what.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Dot, NodeId};

/// What is owed to the peers: records that they have not acknowledged, and acknowledgements.
///
/// Bounded by the registers that can exist, times the peers.
#[derive(Debug, Clone, Default)]
pub(super) struct Replication {
    owed: BTreeMap<NodeId, BTreeMap<Dot, Owed>>,
    /// Acknowledgements for the next beacon.
    acks: BTreeSet<Dot>,
    /// Acknowledgements for the next frame to each linked peer.
    link_acks: BTreeMap<NodeId, BTreeSet<Dot>>,
    /// Counts what is owed, so that the oldest goes first.
    turn: u64,
    /// Something is owed that may not have gone over the links.
    news: bool,
}

#[derive(Debug, Clone, Copy)]
struct Owed {
    /// When it was last told, in turns; the smallest goes first.
    turn: u64,
    /// It has gone over the present link: TCP delivers it, or breaks.
    sent: bool,
}

impl Replication {
    /// A peer is heard for the first time: it is owed what may be news to it.
    pub(super) fn found(&mut self, peer: &NodeId, dots: impl Iterator<Item = Dot>) {
        let turn = self.turn;
        let owed = dots.map(|dot| (dot, Owed { turn, sent: false })).collect();
        self.owed.insert(peer.clone(), owed);
        self.news = true;
    }

    pub(super) fn lost(&mut self, peer: &NodeId) {
        self.owed.remove(peer);
        self.link_acks.remove(peer);
    }

    /// Full states have been exchanged over a fresh link.
    pub(super) fn linked(&mut self, peer: &NodeId) {
        self.link_acks.insert(peer.clone(), BTreeSet::new());
        self.news = true;
        for owed in self.owed.get_mut(peer).into_iter().flatten() {
            owed.1.sent = false;
        }
    }

    pub(super) fn parted(&mut self, peer: &NodeId) {
        self.link_acks.remove(peer);
    }

    /// A register has changed: every peer is owed it, but the one that told of it.
    pub(super) fn changed(&mut self, dot: Dot, from: Option<&NodeId>) {
        self.turn += 1;
        self.news = true;
        let fresh = Owed {
            turn: self.turn,
            sent: false,
        };
        for (peer, owed) in &mut self.owed {
            if from == Some(peer) {
                owed.remove(&dot);
            } else {
                owed.insert(dot, fresh);
            }
        }
    }

    /// A peer is behind, or may be.
    pub(super) fn owe(&mut self, peer: &NodeId, dot: Dot) {
        let turn = self.turn;
        if let Some(owed) = self.owed.get_mut(peer) {
            owed.entry(dot).or_insert(Owed { turn, sent: false });
            self.news = true;
        }
    }

    /// A peer knows as much as this node.
    pub(super) fn settled(&mut self, peer: &NodeId, dot: Dot) {
        if let Some(owed) = self.owed.get_mut(peer) {
            owed.remove(&dot);
        }
    }

    /// A peer's store equals this node's.
    pub(super) fn settled_all(&mut self, peer: &NodeId) {
        if let Some(owed) = self.owed.get_mut(peer) {
            owed.clear();
        }
    }

    /// The register is no more: a later press stands in its place.
    pub(super) fn replaced(&mut self, dot: Dot) {
        for owed in self.owed.values_mut() {
            owed.remove(&dot);
        }
        self.acks.remove(&dot);
    }

    /// The register is no longer kept. What it was is acknowledged all the same, as served: who
    /// told of it need not tell it again.
    pub(super) fn collected(&mut self, dot: Dot) {
        for owed in self.owed.values_mut() {
            owed.remove(&dot);
        }
    }

    /// This node has taken a record in.
    pub(super) fn acknowledge(&mut self, dot: Dot) {
        self.acks.insert(dot);
        self.news = true;
        for acks in self.link_acks.values_mut() {
            acks.insert(dot);
        }
    }

    /// Whether a beacon has news to carry.
    pub(super) fn is_waiting(&self) -> bool {
        !self.acks.is_empty() || self.owed.values().any(|owed| !owed.is_empty())
    }

    /// Whether there may be something to send over the links since this was asked last.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// Takes what goes over the link to a peer next: records, at most so many, and acknowledgements.
    pub(super) fn take_for_link(
        &mut self,
        peer: &NodeId,
        most: usize,
    ) -> (Vec<Dot>, BTreeSet<Dot>) {
        let acks = self
            .link_acks
            .get_mut(peer)
            .map(std::mem::take)
            .unwrap_or_default();
        let mut records = Vec::new();
        for (dot, owed) in self.owed.get_mut(peer).into_iter().flatten() {
            if owed.sent {
                continue;
            }
            if records.len() == most {
                self.news = true;
                break;
            }
            owed.sent = true;
            records.push(*dot);
        }
        (records, acks)
    }

    /// Takes the acknowledgements for which a beacon `has_room`.
    pub(super) fn take_acks(&mut self, mut has_room: impl FnMut(Dot) -> bool) {
        while let Some(dot) = self.acks.first().copied() {
            if !has_room(dot) {
                break;
            }
            self.acks.pop_first();
        }
    }

    /// Goes through the records that some peer is owed, the longest untold first, while a beacon
    /// `has_room`. They stay owed.
    pub(super) fn tell_records(&mut self, mut has_room: impl FnMut(Dot) -> bool) {
        let mut waiting: BTreeMap<Dot, u64> = BTreeMap::new();
        for (dot, owed) in self.owed.values().flatten() {
            let turn = waiting.entry(*dot).or_insert(owed.turn);
            *turn = owed.turn.min(*turn);
        }
        let mut in_turn: Vec<(u64, Dot)> =
            waiting.into_iter().map(|(dot, turn)| (turn, dot)).collect();
        in_turn.sort_unstable();
        for (_, dot) in in_turn {
            if !has_room(dot) {
                break;
            }
            self.turn += 1;
            for owed in self.owed.values_mut().filter_map(|owed| owed.get_mut(&dot)) {
                owed.turn = self.turn;
            }
        }
    }
}
