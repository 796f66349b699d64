//! Buildings with cars that do not serve every floor.

use std::collections::BTreeSet;

use elevator_driver::{Button, Direction, Entrance, Floor, Side, Trip};
use elevator_fleet::json::{BuildingForm, LandingForm, ServedForm};
use elevator_fleet::model::{Call, HallCall, Mode};
use fastrand::Rng;
use liftmesh_lab::{Fault, WorldSettings};

use crate::building::{Building, floor, is_open_at, millis, secs};

const CARS: usize = 3;

/// On which sides a floor or a car has doors.
type Doors = BTreeSet<Side>;

/// Where each car stops, and the doors of cars and floors.
#[derive(Debug)]
struct Zones {
    cars: [(BTreeSet<u8>, Doors); CARS],
    floors: Vec<Doors>,
}

impl Zones {
    /// The first car has both doors, and is the one of each entrance that no other car serves.
    fn random(random: &mut Rng) -> Self {
        let floors = random.u8(3..=9);
        let doors = |random: &mut Rng| -> Doors {
            match random.u8(0..4) {
                0 => [Side::Rear].into(),
                1 => Side::BOTH.into(),
                _ => [Side::Front].into(),
            }
        };
        let landings: Vec<Doors> = (0..floors).map(|_| doors(random)).collect();
        let cars = std::array::from_fn(|car| {
            let (one, other) = (random.u8(0..floors), random.u8(1..floors));
            let others = (0..floors).filter(|_| random.bool());
            let stops: BTreeSet<u8> = [one, (one + other) % floors]
                .into_iter()
                .chain(others.collect::<Vec<_>>())
                .collect();
            let doors = if car == 0 { Side::BOTH.into() } else { doors(random) };
            let opens = |at: &u8| !landings[usize::from(*at)].is_disjoint(&doors);
            let open: BTreeSet<u8> = stops.iter().copied().filter(opens).collect();
            if open.len() < 2 { (stops, Side::BOTH.into()) } else { (open, doors) }
        });
        let mut zones = Self { cars, floors: landings };
        for at in 0..floors {
            let reached = |side| (0..CARS).any(|car| zones.opens(car, at, side));
            let is_missed = |side: &Side| zones.side(at, *side).is_some() && !reached(*side);
            if Side::BOTH.iter().any(is_missed) {
                zones.cars[0].0.insert(at);
            }
        }
        zones
    }

    fn count(&self) -> u8 {
        u8::try_from(self.floors.len()).expect("few floors")
    }

    /// On which side of the shaft this entrance of a floor is.
    fn side(&self, at: u8, entrance: Side) -> Option<Side> {
        let doors = &self.floors[usize::from(at)];
        let only = || doors.first().copied().filter(|_| entrance == Side::Front);
        if doors.len() == 2 { Some(entrance) } else { only() }
    }

    fn opens(&self, car: usize, at: u8, entrance: Side) -> bool {
        let (stops, doors) = &self.cars[car];
        stops.contains(&at) && self.side(at, entrance).is_some_and(|side| doors.contains(&side))
    }

    fn stops(&self, car: usize, at: Floor) -> bool {
        self.cars[car].0.contains(&at.index())
    }
}

fn settings(zones: &Zones, seed: u64) -> WorldSettings {
    let label = |index: u8| format!("F{index}");
    let names = ["A", "B", "C"];
    let mut settings = WorldSettings::new(CARS, seed);
    let landing = |(index, doors): (u8, &Doors)| LandingForm {
        label: label(index),
        height: 3.0 * f64::from(index),
        doors: doors.clone(),
    };
    let car = |((stops, doors), name): (&(BTreeSet<u8>, Doors), &str)| ServedForm {
        name: name.to_owned(),
        serves: stops.iter().copied().map(label).collect(),
        doors: doors.clone(),
    };
    settings.building = Some(BuildingForm {
        floors: (0..).zip(&zones.floors).map(landing).collect(),
        cars: zones.cars.iter().zip(names).map(car).collect(),
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
    let at = Entrance { floor: floor(from), side: random.choice(Side::BOTH)? };
    match random.u8(0..3) {
        0 => Some(Asked::Press(node, Button::car(at))),
        1 => Some(Asked::Press(node, Button::hall(at, random.choice(Direction::BOTH)?))),
        _ => Some(Asked::Trip(node, Trip::new(floor(from), floor(to))?)),
    }
}

/// O1, O7: each press is served by a car that serves its entrance, or refused because no car does.
#[test]
fn every_press_is_served_or_refused_by_the_building() {
    for seed in 1..=16 {
        let mut random = Rng::with_seed(seed);
        let zones = Zones::random(&mut random);
        let mut building = Building::on(settings(&zones, seed), secs(3));
        let stops = |car: usize, floor: Floor| zones.stops(car, floor);
        for _ in 0..16 {
            let Some(asked) = ask(zones.count(), &mut random) else { continue };
            let (call, is_served) = match asked {
                Asked::Press(node, button) => {
                    building.press(node, button);
                    let Entrance { floor, side } = button.entrance();
                    let opens = |car: usize| zones.opens(car, floor.index(), side);
                    let is_served = match button.direction() {
                        None => opens(node),
                        Some(direction) => (0..CARS).any(|car| {
                            let mut others = floors_of(zones.count());
                            opens(car)
                                && others.any(|to| stops(car, to) && to.is_beyond(floor, direction))
                        }),
                    };
                    (building.call(button, node), is_served)
                }
                Asked::Trip(node, trip) => {
                    building.request(node, trip);
                    let opens = |car, at: Floor| zones.opens(car, at.index(), Side::Front);
                    let both = |car| opens(car, trip.from()) && opens(car, trip.to());
                    let call = HallCall::to(trip.from(), trip.to()).expect("a trip");
                    (Call::Hall(call), (0..CARS).any(both))
                }
            };
            building.run_for(millis(200));
            let status = building.status(0).expect("it runs");
            let is_open = status.orders.iter().any(|order| order.call == call);
            // Where the door is open, a press keeps it open.
            let (at, side) = (call.floor().index(), call.entrance().side);
            let door = zones.side(at, side);
            let is_here = (0..CARS).any(|car| {
                is_open_at(&building, car, at) && Some(building.car(car).inputs().side) == door
            });
            let right = if is_served { is_open || is_here } else { !is_open };
            assert!(right, "seed {seed}, {zones:?}, {asked:?}\n{}", building.story(20));
            building.run_for(millis(random.u64(0..4_000)));
        }
        building.until_at_rest();
        for service in building.services() {
            let is_right = match &service.call {
                Call::Hall(HallCall { floor, to: Some(to), .. }) => {
                    let opens = |at: &Floor| zones.opens(service.node, at.index(), Side::Front);
                    opens(floor) && opens(to)
                }
                call => {
                    let Entrance { floor, side } = call.entrance();
                    zones.opens(service.node, floor.index(), side)
                }
            };
            assert!(is_right, "seed {seed}, {zones:?}: {service:?}");
        }
    }
}

fn floors_of(count: u8) -> impl Iterator<Item = Floor> {
    (0..count).map(floor)
}

/// A hall call that only one car can serve is refused while that car is out of service, and placed
/// again once it is back.
#[test]
fn a_floor_whose_only_car_is_out_of_service_refuses_calls() {
    let front = || [Side::Front].into();
    let cars = [0..5, 1..5, 1..5].map(|stops| (stops.collect(), front()));
    let zones = Zones { cars, floors: vec![front(); 5] };
    let mut building = Building::on(settings(&zones, 1), secs(3));
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
