//! Which records are taken in: the one gate before [`OrderStore::merge`](crate::orders::OrderStore).
//!
//! In the store the higher sequence wins, so one that no press can have would win for good: no
//! later press of that call could take its place, in any node that has merged it. What is refused
//! here counts as never received: it is not merged, acknowledged, written or passed on.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::FloorCount;
use fastrand::Rng;

use super::contested::ANSWER_LIMIT;
use super::plausible::Credit;
use super::{Fleet, Orders};
use crate::model::bounds::JUMP;
use crate::model::{Call, Dot, JournalId, MOST_SEQUENCE, NodeId, Timestamp};
use crate::node::{RefusedStatus, Report};
use crate::orders::Record;
use crate::wire::{Frame, PlanEntry};

/// Refused records are reported, and the journal is renewed, this often at most.
const REPORT_PERIOD: Duration = Duration::from_mins(1);

/// A peer that tells of refused records keeps them, so its store differs from this one's whatever
/// is sent: that is tried this often only.
const REPAIR_PERIOD: Duration = Duration::from_mins(1);

/// What has been refused lately.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals {
    reported: Option<Timestamp>,
    renewed: Option<Timestamp>,
    service_reported: Option<Timestamp>,
    counts: RefusedStatus,
    /// By peer; bounded by those that are heard.
    last: BTreeMap<NodeId, Timestamp>,
}

impl Refusals {
    /// How many records were refused since the start.
    pub(super) fn counts(&self) -> RefusedStatus {
        self.counts
    }

    /// A record was refused because there is no room for it.
    pub(super) fn count_no_room(&mut self) {
        self.counts.no_room += 1;
    }

    pub(super) fn lost(&mut self, peer: &NodeId) {
        self.last.remove(peer);
    }

    /// How long a difference to the store of this peer has to stand before it is repaired, where
    /// it is `usual` for one that is sound.
    pub(super) fn repair_after(&self, peer: &NodeId, usual: Duration, now: Timestamp) -> Duration {
        let last = self.last.get(peer);
        match last.filter(|at| now.since(**at) < REPAIR_PERIOD) {
            Some(_) => usual.max(REPAIR_PERIOD),
            None => usual,
        }
    }
}

/// Whether it is time for what is done once in a [`REPORT_PERIOD`].
fn is_due(last: &mut Option<Timestamp>, now: Timestamp) -> bool {
    let due = last.is_none_or(|at| now.since(at) >= REPORT_PERIOD);
    if due {
        *last = Some(now);
    }
    due
}

/// Whether there can be such a press at all, in a building with these floors.
pub(super) fn is_possible(record: &Record, floors: FloorCount) -> bool {
    record.dot.sequence <= MOST_SEQUENCE && floors.has_button(record.call.button())
}

/// What is in a frame that no sound node sends, in words. Looked for before anything of it is
/// taken in, so that rubbish costs next to no work.
pub(in crate::node) fn rubbish(frame: &Frame, floors: FloorCount) -> Option<String> {
    let (records, car, plan) = match frame {
        Frame::State(state) => (state.records.as_slice(), None, [].as_slice()),
        Frame::Delta(delta) => (delta.records.as_slice(), delta.car, delta.plan.as_slice()),
        Frame::Hello(_)
        | Frame::Digest(_)
        | Frame::Next
        | Frame::Synced
        | Frame::Probe
        | Frame::Alive => return None,
    };
    if let Some(record) = records.iter().find(|record| !is_possible(record, floors)) {
        let Record { dot, call, .. } = record;
        return Some(format!("it sent {call} as {dot}, which is impossible"));
    }
    if car.is_some_and(|car| !car.is_within(floors)) {
        return Some("its car is where there is no floor".to_owned());
    }
    let is_no_call = |entry: &&PlanEntry| !floors.has_button(Call::Hall(entry.call).button());
    let entry = plan.iter().find(is_no_call)?;
    Some(format!("it assigns {}, which can't be", Call::Hall(entry.call)))
}

