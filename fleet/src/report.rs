//! The reports of a node.

use core::net::Ipv4Addr;
use std::fmt;
use std::time::Duration;

use elevator_driver::{Alarm, DoorState, Floor};
use serde::{Deserialize, Serialize};

use crate::json::{HangForm, NodeStateForm, availability, call, panel, seconds, works};
use crate::model::{Call, Dot, HangEvidence, NodeId, NodeState, Reason, Term, Wear};
use crate::settings::{Request, Setting, Why, Words};

/// A transition that the log and the operator see. In JSON the field `event` has its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Report {
    NodeState {
        #[serde(with = "NodeStateForm")]
        from: NodeState,
        #[serde(with = "NodeStateForm")]
        to: NodeState,
        term: Term,
    },
    /// The mastership rotated, which is normal under some protocols: nothing went wrong.
    #[serde(rename = "node_state", skip_deserializing)]
    Rotated {
        #[serde(with = "NodeStateForm")]
        from: NodeState,
        #[serde(with = "NodeStateForm")]
        to: NodeState,
        term: Term,
    },
    /// Another node is heard, and hears this one.
    PeerDiscovered {
        node: NodeId,
        address: Ipv4Addr,
    },
    PeerLost {
        node: NodeId,
    },
    /// Full states have been exchanged with a node.
    Synced {
        node: NodeId,
    },
    /// Stores differed for too long: the whole state is transferred.
    Repair {
        node: NodeId,
    },
    /// An order was placed, here or elsewhere.
    Placed {
        #[serde(with = "call")]
        call: Call,
        /// The node at which it was placed.
        origin: NodeId,
        /// The press. It is the same at every node, and no part of the JSON.
        #[serde(skip)]
        press: Option<Dot>,
    },
    /// An order's lamp may be lit (F12).
    Promised {
        #[serde(with = "call")]
        call: Call,
    },
    /// An order has been served, here or elsewhere.
    Served {
        #[serde(with = "call")]
        call: Call,
        #[serde(with = "seconds")]
        waited: Duration,
        /// Whether this node's car served it.
        here: bool,
        car: Option<NodeId>,
    },
    /// An order was dropped because of a fire recall: nobody serves it.
    Dropped {
        #[serde(with = "call")]
        call: Call,
    },
    /// The master has assigned or reassigned a call.
    Assigned {
        #[serde(with = "call")]
        call: Call,
        car: NodeId,
        /// Whether this node is the master that did so.
        here: bool,
    },
    /// A call is overdue, so this node's car serves it too.
    TakenOver {
        #[serde(with = "call")]
        call: Call,
    },
    Door {
        door: DoorState,
    },
    /// This node's car is at, or passes, a floor.
    Floor {
        floor: Floor,
    },
    /// Whether the group can count on this node's car: `None`, or why not.
    Availability(#[serde(with = "availability")] Option<Reason>),
    /// The panel's line is up, or down for the reason given.
    Panel(#[serde(with = "panel")] Result<(), String>),
    /// A press or a request of the panel was refused. Reported once a minute.
    PressRefused {
        /// What was asked for, and why it was refused.
        text: String,
    },
    /// The car stopped at this floor, but its sensor was silent: it is locked out for a while.
    FloorUnreachable {
        floor: Floor,
    },
    /// The drive was told to run and did not start; it is tried again after a while.
    DriveRefused,
    /// A flight of this node's car did not end at its stop, or went the wrong way.
    OffTarget {
        /// The floor at which it should have stopped.
        stop_at: Floor,
        /// The floor at which the car is, or `None` between floors. In JSON it is `floor`, because
        /// `at` is the time of an event.
        #[serde(rename = "floor")]
        at: Option<Floor>,
    },
    /// A counter of this node's car has reached its threshold. Reported once a start.
    MaintenanceDue {
        #[serde(rename = "counter")]
        wear: Wear,
        count: u64,
    },
    /// The program that dispatches works; or it fails for the reason given, and the built-in planner
    /// does its work.
    Dispatcher(#[serde(with = "works")] Result<(), String>),
    /// Two nodes have one name or one address, or one sends impossible orders.
    Conflict {
        text: String,
    },
    /// The car did not reach a floor in time (F9): the motor is stopped, and the process must end.
    Hung(#[serde(with = "HangForm")] HangEvidence),
    /// An operator has commanded something that holds, or a node has set something about its car.
    Setting {
        #[serde(flatten, with = "crate::settings::json")]
        setting: Setting,
        operator: Words,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Why>,
    },
    /// Somebody in a car has raised an alarm, an operator has acknowledged it, or it is over.
    Alarm {
        car: NodeId,
        alarm: Alarm,
    },
    /// The disk has failed: no lamp is lit because of it (P5).
    DiskFailed,
}

impl Report {
    /// The names of all kinds, as in the field `event`.
    pub const NAMES: [&str; 25] = [
        "node_state",
        "peer_discovered",
        "peer_lost",
        "synced",
        "repair",
        "placed",
        "promised",
        "served",
        "dropped",
        "assigned",
        "taken_over",
        "door",
        "floor",
        "availability",
        "panel",
        "press_refused",
        "floor_unreachable",
        "drive_refused",
        "off_target",
        "maintenance_due",
        "conflict",
        "hung",
        "setting",
        "alarm",
        "disk_failed",
    ];

    /// The kind's name, as in the field `event`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::NodeState { .. } | Self::Rotated { .. } => "node_state",
            Self::PeerDiscovered { .. } => "peer_discovered",
            Self::PeerLost { .. } => "peer_lost",
            Self::Synced { .. } => "synced",
            Self::Repair { .. } => "repair",
            Self::Placed { .. } => "placed",
            Self::Promised { .. } => "promised",
            Self::Served { .. } => "served",
            Self::Dropped { .. } => "dropped",
            Self::Assigned { .. } => "assigned",
            Self::TakenOver { .. } => "taken_over",
            Self::Door { .. } => "door",
            Self::Floor { .. } => "floor",
            Self::Availability(_) => "availability",
            Self::Panel(_) => "panel",
            Self::PressRefused { .. } => "press_refused",
            Self::FloorUnreachable { .. } => "floor_unreachable",
            Self::DriveRefused => "drive_refused",
            Self::OffTarget { .. } => "off_target",
            Self::MaintenanceDue { .. } => "maintenance_due",
            Self::Dispatcher(_) => "dispatcher",
            Self::Conflict { .. } => "conflict",
            Self::Hung(_) => "hung",
            Self::Setting { .. } => "setting",
            Self::Alarm { .. } => "alarm",
            Self::DiskFailed => "disk_failed",
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeState { from, to, term } | Self::Rotated { from, to, term } => {
                write!(f, "{from} → {to}, term {term}")
            }
            Self::PeerDiscovered { node, address } => write!(f, "{node} discovered at {address}"),
            Self::PeerLost { node } => write!(f, "{node} is no longer heard"),
            Self::Synced { node } => write!(f, "synced with {node}"),
            Self::Repair { node } => write!(f, "whole state sent to {node}, whose store differed"),
            Self::Placed { call, origin, .. } => write!(f, "{call} placed at {origin}"),
            Self::Promised { call } => write!(f, "{call} promised"),
            Self::Served { call, waited, car, .. } => {
                let car = car.as_ref().map_or("another car", NodeId::as_str);
                let waited = waited.as_secs_f64();
                write!(f, "{call} served by {car} after {waited:.1} s")
            }
            Self::Dropped { call } => write!(f, "{call} dropped: fire recall"),
            Self::Assigned { call, car, .. } => write!(f, "{call} assigned to {car}"),
            Self::TakenOver { call } => write!(f, "{call} taken over: it is overdue"),
            Self::Door { door } => write!(f, "door {door}"),
            Self::Floor { floor } => write!(f, "floor {floor}"),
            Self::Availability(None) => f.write_str("in service"),
            Self::Availability(Some(why)) => write!(f, "not in service: {why}"),
            Self::Panel(Ok(())) => f.write_str("panel connected"),
            Self::Panel(Err(why)) => write!(f, "panel disconnected: {why}"),
            Self::PressRefused { text } => write!(f, "press refused: {text}"),
            Self::FloorUnreachable { floor } => write!(f, "floor {floor} could not be found"),
            Self::DriveRefused => f.write_str("the drive does not run"),
            Self::OffTarget { stop_at, at: None } => {
                write!(f, "the drive stopped between floors instead of at {stop_at}")
            }
            Self::OffTarget { stop_at, at: Some(at) } => {
                write!(f, "the drive stopped at {at} instead of {stop_at}")
            }
            Self::MaintenanceDue { wear, count } => write!(f, "maintenance is due: {count} {wear}"),
            Self::Dispatcher(Ok(())) => f.write_str("the program that dispatches works"),
            Self::Dispatcher(Err(why)) => {
                write!(f, "the planner dispatches: the program fails: {why}")
            }
            Self::Conflict { text } => write!(f, "conflict: {text}"),
            Self::Hung(evidence) => evidence.fmt(f),
            Self::Setting { setting: Setting::Request(Request::Session(it)), operator, .. } => {
                write!(f, "session {}: {}, by {operator}", it.id, it.in_words())
            }
            Self::Setting { setting, operator, reason } => {
                write!(f, "{} is {setting}, by {operator}", setting.subject())?;
                reason.iter().try_for_each(|reason| write!(f, ": {reason}"))
            }
            Self::Alarm { car, alarm } => write!(f, "alarm from car {car}: {alarm}"),
            Self::DiskFailed => f.write_str("the disk has failed"),
        }
    }
}
