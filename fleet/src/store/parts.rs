//! Deltas and state transfers, split to fit frames and beacons.

use std::iter::Peekable;

use serde::Serialize;

use super::ledger::Ledger;
use super::{OrderStore, Purpose, Record, Store};
use crate::model::{CarView, Dot, NodeId, Term, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::codec::{CHUNK, size};
use crate::wire::{Ack, Delta, LinkId, Room, StateTransfer, StoreDigest};

/// How many records go over a link per turn of the loop. The rest follows in the next.
const MOST_OVER_A_LINK: usize = 2048;

impl Store {
    /// The digest to send over a new link.
    pub(crate) fn store_digest(&self, term: Term) -> StoreDigest {
        StoreDigest { term, digest: self.orders.digest(), durable: self.ledger.all_durable() }
    }

    /// Starts to send the whole state over this link.
    pub(crate) fn begin_transfer(&mut self, link: LinkId, purpose: Purpose, now: Timestamp) {
        self.transfers.begin(link, purpose, now);
    }

    /// The peer has received a part of the state that is sent over this link.
    pub(crate) fn continue_transfer(&mut self, link: LinkId, now: Timestamp) {
        self.transfers.ask(link, now);
    }

    /// The parts of state transfers that are due, over the links that lead to a peer. Changes made
    /// meanwhile go to the outboxes of the peers, like all changes.
    ///
    /// A part says only whether the whole store is on the disk. While that is busy it is not, and the
    /// next delta acknowledges which of the open orders are there, as after a
    /// [handshake](Self::peer_synced) (P4).
    pub(crate) fn states_due<'a>(
        &mut self,
        peer_of: impl Fn(LinkId) -> Option<&'a NodeId>,
        term: Term,
        now: Timestamp,
    ) -> Vec<(LinkId, StateTransfer)> {
        self.transfers.retain(|link| peer_of(link).is_some());
        let durable = self.ledger.all_durable();
        let mut parts = Vec::new();
        while let Some((link, below)) = self.transfers.next(now) {
            let is_sent = |record: &Record| {
                record.origin == self.own.node || !is_seeded(SeededBug::TransferOmitsOthers)
            };
            let mut left = self.orders.records_below(below, now).filter(is_sent).peekable();
            let mut room = CHUNK;
            let records = chunk(&mut left, &mut room);
            let more = left.peek().is_some();
            let last = records.last().filter(|_| more);
            self.transfers.sent(link, last.map(|record| record.dot));
            if let Some(peer) = peer_of(link).filter(|_| !durable) {
                let open = records.iter().filter(|record| !record.state.is_served());
                let on_disk = open.map(|it| it.dot).filter(|dot| self.ledger.is_durable(*dot));
                self.replication.repaired(peer, on_disk);
            }
            let state = StateTransfer { term, records, durable, more };
            parts.push((link, state));
        }
        parts
    }

    /// Whether there may be something to send over the links; `true` once per change.
    pub(crate) fn take_dirty(&mut self) -> bool {
        self.replication.take_dirty()
    }

    /// What was not sent to a peer over its link yet, including this node's car, in parts that fit
    /// a frame.
    pub(crate) fn deltas_for(
        &mut self,
        peer: &NodeId,
        mut car: Option<CarView>,
        now: Timestamp,
    ) -> Vec<Delta> {
        let (records, acks) = self.replication.take_for_link(peer, MOST_OVER_A_LINK);
        let record = |dot| self.orders.record(dot, now);
        let mut records = records.into_iter().filter_map(record).peekable();
        let mut acks = acks.into_iter().map(|dot| ack(&self.orders, &self.ledger, dot)).peekable();
        let parts = std::iter::from_fn(|| {
            let mut room = CHUNK;
            let delta = Delta {
                car: car.take(),
                records: chunk(&mut records, &mut room),
                acks: chunk(&mut acks, &mut room),
                plan: Vec::new(),
            };
            (!delta.is_empty()).then_some(delta)
        });
        parts.collect()
    }

    /// Whether there is something to send in a beacon.
    pub(crate) fn has_unsent(&self) -> bool {
        self.replication.is_waiting()
    }

    /// Adds what is to be sent in a beacon: acknowledgements first, then orders.
    pub(crate) fn fill_delta(&mut self, delta: &mut Delta, room: &mut Room, now: Timestamp) {
        let (store, ledger) = (&self.orders, &self.ledger);
        self.replication.drain_acks(|dot| room.add(&mut delta.acks, ack(store, ledger, dot)));
        self.replication.offer_records(|dot| {
            let record = store.record(dot, now);
            record.is_none_or(|record| room.add(&mut delta.records, record))
        });
    }

    /// Adds the open orders, oldest first, as far as they fit.
    pub(crate) fn enclose(&self, delta: &mut Delta, room: &mut Room, now: Timestamp) {
        let mut orders: Vec<_> = self.orders.orders().collect();
        orders.sort_by_key(|order| order.placed);
        for order in orders {
            let Some(record) = self.orders.record(order.dot, now) else {
                continue;
            };
            if !room.add(&mut delta.records, record) {
                break;
            }
        }
    }
}

fn ack(store: &OrderStore, ledger: &Ledger, dot: Dot) -> Ack {
    let open = store.get(dot);
    let (served, recall) = (open.is_none(), open.map_or(store.recalls(), |order| order.recall));
    Ack { dot, served, durable: ledger.is_durable(dot), recall }
}

/// Takes as many items as fit into a frame.
fn chunk<T: Serialize>(parts: &mut Peekable<impl Iterator<Item = T>>, room: &mut usize) -> Vec<T> {
    let mut taken = Vec::new();
    while let Some(part) = parts.next_if(|part| size(part) <= *room) {
        *room -= size(&part);
        taken.push(part);
    }
    taken
}
