//! The inputs and outputs of a panel, independent of the kind of line.
//!
//! Outputs are a *state*, not commands: a back end keeps the panel equal to the latest
//! [`PanelOutputs`], so a lost frame or a panel that restarts is repaired by the next refresh.
//! Inputs are a state too, except for presses, which are events that no back end may lose.

mod building;
mod entrance;
mod floors;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::building::{
    Building, BuildingError, Landing, Place, Served, UnknownFloor, show_labels, show_labels_here,
};
pub use self::entrance::{Entrance, Side};
pub use self::floors::{Floor, FloorCount, FloorCountError, FloorError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Towards the top floor.
    Up,
    /// Towards floor 0.
    Down,
}

impl Direction {
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Up => "up",
            Self::Down => "down",
        })
    }
}

/// An order button, and the lamp in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "crate::json::ButtonForm", into = "crate::json::ButtonForm")]
pub enum Button {
    /// On a landing: a car wanted, to travel in this direction.
    Hall(Floor, Direction),
    /// In the car: a ride to this floor wanted.
    Car(Floor),
    /// The same at the rear entrance of a floor that has two.
    RearHall(Floor, Direction),
    RearCar(Floor),
}

impl Button {
    #[must_use]
    pub fn floor(self) -> Floor {
        match self {
            Self::Hall(floor, _)
            | Self::Car(floor)
            | Self::RearHall(floor, _)
            | Self::RearCar(floor) => floor,
        }
    }

    #[must_use]
    pub fn hall(entrance: Entrance, direction: Direction) -> Self {
        match entrance.side {
            Side::Front => Self::Hall(entrance.floor, direction),
            Side::Rear => Self::RearHall(entrance.floor, direction),
        }
    }

    #[must_use]
    pub fn car(entrance: Entrance) -> Self {
        match entrance.side {
            Side::Front => Self::Car(entrance.floor),
            Side::Rear => Self::RearCar(entrance.floor),
        }
    }

    /// The same button at this entrance of its floor.
    #[must_use]
    pub fn at(self, side: Side) -> Self {
        let entrance = Entrance { floor: self.floor(), side };
        match self.direction() {
            Some(direction) => Self::hall(entrance, direction),
            None => Self::car(entrance),
        }
    }

    /// Where the passenger gets in or out.
    #[must_use]
    pub fn entrance(self) -> Entrance {
        let side = match self {
            Self::Hall(..) | Self::Car(_) => Side::Front,
            Self::RearHall(..) | Self::RearCar(_) => Side::Rear,
        };
        Entrance { floor: self.floor(), side }
    }

    /// The direction of a hall button.
    #[must_use]
    pub fn direction(self) -> Option<Direction> {
        match self {
            Self::Hall(_, direction) | Self::RearHall(_, direction) => Some(direction),
            Self::Car(_) | Self::RearCar(_) => None,
        }
    }
}

impl fmt::Display for Button {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.direction() {
            Some(direction) => write!(f, "hall {} {direction}", self.entrance()),
            None => write!(f, "car {}", self.entrance()),
        }
    }
}

/// A trip that a passenger asks a kiosk for, where passengers give their destination at the landing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trip {
    from: Floor,
    to: Floor,
}

impl Trip {
    /// The trip between these floors, or `None` if they are the same.
    #[must_use]
    pub fn new(from: Floor, to: Floor) -> Option<Self> {
        (from != to).then_some(Self { from, to })
    }

    #[must_use]
    pub fn from(self) -> Floor {
        self.from
    }

    #[must_use]
    pub fn to(self) -> Floor {
        self.to
    }
}

impl fmt::Display for Trip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.to)
    }
}

/// What the kiosks of the landings show: the car of each trip that was asked for, by name. A back
/// end shows [`MOST_TRIPS`] of them, and cuts a name of more than 16 bytes.
pub type Kiosks = BTreeMap<Trip, String>;

/// The most trips that the kiosks of a panel show at a time.
pub const MOST_TRIPS: usize = 32;

