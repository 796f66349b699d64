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

use super::{Fleet, Orders};
use crate::model::{Call, JournalId, NodeId, Timestamp};
use crate::node::Report;
use crate::orders::{Journal, Record, is_elsewhere};

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

/// Refusals are reported this often at most.
const REPORT_PERIOD: Duration = Duration::from_mins(1);

/// What is known of journals beside their registers.
#[derive(Debug, Clone, Default)]
pub(super) struct Journals {
    /// The peer that first told of a journal. The origin where nobody did: those that stood on disk,
    /// or were announced.
    brought_by: BTreeMap<JournalId, NodeId>,
    /// How many have been collected.
    collected: u64,
    refused: u64,
    reported: Option<Timestamp>,
    checked: Timestamp,
}

impl Journals {
    /// How many journals have been collected since the start.
    pub(super) fn collected(&self) -> u64 {
        self.collected
    }
}

/// What a journal that nobody announces is worth; the greatest are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    can_be_served: bool,
    highest: u64,
    journal: JournalId,
}

impl Orders {
    /// Whether there is room for a record: whether its journal is, or becomes, one of those that are
    /// kept. What is refused is reported once a minute.
    pub(super) fn has_room(
        &mut self,
        peer: &NodeId,
        record: &Record,
        fleet: Fleet<'_>,
        now: Timestamp,
    ) -> bool {
        let has_room = self.finds_room(peer, record, fleet);
        if !has_room {
            self.refusals.count_no_room();
            self.journals.refused = self.journals.refused.saturating_add(1);
            let last = self.journals.reported;
            if last.is_none_or(|at| now.since(at) >= REPORT_PERIOD) {
                self.journals.reported = Some(now);
                let (refused, dot) = (std::mem::take(&mut self.journals.refused), record.dot);
                self.report(Report::Conflict(format!(
                    "node {peer} sends more journals or calls than there can be, {dot} among \
                     them: {refused} records were refused"
                )));
            }
        }
        has_room
    }

    fn finds_room(&mut self, peer: &NodeId, record: &Record, fleet: Fleet<'_>) -> bool {
        let (id, origin) = (record.dot.journal, &record.origin);
        let announced = self.announces(origin, id, fleet);
        let Some(journal) = self.store.journal(id) else {
            return announced
                || (!self.is_announced(id, fleet) && self.begins(peer, record, fleet));
        };
        let fits = journal.origin == *origin || announced;
        let floors = usize::from(self.own.floors.get());
        let is_known = || self.store.present(record.dot, &record.call).is_some();
        let is_bounded = !is_elsewhere(&record.call, origin)
            || journal.elsewhere < MOST_CARS * floors
            || is_known();
        let opens = !announced && !self.waits(journal, fleet) && self.is_wanted(record, fleet);
        let is_over = || !announced && !is_known() && self.is_full(fleet);
        fits && is_bounded && (!opens || is_known() || self.may_open(peer, id, fleet)) && !is_over()
    }

    /// Whether the journals that nobody announces have all the registers that are kept of them.
    fn is_full(&self, fleet: Fleet<'_>) -> bool {
        if self.store.registers() < MOST_REGISTERS {
            return false;
        }
        let announced = self.announced(fleet);
        let others = self.store.each_journal();
        let others = others.filter(|(id, _)| !announced.contains(id));
        let registers: usize = others.map(|(_, journal)| journal.registers).sum();
        registers >= 2 * MOST_REGISTERS
    }

