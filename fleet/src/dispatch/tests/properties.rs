//! What holds for every bank.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use Direction::{Down, Up};
use elevator_driver::Direction;
use proptest::prelude::*;

use super::{building, call, demand, dispatcher, floor, idle_at, in_phase, moving, node};
use crate::car::CarSettings;
use crate::dispatch::stops::StopSet;
use crate::dispatch::{
    Assignments, Bank, CarSituation, Dispatcher, HallDemand, Kinematics, Predictor,
    Strategy as Rule,
};
use crate::model::{Availability, CarPhase, CarView, HallCall, Timestamp, Unavailable};

fn any_view(count: u8) -> impl Strategy<Value = CarView> {
    let availability = prop_oneof![
        6 => Just(Availability::InService),
        1 => Just(Availability::Unavailable(Unavailable::Hung)),
        1 => Just(Availability::Unavailable(Unavailable::Independent)),
    ];
    let direction = prop_oneof![Just(None), Just(Some(Up)), Just(Some(Down))];
    let legs = (0..count, 0..count, 0..count);
    (availability, legs, direction, 0..12u8, 0..9_000u64).prop_map(
        |(availability, (a, b, c), direction, phase, elapsed)| {
            let mut legs = [a, b, c];
            legs.sort_unstable();
            let [bottom, middle, top] = legs;
            let elapsed = Duration::from_millis(elapsed);
            let view = match phase {
                0..3 if bottom < middle => moving(bottom, top, middle, elapsed),
                3..6 if middle < top => moving(top, bottom, middle, elapsed),
                0..8 => idle_at(a),
                8 => in_phase(a, CarPhase::Opening),
                9 => in_phase(a, CarPhase::Open),
                10 => in_phase(a, CarPhase::Closing),
                _ => CarView { floor: None, ..in_phase(a, CarPhase::Homing) },
            };
            CarView { availability, elapsed, direction: view.direction.or(direction), ..view }
        },
    )
}

pub(in crate::dispatch) fn any_car(count: u8) -> impl Strategy<Value = CarSituation> {
    let car_calls = proptest::collection::btree_set((0..count).prop_map(floor), 0..4);
    (any_view(count), car_calls).prop_map(|(view, car_calls)| CarSituation {
        car: node("a"),
        view,
        car_calls,
    })
}

pub(in crate::dispatch) fn any_calls(count: u8) -> impl Strategy<Value = BTreeSet<HallCall>> {
    let up = (0..count - 1).prop_map(|at| call(at, Up));
    let down = (1..count).prop_map(|at| call(at, Down));
    // From few landings, so that several calls are from the same one.
    let to = (0..3_u8, 0..count).prop_filter_map("a trip", |(from, to)| trip(from, to));
    proptest::collection::btree_set(prop_oneof![up, down, to], 0..14)
}

fn trip(from: u8, to: u8) -> Option<HallCall> {
    HallCall::to(floor(from), floor(to))
}

pub(in crate::dispatch) fn any_bank(
    count: u8,
) -> impl Strategy<Value = (Vec<CarSituation>, Vec<HallDemand>)> {
    let cars = proptest::collection::vec(any_car(count), 0..6).prop_map(|mut cars| {
        for (number, car) in cars.iter_mut().enumerate() {
            car.car = node(&format!("car-{number}"));
        }
        cars
    });
    let waits = proptest::collection::vec((0..90u64, 0..8usize), 14);
    (cars, any_calls(count), waits).prop_map(|(cars, calls, waits)| {
        let demand = calls.into_iter().zip(waits).map(|(call, (waited, holder))| {
            // Numbers beyond the bank stand for a car that is gone, or for none.
            let holder = (holder < 7).then(|| format!("car-{holder}"));
            demand(call, waited, holder.as_deref())
        });
        let demand = demand.collect();
        (cars, demand)
    })
}

pub(in crate::dispatch) fn fed_back(
    demand: &[HallDemand],
    assignments: &Assignments,
) -> Vec<HallDemand> {
    let assigned = |demand: &HallDemand| HallDemand {
        assigned: assignments.get(&demand.call).cloned(),
        ..demand.clone()
    };
    demand.iter().map(assigned).collect()
}

fn dispatcher_of(strategy: Rule) -> Box<dyn Dispatcher + Send> {
    strategy.dispatcher(Kinematics::default(), &building(12), 13.0, CarSettings::BYPASS_LOAD)
}

proptest! {
    #[test]
    fn a_call_that_its_car_is_stopping_for_stays((cars, demand) in any_bank(8)) {
        let assignments = dispatcher(8).assign(&cars, &demand);
        let predictor = Predictor::new(Kinematics::default(), &building(8));
        for car in &cars {
            let car_calls = StopSet::of(car);
            for demand in demand.iter().filter(|demand| demand.assigned.as_ref() == Some(&car.car)) {
                if predictor.is_committed(&car.view, car_calls, demand.call) {
                    prop_assert_eq!(assignments.get(&demand.call), Some(&car.car));
                }
            }
        }
    }

    /// The order of cars and calls makes no difference, and a plan that is fed back stays.
    #[test]
    fn every_strategy_is_steady((cars, demand) in any_bank(12)) {
        for strategy in Rule::ALL {
            let mut dispatcher = dispatcher_of(strategy);
            let assignments = dispatcher.assign(&cars, &demand);
            let again = dispatcher.assign(&cars, &fed_back(&demand, &assignments));
            prop_assert_eq!(&again, &assignments, "{}", strategy);
            let cars: Vec<_> = cars.iter().rev().cloned().collect();
            let demand: Vec<_> = demand.iter().rev().cloned().collect();
            let turned = dispatcher_of(strategy).assign(&cars, &demand);
            prop_assert_eq!(&turned, &assignments, "{}", strategy);
        }
    }

    /// F6, F17, O7: the calls of a car that is gone go to the others; one that can't reach the
    /// landing or the destination gets no call, and takes none from one that can.
    #[test]
    fn every_call_goes_to_a_car_that_reaches_it(
        (mut cars, demand) in any_bank(12),
        locked_out in proptest::collection::vec(proptest::option::of(0..12_u8), 8),
    ) {
        for (car, index) in cars.iter_mut().zip(locked_out) {
            car.view.locked_out = index.map(floor).into_iter().collect();
        }
        let reaches = |car: &CarSituation, call: HallCall| {
            Predictor::can_serve(&car.view) && car.view.reaches(call)
        };
        for strategy in Rule::ALL {
            let (now, parked) = (Timestamp::START, &BTreeMap::new());
            let bank = Bank { now, cars: &cars, demand: &demand, parked };
            let assignments = dispatcher_of(strategy).plan(&bank).assignments;
            for HallDemand { call, .. } in &demand {
                let name = assignments.get(call);
                let holder = name.and_then(|name| cars.iter().find(|car| car.car == *name));
                let is_possible = cars.iter().any(|car| reaches(car, *call));
                prop_assert_eq!(holder.is_some(), is_possible, "{}: {}", strategy, call);
                prop_assert!(holder.is_none_or(|car| reaches(car, *call)), "{}: {}", strategy, call);
            }
        }
    }
}
