//! The times of the mesh.

use std::time::Duration;

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
    /// The wait after a failed dial, doubled up to three times, with jitter. Default 50 ms.
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
