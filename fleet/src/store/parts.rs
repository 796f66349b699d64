//! Deltas and state transfers, split to fit frames and beacons.

use std::iter::Peekable;

use serde::Serialize;

use super::{Item, Record, Store};
use crate::model::{CarView, NodeId, Term, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::settings::{Key, Register};
use crate::wire::codec::{CHUNK, size};
use crate::wire::{Ack, Delta, LinkId, Room, StateTransfer, StoreDigest};

/// How many items go over a link per turn of the loop. The rest follows in the next.
const MOST_OVER_A_LINK: usize = 2048;

/// How many bytes of a beacon settings take at most. The rest is for orders.
const MOST_BYTES: usize = 300;

impl Store {
    /// The digest to send over a new link.
    pub(crate) fn store_digest(&self, term: Term) -> StoreDigest {
        StoreDigest { term, digest: self.digest(), durable: self.ledger.all_durable() }
    }

    /// The parts of state transfers that are due, over the links that stand.
    pub(crate) fn states_due(
        &mut self,
        stands: impl Fn(LinkId) -> bool,
        term: Term,
        now: Timestamp,
    ) -> Vec<(LinkId, StateTransfer)> {
        self.transfers.retain(stands);
        let durable = self.ledger.all_durable();
        let mut parts = Vec::new();
        while let Some((link, after)) = self.transfers.next(now) {
            let mut room = CHUNK;
            let below = match &after {
                None | Some(Item::Setting(_)) => None,
                Some(Item::Press(dot)) => Some(*dot),
            };
            let is_left = |it: &&Register| match &after {
                None => true,
                Some(Item::Setting(last)) => it.setting.key() > *last,
                Some(Item::Press(_)) => false,
            };
            let all = self.settings.all().filter(|_| !is_seeded(SeededBug::SettingsSentOnce));
            let mut settings_left = all.filter(is_left).cloned().peekable();
            let settings = chunk(&mut settings_left, &mut room);
            let is_sent = |record: &Record| {
                record.origin == self.own.node || !is_seeded(SeededBug::TransferOmitsOthers)
            };
            let mut left = self.orders.records_below(below, now).filter(is_sent).peekable();
            let has_settings_left = settings_left.peek().is_some();
            let records = if has_settings_left { Vec::new() } else { chunk(&mut left, &mut room) };
            let more = has_settings_left || left.peek().is_some();
            let last = records.last().map(|record| Item::Press(record.dot));
            let last_setting = settings.last().map(|it| Item::Setting(it.setting.key()));
            self.transfers.sent(link, last.or(last_setting).filter(|_| more));
            let state = StateTransfer { term, settings, records, durable, more };
            parts.push((link, state));
        }
        parts
    }

    /// What was not sent to a peer over its link yet, in parts that fit a frame.
    pub(crate) fn deltas_for(
        &mut self,
        peer: &NodeId,
        mut car: Option<CarView>,
        now: Timestamp,
    ) -> Vec<Delta> {
        let (items, acks) = self.replication.take_for_link(peer, MOST_OVER_A_LINK);
        let mut settings = items.iter().filter_map(|it| self.setting(it)).cloned().peekable();
        let mut records = items.iter().filter_map(|it| self.record(it, now)).peekable();
        let mut acks = acks.iter().filter_map(|item| self.ack(item)).peekable();
        let parts = std::iter::from_fn(|| {
            let mut room = CHUNK;
            let delta = Delta {
                car: car.take(),
                settings: chunk(&mut settings, &mut room),
                records: chunk(&mut records, &mut room),
                acks: chunk(&mut acks, &mut room),
                plan: Vec::new(),
            };
            (!delta.is_empty()).then_some(delta)
        });
        parts.collect()
    }

    /// Adds what is to be sent in a beacon: the urgent, acknowledgements, settings, orders.
    pub(crate) fn fill_delta(&mut self, delta: &mut Delta, room: &mut Room, now: Timestamp) {
        let mut told: Vec<Item> = self.urgent().map(Item::Setting).collect();
        told.retain(|item| {
            let setting = self.setting(item).filter(|_| self.replication.is_owed(item));
            setting.is_some_and(|setting| room.add(&mut delta.settings, setting.clone()))
        });
        let acks = self.replication.acks();
        let acks =
            acks.take_while(|item| self.ack(item).is_none_or(|ack| room.add(&mut delta.acks, ack)));
        let told_acks = acks.count();
        self.replication.told_acks(told_acks);
        let mut left = if is_seeded(SeededBug::SettingsSentOnce) { 0 } else { MOST_BYTES };
        for item in self.replication.queue() {
            if let Some(record) = self.record(item, now) {
                if !room.add(&mut delta.records, record) {
                    break;
                }
                told.push(item.clone());
            } else if let Some(setting) = self.setting(item).filter(|_| !told.contains(item)) {
                let bytes = size(setting);
                let has_room = bytes <= left && room.add(&mut delta.settings, setting.clone());
                left = if has_room { left - bytes } else { 0 };
                told.extend(has_room.then(|| item.clone()));
            }
        }
        self.replication.told(&told);
    }

    /// What a beacon says first: whether a motor may run, and what no later one will say.
    fn urgent(&self) -> impl Iterator<Item = Key> {
        let recall = self.settings.latest_recall().map(|it| it.setting.key());
        let is_sent = !is_seeded(SeededBug::SettingsSentOnce);
        let hang = Key::Hang(self.own.node.clone());
        Key::POWER.into_iter().chain(recall).chain([hang]).filter(move |_| is_sent)
    }

    fn setting(&self, item: &Item) -> Option<&Register> {
        let Item::Setting(key) = item else { return None };
        self.settings.get(key)
    }

    fn record(&self, item: &Item, now: Timestamp) -> Option<Record> {
        let Item::Press(dot) = item else { return None };
        self.orders.record(*dot, now)
    }

    /// What this node has of it; `None` if nothing of a setting.
    fn ack(&self, item: &Item) -> Option<Ack> {
        match item {
            Item::Setting(key) => {
                let hash = self.settings.get(key)?.hash();
                Some(Ack::Setting { key: key.clone(), hash })
            }
            Item::Press(dot) => {
                let open = self.orders.get(*dot);
                let recall = open.map_or(self.orders.recalls(), |order| order.recall);
                let durable = self.ledger.is_durable(*dot);
                Some(Ack::Press { dot: *dot, served: open.is_none(), durable, recall })
            }
        }
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

/// Takes as many items as fit into a frame.
fn chunk<T: Serialize>(parts: &mut Peekable<impl Iterator<Item = T>>, room: &mut usize) -> Vec<T> {
    let mut taken = Vec::new();
    while let Some(part) = parts.next_if(|part| size(part) <= *room) {
        *room -= size(&part);
        taken.push(part);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_as_many_items_as_fit() {
        let mut parts = [1_u8; 10].into_iter().peekable();
        let each = size(&1_u8);
        assert_eq!(chunk(&mut parts, &mut (4 * each)).len(), 4);
        let mut room = 7 * each;
        assert_eq!((chunk(&mut parts, &mut room).len(), room), (6, each));
    }
}
