//! A building with its bank of cars, and the people in it.
//!
//! ```text
//!   Building ◀─ buildings/*.toml          Traffic, seed │ CSV
//!      │                                        │
//!      │ SimulatedCar, one a car                ▼
//!      │                                  Passenger …
//!      ▼                                        │
//!   floor, door, lantern, lamps ──▶ Crowd ──▶ presses, load, doorway
//! ```
//!
//! Read [`Building`] first, then [`Passenger`] and [`Traffic`], then [`Crowd`]. All of it is pure:
//! time is an argument, and chance comes from a seed. So the same passengers use cars in virtual
//! time and in real time.

mod crowd;
mod list;
mod random;
#[cfg(test)]
mod tests;
mod traffic;
mod transfer;

use std::time::Duration;

use elevator_driver::{self as driver, Direction, Floor, FloorCount, Landing, Served, Side};
use serde::Deserialize;

use crate::config::{CarConfig, ConfigError, DoorTimes, Kinematics, StartPosition};

pub use self::crowd::{Action, Count, Crowd, Journey, Landed, Panels};
pub use self::list::{ListError, read_passengers, write_passengers};
pub use self::random::{SplitMix64, seed_of_commit};
pub use self::traffic::{MASS, Passenger, Pattern, Traffic};
pub use self::transfer::Transfer;

/// Stands for an acceleration without a ramp, m/s³: reached within a few microseconds.
const WITHOUT_RAMP: f64 = 1e6;

/// The most cars of a bank.
const MOST_CARS: usize = 26;

