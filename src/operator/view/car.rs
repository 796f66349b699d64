//! Cars, as people and programs outside the node see them.

use std::fmt;

use elevator_driver::{Button, DoorState, Floor, KeySwitch, LineCounters};
use elevator_fleet::model::{Availability, CarPhase, CarView};
use elevator_fleet::node::CarStatus;
use serde::{Deserialize, Serialize};

use super::{DirectionView, seconds};

/// A car as the group sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupCarView {
    /// Hall orders may be assigned to it.
    pub in_service: bool,
    /// Why not, such as `door blocked`; null for a car in service.
    pub unavailable: Option<String>,
    /// The floor it is at, or the last one it passed; null until it has found one.
    pub floor: Option<u8>,
    /// What it is doing.
    pub phase: PhaseView,
    /// How long it has been doing so.
    pub elapsed: f64,
    /// The direction in which it collects; null when it may turn either way.
    pub direction: Option<DirectionView>,
    /// The load in per cent of the rated load; null without a load cell.
    pub load: Option<u8>,
    /// The floors that it leaves out for a while, for their sensors said nothing when it stopped
    /// there.
    #[serde(default)]
    pub left_out: Vec<u8>,
}

/// What a car is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PhaseView {
    /// At rest with the door closed.
    Idle,
    /// On its way.
    Moving {
        /// Where to.
        direction: DirectionView,
        /// Where it means to stop.
        stop_at: u8,
        /// The nearest floor at which it still can.
        next_stop: u8,
    },
    /// Looking for a floor.
    Homing,
    /// The door is on its way open.
    Opening,
    /// The door is open.
    Open,
    /// The door is on its way closed.
    Closing,
}

/// The node's own car.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnCarView {
    /// As the group sees it.
    #[serde(flatten)]
    pub group: GroupCarView,
    /// The panel's address, such as `serial:///dev/ttyUSB0`.
    #[serde(default)]
    pub panel: String,
    /// The panel answers.
    pub connected: bool,
    /// Why it does not; null while it does.
    #[serde(default)]
    pub disconnected: Option<String>,
    /// What the line to the panel has brought.
    #[serde(default)]
    pub line: LineView,
    /// The door.
    pub door: DoorView,
    /// The floor whose sensor is active; null between floors.
    pub at: Option<u8>,
    /// The stop switch is pulled.
    pub stopped: bool,
    /// Something stands in the door.
    pub obstructed: bool,
    /// The key switch: `normal`, `independent`, `fire recall` or `out of service`.
    pub key: String,
    /// The buttons that have read as pressed for too long.
    #[serde(default)]
    pub stuck: Vec<LampView>,
    /// The lamps that are lit on its panel.
    pub lamps: Vec<LampView>,
}

/// What a line to a panel has brought since the node started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineView {
    /// Frames, or over TCP answers, that were intact and understood.
    pub frames: u64,
    /// Bytes that were no intact frame, or a frame with an impossible value.
    pub damaged: u64,
    /// Frames that never came.
    pub lost: u64,
    /// Intact frames that this node does not know.
    pub unknown: u64,
}

/// An order button, or the lamp in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LampView {
    /// In a landing's button.
    Hall {
        /// The landing.
        floor: u8,
        /// The button's direction.
        direction: DirectionView,
    },
    /// In a button in the cab.
    Cab {
        /// The button's floor.
        floor: u8,
    },
}

/// Where a door is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoorView {
    /// Closed and locked.
    Closed,
    /// On its way open.
    Opening,
    /// Fully open.
    Open,
    /// On its way closed.
    Closing,
}

impl From<&CarView> for GroupCarView {
    fn from(car: &CarView) -> Self {
        let (in_service, unavailable) = availability(car.availability);
        Self {
            in_service,
            unavailable,
            floor: car.floor.map(Floor::index),
            phase: car.phase.into(),
            elapsed: seconds(car.elapsed),
            direction: car.direction.map(DirectionView::from),
            load: car.load,
            left_out: car.left_out.iter().map(Floor::index).collect(),
        }
    }
}

pub(super) fn availability(availability: Availability) -> (bool, Option<String>) {
    match availability {
        Availability::InService => (true, None),
        Availability::Unavailable(why) => (false, Some(why.to_string())),
    }
}

impl From<CarPhase> for PhaseView {
    fn from(phase: CarPhase) -> Self {
        match phase {
            CarPhase::Idle => Self::Idle,
            CarPhase::Moving {
                direction,
                stop_at,
                next_stop,
            } => Self::Moving {
                direction: direction.into(),
                stop_at: stop_at.index(),
                next_stop: next_stop.index(),
            },
            CarPhase::Homing => Self::Homing,
            CarPhase::Opening => Self::Opening,
            CarPhase::Open => Self::Open,
            CarPhase::Closing => Self::Closing,
        }
    }
}

impl fmt::Display for PhaseView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.pad("idle"),
            Self::Moving {
                direction, stop_at, ..
            } => f.pad(&format!("moving {direction} to {stop_at}")),
            Self::Homing => f.pad("homing"),
            Self::Opening => f.pad("door opening"),
            Self::Open => f.pad("door open"),
            Self::Closing => f.pad("door closing"),
        }
    }
}

impl From<&CarStatus> for OwnCarView {
    fn from(car: &CarStatus) -> Self {
        Self {
            group: (&car.view).into(),
            // The brain does not know it.
            panel: String::new(),
            connected: car.panel.is_ok(),
            disconnected: car.panel.clone().err(),
            line: LineView::default(),
            door: car.door.into(),
            at: car.at.map(Floor::index),
            stopped: car.stopped,
            obstructed: car.obstructed,
            key: match car.key {
                KeySwitch::Normal => "normal",
                KeySwitch::Independent => "independent",
                KeySwitch::FireRecall => "fire recall",
                KeySwitch::OutOfService => "out of service",
            }
            .to_owned(),
            stuck: car.stuck.iter().map(|&button| button.into()).collect(),
            lamps: car.lamps.iter().map(|&lamp| lamp.into()).collect(),
        }
    }
}

impl From<LineCounters> for LineView {
    fn from(counters: LineCounters) -> Self {
        Self {
            frames: counters.frames,
            damaged: counters.damaged,
            lost: counters.lost,
            unknown: counters.unknown,
        }
    }
}

impl fmt::Display for LineView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            frames,
            damaged,
            lost,
            unknown,
        } = self;
        write!(f, "{frames} frames, {damaged} damaged, {lost} lost")?;
        if *unknown > 0 {
            write!(f, ", {unknown} unknown")?;
        }
        Ok(())
    }
}

impl From<Button> for LampView {
    fn from(button: Button) -> Self {
        match button {
            Button::Hall(floor, direction) => Self::Hall {
                floor: floor.index(),
                direction: direction.into(),
            },
            Button::Cab(floor) => Self::Cab {
                floor: floor.index(),
            },
        }
    }
}

impl fmt::Display for LampView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hall { floor, direction } => f.pad(&format!("hall {floor} {direction}")),
            Self::Cab { floor } => f.pad(&format!("cab {floor}")),
        }
    }
}

impl From<DoorState> for DoorView {
    fn from(door: DoorState) -> Self {
        match door {
            DoorState::Closed => Self::Closed,
            DoorState::Opening => Self::Opening,
            DoorState::Open => Self::Open,
            DoorState::Closing => Self::Closing,
        }
    }
}

impl fmt::Display for DoorView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed => "closed",
            Self::Opening => "opening",
            Self::Open => "open",
            Self::Closing => "closing",
        })
    }
}
