//! What a simulated car is built to: its shaft, drive and door, in metres and seconds.

use std::time::Duration;

use elevator_driver::{Building, FloorCount};

/// How the car moves. Metres and seconds; every value is positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kinematics {
    /// The speed that a long run reaches, m/s.
    pub rated_speed: f64,
    /// Most acceleration and (comfortable) braking, m/s².
    pub acceleration: f64,
    /// Most change of acceleration, m/s³.
    pub jerk: f64,
    /// Speed of a homing run, m/s; at most the rated speed.
    pub creep_speed: f64,
    /// Braking when the motor is cut in mid-flight, m/s²; at least `acceleration`, and reached
    /// without any limit of jerk.
    pub emergency_braking: f64,
    /// A floor sensor is active while the car is within this distance of the floor, m; less than
    /// half the height of any storey.
    pub floor_zone: f64,
}

impl Default for Kinematics {
    fn default() -> Self {
        Self {
            rated_speed: 1.6,
            acceleration: 1.0,
            jerk: 1.6,
            creep_speed: 0.4,
            emergency_braking: 3.0,
            floor_zone: 0.15,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoorTimes {
    pub opening: Duration,
    pub closing: Duration,
    /// From open to closed while nudging; no shorter than `closing`.
    pub nudging: Duration,
}

impl Default for DoorTimes {
    fn default() -> Self {
        Self {
            opening: Duration::from_millis(1500),
            closing: Duration::from_millis(1500),
            nudging: Duration::from_secs(4),
        }
    }
}

/// How the drive without levelling moves (the one behind the elevator-server protocol).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConstantDrive {
    /// From leaving one floor's sensor to reaching the next one's.
    pub between_floors: Duration,
    /// For passing a floor's sensor.
    pub passing_floor: Duration,
}

impl Default for ConstantDrive {
    fn default() -> Self {
        Self { between_floors: Duration::from_secs(2), passing_floor: Duration::from_millis(500) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StartPosition {
    Floor(u8),
    Metres(f64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct CarConfig {
    /// The floors of the shaft, and their heights. It does not matter which of them the car serves.
    pub building: Building,
    pub kinematics: Kinematics,
    pub constant_drive: ConstantDrive,
    pub door: DoorTimes,
    pub start: StartPosition,
}

impl CarConfig {
    /// How far the floors are apart where nothing else is said, in millimetres.
    const STOREY: u32 = 3_000;

    /// A car with the default drive and door that starts at the lowest floor. The floors are 3 m
    /// apart.
    #[must_use]
    pub fn new(floors: FloorCount) -> Self {
        Self {
            building: Building::uniform(floors, Self::STOREY),
            kinematics: Kinematics::default(),
            constant_drive: ConstantDrive::default(),
            door: DoorTimes::default(),
            start: StartPosition::Floor(0),
        }
    }

    /// The height of each floor above the lowest, m.
    #[must_use]
    pub fn heights(&self) -> Vec<f64> {
        self.building.landings().iter().map(|it| f64::from(it.height) / 1_000.0).collect()
    }

    /// The height of the top floor above the lowest, m.
    #[must_use]
    pub fn shaft_height(&self) -> f64 {
        self.heights().last().copied().unwrap_or_default()
    }

    /// Checks every value against its range.
    ///
    /// # Errors
    /// Names the first value that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let k = &self.kinematics;
        let lengths = [
            ("rated speed", k.rated_speed),
            ("acceleration", k.acceleration),
            ("jerk", k.jerk),
            ("creep speed", k.creep_speed),
            ("emergency braking", k.emergency_braking),
            ("floor zone", k.floor_zone),
        ];
        for (what, value) in lengths {
            require(what, value, value.is_finite() && value > 0.0, "above 0")?;
        }
        let heights = self.heights();
        let zone_fits = heights.windows(2).all(|pair| k.floor_zone * 2.0 < pair[1] - pair[0]);
        require("floor zone", k.floor_zone, zone_fits, "less than half the height of a storey")?;
        let creeps = k.creep_speed <= k.rated_speed;
        require("creep speed", k.creep_speed, creeps, "at most the rated speed")?;
        let brakes = k.emergency_braking >= k.acceleration;
        require("emergency braking", k.emergency_braking, brakes, "at least the acceleration")?;
        let times = [
            ("door opening time", self.door.opening),
            ("door closing time", self.door.closing),
            ("door nudging time", self.door.nudging),
            ("time between floors", self.constant_drive.between_floors),
            ("time passing a floor", self.constant_drive.passing_floor),
        ];
        for (what, time) in times {
            require(what, time.as_secs_f64(), !time.is_zero(), "above 0")?;
        }
        let nudging = self.door.nudging;
        let is_slower = nudging >= self.door.closing;
        let nudging = nudging.as_secs_f64();
        require("door nudging time", nudging, is_slower, "at least the closing time")?;
        match self.start {
            StartPosition::Floor(index) => require(
                "start floor",
                f64::from(index),
                self.building.floors().floor(index).is_some(),
                "a floor of the shaft, counted from 0",
            ),
            StartPosition::Metres(height) => require(
                "start position",
                height,
                (0.0..=self.shaft_height()).contains(&height),
                "between 0 and the height of the top floor in metres",
            ),
        }
    }
}

/// A height in floors, where floors have these heights: 1.5 is half way from floor 1 to floor 2.
#[must_use]
pub fn place(heights: &[f64], height: f64) -> f64 {
    let storeys = (0_u8..).zip(heights.windows(2));
    let below = storeys.filter(|(_, storey)| storey[0] <= height).last();
    below.map_or(0.0, |(floor, storey)| {
        f64::from(floor) + (height - storey[0]) / (storey[1] - storey[0])
    })
}

/// A value of a [`CarConfig`] that no car can have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the {what} is {value}: it must be {range}")]
pub struct ConfigError {
    what: &'static str,
    value: f64,
    range: &'static str,
}

fn require(
    what: &'static str,
    value: f64,
    holds: bool,
    range: &'static str,
) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError { what, value, range }) }
}
