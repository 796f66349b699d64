//! Whether a service that another node reports can have happened (O1).
//!
//! A record says which car served a press, and how long the press had waited. If this node has
//! observed that car all the time, it knows better than the record. Otherwise, after a partition, a
//! restart or an interruption, it asks the car's own node, and believes others only about a car
//! that is not heard. Of a press that it may have forgotten with its journal it believes the car's own
//! node, whatever it has observed.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Floor;

use super::early::EARLY;
use super::{Fleet, Knowledge};
use crate::model::{Call, Dot, JournalId, NodeId, Order, Timestamp};
use crate::orders::{Record, RecordState};

/// By how much clocks drift apart and messages are late, at most.
const TOLERANCE: Duration = Duration::from_secs(10);

/// A node that one peer hears and this one does not is cut off from this one if that lasts so long.
const STRANGE: Duration = Duration::from_secs(1);

/// Of a car that was heard for no longer than this after the press, the last beacon may have been sent
/// before the press, and was handled after it. A car whose door was still open may have served it all the
/// same: then it is served twice.
const AT_ONCE: Duration = Duration::from_millis(500);

/// How credible a record is that closes an open order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credit {
    /// It is true as far as this node can know, or closes no open order.
    Accepted,
    /// The named car is heard, so its own node is asked. Or it is lost, and this node heard it for
    /// the last time before it learned of the press or just after, or saw it elsewhere, so the car's
    /// node will answer if it comes back.
    Hearsay {
        /// The node of that car.
        car: NodeId,
        /// The press that is open here. Sending it to the node asks the question.
        open: Dot,
    },
    /// This node's car is said to have served the press, and this node can't tell: it was before the
    /// present process began, or before it heard of the press, or it never heard of it. Or others have
    /// dropped it in a fire recall: one that never reached this node, so that its rider is still on the
    /// way, or one that was over before this node heard of the press from a node that it never reached.
    Unconfirmed {
        /// The press that is open here, if any.
        open: Option<Dot>,
    },
    /// This node's car is said to have served a press that this node has not heard of, and it has
    /// only just begun to listen. If the press is still open anywhere, it will hear so before it
    /// believes the service: what it believes of its own car, others believe too.
    Early,
    /// It can't be true.
    Refused {
        /// The press that is open here.
        open: Dot,
        why: String,
    },
}

/// What the present process can bear witness to.
#[derive(Debug, Clone, Default)]
pub(super) struct Witness {
    /// Since when this node has received everything that was sent to it.
    attentive_since: Timestamp,
    /// The highest sequence of a journal when the store of its node was first equal to that of the
    /// present process. Every later press was made since then, unless that node had forgotten
    /// presses that others bring back, as with an old copy of its disk.
    made_before: BTreeMap<JournalId, u64>,
    /// When the present process last learned of another fire recall, or that one is over; its disk
    /// says so at the start.
    recall_learned: Option<Timestamp>,
    /// A journal was collected since the start, with the services of its presses.
    has_forgotten: bool,
}

impl Witness {
    /// Since when this node has received everything that was sent to it.
    pub(super) fn attentive_since(&self) -> Timestamp {
        self.attentive_since
    }

    /// The node starts, or did not run until now: what was sent before may have been missed.
    pub(super) fn on_resumed(&mut self, now: Timestamp) {
        self.attentive_since = now;
    }

    /// A fire recall was begun or ended, as this node learns just now.
    pub(super) fn note_recall(&mut self, now: Timestamp) {
        self.recall_learned = Some(now);
    }

    /// Whether a recall of which this node learned afterwards may have dropped an order that has been
    /// open here since then.
    fn may_be_dropped(&self, open_since: Timestamp) -> bool {
        self.recall_learned.is_some_and(|learned| open_since <= learned)
    }

    /// Whether an order that came later may be older than that: the present process has not seen how
    /// it was made, or by its age it was made before.
    fn may_be_older(&self, order: &Order, known: &Knowledge<'_>) -> bool {
        self.recall_learned
            .is_some_and(|learned| order.placed <= learned || !self.saw_made(order.dot, known))
    }

    /// The stores of this peer and this node are equal.
    pub(super) fn note_equal(&mut self, peer: &NodeId, known: &Knowledge<'_>) {
        let announced = known.fleet.members.get(peer).and_then(|peer| peer.journal);
        let Some(journal) = announced.filter(|journal| !self.made_before.contains_key(journal))
        else {
            return;
        };
        // So there are no more entries than journals in the store and nodes that announce one.
        self.made_before
            .retain(|id, _| known.store.journal(*id).is_some() || known.is_announced(*id));
        self.made_before.insert(journal, known.store.highest(journal).unwrap_or(0));
    }

