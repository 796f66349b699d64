//! The replicated set of orders.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::ops::Bound;
use std::time::Duration;

use elevator_driver::Direction;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::model::{Call, Dot, HallCall, JournalId, NodeId, Order, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

/// Every order that this node knows of (F4).
///
/// There is one register per journal and call: the latest press of that call made under the
/// journal, and whether it has been served. The later press wins; for the same press, *served*
/// wins. So a merge takes the greater of two registers, pointwise: it is commutative, associative
/// and idempotent (O2). A press that was served and seen never comes back; a press that nobody
/// served stays (F14); a press that the service had not seen has a higher sequence and survives it
/// (O3). The memory is bounded by the calls that can exist, whatever the history and whatever was
/// lost (O6). Registers of unused journals are collected: see `node/orders/admission/journals.rs`.
///
/// Each open press carries a recall number, how many fire recalls its node knew of when it was placed;
/// of one press the greater number wins. The store ignores a press that is older than the recalls
/// that it knows of, as if nobody had made it.
#[derive(Debug, Clone, Default)]
pub struct OrderStore {
    registers: BTreeMap<Dot, Register>,
    /// The dot of each register.
    dots: BTreeMap<(JournalId, Call), Dot>,
    /// The open dots of each call.
    open: BTreeMap<Call, BTreeSet<Dot>>,
    journals: BTreeMap<JournalId, Journal>,
    /// How many fire recalls are known. No open order has a smaller recall number.
    recalls: u64,
    digest: u64,
}

/// A summary of the registers of one journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Journal {
    /// The node that uses the journal.
    pub(crate) origin: NodeId,
    pub(crate) highest: u64,
    pub(crate) registers: usize,
    /// The open ones among them.
    pub(crate) open: Open,
    /// How many are car calls for the car of another node, which operators can place.
    pub(crate) elsewhere: usize,
}

/// How many calls of one journal are open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Open {
    all: usize,
    trips: usize,
}

impl Open {
    pub(crate) fn is_empty(&self) -> bool {
        self.all == 0
    }

    /// How many destination calls are open.
    pub(crate) fn trips(&self) -> usize {
        self.trips
    }

    fn add(&mut self, call: &Call) {
        self.all += 1;
        self.trips += usize::from(call.is_trip());
    }

    fn remove(&mut self, call: &Call) {
        self.all -= 1;
        self.trips -= usize::from(call.is_trip());
    }
}

#[derive(Debug, Clone)]
struct Register {
    order: Order,
    /// How it was served, if it was.
    service: Option<Service>,
}

/// One register, as sent between nodes and as stored on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The press.
    pub dot: Dot,
    /// The node at which it was made.
    pub origin: NodeId,
    /// The call.
    pub call: Call,
    /// Whether it was served.
    pub state: RecordState,
}

impl Record {
    /// Whether it says of this press, or of a later one in the same register: of one journal and call.
    #[must_use]
    pub fn covers(&self, dot: Dot, call: &Call) -> bool {
        (self.dot.journal, &self.call) == (dot.journal, call) && self.dot.sequence >= dot.sequence
    }
}

/// The state of a press.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordState {
    /// It is open.
    Open {
        /// How long it had waited when the record was made: nodes share no clock.
        waited: Duration,
        /// Its recall number.
        recall: u64,
    },
    /// It was served.
    Served(Service),
}

/// How a press was served, at the floor of its call.
///
/// It is shown to people. It does not affect the equality of stores: of two services of one press every merge keeps the shorter wait,
/// and stores that differ in nothing else are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Service {
    /// How long the press had waited when it was served: nodes share no clock.
    pub waited: Duration,
    /// The car.
    pub car: NodeId,
}

impl RecordState {
    /// Whether the press has been served.
    #[must_use]
    pub fn is_served(&self) -> bool {
        match self {
            Self::Open { .. } => false,
            Self::Served(_) => true,
        }
    }

    #[cfg(test)]
    pub(crate) fn open(waited: Duration) -> Self {
        Self::Open { waited, recall: 0 }
    }

    #[cfg(test)]
    pub(crate) fn served() -> Self {
        let car = NodeId::new("B").unwrap_or_else(|error| unreachable!("{error}"));
        Self::Served(Service { waited: Duration::from_secs(9), car })
    }
}

