//! What passengers ask for.

use std::fmt;

use elevator_driver::{Button, Direction, Entrance, Floor, FloorCount, Side};
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
    /// The entrance. A destination call goes from a front entrance to a front entrance.
    pub side: Side,
}

impl HallCall {
    #[must_use]
    pub const fn new(floor: Floor, direction: Direction) -> Self {
        Self { floor, direction, to: None, side: Side::Front }
    }

    /// The call of the hall button at this entrance.
    #[must_use]
    pub const fn at(Entrance { floor, side }: Entrance, direction: Direction) -> Self {
        Self { floor, direction, to: None, side }
    }

    /// The call of a passenger who gives the destination; `None` if that is the landing.
    #[must_use]
    pub fn to(floor: Floor, to: Floor) -> Option<Self> {
        let direction = floor.direction_to(to)?;
        Some(Self { to: Some(to), ..Self::new(floor, direction) })
    }

    /// The call of the hall button for the same entrance and direction.
    #[must_use]
    pub const fn landing(self) -> Self {
        Self { to: None, ..self }
    }

    #[must_use]
    pub const fn entrance(self) -> Entrance {
        Entrance { floor: self.floor, side: self.side }
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

/// Instead of a floor, for the call of a rear entrance up or down; its floor follows.
const REAR: [u8; 2] = [254, 255];

/// Two bytes on the wire, whether or not there is a destination.
impl Serialize for HallCall {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let [up, down] = REAR;
        match (self.side, self.direction) {
            (Side::Front, _) => (self.floor.index(), self.target()),
            (Side::Rear, Direction::Up) => (up, self.floor.index()),
            (Side::Rear, Direction::Down) => (down, self.floor.index()),
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for HallCall {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let floor = |index: u8| Floor::try_from(index).map_err(D::Error::custom);
        let (first, second): (u8, u8) = Deserialize::deserialize(from)?;
        let rear = REAR.iter().position(|it| *it == first).map(|way| Direction::BOTH[way]);
        if let Some(direction) = rear {
            return Ok(Self::at(Entrance { floor: floor(second)?, side: Side::Rear }, direction));
        }
        Self::with_target(floor(first)?, second)
            .ok_or_else(|| D::Error::custom("the destination is the landing"))
    }
}

impl fmt::Display for HallCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to {
            Some(to) => write!(f, "hall {} to {to}", self.floor),
            None => write!(f, "hall {} {}", self.entrance(), self.direction),
        }
    }
}

/// A call that any car, or one certain car, has to serve.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Wire", into = "Wire")]
pub enum Call {
    /// From a landing: any car will do.
    Hall(HallCall),
    /// From inside a car: only that car will do.
    Car {
        /// The car that the passenger rides in, by the name of its node.
        car: NodeId,
        floor: Floor,
        side: Side,
    },
}

/// A [`Call`] on the wire.
#[derive(Serialize, Deserialize)]
enum Wire {
    Hall(HallCall),
    Car { car: NodeId, floor: Floor },
    RearCar { car: NodeId, floor: Floor },
}

impl From<Call> for Wire {
    fn from(call: Call) -> Self {
        match call {
            Call::Hall(call) => Self::Hall(call),
            Call::Car { car, floor, side: Side::Front } => Self::Car { car, floor },
            Call::Car { car, floor, side: Side::Rear } => Self::RearCar { car, floor },
        }
    }
}

impl From<Wire> for Call {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Hall(call) => Self::Hall(call),
            Wire::Car { car, floor } => Self::Car { car, floor, side: Side::Front },
            Wire::RearCar { car, floor } => Self::Car { car, floor, side: Side::Rear },
        }
    }
}

impl Call {
    /// The call that a press of `button` on the panel of `car` makes.
    #[must_use]
    pub fn of_button(button: Button, car: &NodeId) -> Self {
        let entrance = button.entrance();
        match button.direction() {
            Some(direction) => Self::Hall(HallCall::at(entrance, direction)),
            None => Self::ride(car, entrance),
        }
    }

    /// The call of somebody in this car who wants to get off there.
    #[must_use]
    pub fn ride(car: &NodeId, to: impl Into<Entrance>) -> Self {
        let Entrance { floor, side } = to.into();
        Self::Car { car: car.clone(), floor, side }
    }

    /// The button whose lamp shows this call; a destination call has none.
    #[must_use]
    pub fn button(&self) -> Option<Button> {
        match self {
            Self::Hall(HallCall { to: Some(_), .. }) => None,
            Self::Hall(call) => Some(Button::hall(call.entrance(), call.direction)),
            Self::Car { .. } => Some(Button::car(self.entrance())),
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
        self.entrance().floor
    }

    #[must_use]
    pub fn entrance(&self) -> Entrance {
        match self {
            Self::Hall(call) => call.entrance(),
            Self::Car { floor, side, .. } => Entrance { floor: *floor, side: *side },
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hall(call) => call.fmt(f),
            Self::Car { car, .. } => write!(f, "car {car} {}", self.entrance()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::{floor, name};

    #[test]
    fn a_call_takes_two_bytes_with_and_without_a_destination() {
        let rear = Entrance { floor: floor(3), side: Side::Rear };
        let calls = [
            (HallCall::new(floor(3), Direction::Up), [3, 0]),
            (HallCall::new(floor(3), Direction::Down), [3, 1]),
            (HallCall::to(floor(3), floor(0)).expect("a trip"), [3, 2]),
            (HallCall::to(floor(3), floor(253)).expect("a trip"), [3, 255]),
            (HallCall::at(rear, Direction::Up), [254, 3]),
            (HallCall::at(rear, Direction::Down), [255, 3]),
        ];
        for (call, bytes) in calls {
            assert_eq!(postcard::to_allocvec(&call).as_deref(), Ok(&bytes[..]), "{call}");
            assert_eq!(postcard::from_bytes(&bytes), Ok(call));
        }
        assert!(postcard::from_bytes::<HallCall>(&[3, 5]).is_err(), "from 3 to 3");
        assert!(postcard::from_bytes::<HallCall>(&[254, 254]).is_err(), "no floor");
        let rides = [rear, floor(3).into()].map(|to| Call::ride(&name(1), to));
        for (ride, kind) in rides.iter().zip([2, 1]) {
            let bytes = postcard::to_allocvec(ride).expect("bytes");
            assert_eq!((bytes[0], bytes.last()), (kind, Some(&3)));
            assert_eq!(postcard::from_bytes(&bytes).as_ref(), Ok(ride));
        }
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
