//! The replicated store: orders and settings, the promises, and what the disk and each peer still
//! lack.
//!
//! ```text
//!   press ───────────────────────┐
//!   records of a peer ──▶ admission ──▶ OrderStore ──▶ Promise ──▶ lamps
//!   settings of a peer, a command ───▶ Settings ├──▶ Ledger ──▶ disk
//!                                          └──▶ Replication, Transfers ──▶ peers
//! ```
//!
//! It knows no link, plan or car. What others need to know goes out as `Effect`s, in order.

mod admission;
mod durable;
mod ends;
mod ledger;
mod orders;
mod parts;
mod promise;
mod records;
mod replication;
mod settings;
mod transfers;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use elevator_driver::{Building, Entrance, LampSet};

use self::admission::Refusals;
use self::ends::Ends;
use self::ledger::Ledger;
use self::promise::Promise;
use self::replication::Replication;
use self::transfers::Transfers;
use crate::model::{Call, Dot, HallCall, Hello, NodeId, Order, Timestamp};
use crate::report::Report;
use crate::seeded::{SeededBug, is_seeded};
use crate::settings::{Key, Register, Settings};

pub use self::admission::Refused;
pub use self::durable::{Change, Lsn, Restored};
pub(crate) use self::orders::MOST_OPEN_TRIPS;
pub use self::orders::OrderStore;
pub(crate) use self::promise::Holding;
pub(crate) use self::records::Ride;
pub use self::records::{Fate, Taken};
pub(crate) use self::transfers::Purpose;
pub use crate::model::{Record, RecordState, Service};

/// Orders and settings, and everything that is known about them.
#[derive(Debug)]
pub(crate) struct Store {
    own: Hello,
    building: Arc<Building>,
    sequence: u64,
    orders: OrderStore,
    settings: Settings,
    promise: Promise,
    pub(crate) ledger: Ledger,
    pub(crate) replication: Replication,
    pub(crate) transfers: Transfers,
    pub(crate) refusals: Refusals,
    ends: Ends,
    effects: VecDeque<Effect>,
}

/// What is replicated, written and acknowledged as one. Settings come first: orders depend on them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Setting(Key),
    Press(Dot),
}

/// A change that concerns other components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// These settings are new. What programs have asked for is not among them.
    Set(Vec<Register>),
    /// What operators may want to know.
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

impl Store {
    /// The contents of this node's disk. `rotates`: whether the mastership rotates while all is
    /// well.
    pub(crate) fn new(
        own: Hello,
        building: Arc<Building>,
        restored: &Restored,
        rotates: bool,
    ) -> Self {
        let mut settings = Settings::default();
        for register in &restored.settings {
            settings.merge(register.clone());
        }
        let mut store = OrderStore::default();
        store.set_recalls(settings.recall_count());
        let mut promise = Promise::new(own.node.clone());
        let mut ledger = Ledger::new(restored, rotates);
        let mut effects = VecDeque::new();
        let records = restored.records.iter();
        let (possible, impossible): (Vec<_>, Vec<_>) =
            records.partition(|record| admission::is_possible(record, &building));
        for record in &possible {
            store.merge((*record).clone(), Timestamp::START);
        }
        // Calls that a recall has ended may still be on the disk.
        let on_disk = possible.iter().map(|record| record.dot);
        on_disk.filter(|dot| !store.knows(*dot)).for_each(|dot| ledger.note(Item::Press(dot)));
        settings.take_dropped().into_iter().for_each(|key| ledger.note(Item::Setting(key)));
        let has_lamps = !is_seeded(SeededBug::LampsNotRestored);
        for order in store.orders().filter(|_| has_lamps) {
            promise.record(order.dot, &own.node, Holding::Durable);
        }
        // In another building they were possible.
        if !impossible.is_empty() {
            let count = impossible.len();
            let what = format!("{count} orders on the disk are impossible: ignoring them");
            effects.push_back(Effect::Report(Report::Conflict { text: what }));
        }
        Self {
            own,
            building,
            sequence: 0,
            orders: store,
            settings,
            promise,
            ledger,
            replication: Replication::default(),
            transfers: Transfers::default(),
            refusals: Refusals::default(),
            ends: Ends::default(),
            effects,
        }
    }

    /// Every order that the node knows of.
    pub(crate) fn orders(&self) -> &OrderStore {
        &self.orders
    }

    /// A number that is equal if, and in practice only if, the stores are equal.
    pub(crate) fn digest(&self) -> u64 {
        self.orders.digest() ^ self.settings.digest()
    }

