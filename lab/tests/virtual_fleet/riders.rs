//! Riders get where they want to go, whatever becomes of the fleet meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor, FloorCount};
use elevator_fleet::model::{Call, HallCall, Timestamp};
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{Building, floor, millis, secs, seed};

pub(crate) const CARS: usize = 8;
pub(crate) const FLOORS: u8 = 40;

/// What a car was seen to do.
#[derive(Debug, Clone)]
struct Seen {
    direction: Direction,
    at: Floor,
    car_calls: BTreeSet<Floor>,
}

/// Passengers who board where a hall call is served, and what their cars were last seen to do.
pub(crate) struct Riders {
    random: fastrand::Rng,
    /// Who is about to press, in which car, and which floor.
    boarded: Vec<(Duration, usize, Floor)>,
    /// How many services have been looked at.
    services: usize,
    seen: BTreeMap<usize, Seen>,
}

impl Riders {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            boarded: Vec::new(),
            services: 0,
            seen: BTreeMap::new(),
        }
    }

    /// Whoever waited boards, and presses the button of the floor that they want to go to.
    pub(crate) fn ride(&mut self, world: &mut World) {
        let served: Vec<(usize, HallCall)> = world.services()[self.services..]
            .iter()
            .filter_map(|service| match &service.call {
                Call::Hall(call) => Some((service.node, *call)),
                Call::Car { .. } => None,
            })
            .collect();
        self.services = world.services().len();
        for (car, call) in served {
            let to = match call.direction {
                Direction::Up => self.random.u8(call.floor.index() + 1..FLOORS),
                Direction::Down => self.random.u8(0..call.floor.index()),
            };
            let at = world.now() + millis(self.random.u64(200..1_500));
            self.boarded.push((at, car, floor(to)));
        }
        let now = world.now();
        let (due, later) = self.boarded.iter().copied().partition(|(at, ..)| *at <= now);
        self.boarded = later;
        let due: Vec<(Duration, usize, Floor)> = due;
        for (_, car, to) in due {
            world.press(car, Button::Car(to));
        }
    }

    /// S3: looks at every car, and says which has turned although it had car calls ahead.
    fn turned(&mut self, world: &World) -> Option<String> {
        let mut turned = None;
        for car in 0..world.size() {
            let Some(node) = world.node(car) else {
                self.seen.remove(&car);
                continue;
            };
            let status = node.status(Timestamp::after_start(world.now()));
            let Some(view) = status.car.map(|car| car.view) else {
                continue;
            };
            let car_calls: BTreeSet<Floor> = node
                .orders()
                .calls()
                .filter_map(|call| match call {
                    Call::Car { car: of, floor } if of == world.name(car) => Some(*floor),
                    Call::Car { .. } | Call::Hall(_) => None,
                })
                .collect();
            let (Some(at), Some(direction)) = (view.floor, view.direction) else {
                continue;
            };
            let now = Seen { direction, at, car_calls };
            if let Some(before) = self.seen.get(&car)
                && before.direction != direction
                && before.car_calls.iter().any(|stop| {
                    stop.is_beyond(now.at, before.direction)
                        && stop.is_beyond(before.at, before.direction)
                        && now.car_calls.contains(stop)
                })
            {
                turned.get_or_insert(format!(
                    "{}: {before:?}, then {now:?}, {view:?}",
                    world.name(car)
                ));
            }
            self.seen.insert(car, now);
        }
        turned
    }
}

/// What disturbs the fleet while it serves its passengers.
#[derive(Debug, Clone, Copy)]
enum Disturbance {
    Partition,
    Restart,
    Suspend,
    LineCut,
    Loss,
}

impl Disturbance {
    const ALL: [Self; 5] =
        [Self::Partition, Self::Restart, Self::Suspend, Self::LineCut, Self::Loss];

    /// Does it, or puts it right.
    fn strike(self, world: &mut World, random: &mut fastrand::Rng) {
        let node = random.usize(0..CARS);
        let begins = random.u8(0..3) == 0;
        match self {
            Self::Partition if begins => world.inflict(Fault::Heal),
            Self::Partition => {
                let cut = random.usize(1..CARS);
                let groups = vec![(0..cut).collect(), (cut..CARS).collect()];
                world.inflict(Fault::Partition(groups));
            }
            Self::Restart if begins => world.inflict(Fault::Kill(node)),
            Self::Restart => world.inflict(Fault::Restart(node)),
            Self::Suspend if begins => world.inflict(Fault::Suspend(node)),
            Self::Suspend => (0..CARS).for_each(|node| world.inflict(Fault::Resume(node))),
            Self::LineCut => world.inflict(Fault::LineCut(node, begins)),
            Self::Loss => world.inflict(Fault::Loss(if begins { 30 } else { 0 })),
        }
    }
}

/// Passengers on all floors of a tall building, and a fleet that is disturbed. Hands back the first
/// car that turns its back on where its riders want to go.
fn turns_in_a_busy_building(seed: u64, disturbance: Disturbance) -> Option<String> {
    let mut settings = WorldSettings::new(CARS, seed);
    settings.floors = FloorCount::new(FLOORS).expect("floors");
    settings.codec = false;
    settings.inspect = false;
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(3));
    let mut riders = Riders::new(seed);
    let mut random = fastrand::Rng::with_seed(seed ^ 0xF00);
    let mut next_passenger = building.now();
    let mut next_fault = building.now() + secs(20);
    let end = building.now() + secs(70);
    while building.now() < end {
        building.run_for(millis(20));
        if building.now() >= next_passenger {
            next_passenger = building.now() + millis(random.u64(200..2_000));
            let at = floor(random.u8(0..FLOORS));
            let direction = Direction::BOTH[random.usize(0..2)];
            building.press(random.usize(0..CARS), Button::Hall(at, direction));
        }
        if building.now() >= next_fault {
            next_fault = building.now() + millis(random.u64(500..15_000));
            disturbance.strike(&mut building, &mut random);
        }
        riders.ride(&mut building);
        if let Some(turned) = riders.turned(&building) {
            let (now, story) = (building.now(), building.story(60));
            return Some(format!("{disturbance:?}, seed {seed}, {now:?}: {turned}\n{story}"));
        }
    }
    None
}

/// S3: peers come and go, nodes are held up, and panels come back.
#[test]
fn no_rider_is_carried_away_from_the_destination() {
    for disturbance in Disturbance::ALL {
        let turned = turns_in_a_busy_building(seed() + 6, disturbance);
        assert_eq!(turned, None, "{}", turned.as_deref().unwrap_or_default());
    }
}
