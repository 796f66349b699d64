//! What passengers ask for.

use std::fmt;

use elevator_driver::{Button, Direction, Floor, FloorCount};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::NodeId;
use crate::seeded::{SeededBug, is_seeded};

/// A passenger waits on a landing and wants to travel in a direction, or to a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HallCall {
    pub floor: Floor,
    pub direction: Direction,
    /// The destination of a *destination call*, in that direction; `None` if none was given.
    pub to: Option<Floor>,
}

impl HallCall {
    #[must_use]
    pub const fn new(floor: Floor, direction: Direction) -> Self {
        Self { floor, direction, to: None }
    }

    /// The call of a passenger who gives the destination; `None` if that is the landing.
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
    fn is_consistent(self) -> bool {
        self.to.is_none_or(|to| self.floor.direction_to(to) == Some(self.direction))
    }

    /// The direction or the destination as one number: 0 for up, 1 for down, and a floor plus 2.
    fn target(self) -> u8 {
        match (self.to, self.direction) {
            (None, Direction::Down) if is_seeded(SeededBug::DirectionLostOnWire) => 0,
            (None, Direction::Up) => 0,
            (None, Direction::Down) => 1,
            (Some(to), _) => to.index() + 2,
        }
    }

    /// The call of this landing with such a [`target`](Self::target); `None` if that is the
    /// landing.
    fn with_target(floor: Floor, target: u8) -> Option<Self> {
        match target {
            0 => Some(Self::new(floor, Direction::Up)),
            1 => Some(Self::new(floor, Direction::Down)),
            to => Self::to(floor, Floor::try_from(to - 2).ok()?),
        }
    }
}

/// Two bytes on the wire, whether or not there is a destination.
impl Serialize for HallCall {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.floor, self.target()).serialize(to)
    }
}

impl<'de> Deserialize<'de> for HallCall {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (floor, target) = Deserialize::deserialize(from)?;
        Self::with_target(floor, target)
            .ok_or_else(|| D::Error::custom("the destination is the landing"))
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

    /// The button whose lamp shows this call; a destination call has none.
    #[must_use]
    pub fn button(&self) -> Option<Button> {
        match self {
            Self::Hall(HallCall { to: Some(_), .. }) => None,
            Self::Hall(HallCall { floor, direction, to: None }) => {
                Some(Button::Hall(*floor, *direction))
            }
            Self::Car { floor, .. } => Some(Button::Car(*floor)),
        }
    }

    #[must_use]
    pub fn is_trip(&self) -> bool {
        matches!(self, Self::Hall(HallCall { to: Some(_), .. }))
    }

    /// Whether a passenger in a building with these floors can make this call.
    #[must_use]
    pub fn is_within(&self, floors: FloorCount) -> bool {
        match self {
            Self::Hall(call) => {
                floors.has_button(Button::Hall(call.floor, call.direction))
                    && call.is_consistent()
                    && call.to.is_none_or(|to| floors.contains(to))
            }
            Self::Car { floor, .. } => floors.contains(*floor),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::floor;

    #[test]
    fn a_call_takes_two_bytes_with_and_without_a_destination() {
        let calls = [
            (HallCall::new(floor(3), Direction::Up), [3, 0]),
            (HallCall::new(floor(3), Direction::Down), [3, 1]),
            (HallCall::to(floor(3), floor(0)).expect("a trip"), [3, 2]),
            (HallCall::to(floor(3), floor(253)).expect("a trip"), [3, 255]),
        ];
        for (call, bytes) in calls {
            assert_eq!(postcard::to_allocvec(&call).as_deref(), Ok(&bytes[..]), "{call}");
            assert_eq!(postcard::from_bytes(&bytes), Ok(call));
        }
        assert!(postcard::from_bytes::<HallCall>(&[3, 5]).is_err(), "from 3 to 3");
    }

    #[test]
    fn a_destination_has_to_exist_and_to_lie_in_the_direction() {
        let floors = FloorCount::new(4).expect("floors");
        let is_within = |call| Call::Hall(call).is_within(floors);
        let trip = |from, to| HallCall::to(floor(from), floor(to)).expect("a trip");
        assert!(is_within(trip(0, 3)) && is_within(trip(3, 0)));
        assert!(!is_within(trip(0, 4)) && !is_within(trip(4, 0)));
        let wrong = HallCall { to: Some(floor(0)), ..HallCall::new(floor(1), Direction::Up) };
        assert!(!is_within(wrong));
        assert!(!is_within(HallCall::new(floor(3), Direction::Up)));
    }
}
