//! How admission's verdicts change the orders: what is refused, and what is collected.

use fastrand::Rng;

use super::admission::Knowledge;
use super::{Effect, Orders};
use crate::model::{Dot, JournalId, NodeId, Timestamp};
use crate::node::peers::Membership;
use crate::orders::Record;

impl Orders {
    /// The records to merge, of those that arrived together.
    pub(super) fn admit<'a>(
        &mut self,
        peer: &NodeId,
        records: &'a [Record],
        members: &Membership,
        random: &mut Rng,
        now: Timestamp,
    ) -> Vec<&'a Record> {
        let known = Knowledge::new(&self.own, &self.store, &self.ledger, members);
        let admitted = self.admission.admit(peer, records, &known, now);
        self.pass_reports();
        if let Some(reason) = admitted.renewal {
            self.renew_journal(&reason, random, now);
        }
        admitted.records
    }

    /// Whether there is room for a record.
    pub(super) fn has_room(
        &mut self,
        peer: &NodeId,
        record: &Record,
        members: &Membership,
        now: Timestamp,
    ) -> bool {
        let known = Knowledge::new(&self.own, &self.store, &self.ledger, members);
        let has_room = self.admission.has_room(peer, record, &known, now);
        self.pass_reports();
        has_room
    }

    /// A record was taken in.
    pub(super) fn note_open(&mut self, record: &Record, now: Timestamp) {
        if self.store.get(record.dot).is_some() {
            self.admission.note_open(record, now);
        }
    }

    /// The store refused a record.
    pub(super) fn on_refused(
        &mut self,
        peer: &NodeId,
        dot: Dot,
        members: &Membership,
        now: Timestamp,
    ) {
        self.admission.refuse(peer, dot, members, now);
        self.pass_reports();
    }

    fn pass_reports(&mut self) {
        while let Some(report) = self.admission.poll_report() {
            self.effects.push_back(Effect::Report(report));
        }
    }

    /// Checks periodically whether journals have lost their announcers, and which have open orders.
    pub(in crate::node) fn collect_in_time(&mut self, members: &Membership, now: Timestamp) {
        let known = Knowledge::new(&self.own, &self.store, &self.ledger, members);
        if self.admission.check(&known, now) {
            self.collect(members, now);
        }
    }

    /// Collects the journals that are worth the least, as far as there are too many.
    pub(super) fn collect(&mut self, members: &Membership, now: Timestamp) {
        let known = Knowledge::new(&self.own, &self.store, &self.ledger, members);
        let Some(surplus) = self.admission.surplus(&known, now) else {
            return;
        };
        for journal in &surplus {
            self.drop_journal(*journal);
        }
        self.admission.on_collected(&surplus);
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
