//! Calls stay with their cars, and a bank without calls rests.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor, FloorCount};
use elevator_fleet::dispatch::Strategy;
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::{Call, HallCall, NodeId};
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{World, WorldSettings};

use crate::building::{Building, car_call, floor, millis, mins, secs, seed, up, usually};

/// A call that comes back to an earlier car within this time has flapped.
const FLAP: Duration = Duration::from_secs(1);

/// The most reassignments in four minutes of [`busy`] traffic, some 80 calls. Over ten seeds there
/// were 60 to 101.
const MOST_REASSIGNMENTS: usize = 120;

const CARS: usize = 8;
const FLOORS: u8 = 40;

/// Passengers on all floors for four minutes, each at most four seconds after the one before. Who
/// boards presses the button of another floor.
fn busy(settings: WorldSettings) -> Building {
    let seed = settings.seed;
    let mut building = Building::on(settings, secs(3));
    let mut looked_at = 0;
    let mut random = fastrand::Rng::with_seed(seed ^ 0xF00);
    let mut next_passenger = building.now();
    let end = building.now() + mins(4);
    while building.now() < end {
        building.run_for(millis(20));
        if building.now() >= next_passenger {
            next_passenger = building.now() + millis(random.u64(200..4_000));
            let at = floor(random.u8(0..FLOORS));
            let direction = Direction::BOTH[random.usize(0..2)];
            building.press(random.usize(0..CARS), Button::Hall(at, direction));
        }
        let served = building.services()[looked_at..].iter();
        let boarded = served.filter_map(|service| match &service.call {
            Call::Hall(call) => Some((service.node, *call)),
            Call::Car { .. } => None,
        });
        let boarded: Vec<(usize, HallCall)> = boarded.collect();
        looked_at = building.services().len();
        for (car, call) in boarded {
            let to = match call.direction {
                Direction::Up => random.u8(call.floor.index() + 1..FLOORS),
                Direction::Down => random.u8(0..call.floor.index()),
            };
            building.press(car, car_call(to));
        }
    }
    building
}

/// The cars that a call had until it was served.
struct Held {
    /// Each with when it lost the call.
    before: Vec<(NodeId, Duration)>,
    car: NodeId,
}

/// How often a call changed its car, and which calls came back to an earlier one in no time.
fn reassignments(world: &World) -> (usize, Vec<String>) {
    let mut held: BTreeMap<Call, Held> = BTreeMap::new();
    let (mut changes, mut flaps) = (0, Vec::new());
    let mut services = world.services().iter().peekable();
    for assigned in world.assignments() {
        while let Some(service) = services.next_if(|service| service.at <= assigned.at) {
            held.remove(&service.call);
        }
        let car = assigned.car.clone();
        let Some(call) = held.get_mut(&assigned.call) else {
            held.insert(assigned.call.clone(), Held { before: Vec::new(), car });
            continue;
        };
        if call.car == car {
            continue;
        }
        changes += 1;
        let returns = |(earlier, lost): &&(NodeId, Duration)| {
            *earlier == car && assigned.at.saturating_sub(*lost) < FLAP
        };
        if let Some((_, lost)) = call.before.iter().find(returns) {
            flaps.push(format!("{} to {car}, lost at {lost:?}, {:?}", assigned.call, assigned.at));
        }
        let lost = std::mem::replace(&mut call.car, car);
        call.before.push((lost, assigned.at));
    }
    (changes, flaps)
}

/// F17: a call moves to another car for a reason, and does not flap.
#[test]
fn calls_stay_with_their_cars_in_a_busy_tower() {
    for strategy in usually(vec![Strategy::Planner], Strategy::ALL.to_vec()) {
        let mut settings = WorldSettings { strategy, ..WorldSettings::new(CARS, seed()) };
        settings.floors = FloorCount::new(FLOORS).expect("floors");
        (settings.codec, settings.inspect) = (false, false);
        let mut building = busy(settings);
        let (changes, flaps) = reassignments(&building);
        println!("{strategy}: {changes} reassignments, {} flaps", flaps.len());
        if strategy == Strategy::Planner {
            assert!(flaps.is_empty(), "{flaps:#?}");
            assert!(changes <= MOST_REASSIGNMENTS, "{changes}");
        }
        building.until_at_rest();
    }
}

fn places(world: &World) -> Vec<(Option<Floor>, bool)> {
    let place = |node| {
        let shaft = world.car(node).shaft();
        (shaft.floor(), shaft.driven().is_some())
    };
    (0..world.size()).map(place).collect()
}

/// F17: cars are parked once, and then nothing moves, under every protocol.
#[test]
fn an_idle_fleet_parks_and_comes_to_rest() {
    for protocol in Protocol::ALL {
        let mut settings = WorldSettings::new(4, seed());
        settings.floors = FloorCount::new(12).expect("floors");
        settings.election = ElectionSettings::of(protocol);
        let mut building = Building::of(settings);
        building.start_all();
        building.until(secs(20), "one leads", World::has_the_right_master);
        building.serve(&[0, 1, 2, 3].map(|node| (node, up(0))));
        building.serve(&[0, 1, 2, 3].map(|node| (node, car_call(0))));
        building.run_for(mins(1));
        let parked = places(&building);
        assert!(parked.iter().all(|(at, driven)| at.is_some() && !driven), "{parked:?}");
        // Under `token-ring` the master of this moment parks them, if it has one.
        let spread: std::collections::BTreeSet<_> = parked.iter().map(|(at, _)| *at).collect();
        assert!(spread.len() > 1, "{protocol}: {parked:?}");
        for _ in 0..usually(24, 120) {
            building.run_for(secs(5));
            assert_eq!(places(&building), parked, "{protocol}\n{}", building.story(40));
        }
    }
}
