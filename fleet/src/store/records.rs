//! Changes of the order store, by presses, by records of peers and by services, and what follows.

use std::collections::BTreeSet;

use super::admission::{Refusal, is_possible};
use super::orders::{Change, Entry, MOST_OPEN_TRIPS, Merged};
use super::{Effect, Holding, Item, OrderStore, Record, RecordState, Service, Store};
use crate::model::bounds::JUMP;
use crate::model::{Call, Dot, HallCall, NodeId, Order, Timestamp};
use crate::report::Report;
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::{Ack, Delta, StateTransfer};

/// The outcome of placing an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The order is in the order store.
    Placed,
    /// No order was made: the car's door is open there, and the press keeps it open (F18).
    Absorbed,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Its order is not known here: it is on its way, or was lost together with the node that took
    /// it.
    Unknown,
    Open,
    /// No order was placed: a car stood there with its door open.
    Absorbed,
    Served(Service),
    /// It was dropped in a fire recall.
    Dropped,
}

/// The call of this node's car to a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ride {
    Absent,
    /// It is open, and not promised yet.
    Open,
    Promised,
}

/// What came of a record that was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It contradicts another one or has no room, and counts as never received.
    Refused,
    /// It is here already, or it says of an order that is not open here that it was served.
    Settled,
    /// It opens or closes an order here.
    Changed,
    /// Its sender lacks the service of this press, its recall number, or a later press in its
    /// place.
    Behind,
}

impl Store {
    pub(crate) fn place(&mut self, call: &Call, now: Timestamp) -> Dot {
        let own = self.own.node.clone();
        if is_seeded(SeededBug::PressLostAfterService)
            && let Some(press) = self.orders.latest(self.own.nonce, call)
        {
            return press;
        }
        if !is_seeded(SeededBug::SequencesReused) {
            self.sequence += 1;
        }
        let dot = Dot { incarnation: self.own.nonce, sequence: self.sequence };
        let merged = self.orders.place(dot, &own, call.clone(), now);
        debug_assert_eq!(merged.change, Change::Placed, "{dot} is fresh");
        self.on_merged(dot, call, &own, merged, None);
        dot
    }

    /// How far a press is. What a node that was restarted no longer knows is the end of a press
    /// whose button was pressed again at the same node: to it the press is as far as the later one.
    pub(crate) fn fate(&self, press: Dot, call: &Call) -> Fate {
        let present = self.orders.present(press, call);
        if !present.contains(&press)
            && let Some(end) = self.ends.of(press, call)
        {
            return end.clone().map_or(Fate::Dropped, Fate::Served);
        }
        let services = present.iter().map(|present| self.orders.service(*present));
        match services.min() {
            Some(Some(service)) => Fate::Served(service.clone()),
            Some(None) => Fate::Open,
            None => Fate::Unknown,
        }
    }

    /// Whether another press of this call can be placed: this many trips are not open at a time.
    pub(crate) fn may_place(&self, call: &Call) -> bool {
        let own = &self.own.node;
        let open = || self.orders.origin(own).map_or(0, |origin| origin.open_trips);
        !call.is_trip() || self.orders.is_open_at(own, call) || open() < MOST_OPEN_TRIPS
    }

    /// Handles a change of the store. `from` is the peer that sent it.
    fn on_merged(
        &mut self,
        dot: Dot,
        call: &Call,
        origin: &NodeId,
        merged: Merged,
        from: Option<&NodeId>,
    ) {
        let Merged { change, gone } = merged;
        let was_open = gone.iter().any(|entry| entry.order.call == *call && !entry.is_served());
        for entry in gone {
            self.forget(entry, dot);
        }
        match change {
            Change::Nothing | Change::Refused => return,
            // Who holds it under the old number may not under the new one.
            Change::Raised => self.promise.forget_holdings(dot),
            Change::Placed => {
                if let Call::Hall(hall) = call
                    && !was_open
                    && self.orders.of_call(call).all(|order| order.dot == dot)
                {
                    self.effects.push_back(Effect::Opened(*hall));
                }
                let (call, origin) = (call.clone(), origin.clone());
                self.report(Report::Placed { call, origin, press: Some(dot) });
            }
            Change::Served { closed } => {
                self.promise.forget(dot);
                // No lamp waits for it. Where it does not fit, it comes again and again.
                if closed.is_none() && !was_open {
                    self.ledger.note(Item::Press(dot));
                    self.replication.changed(&Item::Press(dot), from);
                    return;
                }
                self.closed_elsewhere(call, dot);
            }
        }
        if self.orders.get(dot).is_some() {
            let is_trusted = self.ledger.failed() && is_seeded(SeededBug::FailedDiskTrusted);
            let holding = if is_trusted { Holding::Durable } else { Holding::Held };
            self.promise.record(dot, &self.own.node, holding);
        }
        self.ledger.note(Item::Press(dot));
        self.replication.changed(&Item::Press(dot), from);
        self.hurry();
        self.invalidate();
    }

