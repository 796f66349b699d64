//! What happens on the mesh, as its tasks tell it, and as the runtime loop learns it.

use std::net::Ipv4Addr;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::{LinkId, LinkSide};
use elevator_fleet::wire::codec::WireError;
use elevator_fleet::wire::{Beacon, Frame, Hello};
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;

use super::greeting::{Connection, GreetingError, unfit};
use super::link::LinkEnd;

#[derive(Debug, Clone, PartialEq)]
pub enum MeshEvent {
    /// A beacon arrived: complete and undamaged, but with unchecked content.
    Beacon {
        from: Ipv4Addr,
        beacon: Box<Beacon>,
    },
    /// A datagram arrived that can't be read as a beacon, because of its version or its key.
    Unreadable {
        from: Ipv4Addr,
        error: WireError,
    },
    /// A packet came in at the port of packets; it is not checked at all.
    Packet {
        from: Ipv4Addr,
        bytes: Vec<u8>,
    },
    /// A link is up: hellos were exchanged, and the nodes fit each other.
    LinkUp {
        link: LinkId,
        peer: Hello,
        side: LinkSide,
    },
    DialFailed {
        peer: NodeId,
    },
    /// A frame arrived over a link; never a `Hello`.
    Frame {
        link: LinkId,
        frame: Frame,
    },
    /// A link is closed, and not by this node.
    LinkDown {
        link: LinkId,
    },
    /// A link ended because the peer sent something that is not a frame.
    Malformed {
        link: LinkId,
    },
    /// More fleet keys are in use than before; some may still be missing.
    KeysRead,
    /// A required task has ended: the mesh is incomplete.
    Failed {
        reason: String,
    },
}

/// The network cable, as fault injection has it (demo and tests only).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cable {
    Whole,
    /// Everything in and out is dropped.
    Cut,
}

#[derive(Debug)]
pub(super) enum Note {
    Datagram(MeshEvent),
    KeysRead,
    Greeted {
        connection: Box<Connection>,
        peer: Hello,
        side: LinkSide,
    },
    DialFailed {
        peer: NodeId,
        error: GreetingError,
    },
    Frame {
        link: LinkId,
        frame: Frame,
        /// Its place among the waiting frames of its link.
        place: OwnedSemaphorePermit,
    },
    Ended {
        link: LinkId,
        end: LinkEnd,
    },
}

impl Note {
    /// What remains of it if the cable is cut: links and dials fail.
    pub(super) fn through_cut(self) -> Option<Self> {
        match self {
            Self::Datagram(_) | Self::Frame { .. } => None,
            Self::Greeted { peer, side, .. } => match side {
                LinkSide::Dialled => {
                    let error = unfit("the cable is cut by fault injection");
                    Some(Self::DialFailed { peer: peer.node, error })
                }
                LinkSide::Accepted => None,
            },
            Self::KeysRead | Self::DialFailed { .. } | Self::Ended { .. } => Some(self),
        }
    }
}
