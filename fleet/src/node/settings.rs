//! What a node is told at its start.

use core::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::FloorCount;

use crate::car::{CarSettings, FlightRecord};
use crate::climate::ClimateSettings;
use crate::election::ElectionSettings;
use crate::model::{FleetName, JournalId, Mac, NodeId, Role, Term};
use crate::orders::Record;
use crate::wire::Nonce;

/// Everything that a node needs to know beforehand.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    /// Who it is.
    pub identity: Identity,
    /// How the master is elected.
    pub election: ElectionSettings,
    /// The floors of the shafts, the same on every node.
    pub floors: FloorCount,
    /// The mesh's times.
    pub mesh: MeshTimes,
    /// The car, or `None` for a node without one.
    pub car: Option<CarSettings>,
    /// How the climate is measured and shown.
    pub climate: ClimateSettings,
    /// What stood on disk.
    pub restored: Restored,
    /// The seed of all that the node draws by lot.
    pub seed: u64,
}

/// Who a node is.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its fleet.
    pub fleet: FleetName,
    /// Its name, and that of its car.
    pub node: NodeId,
    /// Its address on the LAN.
    pub address: Ipv4Addr,
    /// The address of its interface on the LAN.
    pub mac: Mac,
    /// What it is there for.
    pub role: Role,
    /// The TCP port on which it listens for links.
    pub link_port: u16,
    /// The incarnation of its process: random.
    pub nonce: Nonce,
}

/// The mesh's times. Their defaults suit a LAN with some loss and jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshTimes {
    /// Between two beacons. Default 25 ms; at most a quarter of `dead_after`.
    pub beacon_period: Duration,
    /// Between two beacons that are sent because of changes. Default 4 ms; at most `beacon_period`.
    pub beacon_gap: Duration,
    /// How long a peer may be silent before it is probed. Default 60 ms; between
    /// `beacon_period` and `dead_after`.
    pub probe_after: Duration,
    /// Between two probes. Default 10 ms.
    pub probe_period: Duration,
    /// How long a peer may be silent before it counts as dead. Default 200 ms.
    pub dead_after: Duration,
    /// How long a difference between two stores may last before it is repaired. Default 250 ms.
    pub repair_after: Duration,
    /// After a failed dial the next one waits for this, doubled at each further one up to eight
    /// times as long, with jitter. Default 50 ms.
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

/// What the journal holds when the node starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// The journal's identity: random, made with the journal (O4).
    pub journal: JournalId,
    /// Sequences up to this one may have been used before; all later ones are fresh.
    pub used: u64,
    /// Sequences up to this one may be used without asking the disk again; at least `used`.
    pub reserved: u64,
    /// No term that the node has known is greater (E3).
    pub term: Term,
    /// Every register on disk, with its age at this moment.
    pub records: Vec<Record>,
    /// How long the legs of the node's car take.
    pub flight_times: Vec<FlightRecord>,
}
