//! Which records of peers this node refuses: those that can't be, and those for which there is no
//! room. They count as never received. Nobody judges whether a record is true.

use std::time::Duration;

use elevator_driver::Building;
use serde::{Deserialize, Serialize};

use crate::json::is_zero;
use crate::model::{Call, Dot, MOST_SEQUENCE, NodeId, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::store::Record;

/// How often refused records are reported, at most.
const REPORT_PERIOD: Duration = Duration::from_mins(1);

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

/// How many records were refused, and when each reason was last reported.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusals {
    pub(crate) counts: Refused,
    impossible_reported: Option<Timestamp>,
    no_room_reported: Option<Timestamp>,
}

impl Refusals {
    /// A record was refused. Returns what to report, once in a [`REPORT_PERIOD`].
    pub(super) fn refuse(
        &mut self,
        peer: &NodeId,
        dot: Dot,
        why: Refusal,
        now: Timestamp,
    ) -> Option<String> {
        let Refused { impossible, no_room } = &mut self.counts;
        let (count, reported, what) = match why {
            Refusal::Impossible => (impossible, &mut self.impossible_reported, "impossible orders"),
            Refusal::NoRoom => {
                (no_room, &mut self.no_room_reported, "more calls than there can be")
            }
        };
        *count += 1;
        if reported.is_some_and(|at| now.since(at) < REPORT_PERIOD) {
            return None;
        }
        *reported = Some(now);
        Some(format!("node {peer} sends {what}, such as {dot}: refusing them"))
    }
}

/// Whether such a press can exist in this building.
pub(super) fn is_possible(record: &Record, building: &Building) -> bool {
    let floors = building.floors();
    let is_served = match &record.call {
        Call::Car { car, .. } => building.door(car.as_str(), record.call.entrance()).is_some(),
        // Cars that are not listed serve every floor.
        Call::Hall(call) => building.has(call.entrance()),
    };
    let is_there = |floor| floor != floors.top() || !is_seeded(SeededBug::TopFloorImpossible);
    record.dot.sequence <= MOST_SEQUENCE
        && record.absorbed.iter().all(|dot| dot.sequence <= MOST_SEQUENCE)
        && record.call.is_within(floors)
        && is_there(record.call.floor())
        && is_served
}
