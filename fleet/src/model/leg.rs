//! Legs of flights, and how long they take.

use elevator_driver::Floor;
use serde::{Deserialize, Serialize};

/// Part of a flight: from one floor sensor to the next, or to rest at the stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Leg {
    /// The floor whose sensor the car left or passed.
    pub from: Floor,
    /// The floor whose sensor comes next.
    pub to: Floor,
    /// How the car left `from`.
    pub start: LegEnd,
    /// How the car reaches `to`.
    pub end: LegEnd,
}

/// The motion of a car at an end of a [`Leg`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LegEnd {
    /// It starts or comes to rest.
    Rest,
    /// It passes the sensor.
    Passing,
}

/// The samples of one leg, as stored on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlightRecord {
    pub leg: Leg,
    /// Its latest driven times, in hundredths of a second, oldest first; at most 32.
    pub samples: Vec<u16>,
}
