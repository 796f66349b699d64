//! The service mode of a car.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The service mode of a car, the least restrictive first.
///
/// A car's mode is the most restrictive one of its key switch, of the directive for the car and of a
/// fire recall of the fleet: see [`Car::mode`](crate::car::Car::mode).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The group assigns hall calls to it.
    #[default]
    InService,
    /// It serves its car calls only, and keeps its door open until the next one (ASME A17.1
    /// *independent service*).
    Independent,
    /// It takes its riders where they want to go, and then stays where it is with its door closed.
    OutOfService,
    /// It goes to the recall floor without a stop, and keeps its door open there (ASME A17.1 *Phase I
    /// emergency recall operation*, EN 81-73).
    FireRecall,
}

/// Text that is no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no service mode; there are {names}", names = Mode::ALL.map(|known| known.to_string()).join(", "))]
pub struct UnknownMode(String);

impl Mode {
    /// Every mode, the least restrictive first.
    pub const ALL: [Self; 4] =
        [Self::InService, Self::Independent, Self::OutOfService, Self::FireRecall];

    /// The mode's name, as in directives, on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InService => "in-service",
            Self::Independent => "independent",
            Self::OutOfService => "out-of-service",
            Self::FireRecall => "fire-recall",
        }
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|known| known.name() == text);
        known.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
