//! The replicated set of orders.

mod bounds;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::ops::Bound;
use std::time::Duration;

use elevator_driver::Direction;
use siphasher::sip::SipHasher13;

use crate::model::{
    Call, Dot, HallCall, NodeId, Nonce, Order, Record, RecordState, Service, Timestamp,
};
use crate::seeded::{SeededBug, is_seeded};

pub(crate) use self::bounds::MOST_OPEN_TRIPS;

/// The most entries of a register, and the most incarnations that it remembers as absorbed. To
/// forget one costs at most one more service.
const MOST_INCARNATIONS: usize = 4;

/// Every order that this node knows of (F4).
///
/// There is one register per call and origin, the node at which it was pressed. A register has one
/// entry per incarnation of its origin: the latest press made by that process, and whether it has
/// been served. The later press wins; for the same press, *served* wins. A new press *absorbs* the
/// entries of all other incarnations that its node knows, and the register remembers that, so that
/// they don't come back. A call is open while any entry is.
///
/// So a merge takes the greater of two registers, pointwise: it is commutative, associative and
/// idempotent (O2). A press that was served and seen never comes back; a press that nobody served
/// stays (F14); a press that the service had not seen has a higher sequence, or another
/// incarnation, and survives it (O3). Nothing about an incarnation is read from the disk, so a
/// lost, old or cloned disk can't make two presses look alike. The memory is bounded by the calls
/// that can exist, whatever the history and whatever was lost (O6).
///
/// Each open press carries a recall number, how many fire recalls its node knew of when it was placed;
/// of one press the greater number wins. The store ignores a press that is older than the recalls
/// that it knows of, as if nobody had made it.
#[derive(Debug, Clone, Default)]
pub struct OrderStore {
    registers: BTreeMap<Place, Register>,
    entries: BTreeMap<Dot, Entry>,
    /// The dot of each entry.
    dots: BTreeMap<(Nonce, Call), Dot>,
    /// The open dots of each call.
    open: BTreeMap<Call, BTreeSet<Dot>>,
    origins: BTreeMap<NodeId, Origin>,
    /// How many fire recalls are known. No open order has a smaller recall number.
    recalls: u64,
    digest: u64,
}

/// A call and its origin.
type Place = (Call, NodeId);

/// What the store has of one call and origin.
#[derive(Debug, Clone, Default)]
struct Register {
    entries: BTreeSet<Nonce>,
    /// The latest press of each incarnation that a later press has absorbed.
    absorbed: BTreeMap<Nonce, u64>,
}

/// The latest press of a call by one incarnation of its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) order: Order,
    /// How it was served, if it was.
    pub(crate) service: Option<Service>,
}

/// How much the store has of one origin.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    registers: usize,
    open: usize,
    /// How many destination calls are open.
    pub(super) open_trips: usize,
    /// How many registers are of car calls for the cars of other nodes, which operators can place.
    elsewhere: usize,
}

/// The change made by a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// What became of the press.
    pub(crate) change: Change,
    /// The entries that are no longer kept: replaced, absorbed, or dropped for want of room.
    pub(crate) gone: Vec<Entry>,
}

/// What a merge has changed of the press that was merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing: the store already had this or a later state.
    Nothing,
    /// Nothing, because this dot belongs to another call, or the register has no room: the press
    /// counts as never received.
    Refused,
    /// The press is new here, and open.
    Placed,
    /// The press was open here with a smaller recall number.
    Raised,
    /// The press is served. `closed` is its order, if it was open here.
    Served {
        /// The press that was open here.
        closed: Option<Order>,
    },
}

impl OrderStore {
    /// Places a press under a new dot, which must be later than all others of its incarnation. The
    /// press absorbs what other incarnations of its node have left.
    ///
    /// If one of the entries that it replaces is open, it keeps that one's age (F18).
    pub(super) fn place(
        &mut self,
        dot: Dot,
        origin: &NodeId,
        call: Call,
        now: Timestamp,
    ) -> Merged {
        let known = self.registers.get(&(call.clone(), origin.clone()));
        let others = known.into_iter().flat_map(|register| &register.entries);
        let others = others.filter(|incarnation| **incarnation != dot.incarnation);
        let absorbed = others.filter_map(|it| self.dots.get(&(*it, call.clone()))).copied();
        let absorbed = absorbed.collect();
        let (origin, waited) = (origin.clone(), Duration::ZERO);
        let state = RecordState::Open { waited, recall: self.recalls };
        self.merge(Record { dot, origin, call, state, absorbed }, now)
    }

