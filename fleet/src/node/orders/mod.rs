//! The orders that this node knows: the store, the promises, and what disk and peers have not got
//! yet.
//!
//! ```text
//!   press ─────────▶ Ledger: a sequence ──┐
//!   records of a peer ──▶ Admission ──▶ OrderStore ──▶ Promise ──▶ lamps
//!                                          ├──▶ Ledger ──▶ disk
//!                                          └──▶ Replication, Transfers ──▶ peers
//! ```
//!
//! It knows no link, plan or car. What it needs to know of the membership comes in as an
//! argument, and what other components need to know goes out as [`Effect`]s, in order.

mod admission;
mod admit;
mod durable;
mod ends;
mod ledger;
mod parts;
mod records;
mod replication;
mod transfers;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use elevator_driver::{Floor, LampSet};

use self::admission::Admission;
use self::ends::Ends;
use self::ledger::Ledger;
use self::replication::Replication;
use self::transfers::Transfers;
use super::boarding::Ride;
use super::{RefusedStatus, Report, Restored};
use crate::model::{Call, Dot, HallCall, JournalId, NodeId, Order, Timestamp};
use crate::orders::{Holding, OrderStore, Promise};
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::Hello;

pub(super) use admission::{MOST_OPEN_TRIPS, garbage};
pub(super) use transfers::Purpose;

/// The orders, and everything that is known about them.
#[derive(Debug)]
pub(super) struct Orders {
    own: Hello,
    store: OrderStore,
    promise: Promise,
    ledger: Ledger,
    replication: Replication,
    transfers: Transfers,
    admission: Admission,
    ends: Ends,
    effects: VecDeque<Effect>,
}

/// A change that concerns other components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Report(Report),
    /// There are changes that should not wait for the next periodic beacon.
    Hurry,
    /// The set of open orders has changed.
    Changed,
    LampsChanged,
    /// This call has its first open press.
    Opened(HallCall),
    /// This call has no open press left.
    Closed(HallCall),
}

impl Orders {
    /// Orders with the contents of this node's disk, which tells of so many fire recalls. `rotates`:
    /// whether the mastership rotates while all is well.
    pub(super) fn new(own: Hello, restored: &Restored, recalls: u64, rotates: bool) -> Self {
        let mut store = OrderStore::default();
        store.set_recalls(recalls);
        let mut promise = Promise::new(own.node.clone());
        let mut ledger = Ledger::new(restored, rotates);
        let mut effects = VecDeque::new();
        let mut impossible = 0_usize;
        for record in &restored.records {
            if admission::is_possible(record, own.floors) {
                ledger.know(record.dot);
                store.merge(record.clone(), Timestamp::START);
            } else {
                // Written before such records were refused.
                impossible += 1;
            }
        }
        // Calls that a recall has ended may still be on the disk: their journals go.
        let journals: BTreeSet<_> = restored.records.iter().map(|it| it.dot.journal).collect();
        for journal in journals.into_iter().filter(|it| store.journal(*it).is_none()) {
            ledger.collect(journal, &[]);
        }
        let has_lamps = !is_seeded(SeededBug::LampsNotRestored);
        for order in store.orders().filter(|_| has_lamps) {
            promise.record(order.dot, &own.node, Holding::Durable);
        }
        if impossible > 0 {
            effects.push_back(Effect::Report(Report::Conflict(format!(
                "{impossible} orders on the disk are impossible: they are ignored"
            ))));
        }
        Self {
            own,
            store,
            promise,
            ledger,
            replication: Replication::default(),
            transfers: Transfers::default(),
            admission: Admission::new(),
            ends: Ends::default(),
            effects,
        }
    }

    /// Every order that the node knows of.
    pub(super) fn store(&self) -> &OrderStore {
        &self.store
    }

    /// Returns the next effect of the latest call, oldest first.
    pub(super) fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    fn report(&mut self, report: Report) {
        self.effects.push_back(Effect::Report(report));
    }

    fn hurry(&mut self) {
        self.effects.push_back(Effect::Hurry);
    }

    /// The set of open orders has changed.
    fn invalidate(&mut self) {
        self.effects.push_back(Effect::Changed);
    }

    /// The open hall calls.
    pub(super) fn hall_calls(&self) -> BTreeSet<HallCall> {
        let calls = self.store.calls().filter_map(|call| match call {
            Call::Hall(hall) => Some(*hall),
            Call::Car { .. } => None,
        });
        calls.collect()
    }

    /// The open car calls of this node's own car.
    pub(super) fn own_car_calls(&self) -> BTreeSet<Floor> {
        let calls = self.store.calls().filter_map(|call| match call {
            Call::Car { car, floor } if *car == self.own.node => Some(*floor),
            Call::Car { .. } | Call::Hall(_) => None,
        });
        calls.collect()
    }

    /// The open presses of a hall call.
    pub(super) fn presses(&self, call: HallCall) -> impl Iterator<Item = Dot> {
        let call = Call::Hall(call);
        let presses: Vec<Dot> = self.store.of_call(&call).map(|order| order.dot).collect();
        presses.into_iter()
    }

    /// The call of this node's own car to this floor.
    pub(super) fn ride_to(&self, floor: Floor) -> Ride {
        let call = Call::Car { car: self.own.node.clone(), floor };
        let mut orders = self.store.of_call(&call).peekable();
        if orders.peek().is_none() {
            Ride::Absent
        } else if orders.any(|order| self.promise.is_made(order.dot)) {
            Ride::Promised
        } else {
            Ride::Open
        }
    }

