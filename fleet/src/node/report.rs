//! What a node reports.

use core::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::{DoorState, Floor};

use crate::car::HangEvidence;
use crate::model::{Availability, Call, NodeId, Term};
use crate::wire::Standing;

/// A transition that the log and the operator are told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The node stands elsewhere.
    Standing {
        /// Before.
        from: Standing,
        /// From here on.
        to: Standing,
        /// The term that goes with it.
        term: Term,
    },
    /// The duty to coordinate has gone on, as it does all the time under a protocol that rotates:
    /// the node stands elsewhere, and nothing has happened.
    Rotated {
        /// Before.
        from: Standing,
        /// From here on.
        to: Standing,
        /// The term that goes with it.
        term: Term,
    },
    /// Another node hears this one and is heard.
    PeerFound {
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
        wait: Duration,
    },
    /// Full states have been exchanged with a node.
    Joined {
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
        call: Call,
        /// Where.
        origin: NodeId,
    },
    /// An order's lamp may be lit (F12).
    Promised {
        /// What.
        call: Call,
    },
    /// An order has been served, here or elsewhere.
    Served {
        /// What.
        call: Call,
        /// How long it had waited.
        waited: Duration,
        /// This node's car served it.
        here: bool,
        /// The car that served it, where its record says so.
        car: Option<NodeId>,
    },
    /// The master has assigned a call, or assigned it anew.
    Assigned {
        /// What.
        call: Call,
        /// To whom.
        car: NodeId,
    },
    /// The master leaves a call without a car: this node's car serves it all the same.
    TakenOver {
        /// What.
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
    Availability(Availability),
    /// The panel's line is up, or down for the reason given.
    Panel(Result<(), String>),
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
        /// The floor at which the car is, or `None` between two.
        at: Option<Floor>,
    },
    /// Two nodes have one name or one address, or one tells of orders that can't be.
    Conflict(String),
    /// The car did not reach a floor in time (F9): the motor is stopped, the process must end.
    Hung(HangEvidence),
    /// The disk can't be relied on: no lamp is lit on its strength (P5).
    DiskFailed,
}
