//! Where passengers get in and out: one side of a floor.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Floor;

/// A side of the car and of its shaft.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    #[default]
    Front,
    Rear,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Front, Self::Rear];

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Front => Self::Rear,
            Self::Rear => Self::Front,
        }
    }

    #[must_use]
    pub fn is_front(&self) -> bool {
        *self == Self::Front
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Front => "front",
            Self::Rear => "rear",
        })
    }
}

/// A floor's only entrance, or one of its two: `Rear` is only that of a floor with two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entrance {
    pub floor: Floor,
    pub side: Side,
}

impl From<Floor> for Entrance {
    fn from(floor: Floor) -> Self {
        Self { floor, side: Side::Front }
    }
}

impl fmt::Display for Entrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.side {
            Side::Front => self.floor.fmt(f),
            Side::Rear => write!(f, "{} rear", self.floor),
        }
    }
}