/// The change made by a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merged {
    /// None: the store already had this or a later state.
    Nothing,
    /// None, because this dot belongs to another call. No sound node sends such a record.
    Refused,
    /// The press is new here, and open. `replaced` is an earlier press of the same register, if it
    /// was open.
    Placed {
        /// The press that the new one replaces.
        replaced: Option<Order>,
    },
    /// The press was open here with a smaller recall number.
    Raised,
    /// The press is served. `closed` is the press of the same register that was open here, if any.
    Served {
        /// The press that was open here.
        closed: Option<Order>,
    },
}

impl OrderStore {
    /// Places a press under a new dot, which must be later than all others of its journal. The
    /// passenger has waited since `since`.
    ///
    /// It replaces the journal's earlier press of the same call and, if that is still open, keeps
    /// its age (F18).
    pub(crate) fn place(
        &mut self,
        dot: Dot,
        origin: &NodeId,
        call: Call,
        since: Timestamp,
        now: Timestamp,
    ) -> Merged {
        let origin = origin.clone();
        let state = RecordState::Open { waited: now.since(since), recall: self.recalls };
        let record = Record { dot, origin, call, state };
        self.merge(record, now)
    }

    /// Records that the car of this node serves a call: closes and returns every press of it known so
    /// far (O3).
    pub(crate) fn serve(&mut self, call: &Call, car: &NodeId, now: Timestamp) -> Vec<Order> {
        let mut dots = self.open.get(call).cloned().unwrap_or_default();
        if is_seeded(SeededBug::ServiceClosesWholeLanding) {
            let others = self.open.iter().filter(|(open, _)| open.floor() == call.floor());
            dots.extend(others.flat_map(|(_, dots)| dots));
        }
        self.serve_presses(&dots, car, now)
    }