    /// Records that the car of this node serves a call: closes and returns every press of it known so
    /// far (O3).
    pub(super) fn serve(&mut self, call: &Call, car: &NodeId, now: Timestamp) -> Vec<Order> {
        let mut dots = self.open.get(call).cloned().unwrap_or_default();
        if is_seeded(SeededBug::ServiceClosesWholeLanding) {
            let others = self.open.iter().filter(|(open, _)| open.floor() == call.floor());
            dots.extend(others.flat_map(|(_, dots)| dots));
        }
        self.serve_presses(&dots, car, now)
    }

    /// Records that the car of this node serves these presses: closes and returns those that are
    /// open.
    pub(super) fn serve_presses(
        &mut self,
        dots: &BTreeSet<Dot>,
        car: &NodeId,
        now: Timestamp,
    ) -> Vec<Order> {
        let mut served = Vec::with_capacity(dots.len());
        for dot in dots {
            if let Some(order) = self.get(*dot).cloned() {
                let service = Service { waited: now.since(order.placed), car: car.clone() };
                served.extend(self.close(*dot, service));
            }
        }
        served
    }

    /// How many fire recalls are known.
    #[must_use]
    pub fn recalls(&self) -> u64 {
        self.recalls
    }

    /// There have been so many fire recalls. The caller ends or renumbers the orders that are older.
    pub(super) fn set_recalls(&mut self, recalls: u64) {
        self.recalls = self.recalls.max(recalls);
    }

    /// The open presses with smaller recall numbers than this.
    pub(super) fn older_than(&self, recall: u64) -> Vec<Dot> {
        self.orders().filter(|order| order.recall < recall).map(|order| order.dot).collect()
    }

    /// Gives a press this recall number, if it is open with a smaller one; whether it was.
    pub(super) fn raise(&mut self, dot: Dot, recall: u64) -> bool {
        let open = self.entries.get_mut(&dot).filter(|entry| !entry.is_served());
        let Some(entry) = open.filter(|entry| entry.order.recall < recall) else {
            return false;
        };
        self.digest ^= entry.hash();
        entry.order.recall = recall;
        self.digest ^= entry.hash();
        true
    }

    /// Merges a record of another node or of the disk.
    pub(crate) fn merge(&mut self, record: Record, now: Timestamp) -> Merged {
        let mut gone = Vec::new();
        if matches!(record.state, RecordState::Open { recall, .. } if recall < self.recalls) {
            return Merged { change: Change::Nothing, gone };
        }
        let is_served = record.state.is_served();
        if !self.make_room_for(&record.origin, is_served, &mut gone) {
            let change = if is_served { Change::Nothing } else { Change::Refused };
            return Merged { change, gone };
        }
        let place = (record.call.clone(), record.origin.clone());
        for dot in &record.absorbed {
            self.absorb(*dot, &place, &mut gone);
        }
        let change = self.merge_entry(record, &mut gone, now);
        self.drop_if_empty(&place);
        Merged { change, gone }
    }

    /// A later press has absorbed this one, and all earlier ones of its incarnation.
    fn absorb(&mut self, dot: Dot, place: &Place, gone: &mut Vec<Entry>) {
        let register = self.register(place);
        let before = register.absorbed.get(&dot.incarnation).copied();
        if before.is_some_and(|before| before >= dot.sequence) {
            return;
        }
        register.absorbed.insert(dot.incarnation, dot.sequence);
        let is_over = register.absorbed.len() > MOST_INCARNATIONS;
        let forgotten = if is_over { register.absorbed.pop_first() } else { None };
        let earlier = before.map(|sequence| Dot { sequence, ..dot });
        let forgotten = forgotten.map(|(incarnation, sequence)| Dot { incarnation, sequence });
        for changed in [Some(dot), earlier, forgotten].into_iter().flatten() {
            self.digest ^= hash_absorbed(place, changed);
        }
        if let Some(entry) = self.latest(dot.incarnation, &place.0).filter(|entry| *entry <= dot) {
            gone.extend(self.take(entry));
        }
    }

