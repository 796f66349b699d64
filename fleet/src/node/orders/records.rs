//! Changes of the order store, by presses, by records of peers and by services, and what follows.

use std::collections::BTreeSet;

use fastrand::Rng;

use super::{Effect, MOST_OPEN_TRIPS, Orders};
use crate::car::ServedCall;
use crate::model::{Call, Dot, HallCall, NodeId, Order, Timestamp};
use crate::node::peers::Membership;
use crate::node::{Fate, Report, Taken};
use crate::orders::{Holding, Merged, Record, RecordState, Service};
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::{Ack, Delta, StateTransfer};

/// What came of a record that was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It contradicts another one, and counts as never received.
    Refused,
    /// It is here already, or it says of an order that is not open here that it was served.
    Settled,
    /// It opens or closes an order here.
    Changed,
    /// Its sender lacks the service of this press, its recall number, or a later press in its place.
    Behind,
}

impl Orders {
    pub(in crate::node) fn place(&mut self, call: Call, now: Timestamp) -> Taken {
        if is_seeded(SeededBug::PressLostAfterService) && self.has_register(&call) {
            return Taken::Absorbed;
        }
        let since = self.placed_before(&call).unwrap_or(now);
        let Some(dot) = self.ledger.dot() else {
            self.ledger.postpone(call);
            return Taken::Waiting;
        };
        let own = self.own.node.clone();
        self.keep_end(dot, &call);
        let merged = self.store.place(dot, &own, call.clone(), since, now);
        debug_assert_ne!(merged, Merged::Nothing, "{dot} is not fresh");
        self.on_merged(dot, &call, &own, merged, None);
        Taken::Placed
    }

    /// Whether this node has placed a press of this call before, open or served.
    fn has_register(&self, call: &Call) -> bool {
        self.latest_press(call).is_some()
    }

    /// The latest press of this call that this node has made, open or served.
    pub(in crate::node) fn latest_press(&self, call: &Call) -> Option<Dot> {
        let last = Dot { journal: self.ledger.journal(), sequence: u64::MAX };
        self.store.present(last, call)
    }

    /// Whether this press, or a later one of its journal and call, has been seen here, open or over,
    /// and is not collected.
    pub(in crate::node) fn knows_press(&self, press: Dot, call: &Call) -> bool {
        self.fate(press, call) != Fate::Unknown
    }

    /// How far a press is. What a node that was restarted no longer knows is the end of a press whose
    /// button was pressed again at the same node: to it the press is as far as the later one.
    pub(in crate::node) fn fate(&self, press: Dot, call: &Call) -> Fate {
        let present = self.store.present(press, call).filter(|present| *present >= press);
        if present != Some(press)
            && let Some(end) = self.ends.of(press, call)
        {
            return end.clone().map_or(Fate::Dropped, Fate::Served);
        }
        match present.map(|present| self.store.service(present)) {
            Some(Some(service)) => Fate::Served(service.clone()),
            Some(None) => Fate::Open,
            None => Fate::Unknown,
        }
    }

    /// Whether another press of this call can be placed: so many trips are not open at a time.
    pub(in crate::node) fn may_place(&self, call: &Call) -> bool {
        !self.takes_room(call) || self.open_trips() < MOST_OPEN_TRIPS
    }

    /// Whether a press of this call is one more open trip of this node.
    pub(super) fn takes_room(&self, call: &Call) -> bool {
        let is_open = || self.store.is_open_in(self.ledger.journal(), call);
        call.is_trip() && !self.ledger.postponed().contains(call) && !is_open()
    }

    /// How many trips this node has placed, or is to place, that are open.
    pub(super) fn open_trips(&self) -> usize {
        let open = self.store.journal(self.ledger.journal());
        let postponed = self.ledger.postponed().iter().filter(|call| call.is_trip());
        open.map_or(0, |journal| journal.open.trips()) + postponed.count()
    }

    /// Since when an order of this call has waited in a journal that this node has given up: the new
    /// order is the same press again.
    fn placed_before(&self, call: &Call) -> Option<Timestamp> {
        let (own, journal) = (&self.own.node, self.ledger.journal());
        let orders = self.store.of_call(call);
        let earlier = orders.filter(|order| order.origin == *own && order.dot.journal != journal);
        earlier.map(|order| order.placed).min()
    }

