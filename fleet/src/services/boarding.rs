//! Passengers with a destination who have entered the car.
//!
//! ```text
//!   door open at the landing ──▶ car call to the destination ──▶ promised ──▶ the press is served
//!                                └──────── until then it is open ──────────┘
//! ```
//!
//! A destination call is the whole trip, so it must not end before the car call that takes its
//! place is as safe (F12, F13). A crash in between leaves the destination call open: the trip is
//! made twice at worst, and never lost (O1). A panel that is lost meanwhile leaves it open, too: it
//! may have been gone when the door seemed to be open, and nobody saw the car.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Entrance, Floor};

use crate::model::{Dot, HallCall, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::store::Ride;

/// How long after a passenger entered the loss of the panel may still be reported that came before:
/// longer than a panel may be silent by default (`panel_line.silence_limit`).
const NOTICED: Duration = Duration::from_millis(300);

/// The presses of destination calls whose passengers have entered the car: one entry for each call,
/// with the presses that were open when the door last opened for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Boarding {
    calls: BTreeMap<HallCall, Boarded>,
}

#[derive(Debug, Clone)]
struct Boarded {
    to: Floor,
    presses: BTreeSet<Dot>,
    stage: Stage,
    /// When the door opened for it, or the process resumed: see [`NOTICED`].
    since: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Wanted,
    /// The car call is, or was, in the order store.
    Placed,
}

impl Boarding {
    /// The door is open for a destination call with these open presses, earlier ones included.
    pub(crate) fn begin(&mut self, call: HallCall, presses: BTreeSet<Dot>, now: Timestamp) {
        if let Some(to) = call.to {
            // The car call of an earlier passenger may have been served: this one needs another.
            let stage = Stage::Wanted;
            self.calls.insert(call, Boarded { to, presses, stage, since: now });
        }
    }

    /// The process was interrupted until now: it would not have noticed a panel that is gone.
    pub(crate) fn interrupt(&mut self, now: Timestamp) {
        for trip in self.calls.values_mut() {
            trip.since = now;
        }
    }

    /// The panel is lost: nobody knows whether these passengers entered, so their trips stay open.
    pub(crate) fn lose_panel(&mut self) {
        self.calls.clear();
    }

    /// The door is open at this floor: who wanted to go there has arrived.
    pub(crate) fn arrive(&mut self, at: Entrance) {
        for trip in self.calls.values_mut().filter(|trip| Entrance::from(trip.to) == at) {
            trip.stage = Stage::Placed;
        }
    }

    /// Whether the passenger who made this press is in the car.
    pub(crate) fn contains(&self, call: HallCall, press: Dot) -> bool {
        self.calls.get(&call).is_some_and(|trip| trip.presses.contains(&press))
    }

    /// Takes the presses whose trips are safe: the car call is promised, or has been served, and
    /// the panel stayed connected. It needs no timer: the next beacon is due soon enough.
    pub(crate) fn take_safe(
        &mut self,
        ride_to: impl Fn(Floor) -> Ride,
        now: Timestamp,
    ) -> Vec<(HallCall, BTreeSet<Dot>)> {
        for trip in self.calls.values_mut() {
            trip.stage = match (trip.stage, ride_to(trip.to)) {
                (Stage::Wanted, Ride::Absent) => Stage::Wanted,
                (Stage::Placed, Ride::Absent)
                | (Stage::Wanted | Stage::Placed, Ride::Open | Ride::Promised) => Stage::Placed,
            };
        }
        let is_safe = |trip: &Boarded| match (trip.stage, ride_to(trip.to)) {
            (Stage::Placed, Ride::Absent | Ride::Promised) => true,
            (Stage::Placed, Ride::Open) => is_seeded(SeededBug::TripEndsBeforeRide),
            (Stage::Wanted, _) => false,
        };
        let is_aboard = |trip: &Boarded| {
            now.since(trip.since) >= NOTICED || is_seeded(SeededBug::TripEndsBeforeRide)
        };
        let safe = self.calls.extract_if(.., |_, trip| is_aboard(trip) && is_safe(trip));
        safe.map(|(call, trip)| (call, trip.presses)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::floor;
    use crate::model::Nonce;

    fn trip() -> HallCall {
        HallCall::to(floor(0), floor(3)).expect("a trip")
    }

    fn press(sequence: u64) -> Dot {
        Dot { incarnation: Nonce(1), sequence }
    }

    fn begun() -> Boarding {
        let mut boarding = Boarding::default();
        boarding.begin(trip(), [press(1)].into(), Timestamp::START);
        boarding
    }

    fn all_served(boarding: &mut Boarding, ride: Ride) -> Vec<u64> {
        let now = Timestamp::START + NOTICED;
        let safe = boarding.take_safe(|to| if to == floor(3) { ride } else { Ride::Absent }, now);
        safe.into_iter().flat_map(|(_, presses)| presses).map(|dot| dot.sequence).collect()
    }

    /// The car may be there sooner than a slow disk: its car call is served as soon as placed.
    #[test]
    fn a_press_is_served_once_the_ride_is_over() {
        let mut boarding = begun();
        assert_eq!(all_served(&mut boarding, Ride::Absent), [0; 0]);
        assert_eq!(all_served(&mut boarding, Ride::Open), [0; 0]);
        assert_eq!(all_served(&mut boarding, Ride::Absent), [1]);
        let mut boarding = begun();
        boarding.arrive(floor(2).into());
        assert_eq!(all_served(&mut boarding, Ride::Absent), [0; 0], "not where it gets off");
        boarding.arrive(floor(3).into());
        assert_eq!(all_served(&mut boarding, Ride::Absent), [1]);
    }

    #[test]
    fn a_later_passenger_needs_a_ride_of_its_own() {
        let mut boarding = begun();
        assert_eq!(all_served(&mut boarding, Ride::Open), [0; 0]);
        boarding.begin(trip(), [press(1), press(2)].into(), Timestamp::START);
        assert_eq!(all_served(&mut boarding, Ride::Absent), [0; 0], "the first ride is over");
        assert_eq!(all_served(&mut boarding, Ride::Promised), [1, 2]);
    }
}