    /// These journals were collected: peers may bring back what was known of them.
    pub(super) fn forget(&mut self, collected: &[JournalId]) {
        self.has_forgotten |= !collected.is_empty();
        for journal in collected {
            self.made_before.remove(journal);
        }
    }

    /// Whether this node may have known the press before, and forgotten it: what it learns of it now
    /// may be older than what it has seen of the cars.
    fn may_have_forgotten(&self, dot: Dot, known: &Knowledge<'_>) -> bool {
        self.has_forgotten && !self.saw_made(dot, known)
    }

    /// Whether this press was made since the present process began.
    fn saw_made(&self, dot: Dot, known: &Knowledge<'_>) -> bool {
        let before = self.made_before.get(&dot.journal);
        known.store.is_made_here(dot) || before.is_some_and(|before| dot.sequence > *before)
    }
}

/// A press that is open here.
struct Press {
    floor: Floor,
    /// When this node learned of it.
    known_since: Timestamp,
    /// It was not made before.
    made_since: Timestamp,
}

/// How credible a record of this peer is.
pub(super) fn credit(
    peer: &NodeId,
    record: &Record,
    known: &Knowledge<'_>,
    witness: &Witness,
    now: Timestamp,
) -> Credit {
    let (fleet, attentive_since) = (known.fleet, witness.attentive_since);
    let RecordState::Served(service) = &record.state else {
        return Credit::Accepted;
    };
    let present = known.store.present(record.dot, &record.call);
    let open = present.filter(|open| *open <= record.dot);
    let Some(order) = open.and_then(|open| known.store.get(open)) else {
        let is_own = service.as_ref().is_some_and(|service| service.car == known.own.node);
        let is_unheard = is_own && present.is_none_or(|present| present < record.dot);
        return if !is_unheard {
            Credit::Accepted
        } else if witness.saw_made(record.dot, known) {
            // It would know of the press, unless that was derived from another one or forgotten.
            Credit::Unconfirmed { open: None }
        } else if now < attentive_since + EARLY {
            Credit::Early
        } else {
            Credit::Accepted
        };
    };
    // Nobody says that the call was placed, and nobody has heard of the car for which it was. It may
    // be invented, and to disagree about it would keep the stores from becoming equal.
    if !known.has_heard_of_car(&record.call) && !known.is_announced(record.dot.journal) {
        return Credit::Accepted;
    }
    // Its age does not help: a peer that lies about the service may have made it old before.
    let (open_since, open) = (order.open_since, order.dot);
    let refused = |why: String| Credit::Refused { open, why };
    // A node that refuses must be able to have it served after all.
    let is_sure = fleet.can_serve && attentive_since + TOLERANCE <= open_since;
    let Some(service) = service else {
        return dropped(peer, record, order, known, witness);
    };
    let car = &service.car;
    if let Call::Car { car: of, .. } = &record.call
        && of != car
    {
        let what = format!("by {car}, in whose cabin it was not placed");
        return refused(what);
    }
    if *car == known.own.node {
        // An earlier process of this node may have served what was open before this one began. The
        // disk, if it works, holds most of that; the rest comes from peers that were away.
        let is_witness = witness.saw_made(open, known)
            || open_since != Timestamp::START
                && fleet.knows_all(open_since - TOLERANCE)
                && !witness.may_have_forgotten(open, known);
        // Or it served the call before it heard of this press, which waited elsewhere by then.
        let may_have = || {
            let served = known.store.last_served(&record.call);
            !known.store.is_made_here(open)
                && served.is_some_and(|served| (order.placed..open_since).contains(&served))
        };
        return if is_witness && !may_have() {
            refused("this node's car did not".to_owned())
        } else if open_since == Timestamp::START {
            Credit::Accepted
        } else {
            Credit::Unconfirmed { open: Some(open) }
        };
    }
    let is_heard = peer != car && fleet.members.get(car).is_some();
    let floor = record.call.floor();
    // The alleged moment is no help: a repeated press has the age of the earlier one, but only
    // where that was known to be open.
    let from = open_since - TOLERANCE;
    let made_since = if known.store.is_made_here(open) { open_since } else { from };
    let press = Press { floor, known_since: open_since, made_since };
    if is_heard || fleet.is_gone(car, &press, attentive_since, now) {
        let car = car.clone();
        return Credit::Hearsay { car, open };
    }
    if peer == car && witness.may_have_forgotten(open, known) {
        return Credit::Accepted;
    }
    let excluded = fleet.excludes(car, floor, from, now);
    if let Some(why) = excluded.filter(|_| is_sure) {
        return refused(why);
    }
    Credit::Accepted
}

