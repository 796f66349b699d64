use proptest::prelude::*;

use super::*;
use crate::dispatch::tests::properties::{any_calls, any_car};
use crate::dispatch::tests::{building, call, car, floor, floors, idle_at};
use crate::model::Unavailable;
use Direction::{Down, Up};

/// Rest to rest over n floors in 3 n + 3 s; the door opens for 3 s and 1 s per passenger, in 1.5 s.
fn predictor() -> Predictor {
    let kinematics = Kinematics {
        floor_height: 6.0,
        rated_speed: 2.0,
        acceleration: 1.0,
        jerk: 1.0,
        ..Kinematics::default()
    };
    Predictor::new(kinematics, &kinematics.building(floors(10)))
}

fn in_phase(at: u8, phase: CarPhase, milliseconds: u64, direction: Option<Direction>) -> CarView {
    CarView { phase, elapsed: Duration::from_millis(milliseconds), direction, ..idle_at(at) }
}

fn moving_up(stop_at: u8, next_stop: u8) -> CarPhase {
    CarPhase::Moving { direction: Up, stop_at: floor(stop_at), next_stop: floor(next_stop) }
}

/// The predicted milliseconds for the hall calls, in the order in which they are given.
fn hall_times(view: CarView, car_calls: &[u8], calls: &[(u8, Direction)]) -> Vec<u128> {
    let hall = calls.iter().map(|&(at, way)| call(at, way)).collect();
    let times = predictor().times(&car("a", view, car_calls), &hall).unwrap();
    calls.iter().map(|&(at, way)| times[&Button::Hall(floor(at), way)].as_millis()).collect()
}

/// What it is about, the car, its car calls, its hall calls, and the milliseconds to these.
type Case = (&'static str, CarView, &'static [u8], &'static [(u8, Direction)], &'static [u128]);

/// A turn at floor 4 on the way from floor 0, and a call at floor 2 on the way back.
const WAY_BACK: u128 = 16_500 + 4_000 + 1_500 + 9_000 + 1_500;

#[test]
fn times_are_as_computed_by_hand() {
    let idle = idle_at;
    let open = |at, elapsed, direction| in_phase(at, CarPhase::Open, elapsed, direction);
    let closing = || in_phase(4, CarPhase::Closing, 400, Some(Up));
    let opening = in_phase(4, CarPhase::Opening, 500, Some(Down));
    let on_its_way = || in_phase(0, moving_up(4, 2), 2_000, Some(Up));
    let braking = in_phase(0, moving_up(2, 2), 2_000, Some(Up));
    let upwards = in_phase(5, CarPhase::Idle, 0, Some(Up));
    let cases: [Case; 19] = [
        ("the flight and the door", idle(0), &[], &[(3, Up)], &[13_500]),
        ("the door", idle(3), &[], &[(3, Down)], &[1_500]),
        ("the other way: after the turn", idle(0), &[4], &[(2, Down)], &[WAY_BACK]),
        ("turn at the farthest", idle(0), &[], &[(4, Down), (2, Down)], &[16_500, WAY_BACK]),
        ("both where it turns", idle(0), &[], &[(3, Up), (3, Down)], &[13_500, 13_500 + 4_000]),
        ("nobody boards for up: it turns on arrival", idle(0), &[3], &[(3, Down)], &[13_500]),
        ("nearest first", idle(5), &[], &[(3, Up), (8, Up)], &[10_500, 35_500]),
        ("its direction first", upwards, &[], &[(8, Up)], &[12_000 + 1_500]),
        ("a second of dwell left", open(0, 2_000, Some(Up)), &[], &[(1, Up)], &[10_000]),
        ("no dwell left", open(0, 9_000, Some(Up)), &[], &[(1, Up)], &[9_000]),
        ("F18: at the open door", open(4, 2_000, Some(Up)), &[], &[(4, Up)], &[0]),
        ("the other way there", open(4, 2_000, Some(Up)), &[], &[(4, Down)], &[1_000]),
        ("no direction there", open(4, 2_000, None), &[], &[(4, Down)], &[0]),
        ("the rest of the door's way", opening, &[], &[(4, Down)], &[1_000]),
        ("F18: the door opens again", closing(), &[], &[(4, Up)], &[400]),
        ("after a stop", closing(), &[6], &[(7, Up)], &[1_100 + 10_500 + 5_500 + 7_500]),
        ("still within reach", on_its_way(), &[4], &[(3, Up)], &[12_000 - 2_000 + 1_500]),
        ("at rest at 2, it turns", on_its_way(), &[], &[(1, Up)], &[9_000 - 2_000 + 7_500]),
        ("it has begun to stop", braking, &[], &[(3, Up)], &[9_000 - 2_000 + 7_500]),
    ];
    for (what, view, car_calls, calls, expected) in cases {
        assert_eq!(hall_times(view, car_calls, calls), expected, "{what}");
    }
}

