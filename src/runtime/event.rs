//! The events of a node.

use std::net::Ipv4Addr;

use elevator_driver::PanelEvent;
use elevator_fleet::dispatch::Plan;
use elevator_fleet::node::PlanVersion;

use super::disk::DiskEvent;
use crate::mesh::MeshEvent;
use crate::operator::Request;

/// A required part of the process has ended. Only a new process can do its work again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part} failed: {reason}")]
pub struct Failure {
    pub(crate) part: &'static str,
    /// How it ended.
    pub(crate) reason: String,
}

/// One event. The loop selects the next one and does nothing else.
#[derive(Debug)]
pub(crate) enum Event {
    /// From the network.
    Mesh(MeshEvent),
    /// From the panel.
    Panel(PanelEvent),
    /// From the disk.
    Disk(DiskEvent),
    /// A plan is finished.
    Planned((PlanVersion, Plan)),
    /// A request of an operator.
    Request(Request),
    /// The node's deadline, or a periodic check of the loop.
    Timeout,
    /// A required part of the process has ended.
    Failed(Failure),
    /// The node's interface has this address instead of its own.
    Moved(Ipv4Addr),
    /// The node is to end.
    Stop,
}
