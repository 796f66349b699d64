//! All that can happen to a node.

use elevator_driver::PanelEvent;

use crate::journal::Progress;
use crate::mesh::MeshEvent;
use crate::operator::Request;

/// One thing that happened. The loop chooses the next one and does nothing else.
#[derive(Debug)]
pub enum Event {
    /// On the network.
    Mesh(MeshEvent),
    /// At the panel.
    Panel(PanelEvent),
    /// On the disk.
    Disk(Progress),
    /// An operator asks.
    Request(Request),
    /// The moment has come that the node wanted to be woken at, or the loop looks after itself.
    Timeout,
    /// The node is to end.
    Stop,
}
