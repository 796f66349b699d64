//! The strategies that are compared.

use std::time::Duration;

use elevator_fleet::dispatch::{Dispatcher, Kinematics, Strategy};
use elevator_simulator::building::{Building, MASS};

/// All strategies. The first is the one that others are compared with.
pub const STRATEGIES: [Strategy; 4] =
    [Strategy::Collective, Strategy::Planner, Strategy::NearestCar, Strategy::TimeToIdle];

/// A new dispatcher for a bank.
pub(super) fn dispatcher(strategy: Strategy, building: &Building) -> Box<dyn Dispatcher> {
    let kinematics = kinematics(building);
    strategy.dispatcher(kinematics, building.floors, capacity(building), building.bypass_load)
}

/// How many passengers of average mass a car holds.
fn capacity(building: &Building) -> f64 {
    (building.rated_load / MASS).min(f64::from(building.persons))
}

/// The cars of a building as a dispatcher knows them.
pub(super) fn kinematics(building: &Building) -> Kinematics {
    let car = building.car();
    Kinematics {
        floor_height: car.kinematics.floor_height,
        rated_speed: car.kinematics.rated_speed,
        acceleration: car.kinematics.acceleration,
        jerk: car.kinematics.jerk,
        door_opening: car.door.opening,
        door_closing: car.door.closing,
        dwell: Duration::from_secs_f64(building.dwell),
        transfer: building.transfer.mean(),
    }
}