    /// Places the presses that waited for a sequence; those that still get none keep waiting.
    pub(super) fn place_again(&mut self, now: Timestamp) {
        for call in self.ledger.take_postponed() {
            match self.place(call, now) {
                Taken::Placed | Taken::Waiting | Taken::Absorbed => {}
            }
        }
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
        match merged {
            Merged::Nothing | Merged::Refused => return,
            Merged::Raised => {}
            Merged::Placed { replaced } => {
                let own = self.own.node.clone();
                let is_trusted = self.ledger.failed() && is_seeded(SeededBug::FailedDiskTrusted);
                let holding = if is_trusted { Holding::Durable } else { Holding::Held };
                self.promise.record(dot, &own, holding);
                if let Call::Hall(hall) = call
                    && replaced.is_none()
                    && self.store.of_call(call).all(|order| order.dot == dot)
                {
                    self.effects.push_back(Effect::Opened(*hall));
                }
                if let Some(replaced) = replaced {
                    self.promise.inherit(replaced.dot, dot);
                    self.replication.replaced(replaced.dot);
                }
                let (call, origin, press) = (call.clone(), origin.clone(), Some(dot));
                self.report(Report::Placed { call, origin, press });
            }
            Merged::Served { closed } => {
                self.promise.forget(dot);
                self.ledger.note(dot);
                self.replication.changed(dot, from);
                // No lamp waits for it. Where there is no room for it, it comes again and again.
                let Some(closed) = closed else {
                    return;
                };
                self.promise.forget(closed.dot);
                if closed.dot != dot {
                    self.replication.replaced(closed.dot);
                }
                self.closed_elsewhere(call, dot);
            }
        }
        self.ledger.note(dot);
        self.replication.changed(dot, from);
        self.hurry();
        self.invalidate();
    }

    /// This press may take the place of one that has ended.
    fn keep_end(&mut self, dot: Dot, call: &Call) {
        let before = self.store.present(dot, call).filter(|before| *before < dot);
        if let Some((before, service)) = before.and_then(|it| Some((it, self.store.service(it)?))) {
            self.ends.note(before, call, Some(service.clone()));
        }
    }

    /// The last open press of a call is closed: another node's car has served it.
    fn closed_elsewhere(&mut self, call: &Call, dot: Dot) {
        if self.store.is_open(call) {
            return;
        }
        if let Call::Hall(hall) = call {
            self.effects.push_back(Effect::Closed(*hall));
        }
        if let Some(Service { waited, car }) = self.store.service(dot).cloned() {
            let call = call.clone();
            self.report(Report::Served { call, waited, here: false, car: Some(car) });
        }
    }

    /// Merges a record, handles the change, and returns it.
    pub(in crate::node) fn merge_record(
        &mut self,
        record: &Record,
        from: Option<&NodeId>,
        now: Timestamp,
    ) -> Merged {
        self.keep_end(record.dot, &record.call);
        let merged = self.store.merge(record.clone(), now);
        let (call, origin) = (&record.call, &record.origin);
        self.on_merged(record.dot, call, origin, merged.clone(), from);
        merged
    }

    /// Handles an admitted record, which the peer holds in this way.
    fn on_record(
        &mut self,
        peer: &NodeId,
        record: &Record,
        holding: Holding,
        members: &Membership,
        now: Timestamp,
    ) -> Outcome {
        let (dot, call) = (record.dot, &record.call);
        let merged = self.merge_record(record, Some(peer), now);
        let mut outcome = match &merged {
            Merged::Refused => {
                self.on_refused(peer, dot, members, now);
                return Outcome::Refused;
            }
            Merged::Nothing | Merged::Served { closed: None } => Outcome::Settled,
            Merged::Placed { .. } | Merged::Raised | Merged::Served { closed: Some(_) } => {
                Outcome::Changed
            }
        };
        self.note_open(record, now);
        self.ledger.know(dot);
        let open = self.store.get(dot);
        match record.state {
            RecordState::Open { recall, .. } if open.is_some_and(|it| it.recall == recall) => {
                self.promise.record(dot, peer, holding);
                self.replication.acked(peer, dot);
            }
            RecordState::Served(_) if open.is_none() => self.replication.acked(peer, dot),
            RecordState::Open { .. } | RecordState::Served(_) => {
                let present = self.store.present(dot, call);
                if let Some(present) = present.filter(|present| *present >= dot) {
                    self.replication.enqueue(peer, present);
                    outcome = Outcome::Behind;
                }
            }
        }
        outcome
    }

    fn on_ack(&mut self, peer: &NodeId, ack: Ack) {
        let open = self.store.get(ack.dot).is_some();
        if open && !ack.served {
            let holding = if ack.durable { Holding::Durable } else { Holding::Held };
            self.promise.record(ack.dot, peer, holding);
        }
        if open && ack.served {
            self.promise.forget_holding(ack.dot, peer);
        }
        // A peer that holds it as served sends the service once it knows that this node lacks it.
        // One that does not keep it does not need it.
        if open || ack.served {
            self.replication.acked(peer, ack.dot);
        }
    }

    /// Handles records and acknowledgements, which stay true even if the beacon was reordered.
    pub(in crate::node) fn handle_delta(
        &mut self,
        peer: &NodeId,
        delta: &Delta,
        members: &Membership,
        random: &mut Rng,
        now: Timestamp,
    ) {
        self.take_in(peer, &delta.records, members, random, now);
        for ack in &delta.acks {
            self.on_ack(peer, *ack);
        }
    }

