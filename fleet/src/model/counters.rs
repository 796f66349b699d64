//! What a car counts for its maintenance.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a car has done since counting began. Only its own node knows it, and no number decreases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Counters {
    /// When counting began, in UTC: with the journal. Null until the wall clock is set.
    #[cfg_attr(feature = "schema", schema(example = "2026-05-01T12:00:00Z"))]
    pub since: Option<String>,
    /// How often the car came to rest at a floor after its motor was driven.
    pub trips: u64,
    /// How often the motor started.
    pub starts: u64,
    /// How often the door was closed after it had been fully open.
    pub door_cycles: u64,
    /// How often a closing door opened again.
    pub reopenings: u64,
    /// How long the motor was driven, in seconds.
    pub running: u64,
    /// The way from floor sensor to floor sensor, in metres.
    pub metres: u64,
    /// The trips that ended at each floor, the lowest first, up to the highest that has any.
    pub stops: Vec<u64>,
}

impl Counters {
    pub(crate) fn numbers(&self) -> [u64; 6] {
        let Self { trips, starts, door_cycles, reopenings, running, metres, .. } = *self;
        [trips, starts, door_cycles, reopenings, running, metres]
    }

    /// Takes the greater of each number, and the earlier beginning.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { since, trips, starts, door_cycles, reopenings, running, metres, stops } = self;
        *since = since.take().into_iter().chain(other.since.clone()).min();
        stops.resize(stops.len().max(other.stops.len()), 0);
        let mine = [trips, starts, door_cycles, reopenings, running, metres].into_iter();
        let theirs = other.numbers().into_iter().chain(other.stops.iter().copied());
        for (mine, theirs) in mine.chain(stops).zip(theirs) {
            *mine = theirs.max(*mine);
        }
    }
}

/// What wears, and has a threshold for maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Wear {
    Starts,
    DoorCycles,
    /// Running hours.
    Hours,
}

impl Wear {
    pub const ALL: [Self; 3] = [Self::Starts, Self::DoorCycles, Self::Hours];

    /// How much of it there was.
    #[must_use]
    pub fn of(self, counters: &Counters) -> u64 {
        match self {
            Self::Starts => counters.starts,
            Self::DoorCycles => counters.door_cycles,
            Self::Hours => counters.running / 3_600,
        }
    }
}

impl fmt::Display for Wear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Starts => "starts",
            Self::DoorCycles => "door cycles",
            Self::Hours => "hours",
        })
    }
}
