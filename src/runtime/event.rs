//! All that can happen to a node.

use elevator_driver::PanelEvent;
use elevator_fleet::dispatch::Assignments;
use elevator_fleet::node::PlanVersion;

use crate::journal::Progress;
use crate::mesh::MeshEvent;
use crate::operator::Request;

/// A part of the process has ended that should run. What it did is not done any more, and only a
/// new process does it again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part} failed: {reason}")]
pub struct Failure {
    pub(crate) part: &'static str,
    /// How it ended.
    pub(crate) reason: String,
}

/// One thing that happened. The loop chooses the next one and does nothing else.
#[derive(Debug)]
pub(crate) enum Event {
    /// On the network.
    Mesh(MeshEvent),
    /// At the panel.
    Panel(PanelEvent),
    /// On the disk.
    Disk(Progress),
    /// A plan is finished.
    Planned((PlanVersion, Assignments)),
    /// An operator asks.
    Request(Request),
    /// The moment has come that the node wanted to be woken at, or the loop looks after itself.
    Timeout,
    /// A part of the process has ended that should run.
    Failed(Failure),
    /// The node is to end.
    Stop,
}