/// The lit order lamps; a lamp that is not in the set is dark.
pub type LampSet = BTreeSet<Button>;

/// A drive command.
///
/// The drive levels by itself: it runs towards `stop_at`, slows down and comes to rest there. A
/// back end whose hardware can't (the elevator-server protocol) stops the motor at the floor
/// sensor on the controller's behalf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MotorCommand {
    /// Motor off, brake on. In mid-flight: stop at once, wherever the car is.
    #[default]
    Stop,
    /// Run in `direction` and stop at `stop_at`. May be changed in flight to any floor not nearer
    /// than [`PanelInputs::next_stop`]; a drive that can no longer stop at `stop_at` stops at the
    /// first floor in its direction where it can.
    Run {
        /// The way the car is to go.
        direction: Direction,
        /// The floor at which the drive comes to rest.
        stop_at: Floor,
    },
    /// Creep in `direction` to the first floor sensor and come to rest there: the way to find out
    /// where the car is.
    Home {
        /// The way the car is to go.
        direction: Direction,
    },
}

impl MotorCommand {
    /// The direction the motor is to turn in, or `None` for a stop.
    #[must_use]
    pub fn direction(self) -> Option<Direction> {
        match self {
            Self::Stop => None,
            Self::Run { direction, .. } | Self::Home { direction } => Some(direction),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DriveFeedback {
    /// The motor is off and the car is at rest.
    #[default]
    Stopped,
    /// The motor is driven in this direction (or the car still moves that way).
    Driven(Direction),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DoorCommand {
    /// Close, or stay closed.
    #[default]
    Close,
    Open,
    /// Open the rear door. Only one of the doors is open at a time.
    OpenRear,
    /// Close slowly and with little force, whatever the light curtain says, while a buzzer sounds.
    Nudge,
}

impl DoorCommand {
    #[must_use]
    pub fn open(side: Side) -> Self {
        match side {
            Side::Front => Self::Open,
            Side::Rear => Self::OpenRear,
        }
    }

    /// Which door it opens.
    #[must_use]
    pub fn opens(self) -> Option<Side> {
        match self {
            Self::Open => Some(Side::Front),
            Self::OpenRear => Some(Side::Rear),
            Self::Close | Self::Nudge => None,
        }
    }
}

/// The state of the door that is not closed, or of all of them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum DoorState {
    /// Fully closed and locked: the only state in which the motor may run.
    #[default]
    Closed,
    Opening,
    Open,
    Closing,
}

impl fmt::Display for DoorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed => "closed",
            Self::Opening => "opening",
            Self::Open => "open",
            Self::Closing => "closing",
        })
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum KeySwitch {
    /// The car serves the group.
    #[default]
    Normal,
    /// Independent service: car calls only, the doors wait.
    Independent,
    /// Fire recall: go to the recall floor, open, stay.
    #[serde(rename = "fire recall")]
    FireRecall,
    #[serde(rename = "out of service")]
    OutOfService,
    /// Attendant service: at each stop the door waits for the attendant.
    Attendant,
    /// Fire recall of all cars, as by the switch at the main landing: it may be at a panel without a
    /// car.
    #[serde(rename = "recall all")]
    RecallAll,
}

impl KeySwitch {
    pub const ALL: [Self; 6] = [
        Self::Normal,
        Self::Independent,
        Self::FireRecall,
        Self::OutOfService,
        Self::Attendant,
        Self::RecallAll,
    ];
}

impl fmt::Display for KeySwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Normal => "normal",
            Self::Independent => "independent",
            Self::FireRecall => "fire recall",
            Self::OutOfService => "out of service",
            Self::Attendant => "attendant",
            Self::RecallAll => "recall all",
        })
    }
}

/// The door buttons in the car, which are for as long as they are pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DoorButtons {
    pub open: bool,
    /// Of the door that is open.
    pub close: bool,
    /// Of the rear door.
    pub open_rear: bool,
}

