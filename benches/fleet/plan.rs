//! How long the planner thinks, on the thread that makes plans.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::car::CarSettings;
use elevator_fleet::dispatch::{Bank, CarSituation, Dispatcher, HallDemand, Kinematics, Planner};
use elevator_fleet::model::{
    Availability, CarPhase, CarView, FloorSet, HallCall, Mode, NodeId, Shut, Timestamp,
};

use crate::samples::Figure;

const CARS: u8 = 4;
const FLOORS: u8 = 16;

/// The samples of a round.
const SAMPLES: usize = 20;

pub(crate) fn measure(rounds: usize) -> Vec<Figure> {
    let fresh = demand();
    let present = plan(&mut planner(), &fresh);
    let with_one_new: Vec<HallDemand> = fresh
        .iter()
        .enumerate()
        .map(|(number, demand)| HallDemand {
            assigned: (number > 0).then(|| present.get(&demand.call).cloned()).flatten(),
            ..demand.clone()
        })
        .collect();
    let figure = |what: &str, demand: &[HallDemand], limit: f64| {
        let what = format!("plan, all calls lit, {CARS} cars x {FLOORS} floors, {what}");
        let mut planner = planner();
        let plan = || drop(black_box(plan(black_box(&mut planner), black_box(demand))));
        Figure::of_calls(what, rounds * SAMPLES, plan).median_at_most(limit)
    };
    vec![figure("one new", &with_one_new, 100.0), figure("all fresh", &fresh, 1_000.0)]
}

fn planner() -> Planner {
    let floors = FloorCount::new(FLOORS).expect("a number of floors");
    let kinematics = Kinematics::default();
    Planner::new(kinematics, &kinematics.building(floors), 13.0, CarSettings::BYPASS_LOAD)
}

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

/// Idle cars at even distances.
fn cars() -> Vec<CarSituation> {
    let car = |number: u8| CarSituation {
        car: NodeId::new(&format!("car-{number}")).expect("a name"),
        view: CarView {
            availability: Availability::InService,
            floor: Some(floor(number * FLOORS / CARS)),
            phase: CarPhase::Idle,
            elapsed: Duration::ZERO,
            direction: None,
            load: Some(0),
            locked_out: FloorSet::default(),
            mode: Mode::default(),
            shut: Shut::default(),
        },
        car_calls: BTreeSet::new(),
    };
    (0..CARS).map(car).collect()
}

/// Every hall call that has a button.
fn demand() -> Vec<HallDemand> {
    let up = (0..FLOORS - 1).map(|at| (at, Direction::Up));
    let down = (1..FLOORS).map(|at| (at, Direction::Down));
    let fresh = |(at, direction)| HallDemand {
        call: HallCall::new(floor(at), direction),
        waited: Duration::from_secs(5),
        assigned: None,
        wanted: FloorSet::default(),
    };
    up.chain(down).map(fresh).collect()
}

fn plan(planner: &mut Planner, demand: &[HallDemand]) -> BTreeMap<HallCall, NodeId> {
    let (parked, cars) = (BTreeMap::new(), cars());
    let bank = Bank { now: Timestamp::START, cars: &cars, demand, parked: &parked };
    planner.plan(&bank).assignments
}