    /// The store no longer keeps an entry. An open press in its place takes over its promise.
    fn forget(&mut self, Entry { order, service, .. }: Entry, heir: Dot) {
        let dot = order.dot;
        self.ledger.note(Item::Press(dot));
        self.replication.replaced(&Item::Press(dot));
        if let Some(service) = service {
            self.ends.note(dot, &order.call, Some(service));
        } else if self.orders.get(heir).is_some() {
            self.promise.inherit(dot, heir);
        } else {
            self.promise.forget(dot);
        }
    }

    /// The last open press of a call is closed: another node's car has served it.
    fn closed_elsewhere(&mut self, call: &Call, dot: Dot) {
        if self.orders.is_open(call) {
            return;
        }
        if let Call::Hall(hall) = call {
            self.effects.push_back(Effect::Closed(*hall));
        }
        if let Some(Service { waited, car }) = self.orders.service(dot).cloned() {
            let call = call.clone();
            self.report(Report::Served { call, waited, here: false, car: Some(car) });
        }
    }

    pub(crate) fn merge_record(
        &mut self,
        record: &Record,
        from: Option<&NodeId>,
        now: Timestamp,
    ) -> Outcome {
        let merged = self.orders.merge(record.clone(), now);
        let has_closed = merged.gone.iter().any(|entry| entry.service.is_none());
        let outcome = match merged.change {
            Change::Refused => Outcome::Refused,
            Change::Nothing => Outcome::Settled,
            Change::Served { closed: None } if !has_closed => Outcome::Settled,
            Change::Served { .. } | Change::Placed | Change::Raised => Outcome::Changed,
        };
        self.on_merged(record.dot, &record.call, &record.origin, merged, from);
        outcome
    }

    /// Handles an admitted record, which the peer holds in this way.
    fn on_record(
        &mut self,
        peer: &NodeId,
        record: &Record,
        holding: Holding,
        now: Timestamp,
    ) -> Outcome {
        let dot = record.dot;
        let outcome = self.merge_record(record, Some(peer), now);
        if outcome == Outcome::Refused {
            let is_known = self.orders.knows(dot);
            let why = if is_known { Refusal::Impossible } else { Refusal::NoRoom };
            self.refuse(peer, dot, why, now);
            return outcome;
        }
        let open = self.orders.get(dot);
        match record.state {
            RecordState::Open { recall, .. } if open.is_some_and(|it| it.recall == recall) => {
                self.promise.record(dot, peer, holding);
                self.replication.acked(peer, &Item::Press(dot));
            }
            RecordState::Served(_) if open.is_none() => {
                self.replication.acked(peer, &Item::Press(dot));
            }
            RecordState::Open { .. } | RecordState::Served(_) => {
                let present = self.orders.present(dot, &record.call);
                for dot in &present {
                    self.replication.enqueue(peer, &Item::Press(*dot));
                }
                if !present.is_empty() {
                    return Outcome::Behind;
                }
            }
        }
        outcome
    }

    fn on_ack(&mut self, peer: &NodeId, ack: &Ack) {
        let (dot, served, durable, recall) = match ack {
            Ack::Press { dot, served, durable, recall } => (*dot, *served, *durable, *recall),
            Ack::Setting { key, hash } => return self.on_setting_ack(peer, key, *hash),
        };
        let open = self.orders.get(dot);
        if open.is_some_and(|order| served && recall < order.recall) {
            // It ignores the press under an earlier recall number.
            return;
        }
        if open.is_some() && served {
            self.promise.forget_holding(dot, peer);
        }
        let is_held = open.is_some_and(|order| !served && order.recall == recall);
        if is_held {
            let holding = if durable { Holding::Durable } else { Holding::Held };
            self.promise.record(dot, peer, holding);
        }
        // A peer that holds it as served sends the service once it knows that this node lacks it.
        if is_held || served {
            self.replication.acked(peer, &Item::Press(dot));
        }
    }

    /// What a delta says stays true if it is late. An order may be a consequence of a setting.
    pub(crate) fn handle_delta(&mut self, peer: &NodeId, delta: &Delta, now: Timestamp) {
        self.take_in_settings(peer, &delta.settings);
        self.take_in(peer, &delta.records, now);
        for ack in &delta.acks {
            self.on_ack(peer, ack);
        }
    }

    /// Takes in those of these records for which there is room, and acknowledges them.
    fn take_in(&mut self, peer: &NodeId, records: &[Record], now: Timestamp) {
        for record in records {
            if !self.admits(peer, record, now) {
                continue;
            }
            match self.on_record(peer, record, Holding::Held, now) {
                Outcome::Refused => {}
                // What a peer repeats for another one must not make all nodes send more beacons.
                Outcome::Settled => self.replication.acknowledge_to(peer, &Item::Press(record.dot)),
                Outcome::Changed | Outcome::Behind => {
                    self.replication.acknowledge(&Item::Press(record.dot));
                    self.hurry();
                }
            }
        }
    }

