//! The strategies that are compared.

use std::fmt;

use clap::ValueEnum;
use elevator_driver::FloorCount;
use elevator_fleet::car::CarSettings;
use elevator_fleet::dispatch::{self, Dispatcher, Kinematics};

/// Who dispatches the cars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The simulator's own strategy.
    Peer(Peer, Parking),
    /// A dispatcher of this project.
    Ours(Ours),
}

/// A strategy of `elevator-core`, with its default weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    Etd,
    Rsr,
    Nearest,
    Look,
    Scan,
}

/// Where `elevator-core` sends idle cars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parking {
    /// They stay where they are.
    None,
    /// To the lobby in the up-peak, else to where passengers arrived of late.
    Adaptive,
}

/// A dispatcher of this project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ours {
    /// Squared waiting times under collective control.
    Collective,
    /// Waiting and riding of known and expected passengers, with parking.
    Planner,
    /// The greatest figure of suitability.
    NearestCar,
    /// The least time until the car is idle.
    TimeToIdle,
}

impl Ours {
    /// A dispatcher for cars that hold `capacity` passengers each.
    pub(crate) fn dispatcher(
        self,
        kinematics: Kinematics,
        floors: FloorCount,
        capacity: f64,
    ) -> Box<dyn Dispatcher> {
        let strategy = match self {
            Self::Collective => dispatch::Strategy::Collective,
            Self::Planner => dispatch::Strategy::Planner,
            Self::NearestCar => dispatch::Strategy::NearestCar,
            Self::TimeToIdle => dispatch::Strategy::TimeToIdle,
        };
        strategy.dispatcher(kinematics, floors, capacity, CarSettings::BYPASS_LOAD)
    }
}

impl Strategy {
    /// The two strategies of `elevator-core` that are the best ones in every cell.
    pub(crate) const BEST_PEERS: [Self; 2] =
        [Self::Peer(Peer::Etd, Parking::None), Self::Peer(Peer::Etd, Parking::Adaptive)];

    /// All strategies of `elevator-core` that passengers with hall buttons can use.
    pub(crate) fn all_peers() -> Vec<Self> {
        [Peer::Etd, Peer::Rsr, Peer::Nearest, Peer::Look, Peer::Scan]
            .into_iter()
            .flat_map(|peer| {
                [Parking::None, Parking::Adaptive].map(|parking| Self::Peer(peer, parking))
            })
            .collect()
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Peer(peer, parking) => {
                let name = format!("{peer:?}").to_lowercase();
                match parking {
                    Parking::None => name,
                    Parking::Adaptive => name + "+adaptive",
                }
            }
            Self::Ours(ours) => format!("{ours:?}").to_lowercase(),
        };
        f.pad(&name)
    }
}
