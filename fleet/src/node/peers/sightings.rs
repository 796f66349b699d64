//! Where the cars of peers have been seen.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Floor;

use crate::model::{CarView, Timestamp};

/// A car that is not described for longer than this may have been anywhere.
const GAP: Duration = Duration::from_secs(2);

/// Where the car of a peer has been seen.
#[derive(Debug, Clone, Default)]
pub(in crate::node) struct Sightings {
    /// Since when there has been no gap, and when it was seen last.
    seen: Option<(Timestamp, Timestamp)>,
    /// When it was last seen at each floor, or on its way from there; bounded by the floors.
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

    /// Whether the car is known not to have been at this floor from then on.
    pub(in crate::node) fn exclude(&self, floor: Floor, from: Timestamp) -> bool {
        let seen = self.seen.is_some_and(|(since, _)| since <= from);
        seen && self.floors.get(&floor).is_none_or(|last| *last < from)
    }
}
