//! Bounds on the number of journals and registers.
//!
//! The store is bounded by the calls that can exist only if the journals are bounded, and a node whose
//! disk fails draws a new one at each start. So:
//!
//! - A journal that a heard node *announces* in its beacons is kept, and so is this node's own. Its
//!   registers are bounded by the calls that its building can have, because only records of its
//!   origin count: at n floors 3n − 2 buttons and n(n − 1) destination calls.
//! - Of the destination calls of a journal few are open at a time ([`MOST_OPEN_TRIPS`]): there are
//!   up to 64,262, and each open one costs every node time whenever anything happens.
//! - Of the others [`MOST_JOURNALS`] are kept. If there are more, those without open orders are
//!   *collected*, dropped from memory and disk, those with the lowest sequences first: all nodes rank
//!   them alike, so that their stores converge.
//! - A journal with open orders is not collected, nor is one that had some a moment ago ([`RECENT`]).
//!   If there is no room, a newcomer is refused as if it had never arrived. The peer keeps sending
//!   it, and it is accepted once there is room. Only beyond twice as many, as a node leaves behind that
//!   starts again and again, are they collected too.
//!
//! A call that was served and collected may come back from a node that missed the service, and is
//! then served twice. That is allowed; a lost order is not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Knowledge;
use crate::model::{JournalId, NodeId, Timestamp};
use crate::orders::{Journal, Record, is_elsewhere};

/// How many journals are kept that no node announces.
const MOST_JOURNALS: usize = 192;

/// How many of their registers are kept if some can be collected, and half the absolute limit.
const MOST_REGISTERS: usize = 24_576;

/// How many destination calls of one journal may be open. A node places no more; of others it accepts
/// twice as many, because it may learn of a press before it learns of the services that made room.
pub(in crate::node) const MOST_OPEN_TRIPS: usize = 256;

/// For how many other cars a node may place car calls, as operators can.
const MOST_CARS: usize = 64;

/// How often to check whether a journal has lost its announcer, and which have open orders.
const CHECK_PERIOD: Duration = Duration::from_millis(100);

/// For how long a journal counts as one with open orders once all are served.
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
    /// When a journal was last seen with open orders.
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
    pub(super) fn find_room(&self, record: &Record, known: &Knowledge<'_>, now: Timestamp) -> bool {
        let (id, origin, is_open) = (record.dot.journal, &record.origin, !record.state.is_served());
        let announced = known.announces(origin, id);
        let Some(journal) = known.store.journal(id) else {
            // One without open orders is accepted, and may be collected again at once, so that its
            // sender stops sending it.
            let begins = !is_open || (self.may_open(id, known, now) && !known.is_full());
            return announced || (!known.is_announced(id) && begins);
        };
        if known.store.present(record.dot, &record.call).is_some() {
            return journal.origin == *origin || announced;
        }
        let floors = usize::from(known.own.floors.get());
        let is_elsewhere_too_often =
            is_elsewhere(&record.call, origin) && journal.elsewhere >= MOST_CARS * floors;
        let is_trip_too_many = is_open
            && record.call.is_trip()
            && journal.open.trips() >= 2 * MOST_OPEN_TRIPS
            && !known.store.is_open_in(id, &record.call);
        let opens = is_open && journal.open.is_empty();
        (journal.origin == *origin || announced)
            && !(is_elsewhere_too_often || is_trip_too_many)
            && (announced || (!known.is_full() && (!opens || self.may_open(id, known, now))))
    }

    /// Whether this journal, which nobody announces, may be one more with open orders.
    fn may_open(&self, id: JournalId, known: &Knowledge<'_>, now: Timestamp) -> bool {
        let announced = known.announced();
        let others = known.store.each_journal().filter(|(other, journal)| {
            *other != id && !announced.contains(other) && self.is_kept(*other, journal, now)
        });
        others.count() < MOST_JOURNALS
    }

    /// Whether the journal has open orders, or had some a moment ago.
    fn is_kept(&self, id: JournalId, journal: &Journal, now: Timestamp) -> bool {
        !journal.open.is_empty() || self.was_open(id, now)
    }

    /// Whether the journal had open orders a moment ago.
    fn was_open(&self, id: JournalId, now: Timestamp) -> bool {
        self.open_at.get(&id).is_some_and(|at| now.since(*at) < RECENT)
    }

    /// An order is open.
    pub(super) fn note_open(&mut self, journal: JournalId, now: Timestamp) {
        self.open_at.insert(journal, now);
    }

    /// Notes which journals have open orders. A journal that is announced may not be when they have
    /// been served.
    pub(super) fn note_all_open(&mut self, known: &Knowledge<'_>, now: Timestamp) {
        self.open_at.retain(|journal, at| {
            now.since(*at) < RECENT && known.store.journal(*journal).is_some()
        });
        let open = known.store.each_journal().filter(|(_, journal)| !journal.open.is_empty());
        self.open_at.extend(open.map(|(id, _)| (id, now)));
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

    /// `count` journals were collected.
    pub(super) fn on_collected(&mut self, count: usize) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.collected = self.collected.saturating_add(count);
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
        let others = known.store.each_journal().filter(|(id, _)| !announced.contains(id));
        let worth = |(id, journal): (JournalId, &Journal)| {
            (self.is_kept(id, journal, now), journal.highest, id, journal.registers)
        };
        let mut others: Vec<_> = others.map(worth).collect();
        others.sort_unstable_by(|one, other| other.cmp(one));
        let (mut kept, mut registers) = (0, 0);
        let surplus = others.into_iter().filter(|(is_kept, _, _, size)| {
            // Journals that were announced and no longer are may exceed the limit.
            let fits =
                kept < most && registers + size <= most_registers || *is_kept && kept < 2 * most;
            if fits {
                kept += 1;
                registers += size;
            }
            !fits
        });
        surplus.map(|(_, _, id, _)| id).collect()
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
