//! Overdue calls (E8): a hall call that has had no car for too long, or waits for its car much
//! longer than it ever should, is also served by the next able car by rank, under any master. It
//! counts only while this node sees a car that could serve it besides the assigned one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Building, FloorCount};

use crate::dispatch::Predictor;
use crate::model::{CarView, HallCall, NodeId, Timestamp};

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long a call may be without a car: longer than a plan takes on a slow computer.
const WITHOUT_CAR: Duration = Duration::from_secs(5);

/// How long a call may wait for its car: longer than in the busiest bank. The same again is added
/// for each floor.
const UNSERVED: (Duration, Duration) = (Duration::from_secs(90), Duration::from_secs(20));

/// How long a hall call may stay unserved in a building with this many floors (E8).
#[must_use]
pub fn unserved_limit(floors: FloorCount) -> Duration {
    let (base, floor) = UNSERVED;
    base + floor * u32::from(floors.get())
}

/// The delay between the cars that serve such a call, by rank.
const STAGGER: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(crate) struct Bank<'a> {
    pub(crate) own: &'a NodeId,
    pub(crate) building: &'a Building,
    /// The open hall calls, each with its car if the node of that car is heard.
    pub(crate) calls: BTreeMap<HallCall, Option<NodeId>>,
    /// The cars of this node's group, ordered by address. Not used while no call is open.
    pub(crate) cars: Vec<(NodeId, CarView)>,
}

impl Bank<'_> {
    /// The cars that could serve this call besides the one to which it is assigned.
    fn helpers(&self, call: HallCall) -> impl Iterator<Item = &NodeId> {
        let assigned = self.calls.get(&call).and_then(Option::as_ref);
        let able = self.cars.iter().filter(move |(car, view)| {
            let goes_on = self.building.goes_on(car.as_str(), call.entrance(), call.direction);
            goes_on && Predictor::can_serve(view) && view.reaches(call)
        });
        able.map(|(name, _)| name).filter(move |name| Some(*name) != assigned)
    }

    fn rank(&self, call: HallCall) -> Option<u32> {
        let rank = self.helpers(call).position(|name| name == self.own)?;
        u32::try_from(rank).ok()
    }
}

/// The calls that are watched, and those that this node's car has taken over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overdue {
    looked_at: Option<Timestamp>,
    /// Bounded by the open hall calls.
    waits: BTreeMap<HallCall, Wait>,
    taken: BTreeSet<HallCall>,
}

/// Since when a call has waited, as far as this node knows.
#[derive(Debug, Clone, Copy)]
struct Wait {
    open: Timestamp,
    without_car: Option<Timestamp>,
}

impl Wait {
    fn due(&self, building: &Building) -> Timestamp {
        let unserved = self.open + unserved_limit(building.floors());
        self.without_car.map_or(unserved, |since| unserved.min(since + WITHOUT_CAR))
    }
}

impl Overdue {
    /// This node did not run for `late`, and received nothing: that time does not count.
    pub(crate) fn excuse(&mut self, late: Duration, now: Timestamp) {
        for Wait { open, without_car } in self.waits.values_mut() {
            for at in [Some(open), without_car.as_mut()].into_iter().flatten() {
                *at = (*at + late).min(now);
            }
        }
    }

    pub(crate) fn taken(&self) -> &BTreeSet<HallCall> {
        &self.taken
    }

    /// Whether a check is due; `true` once per period.
    pub(crate) fn is_due(&mut self, now: Timestamp) -> bool {
        let due = self.looked_at.is_none_or(|at| now.since(at) >= LOOK_EVERY);
        if due {
            self.looked_at = Some(now);
        }
        due
    }