    /// Returns the next effect of the latest call, oldest first.
    pub(crate) fn poll_effect(&mut self) -> Option<Effect> {
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

    pub(crate) fn hall_calls(&self) -> BTreeSet<HallCall> {
        let calls = self.orders.calls().filter_map(|call| match call {
            Call::Hall(hall) => Some(*hall),
            Call::Car { .. } => None,
        });
        calls.collect()
    }

    pub(crate) fn own_car_calls(&self) -> BTreeSet<Entrance> {
        let calls = self.orders.calls().filter_map(|call| match call {
            Call::Car { car, .. } if *car == self.own.node => Some(call.entrance()),
            Call::Car { .. } | Call::Hall(_) => None,
        });
        calls.collect()
    }

    pub(crate) fn presses(&self, call: HallCall) -> BTreeSet<Dot> {
        self.orders.presses_of(&Call::Hall(call)).collect()
    }

    /// The call of this node's own car to this entrance.
    pub(crate) fn ride_to(&self, entrance: Entrance) -> Ride {
        let call = Call::ride(&self.own.node, entrance);
        let mut orders = self.orders.of_call(&call).peekable();
        if orders.peek().is_none() {
            Ride::Absent
        } else if orders.any(|order| self.promise.is_made(order.dot)) {
            Ride::Promised
        } else {
            Ride::Open
        }
    }

    /// Whether this press is promised to the passenger (P1).
    pub(crate) fn is_promised(&self, dot: Dot) -> bool {
        self.promise.is_made(dot)
    }

    /// Which of this node and the `heard` ones hold an order, and how.
    pub(crate) fn holdings<'a>(
        &'a self,
        dot: Dot,
        heard: &'a BTreeSet<NodeId>,
    ) -> impl Iterator<Item = (&'a NodeId, Holding)> {
        self.promise.living_holdings(dot, heard)
    }

    /// The order lamps that may be lit on this panel: all hall calls, and its car's calls (F12).
    pub(crate) fn lamps(&self) -> LampSet {
        let is_shown = |order: &Order| {
            order.origin == self.own.node || !is_seeded(SeededBug::HallLampsNotReplicated)
        };
        self.orders
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
    pub(crate) fn promised_trips(&self) -> impl Iterator<Item = (Timestamp, HallCall)> {
        let trips = self.orders.calls().filter_map(|call| match call {
            Call::Hall(hall) if hall.to.is_some() => Some((call, *hall)),
            Call::Hall(_) | Call::Car { .. } => None,
        });
        trips.filter_map(|(call, hall)| {
            let presses = self.orders.of_call(call);
            let promised = presses.filter(|order| self.promise.is_made(order.dot));
            Some((promised.map(|order| order.placed).min()?, hall))
        })
    }

    /// Makes the promises that have become possible while exactly these peers are heard (P1).
    pub(crate) fn review_promises(&mut self, heard: impl FnOnce() -> BTreeSet<NodeId>) {
        if is_seeded(SeededBug::NothingPromised) {
            return;
        }
        for dot in self.promise.review(heard) {
            if let Some(call) = self.orders.get(dot).map(|order| order.call.clone()) {
                self.report(Report::Promised { call });
            }
            self.effects.push_back(Effect::LampsChanged);
        }
    }

    /// A peer was discovered. It may know none of the open orders, and nothing of what is set.
    pub(crate) fn peer_discovered(&mut self, peer: &NodeId) {
        let settings = self.settings.all().filter(|_| !is_seeded(SeededBug::SettingsSentOnce));
        let settings = settings.map(|it| Item::Setting(it.setting.key()));
        let open = self.orders.orders().map(|order| Item::Press(order.dot));
        self.replication.found(peer, settings.chain(open));
        self.promise.invalidate();
    }

    pub(crate) fn peer_lost(&mut self, peer: &NodeId) {
        self.replication.lost(peer);
        self.promise.forget_node(peer);
        self.promise.invalidate();
    }

    /// Full states have been exchanged with a peer over a new link. A state says only whether all
    /// of it is on the disk, which may be busy for long: the peer learns here which open orders are
    /// there, so that its lamps don't wait for its own disk (P4).
    pub(crate) fn peer_synced(&mut self, peer: &NodeId) {
        let open = self.orders.orders().map(|order| order.dot);
        let on_disk = open.filter(|dot| self.ledger.is_durable(*dot)).map(Item::Press).collect();
        self.replication.linked(peer, on_disk);
    }
}

#[cfg(test)]
impl Store {
    /// Whether a peer has not acknowledged this press.
    pub(crate) fn owes(&self, dot: Dot) -> bool {
        self.replication.is_owed(&Item::Press(dot))
    }

    pub(crate) fn orders_mut(&mut self) -> &mut OrderStore {
        &mut self.orders
    }

    pub(crate) fn holding(&self, dot: Dot, peer: &NodeId) -> Option<Holding> {
        self.promise.holding(dot, peer)
    }
}
