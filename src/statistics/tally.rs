//! Counts what a node sees.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Floor;
use elevator_fleet::model::{Call, CarView, HallCall, Mode, NodeId};

use super::quarter::CarState;
use super::week::{Slot, Week};

/// The most passengers with a destination whose arrival is awaited; further journeys don't count.
const JOURNEYS: usize = 512;

/// After this time no arrival is awaited any more.
const LONGEST_JOURNEY: Duration = Duration::from_hours(1);

/// Beyond this time between two looks at the cars the process was suspended.
const LONGEST_WATCH: Duration = Duration::from_mins(1);

impl CarState {
    pub(crate) fn of(view: &CarView) -> Self {
        match (view.is_in_service(), view.mode) {
            (true, _) => Self::InService,
            (false, Mode::InService) => Self::Down,
            (false, _) => Self::Reserved,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Journey {
    waited: Duration,
    entered: Duration,
}

/// The week, and what it takes to count further. `at` is of a monotonic clock, `slot` not.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) week: Week,
    journeys: BTreeMap<(NodeId, Floor), Vec<Journey>>,
    looked: Option<Duration>,
}

impl Tally {
    pub(crate) fn record_served(
        &mut self,
        call: &Call,
        waited: Duration,
        car: Option<&NodeId>,
        at: Duration,
        slot: Slot,
    ) {
        match call {
            Call::Hall(HallCall { to, .. }) => {
                if let Some((to, car)) = to.zip(car) {
                    self.begin_journey(car, to, Journey { waited, entered: at });
                }
            }
            Call::Car { car, floor, .. } => {
                let arrived = self.journeys.remove(&(car.clone(), *floor)).unwrap_or_default();
                for journey in &arrived {
                    let time = journey.waited + at.saturating_sub(journey.entered);
                    self.week.quarter(slot).record_journey(time);
                }
                if !arrived.is_empty() {
                    // The car has made this call itself, for its passengers: nobody has pressed it.
                    return;
                }
            }
        }
        self.week.quarter(slot).record_call(call, waited);
    }

    fn begin_journey(&mut self, car: &NodeId, to: Floor, journey: Journey) {
        self.journeys.retain(|_, waiting| {
            waiting.retain(|one| journey.entered.saturating_sub(one.entered) < LONGEST_JOURNEY);
            !waiting.is_empty()
        });
        if self.journeys.values().map(Vec::len).sum::<usize>() < JOURNEYS {
            self.journeys.entry((car.clone(), to)).or_default().push(journey);
        }
    }

    /// A look at the cars: each has been in its state since the look before.
    pub(crate) fn record_cars<'a>(
        &mut self,
        cars: impl IntoIterator<Item = (&'a NodeId, CarState)>,
        at: Duration,
        slot: Slot,
    ) {
        let looked = self.looked.replace(at);
        let Some(time) = looked.and_then(|looked| at.checked_sub(looked)) else { return };
        if time > LONGEST_WATCH {
            return;
        }
        let quarter = self.week.quarter(slot);
        quarter.record_watch(time);
        for (car, state) in cars {
            quarter.record_car(car, state, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Kind, Quarter, Window};

    const NOW: Slot = Slot(7);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn floor(index: u8) -> Floor {
        Floor::try_from(index).unwrap()
    }

    fn name(name: &str) -> NodeId {
        NodeId::new(name).unwrap()
    }

    fn quarter(tally: &Tally) -> Quarter {
        let mut all = Quarter::default();
        tally.week.within(Window::Hour, NOW).for_each(|(_, quarter)| all.add(quarter));
        all
    }

    fn of(quarter: &Quarter, kind: Kind) -> (u64, Option<Duration>) {
        let times = &quarter.times[kind as usize];
        (times.count(), times.mean())
    }

    #[test]
    fn a_journey_lasts_from_the_press_until_the_arrival() {
        let mut tally = Tally::default();
        let call = Call::Hall(HallCall::to(floor(0), floor(4)).unwrap());
        let ride = Call::ride(&name("A"), floor(4));
        let other = Call::ride(&name("B"), floor(4));
        tally.record_served(&call, seconds(12), Some(&name("A")), seconds(100), NOW);
        tally.record_served(&other, seconds(3), Some(&name("B")), seconds(110), NOW);
        tally.record_served(&ride, seconds(20), Some(&name("A")), seconds(121), NOW);
        let seen = quarter(&tally);
        assert_eq!(of(&seen, Kind::Journey), (1, Some(seconds(33))));
        assert_eq!(of(&seen, Kind::Destination), (1, Some(seconds(12))));
        // The ride is no press of a passenger; the call of the other car is.
        assert_eq!(of(&seen, Kind::Car), (1, Some(seconds(3))));
        tally.record_served(&ride, seconds(5), Some(&name("A")), seconds(200), NOW);
        let seen = quarter(&tally);
        assert_eq!((of(&seen, Kind::Car).0, of(&seen, Kind::Journey).0), (2, 1));
    }

    #[test]
    fn journeys_without_an_end_are_bounded() {
        let mut tally = Tally::default();
        let call = Call::Hall(HallCall::to(floor(0), floor(4)).unwrap());
        for passenger in 0..2 * JOURNEYS {
            let car = name(&format!("car{passenger}"));
            tally.record_served(&call, seconds(1), Some(&car), seconds(0), NOW);
        }
        assert_eq!(tally.journeys.len(), JOURNEYS);
        tally.record_served(&call, seconds(1), Some(&name("A")), LONGEST_JOURNEY, NOW);
        assert_eq!(tally.journeys.len(), 1);
    }

    #[test]
    fn a_car_is_in_the_state_in_which_it_was_seen() {
        let mut tally = Tally::default();
        let (a, b) = (name("A"), name("B"));
        tally.record_cars([(&a, CarState::InService)], seconds(0), NOW);
        tally.record_cars([(&a, CarState::InService), (&b, CarState::Down)], seconds(10), NOW);
        tally.record_cars([(&a, CarState::Reserved)], seconds(15), NOW);
        tally.record_cars([(&a, CarState::Down)], seconds(500), NOW);
        tally.record_cars([(&a, CarState::Down)], seconds(501), NOW);
        let seen = quarter(&tally);
        assert_eq!(seen.watched, 16_000);
        assert_eq!((seen.cars[&a], seen.cars[&b]), ([10_000, 5_000, 1_000], [0, 0, 10_000]));
    }
}
