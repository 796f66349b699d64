pub(super) mod properties;

use elevator_driver::{Button, Direction, FloorCount};

use super::*;
pub(super) use crate::election::testing::floor;
use crate::model::CarPhase;
use Direction::{Down, Up};

pub(super) fn floors(count: u8) -> FloorCount {
    FloorCount::new(count).unwrap()
}

pub(super) fn call(at: u8, direction: Direction) -> HallCall {
    HallCall::new(floor(at), direction)
}

pub(super) fn idle_at(at: u8) -> CarView {
    CarView::idle_at(floor(at))
}

pub(super) fn in_phase(at: u8, phase: CarPhase) -> CarView {
    CarView { phase, ..idle_at(at) }
}

pub(super) fn moving(at: u8, stop_at: u8, next_stop: u8, elapsed: Duration) -> CarView {
    let direction = floor(at).direction_to(floor(stop_at)).unwrap();
    CarView {
        phase: CarPhase::Moving { direction, stop_at: floor(stop_at), next_stop: floor(next_stop) },
        elapsed,
        direction: Some(direction),
        ..idle_at(at)
    }
}

pub(super) fn car(name: &str, view: CarView, car_calls: &[u8]) -> CarSituation {
    CarSituation {
        car: node(name),
        view,
        car_calls: car_calls.iter().map(|&index| floor(index)).collect(),
    }
}