    /// Whether this press is promised to the passenger (P1).
    pub(super) fn is_promised(&self, dot: Dot) -> bool {
        self.promise.is_made(dot)
    }

    /// How many nodes hold an order, of this node and the `heard` ones.
    pub(super) fn holders(&self, dot: Dot, heard: &BTreeSet<NodeId>) -> usize {
        self.promise.living_holders(dot, heard)
    }

    /// Which nodes hold an order, and how, of this node and the `heard` ones, by name.
    pub(super) fn holdings<'a>(
        &'a self,
        dot: Dot,
        heard: &'a BTreeSet<NodeId>,
    ) -> impl Iterator<Item = (&'a NodeId, Holding)> {
        self.promise.living_holdings(dot, heard)
    }

    /// The order lamps that may be lit on this node's panel: every hall call of the fleet, and the
    /// car calls of its own car (F12).
    pub(super) fn lamps(&self) -> LampSet {
        let is_shown = |order: &Order| {
            order.origin == self.own.node || !is_seeded(SeededBug::HallLampsNotReplicated)
        };
        self.store
            .orders()
            .filter(|order| self.promise.is_made(order.dot))
            .filter(|order| match &order.call {
                Call::Hall(_) => is_shown(order),
                Call::Car { car, .. } => *car == self.own.node,
            })
            .filter_map(|order| order.call.button())
            .collect()
    }

    /// The destination calls with a promised press, and when the first of those was made.
    pub(super) fn promised_trips(&self) -> impl Iterator<Item = (Timestamp, HallCall)> {
        let trips = self.store.calls().filter_map(|call| match call {
            Call::Hall(hall) if hall.to.is_some() => Some((call, *hall)),
            Call::Hall(_) | Call::Car { .. } => None,
        });
        trips.filter_map(|(call, hall)| {
            let presses = self.store.of_call(call);
            let promised = presses.filter(|order| self.promise.is_made(order.dot));
            Some((promised.map(|order| order.placed).min()?, hall))
        })
    }

    /// Makes the promises that have become possible while exactly these peers are heard (P1).
    pub(super) fn review_promises(&mut self, heard: impl FnOnce() -> BTreeSet<NodeId>) {
        if is_seeded(SeededBug::NothingPromised) {
            return;
        }
        for dot in self.promise.review(heard) {
            if let Some(call) = self.store.get(dot).map(|order| order.call.clone()) {
                self.report(Report::Promised { call });
            }
            self.effects.push_back(Effect::LampsChanged);
        }
    }

    /// The journal under which orders are placed.
    pub(super) fn journal(&self) -> JournalId {
        self.ledger.journal()
    }

    /// Whether everything is on disk.
    pub(super) fn all_durable(&self) -> bool {
        self.ledger.all_durable()
    }

    /// Whether the disk has failed (P5).
    pub(super) fn has_lost_disk(&self) -> bool {
        self.ledger.failed()
    }

    /// How many records were refused since the start.
    pub(super) fn refused_counts(&self) -> RefusedStatus {
        self.admission.refused_counts()
    }

    /// How many journals have been collected since the start.
    pub(super) fn collected(&self) -> u64 {
        self.admission.collected()
    }

    /// How long the stores of this peer and this node have to differ before a repair, where `usual`
    /// applies to a peer of which nothing was refused.
    pub(super) fn repair_after(&self, peer: &NodeId, usual: Duration, now: Timestamp) -> Duration {
        self.admission.repair_after(peer, usual, now)
    }

    /// This node did not run for `late`, until this moment.
    pub(super) fn excuse(&mut self, late: Duration, now: Timestamp) {
        self.ledger.excuse(late, now);
    }

    /// A peer was discovered. It may not know any of the open orders.
    pub(super) fn peer_discovered(&mut self, peer: &NodeId) {
        let open: Vec<Dot> = self.store.orders().map(|order| order.dot).collect();
        self.replication.found(peer, open.into_iter());
        self.promise.invalidate();
    }

    pub(super) fn peer_lost(&mut self, peer: &NodeId) {
        self.replication.lost(peer);
        self.admission.peer_lost(peer);
        self.promise.forget_node(peer);
        self.promise.invalidate();
    }

    /// Full states have been exchanged with a peer over a new link.
    ///
    /// A state says only whether all of it is on the disk. While that is busy it is not, and under
    /// steady load it may be busy for long: the peer learns here which open orders are there, so that
    /// its lamps don't wait for its own disk (P4).
    pub(super) fn peer_synced(&mut self, peer: &NodeId) {
        let is_told = self.ledger.all_durable();
        let open = self.store.orders().map(|order| order.dot).filter(|_| !is_told);
        let on_disk = open.filter(|dot| self.ledger.is_durable(*dot)).collect();
        self.replication.linked(peer, on_disk);
    }

    /// The link to a peer is closed.
    pub(super) fn peer_disconnected(&mut self, peer: &NodeId) {
        self.replication.disconnected(peer);
    }

    /// The peer's store equals this node's.
    pub(super) fn settle_all(&mut self, peer: &NodeId) {
        self.replication.acked_all(peer);
    }
}

#[cfg(test)]
impl Orders {
    pub(super) fn store_mut(&mut self) -> &mut OrderStore {
        &mut self.store
    }

    pub(super) fn holding(&self, dot: Dot, peer: &NodeId) -> Option<Holding> {
        self.promise.holding(dot, peer)
    }
}
