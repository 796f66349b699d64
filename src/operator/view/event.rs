//! Events, as people and programs outside the node see them.

use std::fmt;
use std::net::Ipv4Addr;
use std::time::SystemTime;

use elevator_driver::Floor;
use elevator_fleet::car::HangCause;
use elevator_fleet::node::Report;
use serde::{Deserialize, Serialize};

use super::car::availability;
use super::{CallView, DirectionView, DoorView, StandingView, seconds};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    /// When the node took note of it, in UTC, such as `2026-05-01T12:00:00.123Z`.
    pub at: String,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened; the field `event` says which it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The node stands elsewhere.
    Standing {
        /// Before.
        from: StandingView,
        /// From here on.
        to: StandingView,
        /// The term that goes with it.
        term: u64,
    },
    /// Another node hears this one and is heard.
    PeerFound {
        /// Who.
        node: String,
        /// Where.
        address: Ipv4Addr,
    },
    /// A node is not heard any more.
    PeerLost {
        /// Who.
        node: String,
    },
    /// A faulty node is treated as gone for a time.
    Distrusted {
        /// Who.
        node: String,
        /// What it did.
        reason: String,
        /// For how long.
        wait: f64,
    },
    /// Full states have been exchanged with a node.
    Joined {
        /// With whom.
        node: String,
    },
    /// Stores differed for too long: the whole state is sent.
    Repair {
        /// To whom.
        node: String,
    },
    /// An order was placed.
    Placed {
        /// What.
        call: CallView,
        /// The node where it was.
        origin: String,
    },
    /// An order's lamp may be lit.
    Promised {
        /// What.
        call: CallView,
    },
    /// An order has been served.
    Served {
        /// What.
        call: CallView,
        /// How long it had waited.
        waited: f64,
        /// This node's car served it.
        here: bool,
        /// The car that served it; null where an older journal does not say.
        #[serde(default)]
        car: Option<String>,
    },
    /// The master has assigned a call.
    Assigned {
        /// What.
        call: CallView,
        /// To whom.
        car: String,
    },
    /// The master leaves a call without a car: this node's car serves it all the same.
    TakenOver {
        /// What.
        call: CallView,
        /// The master.
        master: String,
    },
    /// The door of this node's car.
    Door {
        /// Where it is.
        door: DoorView,
    },
    /// This node's car is at, or passes, a floor.
    Floor {
        /// Which.
        floor: u8,
    },
    /// The group may or may not count on this node's car.
    Availability {
        /// It may.
        in_service: bool,
        /// Why not; null where it may.
        unavailable: Option<String>,
    },
    /// The panel's line is up or down.
    Panel {
        /// It is up.
        connected: bool,
        /// Why it is down; null where it is up.
        reason: Option<String>,
    },
    /// The car stopped for a floor whose sensor said nothing: it is left out for a while.
    FloorUnreachable {
        /// Which.
        floor: u8,
    },
    /// The drive was told to run and does not; it is tried again after a while.
    DriveRefused,
    /// A flight did not end at its stop, or went the wrong way.
    OffTarget {
        /// Where it was to stop.
        stop_at: u8,
        /// The floor at which the car is; null between two.
        floor: Option<u8>,
    },
    /// Two nodes have one name or one address.
    Conflict {
        /// Which, in words.
        text: String,
    },
    /// The car did not reach a floor in time: the motor is stopped, the process ends.
    Hung {
        /// So many flights in a row did not end where they were to, or searches found no floor; null
        /// where the motor was driven for too long.
        flights_off_target: Option<u8>,
        /// The motor did not stop when it was told to.
        #[serde(default)]
        not_stopped: bool,
        /// The floor that it was to stop at; null while homing, or where it was told to stop.
        floor: Option<u8>,
        /// Where it was going, or went last.
        direction: DirectionView,
        /// The time that the flight was allowed.
        expected: f64,
        /// The time that the motor had been driven without a new floor sensor.
        actual: f64,
        /// The last floor sensor seen; null where none was.
        last_sensor: Option<u8>,
    },
    /// The disk can't be relied on: no lamp is lit on its strength.
    DiskFailed,
}

impl EventKind {
    /// The names of all kinds, as the field `event` has them.
    pub const NAMES: [&str; 21] = [
        "standing",
        "peer_found",
        "peer_lost",
        "distrusted",
        "joined",
        "repair",
        "placed",
        "promised",
        "served",
        "assigned",
        "taken_over",
        "door",
        "floor",
        "availability",
        "panel",
        "floor_unreachable",
        "drive_refused",
        "off_target",
        "conflict",
        "hung",
        "disk_failed",
    ];

    /// The kind's name, as the field `event` has it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Standing { .. } => "standing",
            Self::PeerFound { .. } => "peer_found",
            Self::PeerLost { .. } => "peer_lost",
            Self::Distrusted { .. } => "distrusted",
            Self::Joined { .. } => "joined",
            Self::Repair { .. } => "repair",
            Self::Placed { .. } => "placed",
            Self::Promised { .. } => "promised",
            Self::Served { .. } => "served",
            Self::Assigned { .. } => "assigned",
            Self::TakenOver { .. } => "taken_over",
            Self::Door { .. } => "door",
            Self::Floor { .. } => "floor",
            Self::Availability { .. } => "availability",
            Self::Panel { .. } => "panel",
            Self::FloorUnreachable { .. } => "floor_unreachable",
            Self::DriveRefused { .. } => "drive_refused",
            Self::OffTarget { .. } => "off_target",
            Self::Conflict { .. } => "conflict",
            Self::Hung { .. } => "hung",
            Self::DiskFailed { .. } => "disk_failed",
        }
    }
}

