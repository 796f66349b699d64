//! The floors of a shaft, and its buttons.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::building::{self, UnknownFloor};
use super::{Button, Direction, Trip};

/// The number of floors of a shaft, 2 to 254.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct FloorCount(u8);

impl FloorCount {
    pub const MIN: u8 = 2;
    pub const MAX: u8 = 254;

    /// A count of floors, or `None` outside 2 to 254.
    #[must_use]
    pub fn new(count: u8) -> Option<Self> {
        (Self::MIN..=Self::MAX).contains(&count).then_some(Self(count))
    }

    /// The nearest count that a shaft can have.
    #[must_use]
    pub fn nearest(count: usize) -> Self {
        Self(u8::try_from(count).unwrap_or(Self::MAX).clamp(Self::MIN, Self::MAX))
    }

    #[must_use]
    pub fn get(self) -> u8 {
        self.0
    }

    /// The floor with this index, or `None` where the shaft has no such floor.
    #[must_use]
    pub fn floor(self, index: u8) -> Option<Floor> {
        (index < self.0).then_some(Floor(index))
    }

    #[must_use]
    pub fn top(self) -> Floor {
        Floor(self.0 - 1)
    }

    pub fn floors(self) -> impl DoubleEndedIterator<Item = Floor> {
        (0..self.0).map(Floor)
    }

    #[must_use]
    pub fn contains(self, floor: Floor) -> bool {
        floor.0 < self.0
    }

    /// Whether a shaft of this height has this button: no hall-up at the top, no hall-down at the
    /// bottom.
    #[must_use]
    pub fn has_button(self, button: Button) -> bool {
        let floor = button.floor();
        match button.direction() {
            Some(Direction::Up) => floor.0 + 1 < self.0,
            Some(Direction::Down) => floor.0 > 0 && self.contains(floor),
            None => self.contains(floor),
        }
    }

    /// Every button that a shaft of this height has, bottom to top, where no floor has two entrances.
    pub fn buttons(self) -> impl Iterator<Item = Button> {
        let of_floor = |floor| {
            let [up, down] = Direction::BOTH.map(|direction| Button::Hall(floor, direction));
            [up, down, Button::Car(floor)]
        };
        self.floors().flat_map(of_floor).filter(move |&button| self.has_button(button))
    }

    /// Whether a shaft of this height has both floors of this trip.
    #[must_use]
    pub fn has_trip(self, trip: Trip) -> bool {
        self.contains(trip.from()) && self.contains(trip.to())
    }

    /// The next floor from `floor` in `direction`, or `None` at the end of the shaft.
    #[must_use]
    pub fn next(self, floor: Floor, direction: Direction) -> Option<Floor> {
        match direction {
            Direction::Up => self.floor(floor.0 + 1),
            Direction::Down => floor.0.checked_sub(1).map(Floor),
        }
    }
}

/// A number of floors outside 2 to 254.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a shaft has 2 to 254 floors, not {0}")]
pub struct FloorCountError(u8);

impl TryFrom<u8> for FloorCount {
    type Error = FloorCountError;

    fn try_from(count: u8) -> Result<Self, Self::Error> {
        Self::new(count).ok_or(FloorCountError(count))
    }
}

impl From<FloorCount> for u8 {
    fn from(count: FloorCount) -> Self {
        count.0
    }
}

/// A floor, counted from 0 at the bottom; at most 253.
///
/// Whether a particular shaft has it is asked of its [`FloorCount`]. People see its label, in text
/// and in JSON alike: see [`show_labels`](super::show_labels). Binary formats have its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Floor(u8);

impl Floor {
    /// The lowest floor of every shaft.
    pub const BOTTOM: Self = Self(0);

    /// The highest floor of any shaft.
    pub const MAX: Self = Self(FloorCount::MAX - 1);

    /// The index, 0 at the bottom.
    #[must_use]
    pub fn index(self) -> u8 {
        self.0
    }

    /// How many floors lie between the two, 0 for the same floor.
    #[must_use]
    pub fn distance(self, other: Self) -> u8 {
        self.0.abs_diff(other.0)
    }

    /// The direction from this floor to another, or `None` for the same floor.
    #[must_use]
    pub fn direction_to(self, other: Self) -> Option<Direction> {
        match self.cmp(&other) {
            Ordering::Less => Some(Direction::Up),
            Ordering::Greater => Some(Direction::Down),
            Ordering::Equal => None,
        }
    }

    /// Whether this floor lies strictly beyond `other` in `direction`.
    #[must_use]
    pub fn is_beyond(self, other: Self, direction: Direction) -> bool {
        other.direction_to(self) == Some(direction)
    }
}

/// A floor index above 253.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the highest floor of any shaft is 253, not {0}")]
pub struct FloorError(u8);

impl TryFrom<u8> for Floor {
    type Error = FloorError;

    fn try_from(index: u8) -> Result<Self, Self::Error> {
        FloorCount(FloorCount::MAX).floor(index).ok_or(FloorError(index))
    }
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        building::fmt(*self, f)
    }
}

impl FromStr for Floor {
    type Err = UnknownFloor;

    fn from_str(label: &str) -> Result<Self, UnknownFloor> {
        building::parse(label)
    }
}

impl Serialize for Floor {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.collect_str(self) } else { to.serialize_u8(self.0) }
    }
}

impl<'de> Deserialize<'de> for Floor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            from.deserialize_any(LabelVisitor)
        } else {
            u8::deserialize(from)?.try_into().map_err(D::Error::custom)
        }
    }
}

/// Takes the number of a label that is one without its quotes, too.
struct LabelVisitor;

impl Visitor<'_> for LabelVisitor {
    type Value = Floor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the label of a floor")
    }

    fn visit_str<E: Error>(self, label: &str) -> Result<Floor, E> {
        label.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Floor, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Floor, E> {
        self.visit_str(&number.to_string())
    }
}
