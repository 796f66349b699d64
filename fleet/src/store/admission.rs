//! Which records of peers this node refuses: those that can't be, and those for which there is no
//! room. They count as never received: not merged, acknowledged, written or passed on. Nobody
//! judges whether a record is true.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::FloorCount;
use serde::{Deserialize, Serialize};

use crate::json::is_zero;
use crate::model::{Call, Dot, MOST_SEQUENCE, NodeId, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::settings::Register;
use crate::store::{Record, Store};
use crate::wire::{Frame, PlanEntry};

/// How often refused records are reported, at most.
const REPORT_PERIOD: Duration = Duration::from_mins(1);

/// How often the store of a peer that sends refused records is repaired, at most. The peer keeps
/// those records, so its store differs from this one's whatever is sent.
const REPAIR_PERIOD: Duration = Duration::from_mins(1);

/// How many records of peers were refused, by reason. JSON omits the zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RefusedRecords))]
pub struct Refused {
    /// No press can have made them.
    #[serde(skip_serializing_if = "is_zero")]
    pub impossible: u64,
    /// They exceed the number of calls that a fleet can have.
    #[serde(skip_serializing_if = "is_zero")]
    pub no_room: u64,
}

/// Why a record is refused, as in [`Refused`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Refusal {
    Impossible,
    NoRoom,
}

/// What was refused, and when that was last reported.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals {
    counts: Refused,
    reported: Option<Timestamp>,
    no_room_reported: Option<Timestamp>,
    /// When a record of a peer was last refused. Bounded by the peers.
    last: BTreeMap<NodeId, Timestamp>,
}

impl Refusals {
    /// How many records were refused since the start.
    pub(super) fn counts(&self) -> Refused {
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

    /// A record was refused.
    pub(super) fn refuse(
        &mut self,
        peer: &NodeId,
        dot: Dot,
        why: Refusal,
        now: Timestamp,
    ) -> Option<String> {
        self.last.insert(peer.clone(), now);
        let (count, reported, what) = match why {
            Refusal::Impossible => {
                (&mut self.counts.impossible, &mut self.reported, "impossible orders")
            }
            Refusal::NoRoom => (
                &mut self.counts.no_room,
                &mut self.no_room_reported,
                "more calls than there can be",
            ),
        };
        *count += 1;
        is_due(reported, now)
            .then(|| format!("node {peer} sends {what}, such as {dot}: refusing them"))
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

/// Whether such a press can exist in a building with these floors.
pub(super) fn is_possible(record: &Record, floors: FloorCount) -> bool {
    let is_there = |floor| floor != floors.top() || !is_seeded(SeededBug::TopFloorImpossible);
    record.dot.sequence <= MOST_SEQUENCE
        && record.absorbed.iter().all(|dot| dot.sequence <= MOST_SEQUENCE)
        && record.call.is_within(floors)
        && is_there(record.call.floor())
}

impl Store {
    /// What a frame contains that no node may send, in words. Checked before anything of the frame is
    /// handled, so that garbage costs next to no work.
    pub(crate) fn garbage(&self, frame: &Frame) -> Option<&'static str> {
        let floors = self.own.floors;
        let (settings, records, car, plan) = match frame {
            Frame::State(state) => (&state.settings, &state.records, None, [].as_slice()),
            Frame::Delta(delta) => {
                (&delta.settings, &delta.records, delta.car, delta.plan.as_slice())
            }
            Frame::CarPlan(plan) => {
                let is_nowhere = plan.park.is_some_and(|floor| !floors.contains(floor));
                return is_nowhere.then_some("a parking floor that the building does not have");
            }
            Frame::Hello(_)
            | Frame::Digest(_)
            | Frame::Next
            | Frame::Synced
            | Frame::Probe
            | Frame::Alive => return None,
        };
        let is_call = |entry: &PlanEntry| Call::Hall(entry.call).is_within(floors);
        if !settings.iter().all(Register::is_possible) {
            Some("a setting with an impossible version")
        } else if !settings.iter().all(|it| self.settings.is_in_reach(it)) {
            Some("a setting that is too far ahead")
        } else if !records.iter().all(|record| is_possible(record, floors)) {
            Some("an order that can't be")
        } else if car.is_some_and(|car| !car.is_within(floors)) {
            Some("its car at a floor that the building does not have")
        } else if !plan.iter().all(is_call) {
            Some("a plan for a call that can't be")
        } else {
            None
        }
    }
}
