//! The settings of a node.

use core::net::Ipv4Addr;
use std::sync::Arc;

use elevator_driver::Building;

use crate::car::CarSettings;
use crate::climate::ClimateSettings;
use crate::election::ElectionSettings;
use crate::model::{FleetName, Mac, MeshTimes, NodeId, Nonce, Role};
use crate::store::Restored;

#[derive(Debug, Clone)]
pub struct NodeSettings {
    pub identity: Identity,
    /// How the master is elected, and its times.
    pub election: ElectionSettings,
    /// The same on every node.
    pub building: Arc<Building>,
    pub mesh: MeshTimes,
    /// The car, or `None` for a node without one.
    pub car: Option<CarSettings>,
    /// How the climate is measured and shown.
    pub climate: ClimateSettings,
    pub restored: Restored,
    /// The seed of all random choices.
    pub seed: u64,
}

#[derive(Debug, Clone)]
pub struct Identity {
    pub fleet: FleetName,
    /// Its name, which is also the name of its car.
    pub node: NodeId,
    pub address: Ipv4Addr,
    /// The address of its interface on the LAN.
    pub mac: Mac,
    pub role: Role,
    /// The TCP port on which it listens for links.
    pub link_port: u16,
    /// The incarnation of its process: a random number.
    pub nonce: Nonce,
}
