pub(super) mod properties;

use elevator_driver::{Building, Direction, FloorCount};

use super::*;
pub(super) use crate::election::testing::floor;
use crate::model::CarPhase;
use Direction::{Down, Up};

pub(crate) fn floors(count: u8) -> FloorCount {
    FloorCount::new(count).unwrap()
}

pub(super) fn building(count: u8) -> Building {
    Kinematics::default().building(floors(count))
}

pub(crate) fn call(at: u8, direction: Direction) -> HallCall {
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

pub(crate) fn node(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

pub(super) fn demand(call: HallCall, waited: u64, assigned: Option<&str>) -> HallDemand {
    let (waited, assigned) = (Duration::from_secs(waited), assigned.map(node));
    HallDemand { call, waited, assigned, wanted: FloorSet::default() }
}

pub(super) fn fresh(call: HallCall) -> HallDemand {
    demand(call, 0, None)
}

fn dispatcher(count: u8) -> CollectiveCost {
    CollectiveCost::new(Kinematics::default(), &building(count))
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

#[test]
fn the_next_stop_is_one_that_the_car_can_still_reach() {
    type Case = (CarView, &'static [u8], &'static [(u8, Direction)], Option<(u8, Direction)>);

    let moving = moving(1, 8, 4, Duration::from_secs(5));
    let at_rest = CarView { direction: Some(Up), ..idle_at(5) };
    let cases: [Case; 7] = [
        (moving, &[8], &[(3, Up), (5, Up)], Some((5, Up))),
        (moving, &[8], &[(5, Down)], Some((8, Up))),
        (moving, &[], &[(5, Down), (6, Down)], Some((6, Down))),
        (moving, &[], &[(3, Up)], None),
        // The door of a car at rest opens for the way on.
        (at_rest, &[5, 7], &[(5, Down)], Some((5, Up))),
        (at_rest, &[5], &[(5, Down)], Some((5, Down))),
        (at_rest, &[], &[], None),
    ];
    for (view, car_calls, calls, expected) in cases {
        let its = car_calls.iter().map(|&index| floor(index)).collect();
        let hall = calls.iter().map(|&(at, way)| call(at, way)).collect();
        let expected = expected.map(|(at, way)| (floor(at), way));
        assert_eq!(collective_stop(&view, &its, &hall), expected, "{car_calls:?} {calls:?}");
    }
}
