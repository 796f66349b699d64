//! The actions that a node asks for.

use core::net::{Ipv4Addr, SocketAddrV4};

use elevator_driver::PanelOutputs;

use super::{PlanRequest, Report};
use crate::model::NodeId;
use crate::store::{Change, Lsn};
use crate::wire::{Beacon, Frame, LinkId};

/// An action to perform. The order of actions is significant; [`Panel`](Self::Panel) comes first.
///
/// Any action may fail. The brain learns of a failure only where a `handle_…` method says so.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Broadcast(Beacon),
    /// Send a beacon to one node, at the same UDP port as the broadcasts.
    Unicast {
        to: Ipv4Addr,
        beacon: Beacon,
    },
    /// Send a packet on the protocol's own port (V8).
    Packet {
        /// The receiver, or `None` for a broadcast.
        to: Option<Ipv4Addr>,
        bytes: Vec<u8>,
    },
    /// Open a link. Answered by `handle_link_up` or `handle_dial_failed` within the limit.
    Dial {
        peer: NodeId,
        address: SocketAddrV4,
    },
    Send {
        link: LinkId,
        frame: Frame,
    },
    /// Close a link after everything sent before has left. For the brain it no longer exists.
    Close(LinkId),
    Panel(PanelOutputs),
    /// Write a batch to disk, after all earlier batches. Answered by `handle_durable`.
    Persist {
        lsn: Lsn,
        changes: Vec<Change>,
    },
    /// Make a plan. If that may take long, do it on another thread. Answered by `handle_plan`.
    Plan(PlanRequest),
    /// Something happened that operators may want to know.
    Report(Report),
}
