//! Bounds on the number of journals and registers.
//!
//! The store is bounded by the calls that can exist only if the journals are bounded. A faulty node
//! can invent any number of journals, and a node whose disk fails draws a new one at each start.
//! So:
//!
//! - A journal that a heard node *announces* in its beacons is kept, and so is this node's own. Its
//!   registers are bounded by the calls that its building can have, because only records of its
//!   origin count: at n floors 3n − 2 buttons and n(n − 1) destination calls.
//! - Of the destination calls of a journal few are open at a time ([`MOST_OPEN_TRIPS`]): there are
//!   up to 64,262, and each open one costs every node time whenever anything happens.
//! - Of the others the most valuable are kept: first those with orders that can be served, then in
//!   turn one of each origin, those with the highest sequences first. So a flood under one name, or a
//!   few, takes no room from the rest. What is not kept is *collected*: dropped from memory and disk. Nodes that know the same cars rank journals alike, so their stores converge if
//!   they have heard of the same journals. Otherwise they stay different, and repair that once a minute.
//! - An order can be served if it is a hall call, or a car call of this node's own car or of one whose
//!   node is a peer, or was one for 2 s before it was lost. A car call of any other car may be invented
//!   and stay open forever, so it counts no more than a served one: in a store that is full under many
//!   names, a node that has not heard that car since its start does not keep it. Others do.
//! - A journal with open orders that can be served is not collected, nor is one that had some a
//!   moment ago ([`RECENT`]). If there is no room, or one peer has brought too many of them, the newcomer
//!   is refused as if it had never arrived. The peer keeps sending it, and it is accepted once there
//!   is room. A few journals of each node that counts as a car's have a place in any case
//!   ([`PLACES`]): what a member left behind survives a flood under other names.
//!
//! A call that was served and collected may come back from a node that missed the service, and is
//! then served twice. That is allowed; a lost order is not.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Knowledge;
use crate::model::{Call, JournalId, NodeId, Timestamp};
use crate::orders::{Journal, OrderStore, Record, is_elsewhere};

/// How many journals are kept that no node announces.
const MOST_JOURNALS: usize = 192;

/// How many of their registers are kept if some can be collected, and half the absolute limit.
const MOST_REGISTERS: usize = 24_576;

/// How many of these journals with orders that can be served one peer may bring. No sound fleet has
/// so many, because each belongs to a node that is gone.
const MOST_OF_A_PEER: usize = MOST_JOURNALS / 3;

/// How many journals of one member's that nobody announces have a place in any case. A member has
/// more only if its disk has failed at so many starts, each time with orders left behind.
const PLACES: usize = 8;

/// How many destination calls of one journal may be open. A node places no more; of others it accepts
/// twice as many, because it may learn of a press before it learns of the services that made room.
pub(in crate::node) const MOST_OPEN_TRIPS: usize = 256;

/// For how many other cars a node may place car calls, as operators can.
const MOST_CARS: usize = 64;

/// How often to check whether a journal has lost its announcer, and which have orders that can be
/// served.
const CHECK_PERIOD: Duration = Duration::from_millis(100);

/// For how long a journal counts as one with open orders that can be served once all are served.
/// Until then a peer may still send one of them as open. A node that had forgotten the journal would
/// take that for a new order, and pass it on to others that have forgotten it as well: with orders and services
/// on their way at once, each accepted anew wherever it arrives, the fleet would do nothing else.
const RECENT: Duration = Duration::from_secs(10);

/// How long after a start the limits are doubled: the nodes that announce journals have to be heard
/// first.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known about journals besides their registers.
#[derive(Debug, Clone, Default)]
pub(super) struct Journals {
    /// The peer that first sent a record of a journal. If absent, the origin: the journal was on
    /// disk or announced.
    brought_by: BTreeMap<JournalId, NodeId>,
    /// When a journal was last seen with open orders that can be served.
    open_at: BTreeMap<JournalId, Timestamp>,
    /// How many were collected since the start.
    collected: u64,
    checked: Timestamp,
}

impl Journals {
    /// How many journals have been collected since the start.
    pub(super) fn collected(&self) -> u64 {
        self.collected
    }

