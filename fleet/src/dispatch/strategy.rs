//! The strategies by name.

use std::fmt;
use std::str::FromStr;

use elevator_driver::FloorCount;

use serde::{Deserialize, Serialize};

use super::{CollectiveCost, Dispatcher, Kinematics, NearestCar, Planner, TimeToIdle};

/// By what rule a master assigns the hall calls (F17). Nodes of one fleet may differ in it: only the
/// master's counts.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Waiting and riding of known and expected passengers, with parking: [`Planner`].
    #[default]
    Planner,
    /// The sum of the squared times of known passengers: [`CollectiveCost`].
    Collective,
    /// The greatest figure of suitability: [`NearestCar`].
    NearestCar,
    /// The least time until the car is idle: [`TimeToIdle`].
    TimeToIdle,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 4] =
        [Self::Planner, Self::Collective, Self::NearestCar, Self::TimeToIdle];

    /// A dispatcher for a bank of equal cars, each of which holds `capacity` passengers, at least
    /// one, and passes hall calls by from `bypass_load` per cent of its rated load on.
    #[must_use]
    pub fn dispatcher(
        self,
        kinematics: Kinematics,
        floors: FloorCount,
        capacity: f64,
        bypass_load: u8,
    ) -> Box<dyn Dispatcher + Send> {
        match self {
            Self::Planner => {
                Box::new(Planner::new(kinematics, floors, capacity).with_bypass_load(bypass_load))
            }
            Self::Collective => Box::new(CollectiveCost::new(kinematics, floors)),
            Self::NearestCar => Box::new(NearestCar::new(floors)),
            Self::TimeToIdle => Box::new(TimeToIdle::new(kinematics, floors)),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Planner => "planner",
            Self::Collective => "collective",
            Self::NearestCar => "nearest-car",
            Self::TimeToIdle => "time-to-idle",
        })
    }
}

/// Text that does not name a strategy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a strategy; there are {names}", names = Strategy::ALL.map(|known| known.to_string()).join(", "))]
pub struct UnknownStrategy(String);

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|known| known.to_string() == text)
            .ok_or_else(|| UnknownStrategy(text.to_owned()))
    }
}
