use elevator_driver::Direction::{Down, Up};

use super::*;
use crate::car::CarSettings;
use crate::dispatch::tests::{building, call, car, demand, fresh, idle_at, in_phase, node};
use crate::model::{CarPhase, CarView};

fn planner() -> Planner {
    with_floors(12)
}

fn with_floors(count: u8) -> Planner {
    Planner::new(Kinematics::default(), &building(count), 10.0, CarSettings::BYPASS_LOAD)
}

fn plan(planner: &mut Planner, seconds: u64, cars: &[CarSituation], calls: &[HallDemand]) -> Plan {
    plan_after(planner, Duration::from_secs(seconds), cars, calls)
}

fn plan_after(
    planner: &mut Planner,
    time: Duration,
    cars: &[CarSituation],
    calls: &[HallDemand],
) -> Plan {
    let now = Timestamp::START + time;
    planner.plan(&Bank { now, cars, demand: calls, parked: &BTreeMap::new() })
}

#[test]
fn a_full_car_that_comes_by_is_passed_over_for_an_idle_one() {
    let comes_by = |load| {
        let view = CarView { load: Some(load), direction: Some(Up), ..idle_at(3) };
        car("by", view, &[9])
    };
    let idle = car("idle", idle_at(8), &[]);
    let calls = [fresh(call(4, Up))];
    let holder = |load| {
        let cars = [comes_by(load), idle.clone()];
        plan(&mut planner(), 1, &cars, &calls).assignments[&calls[0].call].clone()
    };
    assert_eq!(holder(10), node("by"));
    assert_eq!(holder(95), node("idle"));
}

/// The ways to divide this many calls between two cars are more than a number can count.
#[test]
fn two_cars_share_a_call_of_every_landing() {
    let cars = [car("low", idle_at(0), &[]), car("high", idle_at(33), &[])];
    let landings = (0..33).flat_map(|at| [call(at, Up), call(at + 1, Down)]);
    for number in 60..=66 {
        let calls: Vec<_> = landings.clone().take(number).map(fresh).collect();
        let mut planner = with_floors(34);
        let first = plan(&mut planner, 1, &cars, &calls).assignments;
        let calls: Vec<_> = calls
            .iter()
            .map(|it| HallDemand { assigned: first.get(&it.call).cloned(), ..it.clone() })
            .collect();
        assert_eq!(plan(&mut planner, 20, &cars, &calls).assignments.len(), number);
    }
}

/// A car fills up at the lobby, and an idle one is at the top.
#[test]
fn idle_cars_wait_where_passengers_came_from() {
    let mut planner = planner();
    let at_lobby = |load| {
        let view = CarView { load: Some(load), direction: Some(Up), ..in_phase(0, CarPhase::Open) };
        [car("a", view, &[]), car("b", idle_at(11), &[])]
    };
    let alone = [car("b", idle_at(11), &[])];
    let spread = plan(&mut planner, 0, &alone, &[]);
    assert_ne!(spread.cars[&node("b")].park, floor(0), "without traffic, near all floors");
    for second in 0..60 {
        plan(&mut planner, second, &at_lobby(if second % 2 == 0 { 0 } else { 30 }), &[]);
    }
    assert_eq!(plan(&mut planner, 61, &alone, &[]).cars[&node("b")].park, floor(0));
}

/// N4: two cars that are alike have not set out yet, and a plan is made anew.
#[test]
fn cars_keep_the_places_that_they_were_told() {
    let cars = [car("a", idle_at(0), &[]), car("b", idle_at(0), &[])];
    let places = |told: [Option<Floor>; 2]| {
        let named = [node("a"), node("b")].into_iter().zip(told);
        let parked = named.filter_map(|(car, at)| Some((car, at?))).collect();
        let bank = Bank { now: Timestamp::START, cars: &cars, demand: &[], parked: &parked };
        let plan = planner().plan(&bank);
        [node("a"), node("b")].map(|car| plan.cars[&car].park)
    };
    let [one, other] = places([None, None]);
    assert_ne!(one, other);
    assert_eq!(places([one, other]), [one, other]);
    assert_eq!(places([other, one]), [other, one]);
}

#[test]
fn a_call_that_has_just_moved_stays_for_a_while() {
    let near = |at: u8, other: u8| [car("a", idle_at(at), &[]), car("b", idle_at(other), &[])];
    let holder = |planner: &mut Planner, millis, cars: &[CarSituation], holder: &str| {
        let calls = [demand(call(6, Up), 5, Some(holder))];
        let plan = plan_after(planner, Duration::from_millis(millis), cars, &calls);
        plan.assignments[&call(6, Up)].to_string()
    };
    let mut planner = planner();
    assert_eq!(holder(&mut planner, 10_000, &near(0, 6), "a"), "b");
    assert_eq!(holder(&mut planner, 10_900, &near(6, 0), "b"), "b", "it stays");
    assert_eq!(holder(&mut planner, 11_000, &near(6, 0), "b"), "a");
}

fn trip(from: usize, to: usize) -> HallCall {
    HallCall::to(floor(from).unwrap(), floor(to).unwrap()).unwrap()
}

/// Two cars at the lobby, and four passengers for two floors.
#[test]
fn trips_to_the_same_floor_gather_in_the_same_car() {
    let cars = [car("a", idle_at(0), &[]), car("b", idle_at(0), &[])];
    for floors in [(3, 9), (10, 4)] {
        let told =
            [demand(trip(0, floors.0), 4, Some("a")), demand(trip(0, floors.1), 4, Some("b"))];
        // Their own calls are absorbed; from the next floor they are others.
        let more = [fresh(trip(1, floors.0)), fresh(trip(1, floors.1))];
        let calls = [told.clone(), more.clone()].concat();
        let assignments = plan(&mut planner(), 1, &cars, &calls).assignments;
        let holders = calls.iter().map(|demand| assignments[&demand.call].to_string());
        assert_eq!(holders.collect::<Vec<_>>(), ["a", "b", "a", "b"], "{floors:?}");
    }
}