    /// Whether there is room for a record: whether its journal is, or becomes, one of those that
    /// are kept.
    pub(super) fn find_room(
        &mut self,
        peer: &NodeId,
        record: &Record,
        known: &Knowledge<'_>,
        now: Timestamp,
    ) -> bool {
        let (id, origin) = (record.dot.journal, &record.origin);
        let announced = known.announces(origin, id);
        let Some(journal) = known.store.journal(id) else {
            return announced || (!known.is_announced(id) && self.begins(peer, record, known, now));
        };
        let fits = journal.origin == *origin || announced;
        let floors = usize::from(known.own.floors.get());
        let is_known = || known.store.present(record.dot, &record.call).is_some();
        let is_bounded = !is_elsewhere(&record.call, origin)
            || journal.elsewhere < MOST_CARS * floors
            || is_known();
        let opens = !announced && !known.waits(journal) && known.is_wanted(record);
        let is_over = || !announced && !is_known() && known.is_full();
        let is_trip_too_many = !record.state.is_served()
            && record.call.is_trip()
            && journal.open.trips() >= 2 * MOST_OPEN_TRIPS
            && !known.store.is_open_in(id, &record.call);
        let has_room = !opens || is_known() || self.may_open(peer, record, known, now);
        fits && is_bounded && !is_trip_too_many && has_room && !is_over()
    }

    /// Handles the first record of a journal that no node announces. If its order is served or
    /// can't be, it is accepted and collected again if it is worth too little, so that its sender
    /// stops sending it.
    fn begins(
        &mut self,
        peer: &NodeId,
        record: &Record,
        known: &Knowledge<'_>,
        now: Timestamp,
    ) -> bool {
        let begins = !known.is_wanted(record)
            || (self.may_open(peer, record, known, now) && !known.is_full());
        if begins {
            self.brought_by.insert(record.dot.journal, peer.clone());
        }
        begins
    }

    /// Whether the journal of this record, which nobody announces, may be one more with orders that can
    /// be served.
    fn may_open(
        &self,
        peer: &NodeId,
        record: &Record,
        known: &Knowledge<'_>,
        now: Timestamp,
    ) -> bool {
        let announced = known.announced();
        let (mut all, mut of_peer, mut of_origin) = (0, 0, 0);
        for (other, journal) in known.store.each_journal() {
            if other != record.dot.journal
                && !announced.contains(&other)
                && self.is_kept(other, journal, known, now)
            {
                all += 1;
                of_peer += usize::from(self.bringer(other, &journal.origin) == peer);
                of_origin += usize::from(journal.origin == record.origin);
            }
        }
        (all < MOST_JOURNALS && of_peer < MOST_OF_A_PEER)
            || (of_origin < PLACES && known.knows_car(&record.origin))
    }

    /// Whether the journal has open orders that can be served, or had some a moment ago.
    fn is_kept(
        &self,
        id: JournalId,
        journal: &Journal,
        known: &Knowledge<'_>,
        now: Timestamp,
    ) -> bool {
        known.waits(journal) || self.was_open(id, now)
    }

    /// Whether the journal had open orders that can be served a moment ago.
    fn was_open(&self, id: JournalId, now: Timestamp) -> bool {
        self.open_at.get(&id).is_some_and(|at| now.since(*at) < RECENT)
    }

    /// An order that can be served is open.
    pub(super) fn note_open(&mut self, journal: JournalId, now: Timestamp) {
        self.open_at.insert(journal, now);
    }

    /// Notes which journals have open orders that can be served. A journal that is announced may not
    /// be when they have been served.
    pub(super) fn note_all_open(&mut self, known: &Knowledge<'_>, now: Timestamp) {
        self.open_at.retain(|journal, at| {
            now.since(*at) < RECENT && known.store.journal(*journal).is_some()
        });
        let open = known.store.each_journal().filter(|(_, journal)| known.waits(journal));
        self.open_at.extend(open.map(|(id, _)| (id, now)));
    }

    fn bringer<'a>(&'a self, journal: JournalId, origin: &'a NodeId) -> &'a NodeId {
        self.brought_by.get(&journal).unwrap_or(origin)
    }

    /// Whether it is time to check journals; `true` once per [`CHECK_PERIOD`].
    pub(super) fn is_check_due(&mut self, now: Timestamp) -> bool {
        let is_due = now.since(self.checked) >= CHECK_PERIOD;
        if is_due {
            self.checked = now;
        }
        is_due
    }

    /// The journals that are worth the least, as far as there are too many; `None` while the store
    /// is within its bounds.
    pub(super) fn surplus(&self, known: &Knowledge<'_>, now: Timestamp) -> Option<Vec<JournalId>> {
        let slack = if now < Timestamp::START + PATIENCE { 2 } else { 1 };
        let (journals, registers) = (MOST_JOURNALS * slack, MOST_REGISTERS * slack);
        let store = known.store;
        let is_over = store.journals() > journals || store.registers() > registers;
        is_over.then(|| self.beyond(journals, registers, known, now))
    }