    /// Takes over the calls that are overdue, and keeps them until they are served. The cars start
    /// one after the other: a call that the first serves soon costs the others no trip. Returns the
    /// calls that are new, or `None` if the calls taken over are the same as before.
    pub(crate) fn look(&mut self, bank: &Bank<'_>, now: Timestamp) -> Option<Vec<HallCall>> {
        self.waits.retain(|call, _| bank.calls.contains_key(call));
        for (call, car) in &bank.calls {
            if bank.helpers(*call).next().is_none() {
                self.waits.remove(call);
                continue;
            }
            let wait = self.waits.entry(*call).or_insert(Wait { open: now, without_car: None });
            wait.without_car = wait.without_car.or(Some(now)).filter(|_| car.is_none());
        }
        let is_due = |call: HallCall, wait: &Wait| {
            let rank = bank.rank(call);
            rank.is_some_and(|rank| now >= wait.due(bank.building) + STAGGER * rank)
        };
        let due = self.waits.iter().filter(|(call, wait)| is_due(**call, wait));
        let due = due.map(|(call, _)| *call).filter(|call| !self.taken.contains(call));
        let fresh: Vec<_> = due.collect();
        let before = self.taken.len();
        self.taken.retain(|call| bank.calls.contains_key(call));
        let is_changed = self.taken.len() < before || !fresh.is_empty();
        self.taken.extend(&fresh);
        is_changed.then_some(fresh)
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::vocabulary::Served;
    use elevator_driver::{Direction, Floor, FloorCount, Side};

    use super::*;
    use crate::election::testing::{floor, name};

    const CALL: HallCall = HallCall::new(Floor::BOTTOM, Direction::Up);

    fn floors() -> FloorCount {
        FloorCount::new(4).expect("floors")
    }

    /// Cars 1 to 3 could serve a call, which is assigned to this car or none.
    fn bank<'a>(own: &'a NodeId, car: Option<NodeId>, building: &'a Building) -> Bank<'a> {
        let view = CarView::idle_at(Floor::BOTTOM);
        Bank {
            own,
            building,
            calls: BTreeMap::from([(CALL, car)]),
            cars: (1..=3).map(|car| (name(car), view)).collect(),
        }
    }

    /// When, in quarters of a second, node `own` takes over the call that is assigned to this car.
    fn taken_after(own: u8, car: Option<u8>) -> Option<u32> {
        let (mut overdue, own) = (Overdue::default(), name(own));
        let building = floors().into();
        let bank = bank(&own, car.map(name), &building);
        (0..1_000).find(|looks| {
            let fresh = overdue.look(&bank, Timestamp::START + LOOK_EVERY * *looks);
            fresh == Some(vec![CALL])
        })
    }

    /// E8
    #[test]
    fn an_overdue_call_is_taken_over_by_one_car_after_the_other() {
        assert_eq!([1, 2, 3].map(|own| taken_after(own, None)), [20, 24, 28].map(Some));
        let late = (90 + 4 * 20) * 4;
        let expected = [Some(late), None, Some(late + 4)];
        assert_eq!([1, 2, 3].map(|own| taken_after(own, Some(2))), expected);
    }

    /// The call stays with the car that has departed for it.
    #[test]
    fn a_call_that_was_taken_over_is_kept_until_it_is_served() {
        let (mut overdue, own, start) = (Overdue::default(), name(1), Timestamp::START);
        let mut look = |bank: Bank<'_>, after| overdue.look(&bank, start + after);
        let building = floors().into();
        let bank = |car| bank(&own, car, &building);
        assert_eq!(look(bank(None), Duration::ZERO), None);
        assert_eq!(look(bank(None), WITHOUT_CAR), Some(vec![CALL]));
        assert_eq!(look(bank(Some(name(2))), WITHOUT_CAR * 2), None);
        let served = Bank { calls: BTreeMap::new(), ..bank(None) };
        assert_eq!(look(served, WITHOUT_CAR * 3), Some(Vec::new()));
    }

    /// H1: while the node did not run, it could not hear who serves the call.
    #[test]
    fn the_time_of_an_interruption_does_not_count() {
        let (mut overdue, own, start) = (Overdue::default(), name(1), Timestamp::START);
        let building = floors().into();
        let bank = bank(&own, None, &building);
        let late = WITHOUT_CAR * 2;
        assert_eq!(overdue.look(&bank, start), None);
        overdue.excuse(late, start + late);
        assert_eq!(overdue.look(&bank, start + late + WITHOUT_CAR - LOOK_EVERY), None);
        assert_eq!(overdue.look(&bank, start + late + WITHOUT_CAR), Some(vec![CALL]));
    }

    /// Car 1 goes no further up from there, so car 2 is the first.
    #[test]
    fn a_car_that_does_not_go_on_takes_nothing_over() {
        let call = HallCall::new(floor(1), Direction::Up);
        let cars =
            [(1, &[0, 1][..]), (2, &[1, 2]), (3, &[0, 1, 2, 3])].map(|(car, serves)| Served {
                doors: [Side::Front].into(),
                car: name(car).to_string(),
                floors: floors().floors().filter(|it| serves.contains(&it.index())).collect(),
            });
        let landings = Building::from(floors()).landings().to_vec();
        let building = Building::new(landings, cars.into()).expect("a building");
        let taken = |own| {
            let (mut overdue, own) = (Overdue::default(), name(own));
            let mut look = |after| {
                let bank = Bank { calls: [(call, None)].into(), ..bank(&own, None, &building) };
                overdue.look(&bank, Timestamp::START + after)
            };
            look(Duration::ZERO);
            look(WITHOUT_CAR)
        };
        assert_eq!([1, 2, 3].map(taken), [None, Some(vec![call]), None]);
    }
}