    /// Takes in those of these records for which there is room, and acknowledges them.
    pub(super) fn take_in(
        &mut self,
        peer: &NodeId,
        records: &[Record],
        members: &Membership,
        random: &mut Rng,
        now: Timestamp,
    ) {
        for record in self.admit(peer, records, members, random, now) {
            if !self.has_room(peer, record, members, now) {
                continue;
            }
            match self.on_record(peer, record, Holding::Held, members, now) {
                Outcome::Refused => {}
                // What a peer repeats because another one refuses it must not make all nodes send
                // beacon after beacon.
                Outcome::Settled => self.replication.acknowledge_to(peer, record.dot),
                Outcome::Changed | Outcome::Behind => {
                    self.replication.acknowledge(record.dot);
                    self.hurry();
                }
            }
        }
        if !records.is_empty() {
            self.collect(members, now);
        }
    }

    /// Handles a part of a peer's state.
    pub(in crate::node) fn handle_state(
        &mut self,
        peer: &NodeId,
        state: &StateTransfer,
        members: &Membership,
        random: &mut Rng,
        now: Timestamp,
    ) {
        let holding = if state.durable { Holding::Durable } else { Holding::Held };
        if is_seeded(SeededBug::StateReplacesStore) {
            let journals: Vec<_> = self.store.each_journal().map(|(id, _)| id).collect();
            for journal in journals {
                self.store.collect(journal);
            }
        }
        for record in self.admit(peer, &state.records, members, random, now) {
            if self.has_room(peer, record, members, now) {
                self.on_record(peer, record, holding, members, now);
            }
        }
        self.collect(members, now);
    }

    /// The stores of this peer and this node are equal: it holds every open order.
    pub(in crate::node) fn note_equal(&mut self, peer: &NodeId, durable: bool) {
        let holding = if durable { Holding::Durable } else { Holding::Held };
        for order in self.store.orders() {
            self.promise.record(order.dot, peer, holding);
        }
    }

    /// This node's car has served a call: closes every press of it known so far (F18, O3).
    pub(in crate::node) fn serve(&mut self, call: ServedCall, now: Timestamp) {
        let own = self.own.node.clone();
        let call = match call {
            ServedCall::Hall(call) => {
                self.effects.push_back(Effect::Closed(call));
                Call::Hall(call)
            }
            ServedCall::Car(floor) => Call::Car { car: own.clone(), floor },
        };
        let served = self.store.serve(&call, &own, now);
        self.on_served_here(call, &served, now);
    }

    /// The trips of the passengers who made these presses of a destination call are safe: closes
    /// the presses. Later ones stay open.
    pub(in crate::node) fn serve_boarded(
        &mut self,
        call: HallCall,
        presses: &BTreeSet<Dot>,
        now: Timestamp,
    ) {
        let (own, hall) = (self.own.node.clone(), Call::Hall(call));
        let served = self.store.serve_presses(presses, &own, now);
        if !self.store.is_open(&hall) {
            self.effects.push_back(Effect::Closed(call));
        }
        self.on_served_here(hall, &served, now);
    }

    /// Notes how many fire recalls are known. While one is in force, it ends what was placed before it.
    /// One that was over before this node heard of it ends nothing here: what is open goes on under
    /// the new number, so that no promise is broken.
    pub(in crate::node) fn learn_recalls(&mut self, recalls: u64, in_force: bool) {
        self.store.set_recalls(recalls);
        if in_force {
            self.ledger.take_postponed();
            self.cancel(recalls);
            return;
        }
        for dot in self.store.older_than(recalls) {
            self.store.raise(dot, recalls);
            self.ledger.note(dot);
            self.replication.changed(dot, None);
            self.hurry();
        }
    }

    /// Forgets the orders with recall numbers below this one. Every node does so by itself when it
    /// learns of the recall, and ignores such orders from then on.
    pub(in crate::node) fn cancel(&mut self, below: u64) {
        for dot in self.store.older_than(below) {
            let Some(Order { call, .. }) = self.store.remove(dot) else { continue };
            if dot.journal != self.ledger.journal() && self.store.journal(dot.journal).is_none() {
                self.ledger.collect(dot.journal, &[]);
            }
            self.promise.forget(dot);
            self.replication.collected(dot);
            self.ends.note(dot, &call, None);
            if self.store.is_open(&call) {
                continue;
            }
            if let Call::Hall(hall) = call {
                self.effects.push_back(Effect::Closed(hall));
            }
            self.report(Report::Dropped { call });
            self.invalidate();
        }
    }

    fn on_served_here(&mut self, call: Call, served: &[Order], now: Timestamp) {
        let own = self.own.node.clone();
        let Some(placed) = served.iter().map(|order| order.placed).min() else {
            return;
        };
        for order in served {
            self.promise.forget(order.dot);
            self.ledger.note(order.dot);
            self.replication.changed(order.dot, None);
        }
        self.report(Report::Served { call, waited: now.since(placed), here: true, car: Some(own) });
        self.hurry();
        self.invalidate();
    }
}
