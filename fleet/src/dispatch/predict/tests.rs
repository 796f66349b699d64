use proptest::prelude::*;

use super::*;
use crate::dispatch::tests::properties::{any_calls, any_car};
use crate::dispatch::tests::{call, car, floor, floors, idle_at};
use crate::model::Unavailable;
use Direction::{Down, Up};

/// Rest to rest over n floors in 3 n + 3 s; the door takes 1.5 s either way and stands open for
/// 3 s and 1 s per passenger.
fn predictor() -> Predictor {
    let kinematics = Kinematics {
        floor_height: 6.0,
        rated_speed: 2.0,
        acceleration: 1.0,
        jerk: 1.0,
        ..Kinematics::default()
    };
    Predictor::new(kinematics, floors(10))
}

fn in_phase(at: u8, phase: CarPhase, milliseconds: u64, direction: Option<Direction>) -> CarView {
    CarView { phase, elapsed: Duration::from_millis(milliseconds), direction, ..idle_at(at) }
}

fn moving_up(stop_at: u8, next_stop: u8) -> CarPhase {
    CarPhase::Moving { direction: Up, stop_at: floor(stop_at), next_stop: floor(next_stop) }
}

/// The predicted milliseconds for the hall calls, in the order in which they are given.
fn hall_times(view: CarView, car_calls: &[u8], calls: &[(u8, Direction)]) -> Vec<u128> {
    let calls: Vec<_> = calls.iter().map(|&(at, way)| call(at, way)).collect();
    let prediction =
        predictor().predict(&car("a", view, car_calls), &calls.iter().copied().collect()).unwrap();
    calls.iter().map(|call| prediction.hall[call].as_millis()).collect()
}

#[test]
fn an_idle_car_takes_the_flight_and_the_door() {
    assert_eq!(hall_times(idle_at(0), &[], &[(3, Up)]), [13_500]);
    assert_eq!(hall_times(idle_at(3), &[], &[(3, Down)]), [1_500]);
}

#[test]
fn a_call_on_the_way_delays_the_cab_passenger_by_a_stop() {
    let calls = BTreeSet::from([call(2, Up)]);
    let prediction = predictor().predict(&car("a", idle_at(0), &[4]), &calls).unwrap();
    assert_eq!(prediction.hall[&call(2, Up)], Duration::from_millis(9_000 + 1_500));
    assert_eq!(
        prediction.car_calls[&floor(4)],
        Duration::from_millis(10_500 + 4_000 + 1_500 + 9_000 + 1_500)
    );
}

#[test]
fn a_call_in_the_other_direction_is_left_for_the_way_back() {
    // Up to 4 at 16.5 s, then down again.
    assert_eq!(
        hall_times(idle_at(0), &[4], &[(2, Down)]),
        [16_500 + 4_000 + 1_500 + 9_000 + 1_500]
    );
}

#[test]
fn a_car_turns_at_the_farthest_call() {
    let times = hall_times(idle_at(0), &[], &[(4, Down), (2, Down)]);
    assert_eq!(times, [16_500, 16_500 + 4_000 + 1_500 + 9_000 + 1_500]);
}

#[test]
fn both_calls_at_a_turning_floor_are_served_one_after_the_other() {
    assert_eq!(hall_times(idle_at(0), &[], &[(3, Up), (3, Down)]), [13_500, 13_500 + 4_000]);
    // Nobody boards for up: the car turns on arrival.
    assert_eq!(hall_times(idle_at(0), &[3], &[(3, Down)]), [13_500]);
}

#[test]
fn a_car_without_direction_goes_to_the_nearest_call() {
    let times = hall_times(idle_at(5), &[], &[(3, Up), (8, Up)]);
    assert_eq!(times[0], 9_000 + 1_500);
    let upwards = in_phase(5, CarPhase::Idle, 0, Some(Up));
    let times = hall_times(upwards, &[], &[(3, Up), (8, Up)]);
    assert_eq!(times[1], 12_000 + 1_500);
}

