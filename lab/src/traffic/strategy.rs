//! The strategies that are compared.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use elevator_fleet::dispatch::{self, Dispatcher, Kinematics, Planner, UnknownStrategy};
use elevator_simulator::building::{Building, MASS, Panels};

/// Who dispatches, and how passengers call a car.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// A strategy of a node, and hall buttons.
    Buttons(dispatch::Strategy),
    /// Destination dispatch: the planner, and passengers who give their destination at the landing
    /// and board only the car that they are told.
    Destination,
}

/// The strategies that are compared unless others are named. The first is the one that others are
/// compared with.
pub const STRATEGIES: [Strategy; 4] = [
    Strategy::Buttons(dispatch::Strategy::Collective),
    Strategy::Buttons(dispatch::Strategy::Planner),
    Strategy::Buttons(dispatch::Strategy::NearestCar),
    Strategy::Buttons(dispatch::Strategy::TimeToIdle),
];

const DESTINATION: &str = "destination";

impl Strategy {
    /// How passengers call a car.
    pub(super) fn panels(self) -> Panels {
        match self {
            Self::Buttons(_) => Panels::Buttons,
            Self::Destination => Panels::Kiosks,
        }
    }
}

impl Default for Strategy {
    fn default() -> Self {
        Self::Buttons(dispatch::Strategy::default())
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buttons(strategy) => strategy.fmt(f),
            Self::Destination => f.pad(DESTINATION),
        }
    }
}

/// Text that names no strategy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}, {DESTINATION}")]
pub struct UnknownName(UnknownStrategy);

impl FromStr for Strategy {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        if text == DESTINATION {
            return Ok(Self::Destination);
        }
        text.parse().map(Self::Buttons).map_err(UnknownName)
    }
}

pub(super) fn dispatcher(strategy: Strategy, building: &Building) -> Box<dyn Dispatcher> {
    let (kinematics, layout) = (kinematics(building), building.layout());
    let (capacity, bypass_load) = (capacity(building), building.bypass_load);
    match strategy {
        Strategy::Buttons(strategy) => {
            strategy.dispatcher(kinematics, &layout, capacity, bypass_load)
        }
        Strategy::Destination => Box::new(Planner::new(kinematics, &layout, capacity, bypass_load)),
    }
}

/// How many passengers of average mass a car holds.
fn capacity(building: &Building) -> f64 {
    (building.rated_load / MASS).min(f64::from(building.persons))
}

/// The cars of a building as a dispatcher knows them.
pub(super) fn kinematics(building: &Building) -> Kinematics {
    let car = building.car();
    Kinematics {
        floor_height: building.floor_height,
        rated_speed: car.kinematics.rated_speed,
        acceleration: car.kinematics.acceleration,
        jerk: car.kinematics.jerk,
        door_opening: car.door.opening,
        door_closing: car.door.closing,
        dwell: Duration::from_secs_f64(building.dwell),
        transfer: building.transfer.mean(),
    }
}