impl DoorButtons {
    /// Whether the button that opens this door is pressed.
    #[must_use]
    pub fn opens(self, door: Side) -> bool {
        match door {
            Side::Front => self.open,
            Side::Rear => self.open_rear,
        }
    }
}

/// What has become of an alarm that somebody in the car has raised: what the alarm lamp shows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Alarm {
    #[default]
    Off,
    /// Operators can see it; none has answered.
    Sent,
    /// An operator has answered.
    Acknowledged,
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Off => "off",
            Self::Sent => "sent",
            Self::Acknowledged => "acknowledged",
        })
    }
}

/// What the cabin's climate sensors read; `None` where the panel has no such sensor or no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Climate {
    /// Temperature in whole °C, −127 to 127.
    pub temperature: Option<i8>,
    /// Illuminance in the panel's own unit, 0 (dark) to 255.
    pub illuminance: Option<u8>,
}

/// The lantern that shows waiting passengers where the car will go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HallLantern {
    #[default]
    Dark,
    Lit(Direction),
}

/// What the indicator's text fields show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Display {
    /// The label of the floor that the indicator shows, up to 8 characters; empty if unknown.
    pub position: String,
    /// Up to 32 bytes of UTF-8; a back end cuts a longer text at a character boundary.
    pub text: String,
    /// Backlight, 0 (off) to 255 (full), or `None` to leave it as the panel chooses.
    pub brightness: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lamps {
    pub orders: LampSet,
    pub stop: bool,
}

/// Everything the controller wants of its panel at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PanelOutputs {
    pub motor: MotorCommand,
    pub door: DoorCommand,
    pub lamps: Lamps,
    /// The floor that the indicator shows, or `None` while it is unknown.
    pub indicator: Option<Floor>,
    /// Where the car goes, or will go once its door is closed.
    pub lantern: HallLantern,
    /// The direction that the gong tells passengers at the landing: once for up, twice for down,
    /// whenever this changes.
    pub gong: Option<Direction>,
    pub alarm: Alarm,
    /// The light and the fan of the car are off: nobody uses it.
    pub light_off: bool,
    pub display: Display,
    /// The cars that passengers with a destination are to take.
    pub kiosks: Kiosks,
}

/// Everything the panel's sensors say at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PanelInputs {
    /// The floor whose sensor is active, or `None` between floors.
    pub floor: Option<Floor>,
    /// The nearest floor at which a moving car can still come to rest, or `None` while it is at
    /// rest or its place is unknown.
    pub next_stop: Option<Floor>,
    /// Whether the motor is driven, and which way.
    pub drive: DriveFeedback,
    pub door: DoorState,
    /// Which door is not closed; the front one if all of them are.
    pub side: Side,
    pub stop: bool,
    pub obstruction: bool,
    /// The load of the car in per cent of the rated load, or `None` without a load cell.
    pub load: Option<u8>,
    pub key: KeySwitch,
    /// `None` where the panel has no door buttons.
    pub door_buttons: Option<DoorButtons>,
    pub climate: Climate,
    /// The buttons that have been pressed for [`STUCK_AFTER`] or longer. Each was reported as one
    /// press.
    pub stuck: BTreeSet<Button>,
}

/// A button that is pressed for this long is stuck: nobody holds one on purpose.
pub const STUCK_AFTER: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PanelEvent {
    /// The line is up and the panel answers; its outputs are being brought in line. Also sent when
    /// the panel itself restarted: what it was doing, it does no longer.
    Connected,
    /// The line is cut or the panel is silent; says why. The back end keeps trying.
    Disconnected(String),
    /// A button was pressed. Each press is reported once.
    Pressed(Button),
    /// A passenger gave a destination at a kiosk. Each request is reported once.
    Requested(Trip),
    /// The alarm button in the car was pressed. Each press is reported once.
    Alarm,
    /// A press or a request of something that the shaft does not have; says of what. The panel or
    /// the configuration is wrong.
    Refused(String),
    /// The sensors, whenever one of them changes, and at once after `Connected`.
    Inputs(PanelInputs),
}
