//! How admission's verdicts change the orders: what is refused, asked about, collected and placed
//! again.

use fastrand::Rng;

use super::admission::{ANSWER_LIMIT, Knowledge, MOST_AT_ONCE, MOST_TRIPS, Unconfirmed};
use super::{Effect, Fleet, Orders};
use crate::model::{Dot, JournalId, NodeId, Order, Timestamp};
use crate::node::Taken;
use crate::orders::{Holding, Record, Service};

impl Orders {
    /// The records to merge, of those that arrived together.
    pub(super) fn admit<'a>(
        &mut self,
        peer: &NodeId,
        records: &'a [Record],
        fleet: Fleet<'_>,
        random: &mut Rng,
        now: Timestamp,
    ) -> Vec<&'a Record> {
        let known = Knowledge::new(&self.own, &self.store, &self.promise, &self.ledger, fleet);
        let mut admitted = self.admission.admit(peer, records, &known, now);
        self.pass_reports();
        for open in admitted.disowned {
            self.promise.forget_holding(open, peer);
            self.replication.answered(peer, open);
        }
        for (car, open) in admitted.questions {
            self.replication.ask(&car, open);
        }
        if let Some(reason) = admitted.renewal {
            self.renew_journal(&reason, random, now);
        }
        for Unconfirmed { record, is_open } in admitted.unconfirmed {
            if self.keep_open(record, fleet, now) {
                admitted.records.push(record);
            } else if is_open {
                // Once the car serves the call, this one is closed too. Of a press that is not known
                // here nothing closes the question: each answer costs a service, so it is asked
                // only as often as the peer repeats itself.
                self.admission.keep_unconfirmed(peer, record, now);
            }
        }
        admitted.records
    }

    /// Judges what came too early to be judged. What a lost peer said is left out: it says it again
    /// when it returns.
    pub(in crate::node) fn judge_early(
        &mut self,
        fleet: Fleet<'_>,
        random: &mut Rng,
        now: Timestamp,
    ) {
        for (peer, records) in self.admission.take_early(now) {
            if fleet.members.get(&peer).is_some() {
                self.take_in(&peer, &records, fleet, random, now);
            }
        }
    }

    /// Makes sure that a call stays open whose service nobody here can confirm: at worst it is
    /// served twice. `false` until a press of this process is promised, and every peer that holds
    /// the order has the press on its disk, so that the lamps stay lit; then the service is judged
    /// again. After [`ANSWER_LIMIT`] the others have had their time: a peer without a disk never says
    /// that the press is on it.
    fn keep_open(&mut self, record: &Record, fleet: Fleet<'_>, now: Timestamp) -> bool {
        // The record itself closes what it names, and earlier presses of the same register.
        let stays = |dot: Dot| dot.journal != record.dot.journal || dot > record.dot;
        let made_here = || {
            let orders = self.store.of_call(&record.call);
            orders.filter(|order| self.store.is_made_here(order.dot) && stays(order.dot))
        };
        if made_here().next().is_none() {
            if !self.may_place(&record.call) {
                return false;
            }
            // Even a press that has got its sequence is not promised yet.
            let (Taken::Placed | Taken::Waiting | Taken::Absorbed) =
                self.place(record.call.clone(), now);
            return false;
        }
        // Of a press that is not known here, nobody knows who holds it.
        let is_unknown =
            self.store.present(record.dot, &record.call).is_none_or(|dot| dot < record.dot);
        let holds = |peer: &&NodeId| is_unknown || self.promise.holding(record.dot, peer).is_some();
        let holders: Vec<_> = fleet.members.peers().map(|(peer, _)| peer).filter(holds).collect();
        let is_kept = |order: &Order| {
            let has_it = |peer| self.promise.holding(order.dot, peer) == Some(Holding::Durable);
            (self.promise.is_made(order.dot) && holders.iter().copied().all(has_it))
                || now >= order.open_since + ANSWER_LIMIT
        };
        made_here().any(is_kept)
    }

    /// Whether there is room for a record.
    pub(super) fn has_room(
        &mut self,
        peer: &NodeId,
        record: &Record,
        fleet: Fleet<'_>,
        now: Timestamp,
    ) -> bool {
        let known = Knowledge::new(&self.own, &self.store, &self.promise, &self.ledger, fleet);
        let has_room = self.admission.has_room(peer, record, &known, now);
        self.pass_reports();
        has_room
    }

    /// A record was taken in.
    pub(super) fn note_open(&mut self, record: &Record, fleet: Fleet<'_>, now: Timestamp) {
        if self.store.get(record.dot).is_some() {
            let known = Knowledge::new(&self.own, &self.store, &self.promise, &self.ledger, fleet);
            self.admission.note_open(record, &known, now);
        }
    }

    /// The store refused a record.
    pub(super) fn on_refused(&mut self, peer: &NodeId, dot: Dot, fleet: Fleet<'_>, now: Timestamp) {
        self.admission.refuse(peer, dot, fleet, now);
        self.pass_reports();
    }

    fn pass_reports(&mut self) {
        while let Some(report) = self.admission.poll_report() {
            self.effects.push_back(Effect::Report(report));
        }
    }

    /// Places the calls again that have been contested for long enough. A trip for which there is no
    /// room keeps its turn.
    pub(in crate::node) fn place_contested(&mut self, fleet: Fleet<'_>, now: Timestamp) {
        let known = Knowledge::new(&self.own, &self.store, &self.promise, &self.ledger, fleet);
        let due = self.admission.due_calls(&known, now);
        if due.is_empty() {
            return;
        }
        let (mut left, mut room) = (MOST_AT_ONCE, MOST_TRIPS.saturating_sub(self.open_trips()));
        for call in due {
            if left == 0 {
                break;
            }
            let takes_room = self.takes_room(&call);
            if takes_room && room == 0 {
                continue;
            }
            left -= 1;
            room -= usize::from(takes_room);
            self.place(call.clone(), now);
            self.admission.on_placed_again(&call, &self.store, now);
        }
    }

    /// A peer says that an order was served which was open here: closes the contested orders that
    /// the service also served, unless the peer holds them open.
    pub(super) fn close_contested(
        &mut self,
        peer: &NodeId,
        closed: &Order,
        service: &Service,
        fleet: Fleet<'_>,
        now: Timestamp,
    ) {
        let known = Knowledge::new(&self.own, &self.store, &self.promise, &self.ledger, fleet);
        for record in self.admission.served_with(peer, closed, service, &known, now) {
            if self.promise.holding(record.dot, peer).is_none() {
                self.merge_record(&record, None, now);
            }
        }
    }

    /// Checks periodically whether journals have lost their announcers, and which have open orders.
    pub(in crate::node) fn collect_in_time(&mut self, fleet: Fleet<'_>, now: Timestamp) {
        let known = Knowledge::new(&self.own, &self.store, &self.promise, &self.ledger, fleet);
        if self.admission.check(&known, now) {
            self.collect(fleet, now);
        }
    }

    /// Collects the journals that are worth the least, as far as there are too many.
    pub(super) fn collect(&mut self, fleet: Fleet<'_>, now: Timestamp) {
        let known = Knowledge::new(&self.own, &self.store, &self.promise, &self.ledger, fleet);
        let Some(surplus) = self.admission.surplus(&known, now) else {
            return;
        };
        for journal in &surplus {
            self.drop_journal(*journal);
        }
        self.admission.on_collected(&surplus, &self.store);
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
        if is_open {
            self.invalidate();
        }
    }
}
