//! What can be seen of a simulated car from outside, as one value (and one line of JSON).

use std::collections::BTreeSet;

use elevator_driver::{
    Alarm, Button, Direction, DoorButtons, DoorState, Floor, KeySwitch, Side, Trip,
};
use serde::{Deserialize, Serialize};

use crate::config::place;
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
    pub floors: u8,
    /// Of each floor above the lowest, m.
    pub heights: Vec<f64>,
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
    pub drive_mode: DriveMode,
    pub door: DoorState,
    /// Which door is not closed; the front one if both are.
    pub side: Side,
    /// How far the door is open, 0 to 1.
    pub door_fraction: f64,
    /// The latest time that the door came to stand fully open.
    pub opening: Option<Opening>,
    /// The door-open lamp of the elevator-server protocol, which has no door.
    pub door_lamp: bool,
    pub lamps: BTreeSet<Button>,
    pub stop_lamp: bool,
    pub indicator: Option<Floor>,
    pub lantern: Option<Direction>,
    /// How often the gong was struck since the car was made.
    pub gong_strokes: u64,
    /// What the alarm lamp shows.
    pub alarm: Alarm,
    /// The light and the fan of the car are off.
    pub light_off: bool,
    /// The label of the floor that the indicator shows.
    pub position_text: String,
    pub display_text: String,
    /// The indicator's backlight, 0 to 255, where the controller set one.
    pub display_brightness: Option<u8>,
    pub kiosks: Vec<ShownTrip>,
    pub stop: bool,
    pub obstruction: bool,
    pub key: KeySwitch,
    /// Which door buttons are pressed, if there are any.
    pub door_buttons: Option<DoorButtons>,
    /// The load in per cent of the rated load, if there is a load cell.
    pub load: Option<u8>,
    /// °C, if there is a sensor.
    pub temperature: Option<i8>,
    /// 0 to 255, if there is a sensor.
    pub illuminance: Option<u8>,
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
    pub floor: Floor,
    pub lantern: Option<Direction>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownTrip {
    pub from: Floor,
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
    #[must_use]
    pub fn is_at_rest_at(&self, floor: Floor) -> bool {
        self.driven.is_none() && self.floor == Some(floor)
    }

    /// The position in floors: 1.5 is half way from floor 1 to floor 2.
    #[must_use]
    pub fn place(&self) -> f64 {
        place(&self.heights, self.position)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum DriveMode {
    /// The levelling drive of the serial panel.
    #[default]
    Levelling,
    /// The bare motor of the elevator-server protocol.
    Constant,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Faults {
    pub motor: Option<MotorFault>,
    pub levelling: Option<LevellingFault>,
    pub door_jammed: bool,
    /// The floors whose sensors never become active.
    pub dead_sensors: BTreeSet<Floor>,
    pub stuck_buttons: BTreeSet<Button>,
}

/// Something unsafe that the controller asked for, and that the panel's interlocks refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// When, ms of the car's own clock.
    pub time_ms: u64,
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
    DoorLampBetweenFloors,
}
