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

use elevator_driver::FloorCount;
use serde::Deserialize;

use crate::config::{CarConfig, ConfigError, DoorTimes, Kinematics};

pub use self::crowd::{Action, Count, Crowd, Journey, Landed, Panels};
pub use self::list::{ListError, read_passengers, write_passengers};
pub use self::random::SplitMix64;
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
    /// The floors; the lowest one is the lobby.
    pub floors: FloorCount,
    /// From one floor to the next, m.
    pub floor_height: f64,
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
    #[error("{0} must be {1}")]
    Range(&'static str, &'static str),
}

impl Building {
    pub const NAMES: [&str; 3] = ["A12", "B16", "crites-barto"];

    /// The buildings of the traffic suite.
    pub const SUITE: [&str; 2] = ["A12", "B16"];

    /// A building that comes with the simulator, by its name; `None` if there is none of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let text = match name {
            "A12" => include_str!("../buildings/A12.toml"),
            "B16" => include_str!("../buildings/B16.toml"),
            "crites-barto" => include_str!("../buildings/crites-barto.toml"),
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
        self.car().check()?;
        Ok(())
    }

    /// A car of it at the lobby.
    #[must_use]
    pub fn car(&self) -> CarConfig {
        let closing = Duration::from_secs_f64(self.door_closing);
        let mut car = CarConfig::new(self.floors);
        car.kinematics = Kinematics {
            floor_height: self.floor_height,
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
