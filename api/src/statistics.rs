//! The statistics in the API.

use elevator_driver::Floor;
use serde::Serialize;
use utoipa::ToSchema;

/// How well the fleet served its passengers, as seen by the node that answers. Durations are in
/// seconds, timestamps in UTC. A call is counted when it is served.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Statistics {
    /// The node that answers.
    #[schema(example = "A")]
    pub node: String,
    /// `hour`, `day` or `week`.
    #[schema(example = "day")]
    pub window: String,
    /// The start of the first quarter hour in the window.
    #[schema(example = "2026-05-01T12:00:00Z")]
    pub from: String,
    /// When the node answered.
    #[schema(example = "2026-05-02T12:07:31Z")]
    pub to: String,
    /// The start of the oldest quarter hour that the node has kept from the last week, whatever the
    /// window; null if it has none.
    pub since: Option<String>,
    /// How long the node watched the fleet in the window.
    pub watched: f64,
    /// The number of floors.
    pub floors: u8,
    /// The UTC offset of the hours below, in minutes.
    pub utc_offset: i16,
    pub waiting: Waiting,
    /// Journeys of destination calls, from the press until the door opens at the destination.
    pub journeys: Times,
    /// The distribution of waiting times.
    pub distribution: Vec<Share>,
    /// Every floor, from the bottom.
    pub by_floor: Vec<FloorShare>,
    /// Every hour of the day, from 0 to 23.
    pub by_hour: Vec<HourShare>,
    /// The cars seen in the window, by name.
    pub cars: Vec<CarShare>,
    /// The length of each of `periods`.
    pub period: u32,
    /// The window in parts, oldest first, without those in which the node did not watch.
    pub periods: Vec<Period>,
}

/// Waiting times, by kind of call.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Waiting {
    /// Hall calls and destination calls together.
    pub landing: Times,
    /// From the press until a door opens for its direction.
    pub hall: Times,
    /// From the press until the passenger has entered the car.
    pub destination: Times,
    /// From the press in the car until its door opens at the floor.
    pub car: Times,
}

/// Times in seconds; null where nothing was counted. Mean and longest are exact. Percentiles are too large
/// by at most 1 s up to a minute, 2 s up to two, 5 s up to five, 15 s up to ten and 60 s up to an hour.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
pub struct Times {
    pub calls: u64,
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub longest: Option<f64>,
}

/// The times of at least `from` and less than `to`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Share {
    pub from: f64,
    /// Null means no limit.
    pub to: Option<f64>,
    pub hall: u64,
    pub destination: u64,
    pub car: u64,
    pub journeys: u64,
}

/// The calls of one floor; a car call belongs to its destination.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FloorShare {
    #[schema(value_type = String)]
    pub floor: Floor,
    pub up: u64,
    pub down: u64,
    pub destination: u64,
    pub car: u64,
    /// All of them by the hour of the day, from 0 to 23.
    pub hours: Vec<u64>,
}

/// The calls that were served in one hour of the day.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct HourShare {
    pub hour: u8,
    pub hall: u64,
    pub destination: u64,
    pub car: u64,
}

/// How long a car was in each state, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CarShare {
    #[schema(example = "A")]
    pub car: String,
    /// The share of the watched time in which hall calls could be assigned to it, from 0 to 1; null
    /// if it was not watched.
    pub availability: Option<f64>,
    pub in_service: f64,
    /// A key switch, an operator or a fire recall had taken it out of the group.
    pub reserved: f64,
    /// It could not serve, or its node was not heard.
    pub down: f64,
}

/// A part of the window.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Period {
    /// When it begins.
    #[schema(example = "2026-05-01T12:00:00Z")]
    pub start: String,
    pub watched: f64,
    /// Waiting times of hall calls and destination calls.
    pub landing: Times,
    /// Waiting times of car calls.
    pub car: Times,
    pub journeys: Times,
}
