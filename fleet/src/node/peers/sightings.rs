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

    /// Whether the car can't have been at this floor since `from`. It has been seen until now.
    pub(in crate::node) fn exclude(&self, floor: Floor, from: Timestamp, now: Timestamp) -> bool {
        let is_seen = self.seen.is_some_and(|(_, last)| now.since(last) <= GAP);
        is_seen && self.excluded(floor, from)
    }

    /// Whether the car was not at this floor from `from` until it was last seen.
    pub(in crate::node) fn excluded(&self, floor: Floor, from: Timestamp) -> bool {
        let seen = self.seen.is_some_and(|(since, _)| since <= from);
        seen && self.floors.get(&floor).is_none_or(|last| *last < from)
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::FloorCount;

    use super::*;
    use crate::model::{Availability, CarPhase, FloorSet, Mode};

    fn idle_at(floor: Floor) -> CarView {
        CarView {
            availability: Availability::InService,
            floor: Some(floor),
            phase: CarPhase::Idle,
            elapsed: Duration::ZERO,
            direction: None,
            load: None,
            locked_out: FloorSet::default(),
            mode: Mode::default(),
        }
    }

    /// O1: what was seen before a gap does not tell where the car has been since.
    #[test]
    fn a_car_out_of_sight_may_be_anywhere() {
        let floors: Vec<Floor> = FloorCount::new(2).expect("2").floors().collect();
        let (start, second) = (Timestamp::START, Duration::from_secs(1));
        let mut sightings = Sightings::default();
        for passed in 0..10 {
            sightings.note(&idle_at(floors[0]), start + second * passed);
        }
        let last = start + second * 9;
        assert!(sightings.exclude(floors[1], start, last + GAP));
        assert!(!sightings.exclude(floors[0], start, last + GAP));
        assert!(!sightings.exclude(floors[1], start, last + GAP * 2), "it was not seen since");
        assert!(sightings.excluded(floors[1], start), "it was not there before");
        sightings.note(&idle_at(floors[0]), last + GAP * 2);
        assert!(!sightings.exclude(floors[1], start, last + GAP * 2));
    }
}
