//! Buildings with cars that do not serve every floor.

use std::collections::BTreeSet;

use elevator_driver::{Button, Direction, Floor, Trip};
use elevator_fleet::json::{BuildingForm, LandingForm, ServedForm};
use elevator_fleet::model::{Call, HallCall, Mode};
use fastrand::Rng;
use liftmesh_lab::{Fault, WorldSettings};

use crate::building::{Building, floor, is_open_at, millis, secs};

const CARS: usize = 3;

/// Which floors each car serves: at least two, and each floor has a car.
fn zones(floors: u8, random: &mut Rng) -> [BTreeSet<u8>; CARS] {
    let mut zones: [BTreeSet<u8>; CARS] = [(); CARS].map(|()| {
        let (one, other) = (random.u8(0..floors), random.u8(1..floors));
        let others = (0..floors).filter(|_| random.bool());
        [one, (one + other) % floors].into_iter().chain(others.collect::<Vec<_>>()).collect()
    });
    for floor in 0..floors {
        zones[random.usize(..CARS)].insert(floor);
    }
    zones
}

fn settings(floors: u8, zones: &[BTreeSet<u8>; CARS], seed: u64) -> WorldSettings {
    let label = |index: u8| format!("F{index}");
    let names = ["A", "B", "C"];
    let mut settings = WorldSettings::new(CARS, seed);
    settings.building = Some(BuildingForm {
        floors: (0..floors)
            .map(|index| LandingForm { label: label(index), height: 3.0 * f64::from(index) })
            .collect(),
        cars: zones
            .iter()
            .zip(names)
            .map(|(zone, name)| ServedForm {
                name: name.to_owned(),
                serves: zone.iter().copied().map(label).collect(),
            })
            .collect(),
    });
    settings
}

/// A press, or a destination given at a kiosk, and the car in which it happens.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Press(usize, Button),
    Trip(usize, Trip),
}

fn ask(floors: u8, random: &mut Rng) -> Option<Asked> {
    let (node, from) = (random.usize(..CARS), random.u8(0..floors));
    let to = random.u8(0..floors);
    match random.u8(0..3) {
        0 => Some(Asked::Press(node, Button::Car(floor(from)))),
        1 => Some(Asked::Press(node, Button::Hall(floor(from), random.choice(Direction::BOTH)?))),
        _ => Some(Asked::Trip(node, Trip::new(floor(from), floor(to))?)),
    }
}

/// O1, O7: each press is served by a car that serves its floors, or refused because no car does.
#[test]
fn every_press_is_served_or_refused_by_the_building() {
    for seed in 1..=12 {
        let mut random = Rng::with_seed(seed);
        let floors = random.u8(3..=9);
        let zones = zones(floors, &mut random);
        let mut building = Building::on(settings(floors, &zones, seed), secs(3));
        let stops = |car: usize, floor: Floor| zones[car].contains(&floor.index());
        for _ in 0..16 {
            let Some(asked) = ask(floors, &mut random) else { continue };
            let (call, is_served) = match asked {
                Asked::Press(node, button) => {
                    building.press(node, button);
                    let is_served = match button {
                        Button::Car(floor) => stops(node, floor),
                        Button::Hall(floor, direction) => (0..CARS).any(|car| {
                            let mut others = floors_of(floors);
                            stops(car, floor)
                                && others.any(|to| stops(car, to) && to.is_beyond(floor, direction))
                        }),
                    };
                    (building.call(button, node), is_served)
                }
                Asked::Trip(node, trip) => {
                    building.request(node, trip);
                    let both = |car| stops(car, trip.from()) && stops(car, trip.to());
                    let call = HallCall::to(trip.from(), trip.to()).expect("a trip");
                    (Call::Hall(call), (0..CARS).any(both))
                }
            };
            building.run_for(millis(200));
            let status = building.status(0).expect("it runs");
            let is_open = status.orders.iter().any(|order| order.call == call);
            // Where the door is open, a press keeps it open.
            let is_here = (0..CARS).any(|car| is_open_at(&building, car, floor_of(&call)));
            let right = if is_served { is_open || is_here } else { !is_open };
            assert!(right, "seed {seed}, {zones:?}, {asked:?}\n{}", building.story(20));
            building.run_for(millis(random.u64(0..4_000)));
        }
        building.until_at_rest();
        for service in building.services() {
            let floors = match &service.call {
                Call::Hall(HallCall { floor, to, .. }) => [Some(*floor), *to],
                Call::Car { floor, .. } => [Some(*floor), None],
            };
            let is_right = floors.into_iter().flatten().all(|floor| stops(service.node, floor));
            assert!(is_right, "seed {seed}, {zones:?}: {service:?}");
        }
    }
}

fn floors_of(count: u8) -> impl Iterator<Item = Floor> {
    (0..count).map(floor)
}

fn floor_of(call: &Call) -> u8 {
    match call {
        Call::Hall(hall) => hall.floor.index(),
        Call::Car { floor, .. } => floor.index(),
    }
}

/// A hall call that only one car can serve is refused while that car is out of service, and placed
/// again once it is back.
#[test]
fn a_floor_whose_only_car_is_out_of_service_refuses_calls() {
    let zones = [(0..5).collect(), (1..5).collect(), (1..5).collect()];
    let mut building = Building::on(settings(5, &zones, 1), secs(3));
    let call = Button::Hall(Floor::BOTTOM, Direction::Up);
    let mode = |mode| Fault::Mode { at: 1, car: 0, mode };
    building.inflict(mode(Mode::OutOfService));
    building.run_for(secs(2));
    building.press(1, call);
    building.run_for(secs(1));
    assert!(!building.is_lit(1, call), "{}", building.story(20));
    building.serve(&[(1, Button::Hall(floor(1), Direction::Up))]);
    building.inflict(mode(Mode::InService));
    building.run_for(secs(2));
    building.serve(&[(1, call)]);
}
