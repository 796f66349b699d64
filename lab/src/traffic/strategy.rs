//! The strategies that are compared.

use std::fmt;
use std::str::FromStr;

use elevator_fleet::dispatch::{CollectiveCost, Dispatcher, Kinematics, Planner};
use elevator_simulator::building::{Building, MASS};

/// A strategy by its name.
#[derive(Clone, Copy)]
pub struct Strategy {
    /// How it is called.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Makes its dispatcher.
    make: fn(&Building) -> Box<dyn Dispatcher>,
}

/// All strategies. The first is the one that others are compared with.
pub const STRATEGIES: &[Strategy] = &[
    Strategy {
        name: "collective",
        about: "the least squared waiting times under collective control",
        make: |building| Box::new(CollectiveCost::new(kinematics(building), building.floors)),
    },
    Strategy {
        name: "planner",
        about: "waiting and riding of known and expected passengers, with parking",
        make: |building| {
            Box::new(Planner::new(kinematics(building), building.floors, capacity(building)))
        },
    },
];

impl Strategy {
    /// A new dispatcher for a bank.
    pub(super) fn dispatcher(self, building: &Building) -> Box<dyn Dispatcher> {
        (self.make)(building)
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
        floor_height: car.kinematics.floor_height,
        rated_speed: car.kinematics.rated_speed,
        acceleration: car.kinematics.acceleration,
        jerk: car.kinematics.jerk,
        door_opening: car.door.opening,
        door_closing: car.door.closing,
        dwell: std::time::Duration::from_secs_f64(building.dwell),
        transfer: building.transfer.mean(),
    }
}

/// There is no such strategy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no strategy {name}: {}", names())]
pub struct UnknownStrategy {
    name: String,
}

fn names() -> String {
    STRATEGIES.iter().map(|strategy| strategy.name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        let known = STRATEGIES.iter().find(|strategy| strategy.name == name);
        known.copied().ok_or_else(|| UnknownStrategy { name: name.to_owned() })
    }
}

impl PartialEq for Strategy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Strategy {}

impl fmt::Debug for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}
