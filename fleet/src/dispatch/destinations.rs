//! Where those who wait may want to go, in a bank whose cars serve different floors.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::FloorCount;

use super::{CarSituation, HallDemand, able_cars};
use crate::model::{CarPhase, CarView, FloorSet, HallCall};

/// Who is left behind presses this soon after the door has closed.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The floors to which those behind each hall button may want to go (F17).
///
/// They are among the floors ahead that some car serves. Who presses again as soon as a car leaves
/// wants a floor at which that car does not stop: otherwise the nearest car could come again and
/// again without ever taking him.
#[derive(Debug, Clone, Default)]
pub struct Destinations {
    /// By open call: the floors that the car left out which was there when it was pressed.
    left_out: BTreeMap<HallCall, FloorSet>,
}

impl Destinations {
    /// Notes in the demand what these calls, which are all that are open, can be for.
    pub fn note(&mut self, demand: &mut [HallDemand], cars: &[CarSituation], floors: FloorCount) {
        let cars = able_cars(cars);
        if cars.iter().all(|car| car.view.locked_out == FloorSet::default()) {
            self.left_out.clear();
            return;
        }
        let open: BTreeSet<HallCall> = demand.iter().map(|demand| demand.call).collect();
        self.left_out.retain(|call, _| open.contains(call));
        for demand in demand.iter_mut().filter(|demand| demand.call.to.is_none()) {
            let call = demand.call;
            let is_new = demand.waited <= AT_ONCE;
            let left_out = || left_out(call, &cars).filter(|_| is_new).unwrap_or_default();
            let left_out = *self.left_out.entry(call).or_insert_with(left_out);
            let able = || cars.iter().filter(|car| car.view.reaches(call));
            let ahead = floors.floors().filter(|floor| {
                let is_served = || able().any(|car| !car.view.locked_out.contains(*floor));
                floor.is_beyond(call.floor, call.direction) && is_served()
            });
            let ahead: FloorSet = ahead.collect();
            let others: FloorSet = ahead.iter().filter(|floor| left_out.contains(*floor)).collect();
            demand.wanted = if others == FloorSet::default() { ahead } else { others };
        }
    }
}

/// The floors at which the car does not stop that was the last to leave with room.
fn left_out(call: HallCall, cars: &[&CarSituation]) -> Option<FloorSet> {
    let has_left = |view: &&CarView| {
        let is_done = match view.phase {
            CarPhase::Idle => true,
            CarPhase::Moving { direction, .. } => direction == call.direction,
            CarPhase::Homing | CarPhase::Opening | CarPhase::Open | CarPhase::Closing => false,
        };
        let has_room = view.load.is_none_or(|load| load < super::BYPASS_LOAD);
        is_done && has_room && view.floor == Some(call.floor) && view.elapsed <= AT_ONCE
    };
    let reaching = cars.iter().map(|car| &car.view).filter(|view| view.reaches(call));
    let left = reaching.filter(has_left);
    Some(left.min_by_key(|view| view.elapsed)?.locked_out)
}

#[cfg(test)]
mod tests {
    use elevator_driver::Direction::{Down, Up};

    use super::*;
    use crate::dispatch::tests::{building, call, car, floor, floors, fresh, idle_at};
    use crate::dispatch::{Kinematics, Strategy};

    /// Only car "d" of four goes down to the car park, floors 0 and 1, and it is far away.
    #[test]
    fn who_is_left_behind_gets_a_car_that_goes_where_the_other_does_not() {
        let car = |name: &str, at: u8, unserved: &[u8], idle: u64| {
            let locked_out = unserved.iter().map(|&index| floor(index)).collect();
            let elapsed = Duration::from_secs(idle);
            car(name, CarView { elapsed, locked_out, ..idle_at(at) }, &[])
        };
        let bank = |idle| {
            let others = [("a", 5), ("b", 6), ("c", 2)].map(|(name, at)| (name, at, &[0, 1][..]));
            let all = others.into_iter().chain([("d", 11, &[][..])]);
            all.map(|(name, at, unserved)| car(name, at, unserved, idle)).collect::<Vec<_>>()
        };
        let cases = [
            ("from a floor that only it serves", call(1, Up), 100, "d"),
            ("to floors that only it serves", call(2, Down), 100, "d"),
            ("the nearest car", call(5, Down), 100, "a"),
            ("which has just left somebody behind", call(5, Down), 2, "d"),
            ("who can't have wanted another car", call(5, Up), 2, "a"),
        ];
        for (what, call, idle, expected) in cases {
            let (cars, mut demand) = (bank(idle), [fresh(call)]);
            let mut destinations = Destinations::default();
            destinations.note(&mut demand, &cars, floors(12));
            // It holds as long as the call is open.
            demand[0].waited = Duration::from_mins(1);
            destinations.note(&mut demand, &bank(100), floors(12));
            for strategy in Strategy::ALL {
                let kinematics = Kinematics::default();
                let mut rule = strategy.dispatcher(kinematics, &building(12), 13.0, 80);
                let assigned = rule.assign(&cars, &demand);
                assert_eq!(assigned[&call].to_string(), expected, "{strategy}: {what}");
            }
        }
    }
}