impl Orders {
    /// Those of the records that arrived together which are taken in. All are held against what was
    /// known before them, so that one message can't climb in steps.
    pub(super) fn admit<'a>(
        &mut self,
        peer: &NodeId,
        records: &'a [Record],
        fleet: Fleet<'_>,
        random: &mut Rng,
        now: Timestamp,
    ) -> Vec<&'a Record> {
        let mut admitted = Vec::with_capacity(records.len());
        let mut own = None;
        for record in records {
            let dot = record.dot;
            if !is_possible(record, self.own.floors) {
                // No sound node has taken it in.
                self.refused(peer, dot, fleet, now);
                continue;
            }
            let limit = self.limit(dot.journal);
            let is_own = dot.journal == self.ledger.journal();
            if is_own && (self.strays(dot) || self.is_of_another_call(record)) {
                own = own.or(Some(dot));
                self.refused(peer, dot, fleet, now);
                continue;
            }
            if dot.sequence > limit {
                self.refused(peer, dot, fleet, now);
                continue;
            }
            match self.credit(peer, record, fleet) {
                Credit::Taken => admitted.push(record),
                Credit::Hearsay { car, open } => {
                    self.promise.forget_holding(open, peer);
                    self.replication.enqueue(&car, open);
                    self.contest(&record.call, open, peer, now + ANSWER_LIMIT);
                }
                Credit::Refused { open, why } => {
                    self.refuse_service(peer, record, open, &why, fleet, now);
                }
            }
        }
        if let Some(dot) = own
            && is_due(&mut self.refusals.renewed, now)
        {
            let reason = format!("node {peer} knows {dot} of it, a press that was never made");
            self.renew_journal(&reason, random, now);
        }
        admitted
    }

    /// The highest sequence of a journal that is taken in. Of a journal that is unknown any may be
    /// next that there can be.
    fn limit(&self, journal: JournalId) -> u64 {
        let highest = self.store.highest(journal);
        highest.map_or(MOST_SEQUENCE, |known| known.saturating_add(JUMP).min(MOST_SEQUENCE))
    }

    /// Whether this press of the own journal is one that this node can't have made, even before its
    /// disk was replaced by an old copy. It is refused at half of what others take in, so that what
    /// it leads this node to use next is not too far for them.
    fn strays(&self, dot: Dot) -> bool {
        dot.sequence > self.ledger.reached().saturating_add(JUMP / 2).min(MOST_SEQUENCE)
    }

    /// Whether the record gives a press another call than the one for which it was made.
    fn is_of_another_call(&self, record: &Record) -> bool {
        let known = self.store.call(record.dot);
        known.is_some_and(|call| *call != record.call)
    }

    /// A service that can't have happened: the order stays open here until it is really served.
    fn refuse_service(
        &mut self,
        peer: &NodeId,
        record: &Record,
        open: Dot,
        why: &str,
        fleet: Fleet<'_>,
        now: Timestamp,
    ) {
        self.refusals.counts.services += 1;
        // It does not hold the order open, whatever it said before.
        self.promise.forget_holding(open, peer);
        self.contest(&record.call, open, peer, now);
        if fleet.members.get(peer).is_some() {
            self.refusals.last.insert(peer.clone(), now);
        }
        if is_due(&mut self.refusals.service_reported, now) {
            let (call, count) = (&record.call, self.refusals.counts.services);
            self.report(Report::Conflict(format!(
                "node {peer} tells that {call} was served, but {why}: the order stays open \
                 ({count} such records refused)"
            )));
        }
    }

    pub(super) fn refused(&mut self, peer: &NodeId, dot: Dot, fleet: Fleet<'_>, now: Timestamp) {
        self.refusals.counts.impossible += 1;
        if fleet.members.get(peer).is_some() {
            self.refusals.last.insert(peer.clone(), now);
        }
        if is_due(&mut self.refusals.reported, now) {
            self.report(Report::Conflict(format!(
                "node {peer} sends impossible orders, {dot} among them: they are refused"
            )));
        }
    }
}