#[test]
fn a_call_on_the_way_delays_the_rider_by_a_stop() {
    let calls = BTreeSet::from([call(2, Up)]);
    let times = predictor().times(&car("a", idle_at(0), &[4]), &calls).unwrap();
    let [first, then] = [10_500, 10_500 + 5_500 + 10_500].map(Duration::from_millis);
    let expected = [(Button::Hall(floor(2), Up), first), (Button::Car(floor(4)), then)];
    assert_eq!(times, expected.into());
}

#[test]
fn a_car_that_is_out_of_service_or_lost_predicts_nothing() {
    let hung = CarView { availability: Availability::Unavailable(Unavailable::Hung), ..idle_at(1) };
    let lost = CarView { floor: None, ..idle_at(1) };
    let homing = in_phase(1, CarPhase::Homing, 0, None);
    for view in [hung, lost, homing] {
        assert!(!Predictor::can_serve(&view));
        let calls = BTreeSet::from([call(2, Up)]);
        assert_eq!(predictor().times(&car("a", view, &[3]), &calls), None);
    }
}

#[test]
fn a_car_is_committed_to_the_call_that_it_brakes_for() {
    let predictor = predictor();
    let committed = |view: CarView, car_calls: &[u8], at, way| {
        let car_calls = StopSet::of_car_calls(car_calls.iter().map(|&index| floor(index)));
        predictor.is_committed(&view, car_calls, call(at, way))
    };
    let braking = in_phase(1, moving_up(2, 2), 5_000, Some(Up));
    assert!(committed(braking, &[], 2, Up));
    assert!(committed(braking, &[], 2, Down));
    // It goes on upwards and serves this one on the way back.
    assert!(!committed(braking, &[4], 2, Down));
    assert!(!committed(braking, &[], 3, Up));
    // It can stop at 2, but need not.
    let free = in_phase(1, moving_up(4, 2), 5_000, Some(Up));
    assert!(!committed(free, &[], 2, Up));
    let opening = in_phase(2, CarPhase::Opening, 200, Some(Up));
    assert!(committed(opening, &[], 2, Up));
    assert!(!committed(opening, &[], 2, Down));
}

proptest! {
    #[test]
    fn every_call_of_a_car_in_service_has_one_time(
        car in any_car(12),
        calls in any_calls(12),
    ) {
        let predictor = Predictor::new(Kinematics::default(), &building(12));
        let times = predictor.times(&car, &calls);
        prop_assert_eq!(times.is_some(), Predictor::can_serve(&car.view));
        if let Some(times) = times {
            let landings = calls.iter().map(|call| Button::Hall(call.floor, call.direction));
            let all: BTreeSet<_> =
                landings.chain(car.car_calls.iter().map(|&floor| Button::Car(floor))).collect();
            prop_assert!(times.keys().eq(&all));
            // Up, down and up again, stopping everywhere.
            prop_assert!(times.values().all(|&time| time < Duration::from_mins(12)));
        }
    }
}
