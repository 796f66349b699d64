//! The whole fleet, as one node sees it.

use std::iter;
use std::time::Duration;

use elevator_driver::{Floor, FloorCount};
use serde::{Deserialize, Serialize};

use super::{ConflictStatus, HangStatus, LostStatus, OrderStatus, PeerStatus, Status};
use crate::model::{FleetName, NodeId, NodeState, Protocol, Term};

/// The whole fleet as one node sees it: what `liftmesh status --fleet --json` prints.
///
/// It is derived from the [`Status`] of that node and has the same forms. In a healthy fleet every
/// node gives the same picture, but for `silent`, `round_trip`, `loss`, `synced`, `in_step`, `durable`,
/// `disk_failed` and `fleet_keys_missing`, which are about the node that was asked.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own in the JSON")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetStatus {
    pub seen_by: NodeId,
    pub fleet: FleetName,
    /// How the master is elected.
    pub election: Protocol,
    pub floors: FloorCount,
    /// The master of the node that was asked: the node itself, the one that it follows, or `None`
    /// while it seeks one.
    pub master: Option<NodeId>,
    /// The term of the node's mastership; if it is not master, the highest that it knows.
    pub term: Term,
    /// Everything in its store is on its disk.
    pub durable: bool,
    pub disk_failed: bool,
    /// Why one of its fleet keys is missing.
    #[serde(default)]
    pub fleet_keys_missing: Option<String>,
    /// The node that was asked and every node that it hears, by name.
    pub nodes: Vec<PeerStatus>,
    /// The nodes that were peers and are no longer heard, by name.
    pub lost: Vec<LostStatus>,
    /// Why cars hung whose nodes have not run since, by name.
    #[serde(default)]
    pub hangs: Vec<HangStatus>,
    /// The heard nodes that can't be peers.
    pub conflicts: Vec<ConflictStatus>,
    /// The open orders, oldest first; one entry per call.
    pub orders: Vec<OrderStatus>,
    #[serde(default)]
    pub fire_recall: bool,
    /// The building runs on emergency power: one car moves at a time.
    #[serde(default)]
    pub emergency_power: bool,
    /// On emergency power, the car whose turn it is.
    #[serde(default)]
    pub turn: Option<NodeId>,
    /// The floors to which a call needs a right of access.
    #[serde(default)]
    pub locked_floors: Vec<Floor>,
}

impl From<&Status> for FleetStatus {
    fn from(status: &Status) -> Self {
        let own = PeerStatus {
            node: status.node.clone(),
            role: status.role,
            address: status.address,
            node_state: status.node_state.clone(),
            silent: Duration::ZERO,
            round_trip: None,
            loss: None,
            synced: true,
            in_step: true,
            car: status.car.as_ref().map(|car| car.view),
        };
        let mut nodes: Vec<PeerStatus> =
            iter::once(own).chain(status.peers.iter().cloned()).collect();
        nodes.sort_by(|one, other| one.node.cmp(&other.node));
        Self {
            seen_by: status.node.clone(),
            fleet: status.fleet.clone(),
            election: status.election,
            floors: status.floors,
            master: match &status.node_state {
                NodeState::Master => Some(status.node.clone()),
                NodeState::Slave { master } => Some(master.clone()),
                NodeState::Seeking => None,
            },
            term: status.term,
            durable: status.durable,
            disk_failed: status.disk_failed,
            fleet_keys_missing: status.fleet_keys.missing.clone(),
            nodes,
            lost: status.lost.clone(),
            hangs: status.hangs.clone(),
            conflicts: status.conflicts.clone(),
            orders: status.orders.clone(),
            fire_recall: status.is_fire_recalled(),
            emergency_power: status.is_on_emergency_power(),
            turn: status.emergency_car().cloned(),
            locked_floors: status.access.locked.clone(),
        }
    }
}
