//! Where and when the cars of peers were seen.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Floor;

use crate::model::{CarView, Timestamp};

/// After a gap longer than this without a description, a car may have been anywhere.
const GAP: Duration = Duration::from_secs(2);

/// Where and when the car of a peer was seen.
#[derive(Debug, Clone, Default)]
pub(in crate::node) struct Sightings {
    /// Since when there was no gap, and when the car was last seen.
    seen: Option<(Timestamp, Timestamp)>,
    /// When the car was last seen at each floor, or departing from there; bounded by the floors.
    floors: BTreeMap<Floor, Timestamp>,
}

impl Sightings {
    pub(super) fn start_over(&mut self) {
        self.seen = None;
    }

    pub(super) fn note(&mut self, view: &CarView, now: Timestamp) {
        let Some(floor) = view.floor else {
            return self.start_over();
        };
        let unbroken = self.seen.filter(|(_, last)| now.since(*last) <= GAP);
        self.seen = Some((unbroken.map_or(now, |(since, _)| since), now));
        self.floors.insert(floor, now);
    }

    /// Whether the car can't have been at this floor since `from`.
    pub(in crate::node) fn exclude(&self, floor: Floor, from: Timestamp) -> bool {
        let seen = self.seen.is_some_and(|(since, _)| since <= from);
        seen && self.floors.get(&floor).is_none_or(|last| *last < from)
    }
}