    pub(crate) fn handle_state(&mut self, peer: &NodeId, state: &StateTransfer, now: Timestamp) {
        let holding = if state.durable { Holding::Durable } else { Holding::Held };
        self.merge_settings(&state.settings, Some(peer));
        if is_seeded(SeededBug::StateReplacesStore) {
            self.orders = OrderStore::default();
        }
        for record in &state.records {
            if self.admits(peer, record, now) {
                self.on_record(peer, record, holding, now);
            }
        }
    }

    /// Whether a record of a peer may be merged: whether it can be, and there is room.
    fn admits(&mut self, peer: &NodeId, record: &Record, now: Timestamp) -> bool {
        let recalls = self.orders.recalls().saturating_add(JUMP);
        let is_ahead = matches!(record.state, RecordState::Open { recall, .. } if recall > recalls);
        if is_ahead || self.is_invented(record) || !is_possible(record, &self.building) {
            self.refuse(peer, record.dot, Refusal::Impossible, now);
            return false;
        }
        let has_room = self.orders.is_within_bounds(record, self.own.floors);
        if !has_room {
            self.refuse(peer, record.dot, Refusal::NoRoom, now);
        }
        has_room
    }

    /// Whether it mentions a press of this process that has not been made yet (O4).
    fn is_invented(&self, record: &Record) -> bool {
        let own = self.own.nonce;
        record.presses().any(|it| it.incarnation == own && it.sequence > self.sequence)
    }

    fn refuse(&mut self, peer: &NodeId, dot: Dot, why: Refusal, now: Timestamp) {
        if let Some(conflict) = self.refusals.refuse(peer, dot, why, now) {
            self.report(Report::Conflict { text: conflict });
        }
    }

    /// A peer has all that this node has.
    pub(crate) fn settle_all(&mut self, peer: &NodeId) {
        self.replication.acked_all(peer);
    }

    /// The stores of this peer and this node are equal: it holds every open order.
    pub(crate) fn note_equal(&mut self, peer: &NodeId, durable: bool) {
        let holding = if durable { Holding::Durable } else { Holding::Held };
        for order in self.orders.orders() {
            self.promise.record(order.dot, peer, holding);
        }
    }

    /// This node's car has served a call: closes every press of it known so far (F18, O3).
    pub(crate) fn serve(&mut self, call: Call, now: Timestamp) {
        let own = self.own.node.clone();
        if let Call::Hall(call) = call {
            self.effects.push_back(Effect::Closed(call));
        }
        let served = self.orders.serve(&call, &own, now);
        self.on_served_here(call, &served, now);
    }

    /// The trips of these presses are safe: closes the presses. Later ones stay open.
    pub(crate) fn serve_boarded(
        &mut self,
        call: HallCall,
        presses: &BTreeSet<Dot>,
        now: Timestamp,
    ) {
        let (own, hall) = (self.own.node.clone(), Call::Hall(call));
        let served = self.orders.serve_presses(presses, &own, now);
        if !self.orders.is_open(&hall) {
            self.effects.push_back(Effect::Closed(call));
        }
        self.on_served_here(hall, &served, now);
    }

    /// Notes how many fire recalls are known. While one is in force, it ends what was placed before
    /// it; one that is over ends nothing here, so that no promise is broken.
    pub(super) fn learn_recalls(&mut self) {
        let recalls = self.settings.recall_count();
        self.orders.set_recalls(recalls);
        if self.settings.is_fire_recalled() {
            self.cancel(recalls);
            return;
        }
        for dot in self.orders.older_than(recalls) {
            self.orders.raise(dot, recalls);
            // Who holds it under the old number may not under the new one.
            self.promise.forget_holdings(dot);
            self.promise.record(dot, &self.own.node, Holding::Held);
            self.ledger.note(Item::Press(dot));
            self.replication.changed(&Item::Press(dot), None);
            self.hurry();
        }
    }

    /// Forgets the orders with recall numbers below this one. Every node does so by itself when it
    /// learns of the recall, and ignores such orders from then on.
    pub(crate) fn cancel(&mut self, below: u64) {
        for dot in self.orders.older_than(below) {
            let Some(Entry { order, absorbed, .. }) = self.orders.cancel(dot) else { continue };
            let call = order.call;
            self.ledger.note(Item::Press(dot));
            for press in absorbed {
                self.ends.note(press, &call, None);
            }
            self.promise.forget(dot);
            self.replication.dropped(&Item::Press(dot));
            self.ends.note(dot, &call, None);
            self.invalidate();
            if self.orders.is_open(&call) {
                continue;
            }
            if let Call::Hall(hall) = call {
                self.effects.push_back(Effect::Closed(hall));
            }
            self.report(Report::Dropped { call });
        }
    }

    fn on_served_here(&mut self, call: Call, served: &[Order], now: Timestamp) {
        let own = self.own.node.clone();
        let Some(placed) = served.iter().map(|order| order.placed).min() else {
            return;
        };
        for order in served {
            self.promise.forget(order.dot);
            self.ledger.note(Item::Press(order.dot));
            self.replication.changed(&Item::Press(order.dot), None);
        }
        self.report(Report::Served { call, waited: now.since(placed), here: true, car: Some(own) });
        self.hurry();
        self.invalidate();
    }
}