    /// `count` journals were collected, which this store no longer has.
    pub(super) fn on_collected(&mut self, count: usize, store: &OrderStore) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.collected = self.collected.saturating_add(count);
        self.brought_by.retain(|journal, _| store.journal(*journal).is_some());
    }

    /// The journals for which there is no room.
    fn beyond(
        &self,
        most: usize,
        most_registers: usize,
        known: &Knowledge<'_>,
        now: Timestamp,
    ) -> Vec<JournalId> {
        let announced = known.announced();
        let others = known.store.each_journal();
        let mut others: Vec<_> = others
            .filter(|(id, _)| !announced.contains(id))
            .map(|(id, journal)| {
                let worth = Worth {
                    can_be_served: known.waits(journal),
                    was_open: self.was_open(id, now),
                    turn: Reverse(0),
                    highest: journal.highest,
                    journal: id,
                };
                (worth, journal)
            })
            .collect();
        others.sort_by_key(|(worth, _)| Reverse(*worth));
        let mut turns: BTreeMap<&NodeId, usize> = BTreeMap::new();
        for (worth, journal) in &mut others {
            let turn = turns.entry(&journal.origin).or_default();
            worth.turn = Reverse(*turn);
            *turn += 1;
        }
        others.sort_by_key(|(worth, _)| Reverse(*worth));
        let (mut kept, mut registers) = (0, 0);
        let mut open: BTreeMap<&NodeId, usize> = BTreeMap::new();
        let mut surplus = Vec::new();
        for (worth, journal) in others {
            let fits = kept < most && registers + journal.registers <= most_registers;
            let keeps = if worth.can_be_served || worth.was_open {
                // Journals that were announced and no longer are may exceed the limit, all with
                // orders that can be served. A node that leaves behind more of them than any sound
                // node loses them.
                let of_peer = open.entry(self.bringer(worth.journal, &journal.origin));
                let of_peer = of_peer.and_modify(|count| *count += 1).or_insert(1);
                let has_place = worth.turn.0 < PLACES && known.knows_car(&journal.origin);
                fits || *of_peer <= MOST_OF_A_PEER || has_place
            } else {
                fits
            };
            if keeps {
                kept += 1;
                registers += journal.registers;
            } else {
                surplus.push(worth.journal);
            }
        }
        surplus
    }
}

impl Knowledge<'_> {
    /// Whether the journals that no node announces have reached their limit of registers.
    fn is_full(&self) -> bool {
        if self.store.registers() < MOST_REGISTERS {
            return false;
        }
        let announced = self.announced();
        let others = self.store.each_journal();
        let others = others.filter(|(id, _)| !announced.contains(id));
        let registers: usize = others.map(|(_, journal)| journal.registers).sum();
        registers >= 2 * MOST_REGISTERS
    }

    /// Whether an order of this call can be served, as far as this node knows.
    pub(super) fn can_be_served(&self, call: &Call) -> bool {
        match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => self.knows_car(car),
        }
    }

    /// Whether there is such a node, or was for 2 s before it was lost.
    fn knows_car(&self, car: &NodeId) -> bool {
        *car == self.own.node || self.members.knows(car)
    }

    /// Whether this is an open order that can be served.
    fn is_wanted(&self, record: &Record) -> bool {
        !record.state.is_served() && self.can_be_served(&record.call)
    }

    /// Whether the journal has orders that can be served.
    fn waits(&self, journal: &Journal) -> bool {
        let open = &journal.open;
        open.has_hall_calls() || open.cars().any(|car| self.knows_car(car))
    }

    /// The node's own journal, and those of the peers.
    fn announced(&self) -> BTreeSet<JournalId> {
        let peers = self.members.peers();
        let journals = peers.filter_map(|(_, peer)| peer.journal);
        journals.chain([self.journal]).collect()
    }

    pub(super) fn is_announced(&self, journal: JournalId) -> bool {
        let mut peers = self.members.peers();
        self.journal == journal || peers.any(|(_, peer)| peer.journal == Some(journal))
    }

    /// Whether this node says that it places its orders under this journal.
    fn announces(&self, node: &NodeId, journal: JournalId) -> bool {
        let peer = self.members.get(node);
        peer.is_some_and(|peer| peer.journal == Some(journal))
            || (*node == self.own.node && self.journal == journal)
    }
}

/// The value of a journal that no node announces; the most valuable are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    can_be_served: bool,
    was_open: bool,
    /// How many journals of its origin are more valuable.
    turn: Reverse<usize>,
    highest: u64,
    journal: JournalId,
}