    fn merge_entry(&mut self, record: Record, gone: &mut Vec<Entry>, now: Timestamp) -> Change {
        let Record { dot, origin, call, state, absorbed: _ } = record;
        let other = self.entries.get(&dot).map(|entry| &entry.order);
        if other.is_some_and(|order| (&order.call, &order.origin) != (&call, &origin)) {
            return Change::Refused;
        }
        let known = self.latest(dot.incarnation, &call);
        let takes_all = state.is_served() && is_seeded(SeededBug::ServiceClosesLaterPress);
        let dot = known.filter(|known| takes_all && *known > dot).unwrap_or(dot);
        let place = (call, origin);
        let register = self.registers.get(&place);
        let absorbed = register.and_then(|register| register.absorbed.get(&dot.incarnation));
        let is_absorbed = absorbed.is_some_and(|last| *last >= dot.sequence);
        if is_absorbed || known.is_some_and(|known| known > dot) {
            return Change::Nothing;
        }
        if known == Some(dot) {
            return match state {
                RecordState::Open { waited, recall } => {
                    if let Some(entry) = self.entries.get_mut(&dot) {
                        entry.order.placed = entry.order.placed.min(now - waited);
                    }
                    if self.raise(dot, recall) { Change::Raised } else { Change::Nothing }
                }
                RecordState::Served(service) => self
                    .close(dot, service)
                    .map_or(Change::Nothing, |order| Change::Served { closed: Some(order) }),
            };
        }
        if let Some(known) = known {
            gone.extend(self.take(known));
        } else if !self.make_room(&place, dot.incarnation, state.is_served(), gone) {
            return if state.is_served() { Change::Nothing } else { Change::Refused };
        }
        let (told, recall, service) = match state {
            RecordState::Open { waited, recall } => (now - waited, recall, None),
            RecordState::Served(service) => (now, 0, Some(service)),
        };
        let open = gone.iter().filter(|it| !it.is_served());
        let placed = open.map(|entry| entry.order.placed).fold(told, Timestamp::min);
        let change =
            if service.is_some() { Change::Served { closed: None } } else { Change::Placed };
        let (call, origin) = place;
        self.insert(Entry { order: Order { dot, origin, call, placed, recall }, service });
        change
    }

    /// Whether a register takes an entry of another incarnation. Of too many, the served one with the
    /// lowest incarnation has to go, so that all stores keep the same.
    fn make_room(
        &mut self,
        place: &Place,
        incarnation: Nonce,
        is_served: bool,
        gone: &mut Vec<Entry>,
    ) -> bool {
        let Some(register) = self.registers.get(place) else { return true };
        if register.entries.len() < MOST_INCARNATIONS {
            return true;
        }
        let dots = register.entries.iter().filter_map(|it| self.latest(*it, &place.0));
        let mut served = dots.filter(|dot| self.get(*dot).is_none());
        let Some(first) = served.next().filter(|it| !is_served || it.incarnation < incarnation)
        else {
            return false;
        };
        gone.extend(self.take(first));
        true
    }

    /// The record of a press, or `None` if the store does not know it or has a later one in its
    /// place.
    #[must_use]
    pub fn record(&self, dot: Dot, now: Timestamp) -> Option<Record> {
        self.entries.get(&dot).map(|entry| self.record_of(entry, now))
    }

    /// Whether the store has this press, open or served.
    pub(super) fn knows(&self, dot: Dot) -> bool {
        self.entries.contains_key(&dot)
    }

    /// How a press was served, if known.
    #[must_use]
    pub fn service(&self, dot: Dot) -> Option<&Service> {
        self.entries.get(&dot)?.service.as_ref()
    }

    /// Whether a press of this call by this node is open.
    #[must_use]
    pub(super) fn is_open_at(&self, origin: &NodeId, call: &Call) -> bool {
        self.of_call(call).any(|order| order.origin == *origin)
    }

    /// The latest press of this call by one incarnation of a node, if the store has one.
    #[must_use]
    pub fn latest(&self, incarnation: Nonce, call: &Call) -> Option<Dot> {
        self.dots.get(&(incarnation, call.clone())).copied()
    }

    /// Where a press is: under its own dot or, once that has been absorbed or replaced, under those
    /// that took its place. Nothing if the store knows no such press.
    #[must_use]
    pub fn present(&self, press: Dot, call: &Call) -> Vec<Dot> {
        if let Some(latest) = self.latest(press.incarnation, call) {
            return if latest >= press { vec![latest] } else { Vec::new() };
        }
        let of_call = self.registers_of(call);
        let absorbing = of_call.filter(|register| {
            register.absorbed.get(&press.incarnation).is_some_and(|last| *last >= press.sequence)
        });
        let incarnations = absorbing.flat_map(|register| &register.entries);
        incarnations.filter_map(|incarnation| self.latest(*incarnation, call)).collect()
    }