/// A building with one bank of equal cars. Metres, seconds and kilograms.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Building {
    pub name: String,
    pub floors: FloorCount,
    /// From one floor to the next, m.
    pub floor_height: f64,
    /// The heights of the floors above the lowest, m, where they are not equally far apart.
    #[serde(default)]
    pub heights: Vec<f64>,
    /// The floor of the main entrance, counted from 0.
    #[serde(default)]
    pub lobby: u8,
    /// Which share of those who come or go does so by car, from a floor below the lobby.
    #[serde(default)]
    pub by_car: f64,
    /// For each car the floors at which it does not stop, counted from 0; the cars beyond the list
    /// stop everywhere.
    #[serde(default)]
    pub unserved: Vec<Vec<u8>>,
    /// The people above the lobby, to which rates in per cent refer; 0 if not known.
    pub population: u32,
    /// The cars, 1 to 26.
    pub cars: usize,
    /// The speed that a long run reaches, m/s.
    pub rated_speed: f64,
    /// Acceleration and braking, m/s².
    pub acceleration: f64,
    /// The change of acceleration, m/s³; `None` for an acceleration without a ramp.
    #[serde(default)]
    pub jerk: Option<f64>,
    /// The load that a car carries at most, kg.
    pub rated_load: f64,
    /// The persons that it carries at most.
    pub persons: u16,
    /// From this load on, in per cent of the rated load, a car with car calls passes hall calls by;
    /// 1 to 100.
    pub bypass_load: u8,
    /// From closed to open, s.
    pub door_opening: f64,
    /// From open to closed, s.
    pub door_closing: f64,
    /// How long a door stays open after the last passenger has passed it, s; above 0.
    pub dwell: f64,
    /// How long a car at rest takes to change its direction, s.
    pub turn: f64,
    /// How long a passenger takes to board or to get off.
    pub transfer: Transfer,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildingError {
    #[error(transparent)]
    Form(#[from] toml::de::Error),
    #[error(transparent)]
    Car(#[from] ConfigError),
    #[error(transparent)]
    Floors(#[from] driver::BuildingError),
    #[error("{0} must be {1}")]
    Range(&'static str, &'static str),
}

impl Building {
    pub const NAMES: [&str; 5] = ["A12", "B16", "crites-barto", "car-park", "express"];

    /// The buildings of the traffic suite whose cars all stop everywhere.
    pub const SUITE: [&str; 2] = ["A12", "B16"];

    /// Those whose cars do not all stop everywhere.
    pub const ZONES: [&str; 2] = ["car-park", "express"];

    /// A building that comes with the simulator, by its name; `None` if there is none of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let text = match name {
            "A12" => include_str!("../buildings/A12.toml"),
            "B16" => include_str!("../buildings/B16.toml"),
            "crites-barto" => include_str!("../buildings/crites-barto.toml"),
            "car-park" => include_str!("../buildings/car-park.toml"),
            "express" => include_str!("../buildings/express.toml"),
            _ => return None,
        };
        Self::parse(text).ok()
    }

    /// Reads a building from TOML, whose keys are the fields.
    ///
    /// # Errors
    /// [`BuildingError`]
    pub fn parse(text: &str) -> Result<Self, BuildingError> {
        let building: Self = toml::from_str(text)?;
        building.check()?;
        Ok(building)
    }

    fn check(&self) -> Result<(), BuildingError> {
        let within = |holds, what, range| {
            if holds { Ok(()) } else { Err(BuildingError::Range(what, range)) }
        };
        let time = |seconds: f64| (0.0..=60.0).contains(&seconds);
        within((1..=MOST_CARS).contains(&self.cars), "cars", "from 1 to 26")?;
        within(self.rated_load > 0.0 && self.rated_load < 1e6, "rated_load", "above 0")?;
        within(self.persons > 0, "persons", "above 0")?;
        within((1..=100).contains(&self.bypass_load), "bypass_load", "from 1 to 100 %")?;
        within(time(self.door_opening), "door_opening", "from 0 to 60 s")?;
        within(time(self.door_closing), "door_closing", "from 0 to 60 s")?;
        within(self.dwell >= 0.1 && time(self.dwell), "dwell", "from 0.1 to 60 s")?;
        within(time(self.turn), "turn", "from 0 to 60 s")?;
        within(
            self.transfer.is_valid(),
            "transfer",
            "a time of 0.1 to 60 s, or an order of 1 to 100 and times in this range",
        )?;
        let (lobby, by_car) = (self.floors.floor(self.lobby), self.by_car);
        within(lobby.is_some_and(|it| it < self.floors.top()), "lobby", "below the top floor")?;
        within((0.0..=1.0).contains(&by_car), "by_car", "from 0 to 1")?;
        within(by_car == 0.0 || self.lobby > 0, "by_car", "0 without a floor below the lobby")?;
        let heights = self.heights.len();
        let fits = heights == 0 || heights == usize::from(self.floors.get());
        within(fits, "heights", "one number for each floor")?;
        within(self.unserved.len() <= self.cars, "unserved", "one list for each car")?;
        driver::Building::new(self.landings(), self.served())?;
        self.car().check()?;
        Ok(())
    }

    fn landings(&self) -> Vec<Landing> {
        let equal = self.floors.floors().map(|it| f64::from(it.index()) * self.floor_height);
        let heights = if self.heights.is_empty() { equal.collect() } else { self.heights.clone() };
        let landing = |(floor, height): (u8, f64)| {
            Landing::new(&floor.to_string(), driver::Building::millimetres(height))
        };
        (0..).zip(heights).map(landing).collect()
    }

    fn served(&self) -> Vec<Served> {
        let floors = |car| self.floors.floors().filter(move |floor| self.serves(car, *floor));
        let served = |car: usize| Served {
            car: car.to_string(),
            floors: floors(car).collect(),
            doors: [Side::Front].into(),
        };
        (0..self.cars).map(served).collect()
    }

    /// The floors with their heights.
    #[must_use]
    pub fn layout(&self) -> driver::Building {
        let layout = driver::Building::new(self.landings(), Vec::new());
        let storey = driver::Building::millimetres(self.floor_height);
        layout.unwrap_or_else(|_| driver::Building::uniform(self.floors, storey))
    }

    /// Whether this car stops at this floor.
    #[must_use]
    pub fn serves(&self, car: usize, floor: Floor) -> bool {
        self.unserved.get(car).is_none_or(|floors| !floors.contains(&floor.index()))
    }

    /// Whether this car takes somebody from a floor in a direction.
    #[must_use]
    pub fn goes_on(&self, car: usize, from: Floor, direction: Direction) -> bool {
        let is_ahead = |to: &Floor| to.is_beyond(from, direction);
        self.serves(car, from)
            && self.floors.floors().filter(is_ahead).any(|to| self.serves(car, to))
    }

    /// Whether some car makes this trip.
    fn has_trip(&self, from: Floor, to: Floor) -> bool {
        (0..self.cars).any(|car| self.serves(car, from) && self.serves(car, to))
    }

    /// A car of it at the lobby.
    #[must_use]
    pub fn car(&self) -> CarConfig {
        let closing = Duration::from_secs_f64(self.door_closing);
        let mut car = CarConfig::new(self.floors);
        car.building = self.layout();
        car.start = StartPosition::Floor(self.lobby);
        car.kinematics = Kinematics {
            rated_speed: self.rated_speed,
            acceleration: self.acceleration,
            jerk: self.jerk.unwrap_or(WITHOUT_RAMP),
            creep_speed: self.rated_speed.min(0.4),
            emergency_braking: self.acceleration.max(3.0),
            ..car.kinematics
        };
        car.door = DoorTimes {
            opening: Duration::from_secs_f64(self.door_opening),
            closing,
            nudging: closing.max(car.door.nudging),
        };
        car
    }
}
