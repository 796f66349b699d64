//! The replicated set of orders.

mod bounds;
mod entry;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use crate::model::{Call, Dot, NodeId, Nonce, Order, Record, RecordState, Service, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

pub(crate) use self::bounds::MOST_OPEN_TRIPS;
pub(crate) use self::entry::Entry;

/// The most entries of a register. To forget one costs at most one more service.
const MOST_INCARNATIONS: usize = 4;

/// Every order that this node knows of (F4).
///
/// There is one register per call and origin, the node at which it was pressed. A register has one
/// entry per incarnation of its origin: the latest press made by that process, and whether it has
/// been served. The later press wins; for the same press, *served* wins. A new press *absorbs* the
/// entries of all other incarnations that its node knows, and remembers them, so that they don't
/// come back while it stands. A call is open while any entry is.
///
/// So a merge takes the greater of two registers, pointwise: it is commutative, associative and
/// idempotent (O2). A press that was served and seen never comes back; a press that nobody served,
/// or that the service had not seen, stays (F14, O3). Nothing about an incarnation is read from the
/// disk, so a lost, old or cloned disk can't make two presses look alike. The memory is bounded by
/// the calls that can exist (O6).
///
/// Each open press carries a recall number, how many fire recalls its node knew of when it was
/// placed; of one press the greater number wins. The store ignores a press that is older than the
/// recalls that it knows of, as if nobody had made it.
#[derive(Debug, Clone, Default)]
pub struct OrderStore {
    /// The incarnations with an entry, of each call and origin.
    registers: BTreeMap<Place, BTreeSet<Nonce>>,
    entries: BTreeMap<Dot, Entry>,
    dots: BTreeMap<(Nonce, Call), Dot>,
    open: BTreeMap<Call, BTreeSet<Dot>>,
    origins: BTreeMap<NodeId, Origin>,
    /// How many fire recalls are known. No open order has a smaller recall number.
    recalls: u64,
    digest: u64,
}

type Place = (Call, NodeId);

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    pub(crate) change: Change,
    /// The entries that are no longer kept: replaced, absorbed, or dropped for want of room.
    pub(crate) gone: Vec<Entry>,
}

/// What a merge has changed of the press that was merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing: the store already had this or a later state.
    Nothing,
    /// Nothing: the dot is another call's, or there is no room. The press counts as never received.
    Refused,
    /// The press is new here, and open.
    Placed,
    /// The press was open here with a smaller recall number.
    Raised,
    /// The press is served. `closed` is its order, if it was open here.
    Served { closed: Option<Order> },
}

impl OrderStore {
    /// Places a press under a new dot, later than all others of its incarnation. It absorbs what
    /// other incarnations of its node have left, and keeps the age of an open entry that it
    /// replaces (F18).
    pub(super) fn place(
        &mut self,
        dot: Dot,
        origin: &NodeId,
        call: Call,
        now: Timestamp,
    ) -> Merged {
        let place = (call, origin.clone());
        let mut absorbed = BTreeMap::new();
        for entry in self.register(&place) {
            let others = entry.absorbed.iter().chain([&entry.order.dot]);
            for other in others.filter(|other| other.incarnation != dot.incarnation) {
                let last: &mut u64 = absorbed.entry(other.incarnation).or_default();
                *last = other.sequence.max(*last);
            }
        }
        while absorbed.len() > MOST_INCARNATIONS {
            absorbed.pop_first();
        }
        let absorbed = absorbed.into_iter();
        let absorbed = absorbed.map(|(incarnation, sequence)| Dot { incarnation, sequence });
        let absorbed = absorbed.collect();
        let (call, origin) = place;
        let state = RecordState::Open { waited: Duration::ZERO, recall: self.recalls };
        let mut gone = Vec::new();
        let record = Record { dot, origin, call, state, absorbed };
        let change = self.merge_entry(record, &mut gone, now);
        Merged { change, gone }
    }

    /// The car of this node serves a call: closes and returns every press of it known (O3).
    pub(super) fn serve(&mut self, call: &Call, car: &NodeId, now: Timestamp) -> Vec<Order> {
        let mut dots = self.open.get(call).cloned().unwrap_or_default();
        if is_seeded(SeededBug::ServiceClosesWholeLanding) {
            let others = self.open.iter().filter(|(open, _)| open.floor() == call.floor());
            dots.extend(others.flat_map(|(_, dots)| dots));
        }
        self.serve_presses(&dots, car, now)
    }

    /// The car of this node serves these presses: closes and returns those that are open.
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

    #[must_use]
    pub fn recalls(&self) -> u64 {
        self.recalls
    }

