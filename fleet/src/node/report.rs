//! What a node reports.

use core::net::Ipv4Addr;
use std::fmt;
use std::time::Duration;

use elevator_driver::{DoorState, Floor};
use serde::{Deserialize, Serialize};

use crate::car::{HangCause, HangEvidence};
use crate::json::{NodeStateForm, availability, call, conflict, hang, panel, seconds};
use crate::model::{Availability, Call, NodeId, Term};
use crate::wire::NodeState;

/// A transition that the log and the operator see.
///
/// In JSON it is an event: the field `event` says of which kind, by [`name`](Self::name).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Report {
    /// The node's state changed.
    NodeState {
        /// Before.
        #[serde(with = "NodeStateForm")]
        from: NodeState,
        /// From here on.
        #[serde(with = "NodeStateForm")]
        to: NodeState,
        /// The term that goes with it.
        term: Term,
    },
    /// The mastership has moved on, as it does all the time under a protocol that rotates it:
    /// the node's state changed, and nothing has happened.
    #[serde(rename = "node_state", skip_deserializing)]
    Rotated {
        /// Before.
        #[serde(with = "NodeStateForm")]
        from: NodeState,
        /// From here on.
        #[serde(with = "NodeStateForm")]
        to: NodeState,
        /// The term that goes with it.
        term: Term,
    },
    /// Another node hears this one and is heard.
    PeerDiscovered {
        /// Who.
        node: NodeId,
        /// Where.
        address: Ipv4Addr,
    },
    /// A node is not heard any more.
    PeerLost {
        /// Who.
        node: NodeId,
    },
    /// A peer is treated as gone for a time: it is faulty.
    Distrusted {
        /// Who.
        node: NodeId,
        /// What it did.
        reason: String,
        /// For how long.
        #[serde(with = "seconds")]
        wait: Duration,
    },
    /// Full states have been exchanged with a node.
    Synced {
        /// With whom.
        node: NodeId,
    },
    /// Stores differed for too long: the whole state is sent.
    Repair {
        /// To whom.
        node: NodeId,
    },
    /// An order was placed, here or elsewhere.
    Placed {
        /// What.
        #[serde(with = "call")]
        call: Call,
        /// Where.
        origin: NodeId,
    },
    /// An order's lamp may be lit (F12).
    Promised {
        /// What.
        #[serde(with = "call")]
        call: Call,
    },
    /// An order has been served, here or elsewhere.
    Served {
        /// What.
        #[serde(with = "call")]
        call: Call,
        /// How long it had waited.
        #[serde(with = "seconds")]
        waited: Duration,
        /// This node's car served it.
        here: bool,
        /// The car that served it; `None` where an older journal does not say.
        car: Option<NodeId>,
    },
    /// The master has assigned a call, or assigned it anew.
    Assigned {
        /// What.
        #[serde(with = "call")]
        call: Call,
        /// To whom.
        car: NodeId,
    },
    /// The master leaves a call without a car: this node's car serves it all the same.
    TakenOver {
        /// What.
        #[serde(with = "call")]
        call: Call,
        /// The master.
        master: NodeId,
    },
    /// The door of this node's car.
    Door {
        /// Where it is.
        door: DoorState,
    },
    /// This node's car is at, or passes, a floor.
    Floor {
        /// Which.
        floor: Floor,
    },
    /// The group may or may not count on this node's car.
    Availability(#[serde(with = "availability")] Availability),
    /// The panel's line is up, or down for the reason given.
    Panel(#[serde(with = "panel")] Result<(), String>),
    /// The car stopped for this floor and its sensor said nothing: it is left out for a while.
    FloorUnreachable {
        /// Which floor.
        floor: Floor,
    },
    /// The drive was told to run and does not; it is tried again after a while.
    DriveRefused,
    /// A flight of this node's car did not end at its stop, or went the wrong way.
    OffTarget {
        /// Where it was to stop.
        stop_at: Floor,
        /// The floor at which the car is, or `None` between two. In JSON `floor`, for an event has
        /// a time that is called `at`.
        #[serde(rename = "floor")]
        at: Option<Floor>,
    },
    /// Two nodes have one name or one address, or one sends impossible orders.
    Conflict(#[serde(with = "conflict")] String),
    /// The car did not reach a floor in time (F9): the motor is stopped, the process must end.
    Hung(#[serde(with = "hang")] HangEvidence),
    /// The disk can't be relied on: no lamp is lit on its strength (P5).
    DiskFailed,
}

impl Report {
    /// The names of all kinds, as the field `event` has them.
    pub const NAMES: [&str; 21] = [
        "node_state",
        "peer_discovered",
        "peer_lost",
        "distrusted",
        "synced",
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
            Self::NodeState { .. } | Self::Rotated { .. } => "node_state",
            Self::PeerDiscovered { .. } => "peer_discovered",
            Self::PeerLost { .. } => "peer_lost",
            Self::Distrusted { .. } => "distrusted",
            Self::Synced { .. } => "synced",
            Self::Repair { .. } => "repair",
            Self::Placed { .. } => "placed",
            Self::Promised { .. } => "promised",
            Self::Served { .. } => "served",
            Self::Assigned { .. } => "assigned",
            Self::TakenOver { .. } => "taken_over",
            Self::Door { .. } => "door",
            Self::Floor { .. } => "floor",
            Self::Availability(_) => "availability",
            Self::Panel(_) => "panel",
            Self::FloorUnreachable { .. } => "floor_unreachable",
            Self::DriveRefused => "drive_refused",
            Self::OffTarget { .. } => "off_target",
            Self::Conflict(_) => "conflict",
            Self::Hung(_) => "hung",
            Self::DiskFailed => "disk_failed",
        }
    }
}

/// One line.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeState { from, to, term } | Self::Rotated { from, to, term } => {
                write!(f, "{from} → {to}, term {term}")
            }
            Self::PeerDiscovered { node, address } => write!(f, "{node} is heard, at {address}"),
            Self::PeerLost { node } => write!(f, "{node} is not heard any more"),
            Self::Distrusted { node, reason, wait } => {
                let wait = wait.as_secs_f64();
                write!(f, "{node} is not trusted for {wait:.0} s: {reason}")
            }
            Self::Synced { node } => write!(f, "states exchanged with {node}"),
            Self::Repair { node } => write!(f, "whole state sent to {node}, whose store differed"),
            Self::Placed { call, origin } => write!(f, "{call} placed at {origin}"),
            Self::Promised { call } => write!(f, "{call} promised"),
            Self::Served { call, waited, car, .. } => {
                let car = car.as_ref().map_or("another car", NodeId::as_str);
                let waited = waited.as_secs_f64();
                write!(f, "{call} served by {car} after {waited:.1} s")
            }
            Self::Assigned { call, car } => write!(f, "{call} assigned to {car}"),
            Self::TakenOver { call, master } => {
                write!(f, "{call} taken over: master {master} leaves it without a car")
            }
            Self::Door { door } => write!(f, "door {door}"),
            Self::Floor { floor } => write!(f, "floor {floor}"),
            Self::Availability(Availability::InService) => f.write_str("in service"),
            Self::Availability(Availability::Unavailable(why)) => {
                write!(f, "not in service: {why}")
            }
            Self::Panel(Ok(())) => f.write_str("panel connected"),
            Self::Panel(Err(why)) => write!(f, "panel disconnected: {why}"),
            Self::FloorUnreachable { floor } => write!(f, "floor {floor} could not be found"),
            Self::DriveRefused => f.write_str("the drive does not run"),
            Self::OffTarget { stop_at, at: None } => {
                write!(f, "the drive stopped between floors, and was to stop at {stop_at}")
            }
            Self::OffTarget { stop_at, at: Some(at) } => {
                write!(f, "the drive stopped at {at}, and was to stop at {stop_at}")
            }
            Self::Conflict(text) => write!(f, "conflict: {text}"),
            Self::Hung(evidence) => write_hang(f, evidence),
            Self::DiskFailed => f.write_str("the disk has failed"),
        }
    }
}

fn write_hang(f: &mut fmt::Formatter<'_>, evidence: &HangEvidence) -> fmt::Result {
    let actual = evidence.actual.as_secs_f64();
    match (evidence.floor, evidence.cause) {
        (Some(floor), _) => write!(f, "hung on the way to {floor} after {actual:.1} s"),
        (None, HangCause::NotStopped) => {
            write!(f, "hung: the motor did not stop for {actual:.1} s")
        }
        (None, HangCause::NoProgress | HangCause::OffTarget(_)) => {
            write!(f, "hung while homing after {actual:.1} s")
        }
    }
}