    fn registers_of(&self, call: &Call) -> impl Iterator<Item = &Register> {
        self.origins.keys().filter_map(|it| self.registers.get(&(call.clone(), it.clone())))
    }

    /// How much there is of this origin, if anything.
    pub(super) fn origin(&self, node: &NodeId) -> Option<&Origin> {
        self.origins.get(node)
    }

    /// All records.
    pub fn records(&self, now: Timestamp) -> impl Iterator<Item = Record> {
        self.entries.values().map(move |entry| self.record_of(entry, now))
    }

    /// The records with dots below this one, greatest first; all of them if `None`.
    pub(super) fn records_below(
        &self,
        dot: Option<Dot>,
        now: Timestamp,
    ) -> impl Iterator<Item = Record> {
        let end = dot.map_or(Bound::Unbounded, Bound::Excluded);
        let below = self.entries.range((Bound::Unbounded, end)).rev();
        below.map(move |(_, entry)| self.record_of(entry, now))
    }

    /// The open orders, by dot.
    pub fn orders(&self) -> impl Iterator<Item = &Order> {
        self.open.values().flatten().filter_map(|dot| self.get(*dot))
    }

    /// The open order with this dot.
    #[must_use]
    pub fn get(&self, dot: Dot) -> Option<&Order> {
        self.entries.get(&dot).filter(|entry| !entry.is_served()).map(|entry| &entry.order)
    }

    /// The open orders of one call.
    pub fn of_call(&self, call: &Call) -> impl Iterator<Item = &Order> {
        self.open.get(call).into_iter().flatten().filter_map(|dot| self.get(*dot))
    }

    /// The open presses of one call.
    pub fn presses_of(&self, call: &Call) -> impl Iterator<Item = Dot> {
        self.open.get(call).into_iter().flatten().copied()
    }

    /// Whether an order of this call is open.
    #[must_use]
    pub fn is_open(&self, call: &Call) -> bool {
        self.open.contains_key(call)
    }

    /// The calls with at least one open order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.open.keys()
    }

    /// How long the oldest press of a call has waited, or `None` if it is not open.
    #[must_use]
    pub fn waited(&self, call: &Call, now: Timestamp) -> Option<Duration> {
        self.of_call(call).map(|order| now.since(order.placed)).max()
    }

    /// The number of registers: one per origin and call that was ever pressed there (O6).
    #[must_use]
    pub fn registers(&self) -> usize {
        self.registers.len()
    }

    /// The number of nodes with registers, at most 128.
    #[must_use]
    pub fn origins(&self) -> usize {
        self.origins.len()
    }

    /// A number that is equal if, and in practice only if, the registers and the known recalls are
    /// equal (O7). Ages do not count, because each node measures them on its own clock.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest.wrapping_add(self.recalls)
    }

    fn record_of(&self, entry: &Entry, now: Timestamp) -> Record {
        let Order { dot, origin, call, placed, recall } = entry.order.clone();
        let state = match entry.service.clone() {
            Some(service) => RecordState::Served(service),
            None => RecordState::Open { waited: now.since(placed), recall },
        };
        let place = (call, origin);
        let absorbed = self.registers.get(&place).map(|it| &it.absorbed).into_iter().flatten();
        let dots = absorbed
            .map(|(incarnation, sequence)| Dot { incarnation: *incarnation, sequence: *sequence });
        let absorbed = dots.collect();
        let (call, origin) = place;
        Record { dot, origin, call, state, absorbed }
    }

    /// The register of a call and origin, which may be new.
    fn register(&mut self, place: &Place) -> &mut Register {
        if !self.registers.contains_key(place) {
            let origin = self.origins.entry(place.1.clone()).or_default();
            origin.registers += 1;
            origin.elsewhere += usize::from(is_elsewhere(&place.0, &place.1));
        }
        self.registers.entry(place.clone()).or_default()
    }

    /// Forgets a register without entries.
    fn drop_register(&mut self, place: &Place) {
        let Some(register) = self.registers.remove(place) else { return };
        for (incarnation, sequence) in register.absorbed {
            self.digest ^= hash_absorbed(place, Dot { incarnation, sequence });
        }
        if let Some(origin) = self.origins.get_mut(&place.1) {
            origin.registers -= 1;
            origin.elsewhere -= usize::from(is_elsewhere(&place.0, &place.1));
            if origin.registers == 0 {
                self.origins.remove(&place.1);
            }
        }
    }

    fn insert(&mut self, entry: Entry) {
        let Order { dot, call, origin, .. } = &entry.order;
        self.register(&(call.clone(), origin.clone())).entries.insert(dot.incarnation);
        self.dots.insert((dot.incarnation, call.clone()), *dot);
        if !entry.is_served() {
            self.open.entry(call.clone()).or_default().insert(*dot);
            if let Some(origin) = self.origins.get_mut(origin) {
                origin.open += 1;
                origin.open_trips += usize::from(call.is_trip());
            }
        }
        self.digest ^= entry.hash();
        self.entries.insert(*dot, entry);
    }

    /// Removes an entry from its register, which stays.
    fn take(&mut self, dot: Dot) -> Option<Entry> {
        let entry = self.entries.remove(&dot)?;
        self.digest ^= entry.hash();
        let Order { call, origin, .. } = &entry.order;
        self.dots.remove(&(dot.incarnation, call.clone()));
        if let Some(register) = self.registers.get_mut(&(call.clone(), origin.clone())) {
            register.entries.remove(&dot.incarnation);
        }
        if !entry.is_served() {
            self.close_order(&entry.order);
        }
        Some(entry)
    }

    /// Forgets an open press that a recall has ended.
    pub(super) fn cancel(&mut self, dot: Dot) -> Option<Order> {
        self.get(dot)?;
        let Entry { order, .. } = self.take(dot)?;
        self.drop_if_empty(&(order.call.clone(), order.origin.clone()));
        Some(order)
    }

    fn drop_if_empty(&mut self, place: &Place) {
        if self.registers.get(place).is_some_and(|register| register.entries.is_empty()) {
            self.drop_register(place);
        }
    }

    /// Closes a press if it is open, and records the service in any case.
    fn close(&mut self, dot: Dot, service: Service) -> Option<Order> {
        let entry = self.entries.get_mut(&dot)?;
        if let Some(known) = &mut entry.service {
            *known = service.min(known.clone());
            return None;
        }
        self.digest ^= entry.hash();
        entry.service = Some(service);
        self.digest ^= entry.hash();
        let order = entry.order.clone();
        self.close_order(&order);
        Some(order)
    }

    /// An order is open no longer.
    fn close_order(&mut self, order: &Order) {
        if let Some(dots) = self.open.get_mut(&order.call) {
            dots.remove(&order.dot);
            if dots.is_empty() {
                self.open.remove(&order.call);
            }
        }
        if let Some(origin) = self.origins.get_mut(&order.origin) {
            origin.open -= 1;
            origin.open_trips -= usize::from(order.call.is_trip());
        }
    }
}