/// How credible it is that this open order was dropped in a fire recall. Directives come before the
/// orders that were dropped because of them.
fn dropped(
    peer: &NodeId,
    record: &Record,
    order: &Order,
    known: &Knowledge<'_>,
    witness: &Witness,
) -> Credit {
    let open = order.dot;
    let car = match &record.call {
        Call::Car { car, .. } => Some(car),
        Call::Hall(_) => None,
    };
    let is_rider = car == Some(&known.own.node);
    if witness.may_be_dropped(order.open_since) {
        // A rider may still be on the way.
        return if is_rider { Credit::Unconfirmed { open: Some(open) } } else { Credit::Accepted };
    }
    let refused = Credit::Refused { open, why: "by nobody".to_owned() };
    match car {
        // The car's own node knows of its riders.
        Some(car) if car == peer => Credit::Accepted,
        Some(car) if known.fleet.members.get(car).is_some() => {
            Credit::Hearsay { car: car.clone(), open }
        }
        // It may come from a node that was down or cut off during the recall, or have been forgotten
        // here. A car that is not heard can't be asked.
        Some(_) | None if witness.may_be_older(order, known) => {
            Credit::Unconfirmed { open: Some(open) }
        }
        Some(_) | None => refused,
    }
}

impl Knowledge<'_> {
    /// Whether the call is a hall call, or this node has ever heard its car's.
    fn has_heard_of_car(&self, call: &Call) -> bool {
        match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => {
                let members = self.fleet.members;
                *car == self.own.node
                    || members.get(car).is_some()
                    || members.lost().get(car).is_some()
            }
        }
    }
}

impl Fleet<'_> {
    /// Why this car can't have been at this floor from then on.
    fn excludes(
        &self,
        car: &NodeId,
        floor: Floor,
        from: Timestamp,
        now: Timestamp,
    ) -> Option<String> {
        if let Some(peer) = self.members.get(car) {
            let excluded = peer.sightings.exclude(floor, from, now);
            return excluded.then(|| format!("by {car}, which was not there"));
        }
        let was_lost = self.members.lost().get(car).is_some();
        let is_heard = self.members.is_heard(car);
        (!was_lost && !is_heard && self.knows_all(from))
            .then(|| format!("by {car}, which does not exist"))
    }

    /// Whether this node had heard a lost car for the last time when it learned of the press or just
    /// after, or had not seen it at the floor since the press can have been made. A peer that was found
    /// later may have met the car, but that proves nothing: a member can be away for a moment, and lie
    /// when it returns. A peer that still hears the car, as its echoes show, may know better.
    fn is_gone(
        &self,
        car: &NodeId,
        press: &Press,
        attentive_since: Timestamp,
        now: Timestamp,
    ) -> bool {
        // What a node hears first after an interruption was sent long before, both by that car and
        // about the press.
        let is_known = |heard_at| {
            attentive_since == Timestamp::START || attentive_since + TOLERANCE <= heard_at
        };
        let lost = self.members.lost().get(car);
        lost.is_some_and(|lost| {
            let was_elsewhere = || lost.sightings.excluded(press.floor, press.made_since);
            (lost.heard_at <= press.known_since + AT_ONCE || was_elsewhere())
                && is_known(lost.heard_at)
                && !self.keep_hearing_strangers(now)
        })
    }

    /// Whether since then no peer can have heard a node that this one does not hear.
    fn knows_all(&self, from: Timestamp) -> bool {
        let mut peers = self.members.peers();
        peers.all(|(_, peer)| {
            let unbroken = peer.found_at <= from;
            unbroken && peer.stranger_echoed_at.is_none_or(|at| at < from)
        })
    }

    /// Whether a peer goes on hearing a node that this one does not hear. One that has just started
    /// is not heard by all at once.
    fn keep_hearing_strangers(&self, now: Timestamp) -> bool {
        let mut peers = self.members.peers();
        peers.any(|(_, peer)| {
            let is_cut_off = peer.strangers_since.is_some_and(|since| STRANGE <= now.since(since));
            is_cut_off && peer.stranger_echoed_at.is_some_and(|at| now.since(at) < STRANGE)
        })
    }
}
