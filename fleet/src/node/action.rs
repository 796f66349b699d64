//! What a node wants done.

use core::net::{Ipv4Addr, SocketAddrV4};

use elevator_driver::PanelOutputs;
use serde::{Deserialize, Serialize};

use super::{PlanRequest, Report};
use crate::car::FlightRecord;
use crate::model::{JournalId, NodeId, Term};
use crate::orders::Record;
use crate::wire::{Beacon, Frame};

/// A link, as the driver of the brain numbers it. A number is never used again, so what is said of
/// a link that is gone is harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// The place of a batch in the order of what the brain wants on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

/// Something to be done, in the order in which the actions come. [`Panel`](Self::Panel) comes first.
///
/// Each may fail; the brain hears of a failure only where a `handle_…` method says so.
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
