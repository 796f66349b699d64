//! Passengers who give their destination at the landing.

use elevator_driver::{FloorCount, Trip};
use elevator_fleet::model::{Call, HallCall};
use liftmesh_lab::{Fault, Service, World, WorldSettings};

use crate::building::{Building, floor, millis, mins, secs, seed};

const FLOORS: u8 = 8;
const NODES: usize = 4;

fn building(seed: u64) -> Building {
    let mut settings = WorldSettings::new(NODES, seed);
    settings.floors = FloorCount::new(FLOORS).expect("floors");
    Building::on(settings, secs(2))
}

fn trip(from: u8, to: u8) -> Trip {
    Trip::new(floor(from), floor(to)).expect("a trip")
}

fn hall(trip: Trip) -> Call {
    Call::Hall(HallCall::to(trip.from(), trip.to()).expect("a trip"))
}

/// The services of a trip: by the same car at the landing and, after that, at the destination.
fn rides(world: &World, trip: Trip) -> Vec<(&Service, &Service)> {
    let services = world.services();
    let fetched = services.iter().filter(|service| service.call == hall(trip));
    fetched
        .filter_map(|fetched| {
            let ride = Call::ride(world.name(fetched.node), trip.to());
            let mut later = services.iter().filter(|service| service.at >= fetched.at);
            Some((fetched, later.find(|service| service.call == ride)?))
        })
        .collect()
}

fn car_of(world: &World, trip: Trip) -> Option<String> {
    let assigned = world.assignments().iter().rev().find(|one| one.call == hall(trip))?;
    Some(assigned.car.to_string())
}

/// O1, F8, F12: whatever the master's loss interrupts, every passenger gets there; and the cars of
/// those who wait for another car stay.
#[test]
fn a_lost_master_loses_no_trip_and_changes_no_other_car() {
    for seed in seed()..seed() + 8 {
        let mut building = building(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut asked = Vec::new();
        for _ in 0..8 {
            let (from, to) = (random.u8(0..FLOORS), random.u8(0..FLOORS));
            if from != to && !asked.contains(&trip(from, to)) {
                asked.push(trip(from, to));
                building.request(1 + random.usize(0..NODES - 1), trip(from, to));
            }
            building.run_for(millis(random.u64(0..900)));
        }
        building.run_for(millis(500));
        let lost = building.master().expect("a master");
        let waiting = |world: &World, trip: &Trip| {
            !world.services().iter().any(|service| service.call == hall(*trip))
        };
        let told: Vec<_> = asked
            .iter()
            .filter(|trip| waiting(&building, trip))
            .filter_map(|trip| Some((*trip, car_of(&building, *trip)?)))
            .filter(|(_, car)| *car != building.name(lost).to_string())
            .collect();
        building.inflict(Fault::Kill(lost));
        building.until(mins(4), "every order is served", |world| {
            world.running().filter_map(|node| world.node(node)).all(|node| {
                node.orders().calls().all(|call| match call {
                    Call::Hall(_) => false,
                    Call::Car { car, .. } => car == world.name(lost),
                })
            })
        });
        for trip in &asked {
            let fetched = building.services().iter().any(|service| service.call == hall(*trip));
            assert!(fetched, "seed {seed}, {trip}: {:?}", building.services());
        }
        for (trip, car) in told {
            let by = rides(&building, trip);
            let by = by.first().map(|(fetched, _)| building.name(fetched.node).to_string());
            assert_eq!(by, Some(car), "seed {seed}, {trip}\n{}", building.story(4000));
        }
        building.recovers();
    }
}
