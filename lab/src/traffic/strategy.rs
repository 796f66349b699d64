//! The strategies that are compared.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use elevator_driver as driver;
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
    /// Somebody's own dispatcher, and hall buttons.
    Own(Own),
}

/// A dispatcher that is none of this package.
#[derive(Clone, Copy)]
pub struct Own {
    /// Its name.
    pub name: &'static str,
    /// Makes it, of this name, for a bank.
    pub make: fn(&'static str, &BankOf<'_>) -> Box<dyn Dispatcher>,
}

/// What a dispatcher is made for.
#[derive(Debug, Clone, Copy)]
pub struct BankOf<'a> {
    pub layout: &'a driver::Building,
    pub kinematics: Kinematics,
    /// How many passengers of average mass a car holds.
    pub capacity: f64,
    /// Per cent of the rated load.
    pub bypass_load: u8,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Own {}

impl PartialOrd for Own {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Own {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
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
            Self::Buttons(_) | Self::Own(_) => Panels::Buttons,
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
            Self::Own(own) => f.pad(own.name),
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
        Strategy::Own(Own { name, make }) => {
            make(name, &BankOf { layout: &layout, kinematics, capacity, bypass_load })
        }
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
