use elevator_driver::Building;

use serde::{Deserialize, Serialize};

use super::{CollectiveCost, Dispatcher, Kinematics, NearestCar, Planner, TimeToIdle};
use crate::model::named;

named! {
    "a strategy"
    pub struct UnknownStrategy;

    /// By what rule a master assigns the hall calls (F17). Only the master's counts.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Strategy {
        /// Waiting and riding of known and expected passengers, with parking: [`Planner`].
        #[default]
        Planner = "planner",
        /// The sum of the squared times of known passengers: [`CollectiveCost`].
        Collective = "collective",
        /// The greatest figure of suitability: [`NearestCar`].
        NearestCar = "nearest-car",
        /// The least time until the car is idle: [`TimeToIdle`].
        TimeToIdle = "time-to-idle",
    }
}

impl Strategy {
    /// A dispatcher for a bank of equal cars, each of which holds `capacity` passengers, at least
    /// one, and passes hall calls by from `bypass_load` per cent of its rated load on.
    #[must_use]
    pub fn dispatcher(
        self,
        kinematics: Kinematics,
        building: &Building,
        capacity: f64,
        bypass_load: u8,
    ) -> Box<dyn Dispatcher + Send> {
        match self {
            Self::Planner => Box::new(Planner::new(kinematics, building, capacity, bypass_load)),
            Self::Collective => Box::new(CollectiveCost::new(kinematics, building)),
            Self::NearestCar => Box::new(NearestCar::new(building.floors())),
            Self::TimeToIdle => Box::new(TimeToIdle::new(kinematics, building)),
        }
    }
}
