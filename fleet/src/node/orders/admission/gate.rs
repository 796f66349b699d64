//! Records that can't be.
//!
//! In the store the higher sequence wins, so a sequence that no press can have would win for good:
//! no later press of that call could replace it, in any node that has merged it.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::FloorCount;

use super::Knowledge;
use crate::directives::Directive;
use crate::model::bounds::JUMP;
use crate::model::{Call, Dot, JournalId, MOST_SEQUENCE, NodeId, Timestamp};
use crate::node::peers::Membership;
use crate::node::{RefusedStatus, Report};
use crate::orders::{Record, RecordState};
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::{Frame, PlanEntry};

/// How often refused records are reported, and the journal is renewed, at most.
const REPORT_PERIOD: Duration = Duration::from_mins(1);

/// How often the store of a peer that sends refused records is repaired, at most. The peer keeps
/// those records, so its store differs from this one's whatever is sent.
const REPAIR_PERIOD: Duration = Duration::from_mins(1);

/// What was refused, and when that was last reported.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals {
    counts: RefusedStatus,
    reported: Option<Timestamp>,
    no_room_reported: Option<Timestamp>,
    /// Records for which there was no room since that was last reported.
    no_room_unreported: u64,
    renewed: Option<Timestamp>,
    /// When a record of a peer was last refused. Bounded by the peers.
    last: BTreeMap<NodeId, Timestamp>,
}

impl Refusals {
    /// How many records were refused since the start.
    pub(super) fn counts(&self) -> RefusedStatus {
        self.counts
    }

    pub(super) fn peer_lost(&mut self, peer: &NodeId) {
        self.last.remove(peer);
    }

    /// How long a difference to the store of this peer has to last before it is repaired, where
    /// `usual` applies to a peer of which nothing was refused.
    pub(super) fn repair_after(&self, peer: &NodeId, usual: Duration, now: Timestamp) -> Duration {
        let last = self.last.get(peer);
        match last.filter(|at| now.since(**at) < REPAIR_PERIOD) {
            Some(_) => usual.max(REPAIR_PERIOD),
            None => usual,
        }
    }

    /// An impossible record was refused.
    pub(super) fn refuse(
        &mut self,
        peer: &NodeId,
        dot: Dot,
        members: &Membership,
        now: Timestamp,
    ) -> Option<Report> {
        self.counts.impossible += 1;
        self.note(peer, members, now);
        is_due(&mut self.reported, now).then(|| {
            Report::Conflict(format!(
                "node {peer} sends impossible orders, {dot} among them: they are refused"
            ))
        })
    }

    /// A record was refused because there is no room for it.
    pub(super) fn refuse_for_room(
        &mut self,
        peer: &NodeId,
        dot: Dot,
        now: Timestamp,
    ) -> Option<Report> {
        self.counts.no_room += 1;
        self.no_room_unreported = self.no_room_unreported.saturating_add(1);
        is_due(&mut self.no_room_reported, now).then(|| {
            let refused = std::mem::take(&mut self.no_room_unreported);
            Report::Conflict(format!(
                "node {peer} sends more journals or calls than there can be, {dot} among \
                 them: {refused} records were refused"
            ))
        })
    }

    /// Whether the journal may be renewed for a press that it does not know; `true` once per period.
    pub(super) fn may_renew(&mut self, now: Timestamp) -> bool {
        is_due(&mut self.renewed, now)
    }

    fn note(&mut self, peer: &NodeId, members: &Membership, now: Timestamp) {
        if members.get(peer).is_some() {
            self.last.insert(peer.clone(), now);
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

impl Knowledge<'_> {
    /// The highest sequence of a journal that is accepted. An unknown journal may begin with any
    /// possible one.
    pub(super) fn limit(&self, journal: JournalId) -> u64 {
        let highest = self.store.highest(journal);
        highest.map_or(MOST_SEQUENCE, |known| known.saturating_add(JUMP).min(MOST_SEQUENCE))
    }

    /// Whether this node can't have made this press of its own journal, even before its disk was
    /// replaced by an old copy. The limit is half of what others accept, so that the sequences that
    /// this node uses next are not too high for them.
    pub(super) fn is_out_of_reach(&self, dot: Dot) -> bool {
        dot.sequence > self.reached.saturating_add(JUMP / 2).min(MOST_SEQUENCE)
    }

    /// Whether no recall that this order has outlived can be known anywhere: it would outlive all others.
    pub(super) fn is_ahead_of_recalls(&self, record: &Record) -> bool {
        let most = self.store.recalls().saturating_add(JUMP);
        matches!(record.state, RecordState::Open { recall, .. } if recall > most)
    }

    /// Whether the record gives a press another call than the one for which it was made.
    pub(super) fn is_of_another_call(&self, record: &Record) -> bool {
        let known = self.store.call(record.dot);
        known.is_some_and(|call| *call != record.call)
    }
}

/// Whether such a press can exist in a building with these floors.
pub(in crate::node::orders) fn is_possible(record: &Record, floors: FloorCount) -> bool {
    let is_there = |floor| floor != floors.top() || !is_seeded(SeededBug::TopFloorImpossible);
    record.dot.sequence <= MOST_SEQUENCE
        && record.call.is_within(floors)
        && is_there(record.call.floor())
}

/// What a frame contains that no node may send, in words. Checked before anything of the frame is
/// handled, so that garbage costs next to no work.
pub(in crate::node) fn garbage(frame: &Frame, floors: FloorCount) -> Option<&'static str> {
    let (records, car, plan) = match frame {
        Frame::State(state) => (state.records.as_slice(), None, [].as_slice()),
        Frame::Delta(delta) => (delta.records.as_slice(), delta.car, delta.plan.as_slice()),
        Frame::CarPlan(plan) => {
            let is_nowhere = plan.park.is_some_and(|floor| !floors.contains(floor));
            return is_nowhere.then_some("a parking floor that the building does not have");
        }
        Frame::Directives(directives) => {
            let is_possible = directives.iter().all(Directive::is_possible);
            return (!is_possible).then_some("a directive with an impossible version");
        }
        Frame::Hello(_)
        | Frame::Digest(_)
        | Frame::Next
        | Frame::Synced
        | Frame::Probe
        | Frame::Alive => return None,
    };
    let is_call = |entry: &PlanEntry| Call::Hall(entry.call).is_within(floors);
    if !records.iter().all(|record| is_possible(record, floors)) {
        Some("an order that can't be")
    } else if car.is_some_and(|car| !car.is_within(floors)) {
        Some("its car at a floor that the building does not have")
    } else if !plan.iter().all(is_call) {
        Some("a plan for a call that can't be")
    } else {
        None
    }
}