    /// Records that the car of this node serves these presses: closes and returns those that are
    /// open.
    pub(crate) fn serve_presses(
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
    pub(crate) fn set_recalls(&mut self, recalls: u64) {
        self.recalls = self.recalls.max(recalls);
    }

    /// The open presses with smaller recall numbers than this.
    pub(crate) fn older_than(&self, recall: u64) -> Vec<Dot> {
        self.orders().filter(|order| order.recall < recall).map(|order| order.dot).collect()
    }

    /// Gives a press this recall number, if it is open with a smaller one; whether it was.
    pub(crate) fn raise(&mut self, dot: Dot, recall: u64) -> bool {
        let open = self.registers.get_mut(&dot).filter(|register| !register.is_served());
        let Some(register) = open.filter(|register| register.order.recall < recall) else {
            return false;
        };
        self.digest ^= register.hash();
        register.order.recall = recall;
        self.digest ^= register.hash();
        true
    }

    /// Merges a record of another node or of the disk.
    pub(crate) fn merge(&mut self, record: Record, now: Timestamp) -> Merged {
        let Record { dot, origin, call, state } = record;
        if matches!(state, RecordState::Open { recall, .. } if recall < self.recalls) {
            return Merged::Nothing;
        }
        let known = self.dots.get(&(dot.journal, call.clone())).copied();
        let takes_all = state.is_served() && is_seeded(SeededBug::ServiceClosesLaterPress);
        let dot = known.filter(|known| takes_all && *known > dot).unwrap_or(dot);
        if known.is_some_and(|known| known > dot) {
            return Merged::Nothing;
        }
        let other = self.registers.get(&dot);
        if let Some(other) = other.filter(|register| register.order.call != call) {
            // One dot, two calls: no sound node sends that. An open order stays. Of two served ones
            // all nodes keep the same one, so that their stores become equal.
            if !other.is_served() || !state.is_served() {
                return Merged::Refused;
            }
            if other.order.call < call {
                return Merged::Nothing;
            }
            self.remove(dot);
        }
        if known == Some(dot) {
            return match state {
                RecordState::Open { waited, recall } => {
                    if let Some(register) = self.registers.get_mut(&dot) {
                        register.order.placed = register.order.placed.min(now - waited);
                    }
                    if self.raise(dot, recall) { Merged::Raised } else { Merged::Nothing }
                }
                RecordState::Served(service) => self
                    .close(dot, service)
                    .map_or(Merged::Nothing, |order| Merged::Served { closed: Some(order) }),
            };
        }
        let before = known.and_then(|known| self.remove(known));
        let (told, recall, service) = match state {
            RecordState::Open { waited, recall } => (now - waited, recall, None),
            RecordState::Served(service) => (now, 0, Some(service)),
        };
        let earlier = before.as_ref().map(|order| order.placed);
        let placed = earlier.map_or(told, |earlier| earlier.min(told));
        let order = Order { dot, origin, call, placed, recall };
        let merged = match service {
            Some(_) => Merged::Served { closed: before },
            None => Merged::Placed { replaced: before },
        };
        self.insert(Register { order, service });
        merged
    }

    /// The record of a press, or `None` if the store does not know it or has a later one in its
    /// place.
    #[must_use]
    pub fn record(&self, dot: Dot, now: Timestamp) -> Option<Record> {
        self.registers.get(&dot).map(|register| register.record(now))
    }

    /// How a press was served, if known.
    #[must_use]
    pub fn service(&self, dot: Dot) -> Option<&Service> {
        self.registers.get(&dot)?.service.as_ref()
    }

    /// The call of this press, if known.
    pub(crate) fn call(&self, dot: Dot) -> Option<&Call> {
        self.registers.get(&dot).map(|register| &register.order.call)
    }

    /// Whether a press of this call is open in this journal.
    #[must_use]
    pub(crate) fn is_open_in(&self, journal: JournalId, call: &Call) -> bool {
        let present = self.dots.get(&(journal, call.clone()));
        present.is_some_and(|dot| self.get(*dot).is_some())
    }

    /// The press in the register of this dot's journal and call, if any.
    #[must_use]
    pub fn present(&self, dot: Dot, call: &Call) -> Option<Dot> {
        self.dots.get(&(dot.journal, call.clone())).copied()
    }

    /// The highest sequence in the registers of this journal, if it has any.
    #[must_use]
    pub(crate) fn highest(&self, journal: JournalId) -> Option<u64> {
        self.journal(journal).map(|journal| journal.highest)
    }

    /// The summary of this journal, if it has registers.
    #[must_use]
    pub(crate) fn journal(&self, journal: JournalId) -> Option<&Journal> {
        self.journals.get(&journal)
    }

    /// The journals that have registers.
    pub(crate) fn each_journal(&self) -> impl Iterator<Item = (JournalId, &Journal)> {
        self.journals.iter().map(|(id, journal)| (*id, journal))
    }

    /// Drops the registers of a journal; returns their dots.
    pub(crate) fn collect(&mut self, journal: JournalId) -> Vec<Dot> {
        let dot = |sequence| Dot { journal, sequence };
        let range = self.registers.range(dot(0)..=dot(u64::MAX));
        let dots: Vec<Dot> = range.map(|(dot, _)| *dot).collect();
        for dot in &dots {
            self.remove(*dot);
        }
        dots
    }

    /// All records.
    pub fn records(&self, now: Timestamp) -> impl Iterator<Item = Record> {
        self.registers.values().map(move |register| register.record(now))
    }

    /// The records with dots below this one, greatest first; all of them if `None`.
    pub(crate) fn records_below(
        &self,
        dot: Option<Dot>,
        now: Timestamp,
    ) -> impl Iterator<Item = Record> {
        let end = dot.map_or(Bound::Unbounded, Bound::Excluded);
        let below = self.registers.range((Bound::Unbounded, end)).rev();
        below.map(move |(_, register)| register.record(now))
    }

    /// The open orders, by dot.
    pub fn orders(&self) -> impl Iterator<Item = &Order> {
        self.open.values().flatten().filter_map(|dot| self.get(*dot))
    }

    /// The open order with this dot.
    #[must_use]
    pub fn get(&self, dot: Dot) -> Option<&Order> {
        self.registers.get(&dot).filter(|register| !register.is_served()).map(|r| &r.order)
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

    /// The number of registers: one per journal and call that was ever pressed (O6).
    #[must_use]
    pub fn registers(&self) -> usize {
        self.registers.len()
    }

    /// The number of journals: one per running node, and a bounded number of others.
    #[must_use]
    pub fn journals(&self) -> usize {
        self.journals.len()
    }

    /// A number that is equal if, and in practice only if, the registers and the known recalls are
    /// equal (O7). Ages do not count, because each node measures them on its own clock.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest.wrapping_add(self.recalls)
    }

    fn insert(&mut self, register: Register) {
        let Order { dot, call, .. } = &register.order;
        self.dots.insert((dot.journal, call.clone()), *dot);
        if !register.is_served() {
            self.open.entry(call.clone()).or_default().insert(*dot);
        }
        self.digest ^= register.hash();
        let journal = self.journals.entry(dot.journal).or_insert_with(|| Journal {
            origin: register.order.origin.clone(),
            highest: 0,
            registers: 0,
            open: Open::default(),
            elsewhere: 0,
        });
        journal.highest = journal.highest.max(dot.sequence);
        journal.registers += 1;
        if !register.is_served() {
            journal.open.add(call);
        }
        journal.elsewhere += usize::from(is_elsewhere(call, &register.order.origin));
        self.registers.insert(*dot, register);
    }

    /// Forgets a press; returns its order if it was open.
    pub(crate) fn remove(&mut self, dot: Dot) -> Option<Order> {
        let register = self.registers.remove(&dot)?;
        self.digest ^= register.hash();
        self.dots.remove(&(dot.journal, register.order.call.clone()));
        self.forget_open(dot, &register.order.call);
        if let Some(journal) = self.journals.get_mut(&dot.journal) {
            journal.registers -= 1;
            let Order { call, origin, .. } = &register.order;
            if !register.is_served() {
                journal.open.remove(call);
            }
            journal.elsewhere -= usize::from(is_elsewhere(call, origin));
            if journal.registers == 0 {
                self.journals.remove(&dot.journal);
            }
        }
        (!register.is_served()).then_some(register.order)
    }

    /// Closes a press if it is open, and records the service in any case.
    fn close(&mut self, dot: Dot, service: Service) -> Option<Order> {
        let register = self.registers.get_mut(&dot)?;
        if let Some(known) = &mut register.service {
            *known = service.min(known.clone());
            return None;
        }
        self.digest ^= register.hash();
        register.service = Some(service);
        self.digest ^= register.hash();
        let order = register.order.clone();
        self.forget_open(dot, &order.call);
        if let Some(journal) = self.journals.get_mut(&dot.journal) {
            journal.open.remove(&order.call);
        }
        Some(order)
    }

    fn forget_open(&mut self, dot: Dot, call: &Call) {
        if let Some(dots) = self.open.get_mut(call) {
            dots.remove(&dot);
            if dots.is_empty() {
                self.open.remove(call);
            }
        }
    }
}

impl Register {
    fn is_served(&self) -> bool {
        self.service.is_some()
    }

