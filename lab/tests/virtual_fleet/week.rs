//! Where idle cars wait by the time of the week.

use elevator_driver::Floor;
use elevator_fleet::dispatch::{Strategy, WeekTime};
use elevator_fleet::model::Timestamp;
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{Building, car_call, mins, secs, seed, up};

const CARS: usize = 3;
const SCHEDULE: &str = "mon-fri 07:00-09:30 park 0; daily 22:00-06:00 park 0 3 cars 2";

fn bank(strategy: Strategy) -> Building {
    let schedule = SCHEDULE.parse().expect("a schedule");
    let settings = WorldSettings { strategy, schedule, ..WorldSettings::new(CARS, seed()) };
    Building::on(settings, secs(20))
}

/// Where the cars are.
fn places(world: &World) -> Vec<u8> {
    let floor = |car| world.car(car).inputs().floor.map_or(u8::MAX, Floor::index);
    (0..CARS).map(floor).collect()
}

fn all_in_the_lobby(world: &World) -> bool {
    places(world) == [0; CARS]
}

fn entry(world: &World, node: usize) -> Option<String> {
    world.node(node)?.status(Timestamp::START).schedule?.entry
}

/// Each car goes to a floor of its own.
fn spread(building: &mut Building) {
    building.serve(&[(0, car_call(1)), (1, car_call(2)), (2, car_call(3))]);
    building.run_for(secs(20));
}

/// Whether the strategy parks cars or not.
#[test]
fn idle_cars_wait_in_the_lobby_for_the_up_peak() {
    for strategy in [Strategy::Collective, Strategy::Planner] {
        let mut building = bank(strategy);
        building.set_local_time(0..CARS, WeekTime::new(0, 6, 59));
        spread(&mut building);
        assert!(!all_in_the_lobby(&building), "{:?}", places(&building));
        let served = building.services().len();
        building.set_local_time(0..CARS, WeekTime::new(0, 7, 0));
        building.until(mins(1), "all are in the lobby", all_in_the_lobby);
        assert_eq!(entry(&building, 1).as_deref(), Some("mon-fri 07:00-09:30 park 0"));
        // A car that has brought somebody up comes back; a call is no less urgent than ever.
        building.serve(&[(0, up(2)), (1, car_call(3))]);
        assert_eq!(building.services().len(), served + 2);
        building.until(mins(1), "they are back", all_in_the_lobby);
        building.set_local_time(0..CARS, WeekTime::new(0, 9, 30));
        assert_eq!(entry(&building, 1), None);
    }
}

/// The master's clock counts: cars follow the master, and the next one after its loss.
#[test]
fn the_next_master_goes_on_with_the_schedule() {
    let mut building = bank(Strategy::Collective);
    spread(&mut building);
    // Only the clock of the slaves is in the up-peak.
    building.set_local_time([1, 2], WeekTime::new(0, 8, 0));
    building.run_for(mins(1));
    assert_eq!(places(&building), [1, 2, 3]);
    building.inflict(Fault::Kill(0));
    building.until(mins(1), "the next master sends them to the lobby", |world| {
        places(world)[1..] == [0, 0]
    });
    building.recovers();
}
