//! How many journals and registers are kept.
//!
//! A store is bounded by the calls that can exist only if the journals are bounded. A faulty node
//! can invent any number of them, and a node whose disk fails draws a fresh one at each start. So:
//!
//! - A journal that a node which is heard *announces* in its beacons is kept, and so is the own one.
//!   Its registers are bounded by the buttons of that node, for only records of its origin count.
//! - Of the others the most valuable are kept: those with orders that can be served, then those with
//!   the highest sequences. The rest is *collected*: dropped from memory and disk. Nodes that know
//!   the same cars rank alike, so their stores come to be equal where they have heard of the same
//!   journals. Those that do not stay different, and repair that once a minute.
//! - An order can be served if it is a hall call, or a car call of a car that is or was a peer's or
//!   this node's own. A car call of any other car may be invented and stay open for ever, so it
//!   counts no more than what was served.
//! - A journal with orders that can be served is not collected. Where there is no room, or where one
//!   peer has brought too many of them, the newcomer is refused, as if it had never come: that peer
//!   goes on telling of it, and it is taken in once there is room.
//!
//! What was served and collected may come back from a node that has not heard of the service, and
//! is served twice then. That is allowed; an order that is lost is not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Knowledge;
use crate::model::{Call, JournalId, NodeId, Timestamp};
use crate::orders::{Journal, OrderStore, Record, is_elsewhere};

/// How many journals are kept that nobody announces.
const MOST_JOURNALS: usize = 192;

/// How many registers of them are kept where some can be collected, and half of how many at most.
const MOST_REGISTERS: usize = 24_576;

/// How many of these journals one peer may fill with orders that can be served. No sound fleet has
/// so many: each is of a node that is gone.
const MOST_OF_A_PEER: usize = MOST_JOURNALS / 3;

/// Car calls for at most this many other cars are kept of a node, as an operator may ask for them.
const MOST_CARS: usize = 64;

/// How often it is looked whether a journal has lost its announcer.
const CHECK_PERIOD: Duration = Duration::from_millis(100);

/// In this time after a start twice as much is kept: those that announce journals have to be heard.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of journals beside their registers.
#[derive(Debug, Clone, Default)]
pub(super) struct Journals {
    /// The peer that first told of a journal. The origin where nobody did: those that stood on disk,
    /// or were announced.
    brought_by: BTreeMap<JournalId, NodeId>,
    /// How many have been collected.
    collected: u64,
    checked: Timestamp,
}

impl Journals {
    /// How many journals have been collected since the start.
    pub(super) fn collected(&self) -> u64 {
        self.collected
    }

    /// Whether there is room for a record: whether its journal is, or becomes, one of those that are
    /// kept.
    pub(super) fn find_room(
        &mut self,
        peer: &NodeId,
        record: &Record,
        known: &Knowledge<'_>,
    ) -> bool {
        let (id, origin) = (record.dot.journal, &record.origin);
        let announced = known.announces(origin, id);
        let Some(journal) = known.store.journal(id) else {
            return announced || (!known.is_announced(id) && self.begins(peer, record, known));
        };
        let fits = journal.origin == *origin || announced;
        let floors = usize::from(known.own.floors.get());
        let is_known = || known.store.present(record.dot, &record.call).is_some();
        let is_bounded = !is_elsewhere(&record.call, origin)
            || journal.elsewhere < MOST_CARS * floors
            || is_known();
        let opens = !announced && !known.waits(journal) && known.is_wanted(record);
        let is_over = || !announced && !is_known() && known.is_full();
        fits && is_bounded && (!opens || is_known() || self.may_open(peer, id, known)) && !is_over()
    }

    /// The first record of a journal that nobody announces has come. One of an order that is served,
    /// or can't be, is taken in and collected again if it is worth too little, so that its sender need
    /// not tell it again.
    fn begins(&mut self, peer: &NodeId, record: &Record, known: &Knowledge<'_>) -> bool {
        let id = record.dot.journal;
        let begins =
            !known.is_wanted(record) || (self.may_open(peer, id, known) && !known.is_full());
        if begins {
            self.brought_by.insert(id, peer.clone());
        }
        begins
    }