    fn record(&self, now: Timestamp) -> Record {
        let Order { dot, origin, call, placed, recall } = self.order.clone();
        let state = match self.service.clone() {
            Some(service) => RecordState::Served(service),
            None => RecordState::Open { waited: now.since(placed), recall },
        };
        Record { dot, origin, call, state }
    }

    /// Each number is written out, so that nodes of any word size and byte order agree. The call is
    /// included because a faulty node may send one press as two calls: nodes with different calls
    /// must not count as holders of each other's orders.
    fn hash(&self) -> u64 {
        let Order { dot, call, .. } = &self.order;
        let mut hasher = SipHasher13::new();
        hasher.write(&dot.journal.0.to_le_bytes());
        hasher.write(&dot.sequence.to_le_bytes());
        let (kind, car, to) = match call {
            Call::Hall(HallCall { to: Some(to), .. }) => (3, None, Some(to)),
            Call::Hall(HallCall { direction: Direction::Up, .. }) => (0, None, None),
            Call::Hall(HallCall { direction: Direction::Down, .. }) => (1, None, None),
            Call::Car { car, .. } => (2, Some(car), None),
        };
        let served = self.is_served() && !is_seeded(SeededBug::DigestOmitsServices);
        hasher.write(&[u8::from(served), kind, call.floor().index()]);
        hasher.write(car.map_or(&[], |car| car.as_str().as_bytes()));
        if let Some(to) = to {
            hasher.write(&[to.index()]);
        }
        let recall = if self.is_served() { 0 } else { self.order.recall };
        hasher.write(&recall.to_le_bytes());
        hasher.finish()
    }
}

/// Whether it is a car call for the car of another node than its origin.
pub(crate) fn is_elsewhere(call: &Call, origin: &NodeId) -> bool {
    match call {
        Call::Hall(_) => false,
        Call::Car { car, .. } => car != origin,
    }
}

#[cfg(test)]
mod tests;