pub(super) fn node(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

pub(super) fn demand(call: HallCall, waited: u64, assigned: Option<&str>) -> HallDemand {
    HallDemand { call, waited: Duration::from_secs(waited), assigned: assigned.map(node) }
}

pub(super) fn fresh(call: HallCall) -> HallDemand {
    demand(call, 0, None)
}

fn dispatcher(count: u8) -> CollectiveCost {
    CollectiveCost::new(Kinematics::default(), floors(count))
}

fn assert_assigned(cars: &[CarSituation], demand: &HallDemand, expected: &str) {
    let assignments = dispatcher(20).assign(cars, std::slice::from_ref(demand));
    assert_eq!(assignments, Assignments::from([(demand.call, node(expected))]));
}

#[test]
fn the_car_that_serves_a_call_at_the_least_cost_gets_it() {
    let idle = [car("a", idle_at(0), &[]), car("b", idle_at(9), &[]), car("c", idle_at(19), &[])];
    for (at, direction, nearest) in [(2, Down, "a"), (11, Up, "b"), (16, Down, "c")] {
        assert_assigned(&idle, &fresh(call(at, direction)), nearest);
    }
    let comes_by = |to, calls: &[u8]| car("by", moving(5, to, 7, Duration::from_secs(5)), calls);
    let away = car("away", moving(10, 18, 12, Duration::from_secs(5)), &[18]);
    assert_assigned(&[away, comes_by(15, &[15])], &fresh(call(9, Up)), "by");
    // It stops there anyway.
    assert_assigned(&[car("idle", idle_at(11), &[]), comes_by(8, &[8])], &fresh(call(8, Up)), "by");
}

#[test]
fn the_calls_of_a_peak_are_spread_over_the_cars() {
    let idle = [car("a", idle_at(0), &[]), car("b", idle_at(0), &[]), car("c", idle_at(0), &[])];
    let down_peak: Vec<_> = (1..19).map(|at| fresh(call(at, Down))).collect();
    let riding =
        [car("a", idle_at(0), &[19]), car("b", idle_at(0), &[19]), car("c", idle_at(0), &[19])];
    let up_peak: Vec<_> = (1..19).map(|at| fresh(call(at, Up))).collect();
    for (cars, calls) in [(&idle, &down_peak), (&riding, &up_peak)] {
        let assignments = dispatcher(20).assign(cars, calls);
        for car in cars {
            let share = assignments.values().filter(|&name| *name == car.car);
            let share = share.count();
            assert!((3..=9).contains(&share), "{} has {share} of 18", car.car);
        }
    }
}

#[test]
fn who_has_waited_long_is_not_delayed_for_who_comes_fresh() {
    // The near car could pick up the fresh call on its way.
    let cars = [car("near", idle_at(3), &[]), car("far", idle_at(19), &[])];
    let fresh_call = fresh(call(4, Up));
    let assign = |waited| {
        let old = demand(call(9, Up), waited, Some("near"));
        dispatcher(20).assign(&cars, &[fresh_call.clone(), old])[&fresh_call.call].clone()
    };
    assert_eq!(assign(0), node("near"));
    assert_eq!(assign(300), node("far"));
}

#[test]
fn a_call_stays_with_its_car_unless_another_is_clearly_better() {
    let closing = CarView {
        elapsed: Duration::from_secs(1),
        direction: Some(Up),
        ..in_phase(5, CarPhase::Closing)
    };
    let half_a_second_later = car("a", closing, &[]);
    let cars = [half_a_second_later, car("b", idle_at(5), &[])];
    assert_assigned(&cars, &demand(call(9, Up), 0, None), "b");
    assert_assigned(&cars, &demand(call(9, Up), 0, Some("a")), "a");
    let cars = [cars[0].clone(), car("b", idle_at(6), &[])];
    assert_assigned(&cars, &demand(call(9, Up), 0, Some("a")), "b");
}

// --- Against a baseline ---

fn total_wait(cars: &[CarSituation], assignments: &Assignments, count: u8) -> Duration {
    let predictor = Predictor::new(Kinematics::default(), floors(count));
    let waits = cars.iter().filter_map(|car| {
        let calls = assignments.iter().filter(|(_, holder)| **holder == car.car);
        let times = predictor.times(car, &calls.map(|(&call, _)| call).collect())?;
        let hall = times.iter().filter(|(button, _)| matches!(button, Button::Hall(..)));
        Some(hall.map(|(_, time)| *time).sum::<Duration>())
    });
    waits.sum()
}

/// Cars and calls drawn by seed.
fn random_bank(seed: u64, count: u8, cars: usize) -> (Vec<CarSituation>, Vec<HallDemand>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let cars = (0..cars).map(|number| {
        let car_calls: Vec<_> = (0..random.u8(0..3)).map(|_| random.u8(0..count)).collect();
        car(&format!("car-{number}"), idle_at(random.u8(0..count)), &car_calls)
    });
    let cars = cars.collect();
    let calls: BTreeSet<_> = (0..random.usize(1..12))
        .map(|_| {
            if random.bool() {
                call(random.u8(0..count - 1), Up)
            } else {
                call(random.u8(1..count), Down)
            }
        })
        .collect();
    (cars, calls.into_iter().map(fresh).collect())
}

#[test]
fn waiting_is_clearly_shorter_than_with_the_nearest_car() {
    let mut cost = Duration::ZERO;
    let mut nearest = Duration::ZERO;
    for seed in 0..300 {
        let (cars, demand) = random_bank(seed, 16, 4);
        cost += total_wait(&cars, &dispatcher(16).assign(&cars, &demand), 16);
        nearest += total_wait(&cars, &NearestCar::new(floors(16)).assign(&cars, &demand), 16);
    }
    assert!(cost.mul_f64(1.2) < nearest, "{cost:?} against {nearest:?} with the nearest car");
}

// --- Collective control ---

#[test]
fn the_next_stop_of_a_moving_car_is_one_that_it_can_still_reach() {
    let moving = moving(1, 8, 4, Duration::from_secs(5));
    let stop = |car_calls: &[u8], calls: &[(u8, Direction)]| {
        let car_calls = car_calls.iter().map(|&index| floor(index)).collect();
        let calls = calls.iter().map(|&(at, way)| call(at, way)).collect();
        collective_stop(&moving, &car_calls, &calls)
    };
    assert_eq!(stop(&[8], &[(3, Up), (5, Up)]), Some((floor(5), Up)));
    assert_eq!(stop(&[8], &[(5, Down)]), Some((floor(8), Up)));
    assert_eq!(stop(&[], &[(5, Down), (6, Down)]), Some((floor(6), Down)));
    assert_eq!(stop(&[], &[(3, Up)]), None);
}

#[test]
fn the_door_of_a_car_at_rest_opens_for_the_way_on() {
    let stop = |car_calls: &[u8], calls: &[HallCall]| {
        let car_calls = car_calls.iter().map(|&index| floor(index)).collect();
        let up = CarView { direction: Some(Up), ..idle_at(5) };
        collective_stop(&up, &car_calls, &calls.iter().copied().collect())
    };
    assert_eq!(stop(&[5, 7], &[call(5, Down)]), Some((floor(5), Up)));
    assert_eq!(stop(&[5], &[call(5, Down)]), Some((floor(5), Down)));
    assert_eq!(stop(&[], &[]), None);
}
