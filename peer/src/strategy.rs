//! The strategies that are compared.

use std::fmt;

use elevator_fleet::car::CarSettings;
use elevator_fleet::dispatch::{self, Dispatcher, Kinematics};
use elevator_simulator::building::{Building, MASS};

/// Who dispatches the cars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// `etd` of `elevator-core`, with its default weights. Idle cars stay where they are.
    Etd,
    /// The same; idle cars go to the lobby in the up-peak, else to where passengers arrived of
    /// late.
    EtdAdaptive,
    /// One of this project.
    Ours(dispatch::Strategy),
}

impl Strategy {
    /// The two of `elevator-core` that are its best ones in every cell.
    pub(crate) const PEERS: [Self; 2] = [Self::Etd, Self::EtdAdaptive];

    /// All strategies of this project.
    pub(crate) fn ours() -> Vec<Self> {
        dispatch::Strategy::ALL.map(Self::Ours).into()
    }

    /// The dispatcher of this project, if it is one.
    pub(crate) fn dispatcher(
        self,
        kinematics: Kinematics,
        building: &Building,
    ) -> Option<Box<dyn Dispatcher>> {
        let Self::Ours(strategy) = self else { return None };
        let (layout, capacity) = (building.layout(), building.rated_load / MASS);
        Some(strategy.dispatcher(kinematics, &layout, capacity, CarSettings::BYPASS_LOAD))
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Etd => f.write_str("etd"),
            Self::EtdAdaptive => f.write_str("etd+adaptive"),
            Self::Ours(strategy) => strategy.fmt(f),
        }
    }
}
