//! What passengers ask for.

use std::fmt;

use elevator_driver::{Button, Direction, Floor};
use serde::{Deserialize, Serialize};

use super::NodeId;

/// A passenger waits on a landing and wants to travel in a direction, or to a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HallCall {
    /// The landing.
    pub floor: Floor,
    /// Where the passenger wants to go.
    pub direction: Direction,
    /// The destination of a *destination call*, which lies in that direction; `None` if the
    /// passenger gave none.
    pub to: Option<Floor>,
}

impl HallCall {
    /// The call of a hall button.
    #[must_use]
    pub const fn new(floor: Floor, direction: Direction) -> Self {
        Self { floor, direction, to: None }
    }

    /// The call of a passenger who gives the destination at the landing; `None` if that is the
    /// landing.
    #[must_use]
    pub fn to(floor: Floor, to: Floor) -> Option<Self> {
        let direction = floor.direction_to(to)?;
        Some(Self { floor, direction, to: Some(to) })
    }

    /// The call of the hall button for the same landing and direction.
    #[must_use]
    pub const fn landing(self) -> Self {
        Self::new(self.floor, self.direction)
    }

    /// Whether the destination, if given, lies in the direction.
    #[must_use]
    pub fn is_consistent(self) -> bool {
        self.to.is_none_or(|to| self.floor.direction_to(to) == Some(self.direction))
    }
}

impl fmt::Display for HallCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to {
            Some(to) => write!(f, "hall {} to {to}", self.floor),
            None => write!(f, "hall {} {}", self.floor, self.direction),
        }
    }
}

/// A call that any car, or one certain car, has to serve.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Call {
    /// From a landing: any car will do.
    Hall(HallCall),
    /// From inside a car: only that car will do.
    Car {
        /// The car that the passenger rides in, by the name of its node.
        car: NodeId,
        /// Where the passenger wants to get off.
        floor: Floor,
    },
}

impl Call {
    /// The call that a press of `button` on the panel of `car` makes.
    #[must_use]
    pub fn of_button(button: Button, car: &NodeId) -> Self {
        match button {
            Button::Hall(floor, direction) => Self::Hall(HallCall::new(floor, direction)),
            Button::Car(floor) => Self::Car { car: car.clone(), floor },
        }
    }

    /// The button whose lamp shows this call.
    #[must_use]
    pub fn button(&self) -> Button {
        match self {
            Self::Hall(HallCall { floor, direction, .. }) => Button::Hall(*floor, *direction),
            Self::Car { floor, .. } => Button::Car(*floor),
        }
    }

    /// The floor at which the call is served.
    #[must_use]
    pub fn floor(&self) -> Floor {
        match self {
            Self::Hall(call) => call.floor,
            Self::Car { floor, .. } => *floor,
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hall(call) => call.fmt(f),
            Self::Car { car, floor } => write!(f, "car {car} {floor}"),
        }
    }
}
