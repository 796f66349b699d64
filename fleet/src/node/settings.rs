//! The settings of a node.

use core::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::FloorCount;

use crate::car::{CarSettings, FlightRecord};
use crate::climate::ClimateSettings;
use crate::directives::Directive;
use crate::election::ElectionSettings;
use crate::model::{FleetName, JournalId, Mac, NodeId, Role, Term};
use crate::orders::Record;
use crate::wire::Nonce;

/// The settings of a node.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    /// The node's identity.
    pub identity: Identity,
    /// How the master is elected, and its times.
    pub election: ElectionSettings,
    /// The floors of the shafts, the same on every node.
    pub floors: FloorCount,
    /// The times of the mesh.
    pub mesh: MeshTimes,
    /// The car, or `None` for a node without one.
    pub car: Option<CarSettings>,
    /// How the climate is measured and shown.
    pub climate: ClimateSettings,
    /// The contents of the disk.
    pub restored: Restored,
    /// The seed of all random choices.
    pub seed: u64,
}

/// The identity of a node.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its fleet.
    pub fleet: FleetName,
    /// Its name, which is also the name of its car.
    pub node: NodeId,
    /// Its address on the LAN.
    pub address: Ipv4Addr,
    /// The address of its interface on the LAN.
    pub mac: Mac,
    /// Its configured role.
    pub role: Role,
    /// The TCP port on which it listens for links.
    pub link_port: u16,
    /// The incarnation of its process: a random number.
    pub nonce: Nonce,
}

/// The times of the mesh. The defaults suit a LAN with some loss and jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshTimes {
    /// The time between two beacons. Default 25 ms; at most a quarter of `dead_after`.
    pub beacon_period: Duration,
    /// The time between two beacons that carry changes. Default 4 ms; at most `beacon_period`.
    pub beacon_gap: Duration,
    /// How long a peer may be silent before it is probed. Default 60 ms; between
    /// `beacon_period` and `dead_after`.
    pub probe_after: Duration,
    /// The time between two probes. Default 10 ms.
    pub probe_period: Duration,
    /// How long a peer may be silent before it counts as dead. Default 200 ms.
    pub dead_after: Duration,
    /// How long a difference between two stores may last before it is repaired. Default 250 ms.
    pub repair_after: Duration,
    /// How long to wait after a failed dial. Doubled after each further failure up to eight times
    /// this, with jitter. Default 50 ms.
    pub redial_after: Duration,
}

impl Default for MeshTimes {
    fn default() -> Self {
        Self {
            beacon_period: Duration::from_millis(25),
            beacon_gap: Duration::from_millis(4),
            probe_after: Duration::from_millis(60),
            probe_period: Duration::from_millis(10),
            dead_after: Duration::from_millis(200),
            repair_after: Duration::from_millis(250),
            redial_after: Duration::from_millis(50),
        }
    }
}

/// The contents of the journal when the node starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// The journal's identity: a random number drawn when the journal is created (O4).
    pub journal: JournalId,
    /// Sequences up to this one may have been used; all later ones are unused.
    pub used: u64,
    /// Sequences up to this one may be used without another reservation; at least `used`.
    pub reserved: u64,
    /// The highest term that the node has known (E3).
    pub term: Term,
    /// Every register on disk, with its present age.
    pub records: Vec<Record>,
    /// The learned durations of the legs of the node's car.
    pub flight_times: Vec<FlightRecord>,
    /// The directives.
    pub directives: Vec<Directive>,
}