    /// Whether an order of this call can be served, as far as this node knows.
    fn can_be_served(&self, call: &Call, fleet: Fleet<'_>) -> bool {
        match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => self.knows_car(car, fleet),
        }
    }

    /// Whether there is such a node, or was before it was lost.
    fn knows_car(&self, car: &NodeId, fleet: Fleet<'_>) -> bool {
        *car == self.own.node
            || fleet.members.get(car).is_some()
            || fleet.members.lost().get(car).is_some()
    }

    /// Whether this is an open order that can be served.
    fn is_wanted(&self, record: &Record, fleet: Fleet<'_>) -> bool {
        !record.state.is_served() && self.can_be_served(&record.call, fleet)
    }

    /// Whether the journal has orders that can be served.
    fn waits(&self, journal: &Journal, fleet: Fleet<'_>) -> bool {
        let open = &journal.open;
        open.has_hall_calls() || open.cars().any(|car| self.knows_car(car, fleet))
    }

    /// The first record of a journal that nobody announces has come. One of an order that is served,
    /// or can't be, is taken in and collected again if it is worth too little, so that its sender need
    /// not tell it again.
    fn begins(&mut self, peer: &NodeId, record: &Record, fleet: Fleet<'_>) -> bool {
        let id = record.dot.journal;
        let begins = !self.is_wanted(record, fleet)
            || (self.may_open(peer, id, fleet) && !self.is_full(fleet));
        if begins {
            self.journals.brought_by.insert(id, peer.clone());
        }
        begins
    }

    /// Whether one more journal that nobody announces may have orders that can be served.
    fn may_open(&self, peer: &NodeId, id: JournalId, fleet: Fleet<'_>) -> bool {
        let announced = self.announced(fleet);
        let (mut all, mut of_peer) = (0, 0);
        for (other, journal) in self.store.each_journal() {
            if other != id && !announced.contains(&other) && self.waits(journal, fleet) {
                all += 1;
                of_peer += usize::from(self.bringer(other, &journal.origin) == peer);
            }
        }
        all < MOST_JOURNALS && of_peer < MOST_OF_A_PEER
    }

    fn bringer<'a>(&'a self, journal: JournalId, origin: &'a NodeId) -> &'a NodeId {
        self.journals.brought_by.get(&journal).unwrap_or(origin)
    }

    /// The own journal, and those of the peers.
    fn announced(&self, fleet: Fleet<'_>) -> BTreeSet<JournalId> {
        let peers = fleet.members.peers();
        let journals = peers.filter_map(|(_, peer)| peer.journal);
        journals.chain([self.ledger.journal()]).collect()
    }

    fn is_announced(&self, journal: JournalId, fleet: Fleet<'_>) -> bool {
        let mut peers = fleet.members.peers();
        self.ledger.journal() == journal || peers.any(|(_, peer)| peer.journal == Some(journal))
    }

    /// Whether this node places its orders under this journal, by what it says itself.
    fn announces(&self, node: &NodeId, journal: JournalId, fleet: Fleet<'_>) -> bool {
        let peer = fleet.members.get(node);
        peer.is_some_and(|peer| peer.journal == Some(journal))
            || (*node == self.own.node && self.ledger.journal() == journal)
    }

    /// Looks now and then whether journals have lost their announcers.
    pub(in crate::node) fn collect_in_time(&mut self, fleet: Fleet<'_>, now: Timestamp) {
        if now.since(self.journals.checked) >= CHECK_PERIOD {
            self.journals.checked = now;
            self.collect(fleet, now);
        }
    }

    /// Collects the journals that are worth the least, as far as there are too many.
    pub(super) fn collect(&mut self, fleet: Fleet<'_>, now: Timestamp) {
        let slack = if now < Timestamp::START + PATIENCE { 2 } else { 1 };
        let (journals, registers) = (MOST_JOURNALS * slack, MOST_REGISTERS * slack);
        if self.store.journals() <= journals && self.store.registers() <= registers {
            return;
        }
        for journal in self.surplus(journals, registers, fleet) {
            self.drop_journal(journal);
        }
        let store = &self.store;
        let brought_by = &mut self.journals.brought_by;
        brought_by.retain(|journal, _| store.journal(*journal).is_some());
    }

    /// The journals for which there is no room.
    fn surplus(&self, most: usize, most_registers: usize, fleet: Fleet<'_>) -> Vec<JournalId> {
        let announced = self.announced(fleet);
        let others = self.store.each_journal();
        let mut others: Vec<_> = others
            .filter(|(id, _)| !announced.contains(id))
            .map(|(id, journal)| {
                let worth = Worth {
                    can_be_served: self.waits(journal, fleet),
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

    fn drop_journal(&mut self, id: JournalId) {
        let known = self.store.journal(id);
        let is_open = known.is_some_and(|known| !known.open.is_empty());
        let dots = self.store.collect(id);
        for dot in &dots {
            self.promise.forget(*dot);
            self.replication.collected(*dot);
        }
        self.ledger.collect(id, &dots);
        self.journals.collected = self.journals.collected.saturating_add(1);
        if is_open {
            self.invalidate();
        }
    }
}