impl Entry {
    pub(super) fn is_served(&self) -> bool {
        self.service.is_some()
    }

    /// The call is included because a faulty node may send one press as two calls: nodes with
    /// different calls must not count as holders of each other's orders.
    fn hash(&self) -> u64 {
        let Order { dot, call, recall, .. } = &self.order;
        let served = self.is_served() && !is_seeded(SeededBug::DigestOmitsServices);
        let recall = if self.is_served() { 0 } else { *recall };
        let mut hasher = hasher_of(*dot, call);
        hasher.write(&[u8::from(served)]);
        hasher.write(&recall.to_le_bytes());
        hasher.finish()
    }
}

/// What one absorbed press adds to the digest.
fn hash_absorbed((call, origin): &Place, dot: Dot) -> u64 {
    let mut hasher = hasher_of(dot, call);
    hasher.write(origin.as_str().as_bytes());
    hasher.finish()
}

/// Each number is written out, so that nodes of any word size and byte order agree.
fn hasher_of(dot: Dot, call: &Call) -> SipHasher13 {
    let mut hasher = SipHasher13::new();
    hasher.write(&dot.incarnation.0.to_le_bytes());
    hasher.write(&dot.sequence.to_le_bytes());
    let (kind, car, to) = match call {
        Call::Hall(HallCall { to: Some(to), .. }) => (3, None, Some(to)),
        Call::Hall(HallCall { direction: Direction::Up, .. }) => (0, None, None),
        Call::Hall(HallCall { direction: Direction::Down, .. }) => (1, None, None),
        Call::Car { car, .. } => (2, Some(car), None),
    };
    hasher.write(&[kind, call.floor().index()]);
    hasher.write(car.map_or(&[], |car| car.as_str().as_bytes()));
    if let Some(to) = to {
        hasher.write(&[to.index()]);
    }
    hasher
}

/// Whether it is a car call for the car of another node than its origin.
fn is_elsewhere(call: &Call, origin: &NodeId) -> bool {
    match call {
        Call::Hall(_) => false,
        Call::Car { car, .. } => car != origin,
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