#[test]
fn a_door_that_has_been_open_for_two_seconds_closes_in_one() {
    let open = in_phase(0, CarPhase::Open, 2_000, Some(Up));
    assert_eq!(hall_times(open, &[], &[(1, Up)]), [1_000 + 1_500 + 6_000 + 1_500]);
    let held_open = in_phase(0, CarPhase::Open, 9_000, Some(Up));
    assert_eq!(hall_times(held_open, &[], &[(1, Up)]), [1_500 + 6_000 + 1_500]);
}

#[test]
fn a_call_at_an_open_door_is_served_at_once_in_its_direction_only() {
    let open = in_phase(4, CarPhase::Open, 2_000, Some(Up));
    assert_eq!(hall_times(open, &[], &[(4, Up)]), [0]); // F18
    assert_eq!(hall_times(open, &[], &[(4, Down)]), [1_000]);
    let any_way = in_phase(4, CarPhase::Open, 2_000, None);
    assert_eq!(hall_times(any_way, &[], &[(4, Down)]), [0]);
}

#[test]
fn a_door_on_its_way_open_has_the_rest_of_its_way_left() {
    let opening = in_phase(4, CarPhase::Opening, 500, Some(Down));
    assert_eq!(hall_times(opening, &[], &[(4, Down)]), [1_000]);
}

#[test]
fn a_closing_door_opens_again_for_a_call_in_its_direction() {
    let closing = in_phase(4, CarPhase::Closing, 400, Some(Up));
    assert_eq!(hall_times(closing, &[], &[(4, Up)]), [400]); // F18
    assert_eq!(
        hall_times(closing, &[6], &[(7, Up)]),
        [1_100 + 9_000 + 1_500 + 4_000 + 1_500 + 6_000 + 1_500]
    );
}

#[test]
fn a_moving_car_stops_for_a_call_that_it_can_still_reach() {
    let moving = in_phase(0, moving_up(4, 2), 2_000, Some(Up));
    assert_eq!(hall_times(moving, &[4], &[(3, Up)]), [12_000 - 2_000 + 1_500]);
}

#[test]
fn a_moving_car_cannot_stop_before_its_next_stop() {
    // It comes to rest at 2 and turns.
    let moving = in_phase(0, moving_up(4, 2), 2_000, Some(Up));
    assert_eq!(hall_times(moving, &[], &[(1, Up)]), [9_000 - 2_000 + 6_000 + 1_500]);
}

#[test]
fn a_car_that_has_begun_to_stop_stops() {
    let braking = in_phase(0, moving_up(2, 2), 2_000, Some(Up));
    assert_eq!(hall_times(braking, &[], &[(3, Up)]), [9_000 - 2_000 + 6_000 + 1_500]);
}

#[test]
fn a_car_that_is_out_of_service_or_lost_predicts_nothing() {
    let hung = CarView { availability: Availability::Unavailable(Unavailable::Hung), ..idle_at(1) };
    let lost = CarView { floor: None, ..idle_at(1) };
    let homing = in_phase(1, CarPhase::Homing, 0, None);
    for view in [hung, lost, homing] {
        assert!(!Predictor::can_serve(&view));
        let calls = BTreeSet::from([call(2, Up)]);
        assert_eq!(predictor().predict(&car("a", view, &[3]), &calls), None);
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
        let predictor = Predictor::new(Kinematics::default(), floors(12));
        match predictor.predict(&car, &calls) {
            None => prop_assert!(!Predictor::can_serve(&car.view)),
            Some(prediction) => {
                prop_assert!(Predictor::can_serve(&car.view));
                prop_assert!(prediction.hall.keys().eq(&calls));
                prop_assert!(prediction.car_calls.keys().eq(&car.car_calls));
                // Up, down and up again, stopping everywhere.
                let bound = Duration::from_mins(12);
                prop_assert!(prediction.hall.values().all(|&time| time < bound));
            }
        }
    }
}
