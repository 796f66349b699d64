//! What can be seen of a simulated car from outside, as one value (and one line of JSON).

use std::collections::BTreeSet;

use elevator_driver::{Button, Direction, DoorState, Floor, KeySwitch, Trip};
use serde::{Deserialize, Serialize};

use crate::shaft::{LevellingFault, MotorFault};

/// Everything there is to see of a car at one moment.
///
/// As JSON it is one flat object; lengths are metres, speeds m/s, times milliseconds of the car's
/// own clock; a button is `{"kind":"hall","floor":3,"direction":"up"}` or
/// `{"kind":"car","floor":2}`, as in the API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent lamps and switches, each of which is lit or not"
)]
pub struct CarState {
    /// The car's own clock, ms since it was made.
    pub time_ms: u64,
    /// The number of floors of its shaft.
    pub floors: u8,
    /// From one floor to the next, m.
    pub floor_height: f64,
    /// Height above the lowest floor, m.
    pub position: f64,
    /// Speed, m/s, upwards positive.
    pub speed: f64,
    /// The floor whose sensor is active.
    pub floor: Option<Floor>,
    /// The nearest floor where the moving car can still come to rest.
    pub next_stop: Option<Floor>,
    /// The direction in which the motor is driven or the car still moves.
    pub driven: Option<Direction>,
    /// Which drive was commanded last.
    pub drive_mode: DriveMode,
    /// Where the door is.
    pub door: DoorState,
    /// How far the door is open, 0 to 1.
    pub door_fraction: f64,
    /// The latest time that the door came to stand fully open.
    pub opening: Option<Opening>,
    /// The door-open lamp of the elevator-server protocol, which has no door.
    pub door_lamp: bool,
    /// The lit order lamps.
    pub lamps: BTreeSet<Button>,
    /// The lamp in the stop switch.
    pub stop_lamp: bool,
    /// The floor on the indicator.
    pub indicator: Option<Floor>,
    /// The lit direction arrow.
    pub lantern: Option<Direction>,
    /// The indicator's text field.
    pub display_text: String,
    /// The indicator's backlight, 0 to 255, where the controller set one.
    pub display_brightness: Option<u8>,
    /// What the kiosks of the landings show.
    pub kiosks: Vec<ShownTrip>,
    /// The stop switch is pulled.
    pub stop: bool,
    /// Something stands in the door.
    pub obstruction: bool,
    /// The key switch.
    pub key: KeySwitch,
    /// The load in per cent of the rated load, if there is a load cell.
    pub load: Option<u8>,
    /// The temperature, °C, if there is a sensor.
    pub temperature: Option<i8>,
    /// The illuminance, 0 to 255, if there is a sensor.
    pub illuminance: Option<u8>,
    /// What is broken.
    pub faults: Faults,
    /// How often the controller asked for something unsafe.
    pub violations: u64,
    /// How often the panel stopped the motor because its controller was silent (S2).
    pub watchdog_stops: u64,
}

/// The door came to stand fully open.
///
/// However briefly it stands so, a reader who compares the counts of two states knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Which one since the car was made: 1, 2, …
    pub count: u64,
    /// The floor where the car stood.
    pub floor: Floor,
    /// The direction arrow that was lit.
    pub lantern: Option<Direction>,
}

/// A trip that a kiosk shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownTrip {
    /// The landing.
    pub from: Floor,
    /// The destination.
    pub to: Floor,
    /// The name of the car that the passenger is to take.
    pub car: String,
}

impl From<(&Trip, &String)> for ShownTrip {
    fn from((trip, car): (&Trip, &String)) -> Self {
        Self { from: trip.from(), to: trip.to(), car: car.clone() }
    }
}

impl CarState {
    /// Whether the car is at rest at this floor.
    #[must_use]
    pub fn is_at_rest_at(&self, floor: Floor) -> bool {
        self.driven.is_none() && self.floor == Some(floor)
    }
}

/// Which drive was commanded last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum DriveMode {
    /// The levelling drive of the serial panel.
    #[default]
    Levelling,
    /// The bare motor of the elevator-server protocol.
    Constant,
}

/// What is broken in a car.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Faults {
    /// What is wrong with the motor.
    pub motor: Option<MotorFault>,
    /// What is wrong with the levelling.
    pub levelling: Option<LevellingFault>,
    /// The door is jammed.
    pub door_jammed: bool,
    /// The floors whose sensors never become active.
    pub dead_sensors: BTreeSet<Floor>,
    /// The buttons that stay pressed.
    pub stuck_buttons: BTreeSet<Button>,
}

/// Something unsafe that the controller asked for, and that the panel's interlocks refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// When, ms of the car's own clock.
    pub time_ms: u64,
    /// What was asked for.
    pub kind: ViolationKind,
}

/// The kinds of unsafe request (S1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ViolationKind {
    /// The door was commanded to open while the motor was driven or the car moved.
    DoorOpenWhileMoving,
    /// The motor was commanded to move the car while the door was not closed, or was commanded to
    /// open.
    MotorWhileDoorOpen,
    /// The door-open lamp was lit while the motor ran, or the motor was commanded to run while it
    /// was lit.
    DoorLampWhileMoving,
    /// The door-open lamp was lit between floors.
    DoorLampBetweenFloors,
}
