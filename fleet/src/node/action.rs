//! What a node wants done.

use core::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use elevator_driver::{DoorState, Floor, PanelOutputs};
use serde::{Deserialize, Serialize};

use super::PlanRequest;
use crate::car::{FlightRecord, HangEvidence};
use crate::model::{Availability, Call, JournalId, NodeId, Term};
use crate::orders::Record;
use crate::wire::{Beacon, Frame, Standing};

/// A link, as the driver of the brain numbers it. A number is never used again, so what is said of
/// a link that is gone is harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// The place of a batch in the order of what the brain wants on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

/// Something to be done, in the order in which the actions come. [`Panel`](Self::Panel) comes first.
///
/// Each may fail; the brain is told of a failure only where a `handle_…` method says so.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send a beacon to everybody on the LAN.
    Broadcast(Beacon),
    /// Send a beacon to one node, at the same UDP port as the broadcasts.
    Unicast {
        /// The node's address.
        to: Ipv4Addr,
        /// The beacon.
        beacon: Beacon,
    },
    /// Send a packet of the protocol's own port (V8).
    Packet {
        /// To whom, if not to everybody.
        to: Option<Ipv4Addr>,
        /// The packet.
        bytes: Vec<u8>,
    },
    /// Open a link. Answered by `handle_link_up` or `handle_dial_failed`, within the time limit of
    /// a dial.
    Dial {
        /// Who is expected there.
        peer: NodeId,
        /// Where it listens.
        address: SocketAddrV4,
    },
    /// Send over a link.
    Send {
        /// The link.
        link: LinkId,
        /// What.
        frame: Frame,
    },
    /// Close a link once all that was sent before has left. It is gone for the brain already.
    Close(LinkId),
    /// Bring the panel in line with this.
    Panel(PanelOutputs),
    /// Write to the disk, together and after all earlier batches. Answered by `handle_durable`.
    Persist {
        /// The batch's place.
        lsn: Lsn,
        /// What to write.
        changes: Vec<Change>,
    },
    /// Make a plan, elsewhere than where the node runs if it may take long. Answered by
    /// `handle_plan`.
    Plan(PlanRequest),
    /// Something happened that people may want to know.
    Report(Report),
}

/// One change to what stands on disk. Writing a change again does no harm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// The register of this record's journal and call.
    Record(Record),
    /// The registers of this journal are no longer kept.
    Collect(JournalId),
    /// Sequences up to this one may be in use.
    Reserve(u64),
    /// The node knows this term, or may come to know it without writing again (E3).
    Term(Term),
    /// How long a leg of this node's car takes.
    FlightTimes(FlightRecord),
    /// Orders are placed under this journal from here on; of its sequences none is reserved yet.
    Journal(JournalId),
}

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
    Door(DoorState),
    /// This node's car is at, or passes, a floor.
    Floor(Floor),
    /// The group may or may not count on this node's car.
    Availability(Availability),
    /// The panel's line is up, or down for the reason given.
    Panel(Result<(), String>),
    /// The car stopped for this floor and its sensor said nothing: it is left out for a while.
    FloorUnreachable(Floor),
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