impl EventView {
    /// A report of a node, at this moment of the wall clock.
    #[must_use]
    pub fn new(report: &Report, at: SystemTime) -> Self {
        Self {
            at: humantime::format_rfc3339_millis(at).to_string(),
            kind: report.into(),
        }
    }
}

impl From<&Report> for EventKind {
    fn from(report: &Report) -> Self {
        match report {
            Report::Standing { from, to, term } | Report::Rotated { from, to, term } => {
                Self::Standing {
                    from: from.into(),
                    to: to.into(),
                    term: term.0,
                }
            }
            Report::PeerFound { node, address } => Self::PeerFound {
                node: node.to_string(),
                address: *address,
            },
            Report::PeerLost { node } => Self::PeerLost {
                node: node.to_string(),
            },
            Report::Distrusted { node, reason, wait } => Self::Distrusted {
                node: node.to_string(),
                reason: reason.clone(),
                wait: seconds(*wait),
            },
            Report::Joined { node } => Self::Joined {
                node: node.to_string(),
            },
            Report::Repair { node } => Self::Repair {
                node: node.to_string(),
            },
            Report::Placed { call, origin } => Self::Placed {
                call: call.into(),
                origin: origin.to_string(),
            },
            Report::Promised { call } => Self::Promised { call: call.into() },
            Report::Served {
                call,
                waited,
                here,
                car,
            } => Self::Served {
                call: call.into(),
                waited: seconds(*waited),
                here: *here,
                car: car.as_ref().map(ToString::to_string),
            },
            Report::Assigned { call, car } => Self::Assigned {
                call: call.into(),
                car: car.to_string(),
            },
            Report::TakenOver { call, master } => Self::TakenOver {
                call: call.into(),
                master: master.to_string(),
            },
            Report::Door { door } => Self::Door {
                door: (*door).into(),
            },
            Report::Floor { floor } => Self::Floor {
                floor: floor.index(),
            },
            Report::Availability(of_car) => {
                let (in_service, unavailable) = availability(*of_car);
                Self::Availability {
                    in_service,
                    unavailable,
                }
            }
            Report::Panel(line) => Self::Panel {
                connected: line.is_ok(),
                reason: line.as_ref().err().cloned(),
            },
            Report::FloorUnreachable { floor } => Self::FloorUnreachable {
                floor: floor.index(),
            },
            Report::DriveRefused => Self::DriveRefused,
            Report::OffTarget { stop_at, at } => Self::OffTarget {
                stop_at: stop_at.index(),
                floor: at.map(Floor::index),
            },
            Report::Conflict(text) => Self::Conflict { text: text.clone() },
            Report::Hung(evidence) => Self::Hung {
                flights_off_target: evidence.cause.flights(),
                not_stopped: evidence.cause == HangCause::NotStopped,
                floor: evidence.floor.map(Floor::index),
                direction: evidence.direction.into(),
                expected: seconds(evidence.expected),
                actual: seconds(evidence.actual),
                last_sensor: evidence.last_sensor.map(Floor::index),
            },
            Report::DiskFailed => Self::DiskFailed,
        }
    }
}

/// One line.
impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standing { from, to, term } => write!(f, "{from} → {to}, term {term}"),
            Self::PeerFound { node, address } => write!(f, "{node} is heard, at {address}"),
            Self::PeerLost { node } => write!(f, "{node} is not heard any more"),
            Self::Distrusted { node, reason, wait } => {
                write!(f, "{node} is not trusted for {wait:.0} s: {reason}")
            }
            Self::Joined { node } => write!(f, "states exchanged with {node}"),
            Self::Repair { node } => write!(f, "whole state sent to {node}, whose store differed"),
            Self::Placed { call, origin } => write!(f, "{call} placed at {origin}"),
            Self::Promised { call } => write!(f, "{call} promised"),
            Self::Served {
                call, waited, car, ..
            } => {
                let car = car.as_deref().unwrap_or("another car");
                write!(f, "{call} served by {car} after {waited:.1} s")
            }
            Self::Assigned { call, car } => write!(f, "{call} assigned to {car}"),
            Self::TakenOver { call, master } => {
                write!(
                    f,
                    "{call} taken over: master {master} leaves it without a car"
                )
            }
            Self::Door { door } => write!(f, "door {door}"),
            Self::Floor { floor } => write!(f, "floor {floor}"),
            Self::Availability { unavailable, .. } => match unavailable {
                None => f.write_str("in service"),
                Some(why) => write!(f, "not in service: {why}"),
            },
            Self::Panel { reason, .. } => match reason {
                None => f.write_str("panel connected"),
                Some(why) => write!(f, "panel disconnected: {why}"),
            },
            Self::FloorUnreachable { floor } => write!(f, "floor {floor} could not be found"),
            Self::DriveRefused => f.write_str("the drive does not run"),
            Self::OffTarget {
                stop_at,
                floor: None,
            } => {
                write!(
                    f,
                    "the drive stopped between floors, and was to stop at {stop_at}"
                )
            }
            Self::OffTarget {
                stop_at,
                floor: Some(floor),
            } => {
                write!(
                    f,
                    "the drive stopped at {floor}, and was to stop at {stop_at}"
                )
            }
            Self::Conflict { text } => write!(f, "conflict: {text}"),
            Self::Hung {
                floor: Some(floor),
                actual,
                ..
            } => write!(f, "hung on the way to {floor} after {actual:.1} s"),
            Self::Hung {
                not_stopped: true,
                actual,
                ..
            } => write!(f, "hung: the motor did not stop for {actual:.1} s"),
            Self::Hung { actual, .. } => write!(f, "hung while homing after {actual:.1} s"),
            Self::DiskFailed => f.write_str("the disk has failed"),
        }
    }
}
