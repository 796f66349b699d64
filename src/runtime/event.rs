//! The events of a node.

use std::net::Ipv4Addr;

use elevator_driver::PanelEvent;
use elevator_fleet::dispatch::Plan;
use elevator_fleet::node::PlanVersion;

use super::disk::DiskEvent;
use super::error::Failure;
use crate::mesh::MeshEvent;
use crate::operator::Request;

/// One event. The loop selects the next one and does nothing else.
#[derive(Debug)]
pub(crate) enum Event {
    Mesh(MeshEvent),
    Panel(PanelEvent),
    Disk(DiskEvent),
    Planned((PlanVersion, Plan)),
    Request(Request),
    /// The node's deadline, or a periodic check of the loop.
    Timeout,
    Failed(Failure),
    /// The node's interface has this address instead of its own.
    Moved(Ipv4Addr),
    Stop,
}

impl Event {
    pub(super) fn ended(part: &'static str) -> Self {
        Self::Failed(Failure { part, reason: "its thread has ended".to_owned() })
    }
}