    /// Whether one more journal that nobody announces may have orders that can be served.
    fn may_open(&self, peer: &NodeId, id: JournalId, known: &Knowledge<'_>) -> bool {
        let announced = known.announced();
        let (mut all, mut of_peer) = (0, 0);
        for (other, journal) in known.store.each_journal() {
            if other != id && !announced.contains(&other) && known.waits(journal) {
                all += 1;
                of_peer += usize::from(self.bringer(other, &journal.origin) == peer);
            }
        }
        all < MOST_JOURNALS && of_peer < MOST_OF_A_PEER
    }

    fn bringer<'a>(&'a self, journal: JournalId, origin: &'a NodeId) -> &'a NodeId {
        self.brought_by.get(&journal).unwrap_or(origin)
    }

    /// Whether it is time to check whether journals have lost their announcers; `true` once per
    /// [`CHECK_PERIOD`].
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
        is_over.then(|| self.beyond(journals, registers, known))
    }

    /// `count` journals were collected, which this store no longer has.
    pub(super) fn on_collected(&mut self, count: usize, store: &OrderStore) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.collected = self.collected.saturating_add(count);
        self.brought_by.retain(|journal, _| store.journal(*journal).is_some());
    }

    /// The journals for which there is no room.
    fn beyond(&self, most: usize, most_registers: usize, known: &Knowledge<'_>) -> Vec<JournalId> {
        let announced = known.announced();
        let others = known.store.each_journal();
        let mut others: Vec<_> = others
            .filter(|(id, _)| !announced.contains(id))
            .map(|(id, journal)| {
                let worth = Worth {
                    can_be_served: known.waits(journal),
                    highest: journal.highest,
                    journal: id,
                };
                (worth, journal)
            })
            .collect();
        others.sort_by(|(one, _), (other, _)| other.cmp(one));
        let (mut kept, mut registers) = (0, 0);
        let mut open: BTreeMap<&NodeId, usize> = BTreeMap::new();
        let mut surplus = Vec::new();
        for (worth, journal) in others {
            let fits = kept < most && registers + journal.registers <= most_registers;
            let keeps = if worth.can_be_served {
                // What was announced and is no longer may be too much, all with such orders: a
                // node that leaves behind more such journals than any sound one pays for it.
                let of_peer = open.entry(self.bringer(worth.journal, &journal.origin));
                let of_peer = of_peer.and_modify(|count| *count += 1).or_insert(1);
                fits || *of_peer <= MOST_OF_A_PEER
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
    /// Whether the journals that nobody announces have all the registers that are kept of them.
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
    fn can_be_served(&self, call: &Call) -> bool {
        match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => self.knows_car(car),
        }
    }

    /// Whether there is such a node, or was before it was lost.
    fn knows_car(&self, car: &NodeId) -> bool {
        *car == self.own.node
            || self.fleet.members.get(car).is_some()
            || self.fleet.members.lost().get(car).is_some()
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

    /// The own journal, and those of the peers.
    fn announced(&self) -> BTreeSet<JournalId> {
        let peers = self.fleet.members.peers();
        let journals = peers.filter_map(|(_, peer)| peer.journal);
        journals.chain([self.journal]).collect()
    }

    fn is_announced(&self, journal: JournalId) -> bool {
        let mut peers = self.fleet.members.peers();
        self.journal == journal || peers.any(|(_, peer)| peer.journal == Some(journal))
    }

    /// Whether this node places its orders under this journal, by what it says itself.
    fn announces(&self, node: &NodeId, journal: JournalId) -> bool {
        let peer = self.fleet.members.get(node);
        peer.is_some_and(|peer| peer.journal == Some(journal))
            || (*node == self.own.node && self.journal == journal)
    }
}

/// What a journal that nobody announces is worth; the greatest are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    can_be_served: bool,
    highest: u64,
    journal: JournalId,
}
