//! The strategies that are compared.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result};
use elevator_driver::FloorCount;
use elevator_fleet::car::CarSettings;
use elevator_fleet::dispatch::{self, Dispatcher, Kinematics, Planner};

/// Who dispatches the cars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The simulator's own strategy.
    Peer(Peer, Parking),
    /// A dispatcher of this project.
    Ours(Ours),
}

/// A dispatcher of this project, and how passengers call a car.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ours {
    /// By hall buttons.
    Buttons(dispatch::Strategy),
    /// By their destinations: the planner, which tells each passenger a car.
    Destination,
}

impl Ours {
    /// All of them.
    pub(crate) fn all() -> Vec<Self> {
        let buttons = dispatch::Strategy::ALL.map(Self::Buttons);
        buttons.into_iter().chain([Self::Destination]).collect()
    }

    /// A dispatcher for a bank of cars that hold `capacity` passengers each.
    pub(crate) fn dispatcher(
        self,
        kinematics: Kinematics,
        floors: FloorCount,
        capacity: f64,
    ) -> Box<dyn Dispatcher> {
        let bypass_load = CarSettings::BYPASS_LOAD;
        match self {
            Self::Buttons(strategy) => {
                strategy.dispatcher(kinematics, floors, capacity, bypass_load)
            }
            Self::Destination => Box::new(Planner::new(kinematics, floors, capacity, bypass_load)),
        }
    }
}

impl fmt::Display for Ours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buttons(strategy) => strategy.fmt(f),
            Self::Destination => f.pad("destination"),
        }
    }
}

impl FromStr for Ours {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "destination" => Ok(Self::Destination),
            of_nodes => of_nodes.parse().map(Self::Buttons).context("no such strategy"),
        }
    }
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
            Self::Ours(ours) => ours.to_string(),
        };
        f.pad(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dispatcher_of_this_project_has_a_name() {
        for ours in Ours::all() {
            let name = ours.to_string();
            assert_eq!(name.parse::<Ours>().expect("its name"), ours, "{name}");
        }
        assert!("wheels".parse::<Ours>().is_err());
    }
}