    /// There have been this many fire recalls. The caller ends or renumbers the orders that are
    /// older.
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
        let change = self.merge_entry(record, &mut gone, now);
        Merged { change, gone }
    }

    /// Merges a record of an origin for which there is room.
    fn merge_entry(&mut self, record: Record, gone: &mut Vec<Entry>, now: Timestamp) -> Change {
        let Record { dot, origin, call, state, absorbed } = record;
        let other = self.entries.get(&dot).map(|entry| &entry.order);
        if other.is_some_and(|order| (&order.call, &order.origin) != (&call, &origin)) {
            return Change::Refused;
        }
        let known = self.latest(dot.incarnation, &call);
        let takes_all = state.is_served() && is_seeded(SeededBug::ServiceClosesLaterPress);
        let dot = known.filter(|known| takes_all && *known > dot).unwrap_or(dot);
        let place = (call, origin);
        let is_absorbed = self.register(&place).any(|entry| entry.absorbs(dot));
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
        let is_replaced =
            |of: &Dot| known == Some(*of) || absorbed.iter().any(|by| by.is_later_press_of(*of));
        let replaced = self.register(&place).map(|entry| entry.order.dot).filter(is_replaced);
        let replaced: Vec<Dot> = replaced.collect();
        if replaced.is_empty() && !self.make_room(&place, dot.incarnation, state.is_served(), gone)
        {
            return if state.is_served() { Change::Nothing } else { Change::Refused };
        }
        let (told, recall, service) = match state {
            RecordState::Open { waited, recall } => (now - waited, recall, None),
            RecordState::Served(service) => (now, 0, Some(service)),
        };
        let open = replaced.iter().filter_map(|dot| self.get(*dot));
        let placed = open.map(|order| order.placed).fold(told, Timestamp::min);
        for dot in replaced {
            gone.extend(self.take(dot));
        }
        let change =
            if service.is_some() { Change::Served { closed: None } } else { Change::Placed };
        let (call, origin) = place;
        let order = Order { dot, origin, call, placed, recall };
        self.insert(Entry { order, service, absorbed });
        change
    }

    /// Whether a register takes an entry of another incarnation. Of too many, the served one with
    /// the lowest incarnation has to go, so that all stores keep the same.
    fn make_room(
        &mut self,
        place: &Place,
        incarnation: Nonce,
        is_served: bool,
        gone: &mut Vec<Entry>,
    ) -> bool {
        if self.register(place).count() < MOST_INCARNATIONS {
            return true;
        }
        let first = self.register(place).find(|entry| entry.is_served());
        let first = first.map(|entry| entry.order.dot);
        let Some(first) = first.filter(|it| !is_served || it.incarnation < incarnation) else {
            return false;
        };
        gone.extend(self.take(first));
        true
    }

    /// The record of a press; `None` if it is unknown or a later one has its place.
    #[must_use]
    pub fn record(&self, dot: Dot, now: Timestamp) -> Option<Record> {
        self.entries.get(&dot).map(|entry| entry.record(now))
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
        let origins = self.origins.keys().map(|origin| (call.clone(), origin.clone()));
        let entries = origins.flat_map(|place| self.register(&place).collect::<Vec<_>>());
        entries.filter(|entry| entry.absorbs(press)).map(|entry| entry.order.dot).collect()
    }

    /// The entries of a call and origin.
    fn register(&self, place: &Place) -> impl Iterator<Item = &Entry> {
        let incarnations = self.registers.get(place).into_iter().flatten();
        let dots = incarnations.filter_map(|it| self.latest(*it, &place.0));
        dots.filter_map(|dot| self.entries.get(&dot))
    }

    /// How much there is of this origin, if anything.
    pub(super) fn origin(&self, node: &NodeId) -> Option<&Origin> {
        self.origins.get(node)
    }

    pub fn records(&self, now: Timestamp) -> impl Iterator<Item = Record> {
        self.entries.values().map(move |entry| entry.record(now))
    }

    /// The records with dots below this one, greatest first; all of them if `None`.
    pub(super) fn records_below(
        &self,
        dot: Option<Dot>,
        now: Timestamp,
    ) -> impl Iterator<Item = Record> {
        let end = dot.map_or(Bound::Unbounded, Bound::Excluded);
        let below = self.entries.range((Bound::Unbounded, end)).rev();
        below.map(move |(_, entry)| entry.record(now))
    }

    /// The open orders, by dot.
    pub fn orders(&self) -> impl Iterator<Item = &Order> {
        self.open.values().flatten().filter_map(|dot| self.get(*dot))
    }

    #[must_use]
    pub fn get(&self, dot: Dot) -> Option<&Order> {
        self.entries.get(&dot).filter(|entry| !entry.is_served()).map(|entry| &entry.order)
    }

    pub fn of_call(&self, call: &Call) -> impl Iterator<Item = &Order> {
        self.open.get(call).into_iter().flatten().filter_map(|dot| self.get(*dot))
    }

    pub fn presses_of(&self, call: &Call) -> impl Iterator<Item = Dot> {
        self.open.get(call).into_iter().flatten().copied()
    }

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

    fn insert(&mut self, entry: Entry) {
        let Order { dot, call, origin, .. } = &entry.order;
        let place = (call.clone(), origin.clone());
        let count = self.origins.entry(origin.clone()).or_default();
        if !self.registers.contains_key(&place) {
            count.registers += 1;
            count.elsewhere += usize::from(is_elsewhere(call, origin));
        }
        self.registers.entry(place).or_default().insert(dot.incarnation);
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

    fn take(&mut self, dot: Dot) -> Option<Entry> {
        let entry = self.entries.remove(&dot)?;
        self.digest ^= entry.hash();
        let Order { call, origin, .. } = &entry.order;
        self.dots.remove(&(dot.incarnation, call.clone()));
        if !entry.is_served() {
            self.close_order(&entry.order);
        }
        let place = (call.clone(), origin.clone());
        let incarnations = self.registers.get_mut(&place)?;
        incarnations.remove(&dot.incarnation);
        if incarnations.is_empty() {
            self.registers.remove(&place);
            let count = self.origins.get_mut(origin)?;
            count.registers -= 1;
            count.elsewhere -= usize::from(is_elsewhere(call, origin));
            if count.registers == 0 {
                self.origins.remove(origin);
            }
        }
        Some(entry)
    }

    /// Forgets an open press that a recall has ended.
    pub(super) fn cancel(&mut self, dot: Dot) -> Option<Entry> {
        self.get(dot)?;
        self.take(dot)
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
