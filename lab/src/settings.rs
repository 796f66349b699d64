//! The settings of a world.

mod form;

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::FloorCount;
use elevator_driver::vocabulary::BuildingError;
use elevator_fleet::car::CarSettings;
use elevator_fleet::dispatch::{Schedule, Strategy};
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::json::BuildingForm;
use elevator_fleet::model::{NameError, Role};
use elevator_fleet::node::MeshTimes;
use elevator_fleet::wire::Protocol;
use elevator_simulator::config::ConfigError;
use serde::{Deserialize, Serialize};

use crate::network::{Bursts, Weather};

/// The settings of a world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct WorldSettings {
    /// How many machines, 1 to 200. They are named A, B, … and have ascending addresses.
    pub nodes: usize,
    /// The last byte of the first machine's address, 1 to 54; 127.0.0.1 by default.
    pub first_address: u8,
    pub seed: u64,
    pub floors: FloorCount,
    /// A building with labels, heights or cars that do not serve every floor; it has `floors`.
    #[serde(default)]
    pub building: Option<BuildingForm>,
    #[serde(with = "form")]
    pub election: ElectionSettings,
    /// The machines that have other settings of it: estimates, for example.
    #[serde(with = "form::by_machine")]
    pub elections: BTreeMap<usize, ElectionSettings>,
    /// The machines that are no cabins.
    pub roles: BTreeMap<usize, Role>,
    pub weather: Weather,
    /// Its losses come in bursts.
    pub bursts: Option<Bursts>,
    /// No message of the election gets lost between two machines that reach each other.
    #[serde(default)]
    pub reliable_elections: bool,
    /// The machines whose clocks are wrong: how many milliseconds they count in a second, more than
    /// 0. A process measures every time by its clock.
    pub clock_rates: BTreeMap<usize, u32>,
    /// How long a disk takes for a transaction, in microseconds.
    pub commit: std::ops::RangeInclusive<u64>,
    /// How masters assign hall calls. Where it matters that idle cars stay where they are, choose one
    /// that does not park them.
    pub strategy: Strategy,
    /// Where idle cars wait by the time of the week: see [`World::set_local_time`](crate::World).
    #[serde(default)]
    pub schedule: Schedule,
    /// How long a plan takes, in microseconds; up to 0, the answer comes at once.
    pub planning: std::ops::RangeInclusive<u64>,
    /// Packets go through their real bytes, which costs time.
    pub codec: bool,
    /// Beacons are sent and accepted with a fleet key only. Links, and packets of an election with
    /// a separate port, are what they would be: authentic.
    pub key: bool,
    /// The invariants are looked at, and how well the mastership is held, which costs time.
    pub inspect: bool,
    /// A mistake in the installation. Nobody is expected to form a group then.
    pub twins: Option<Twins>,
}

impl WorldSettings {
    /// So many machines in a building with four floors, on a sound LAN.
    #[must_use]
    pub fn new(nodes: usize, seed: u64) -> Self {
        Self {
            nodes,
            first_address: 1,
            seed,
            floors: CarSettings::default().floors,
            building: None,
            election: ElectionSettings::of(Protocol::LowestIp),
            elections: BTreeMap::new(),
            roles: BTreeMap::new(),
            weather: Weather::default(),
            bursts: None,
            reliable_elections: false,
            clock_rates: BTreeMap::new(),
            commit: 1_000..=8_000,
            strategy: Strategy::default(),
            schedule: Schedule::default(),
            planning: 0..=0,
            codec: true,
            key: false,
            inspect: true,
            twins: None,
        }
    }

    /// The same, in which idle cars stay where they are: for elections, which should be compared
    /// without messages that have nothing to do with them.
    #[must_use]
    pub fn without_parking(nodes: usize, seed: u64) -> Self {
        Self { strategy: Strategy::Collective, ..Self::new(nodes, seed) }
    }

    /// What makes it impossible, in settings that were read from a file.
    pub(crate) fn wrong(&self) -> Option<&'static str> {
        let is_missing = |twins: &Twins| {
            let (Twins::Name(one, other) | Twins::Address(one, other)) = twins;
            one == other || *one.max(other) >= self.nodes
        };
        let last = usize::from(self.first_address) + self.nodes;
        let ranges = [&self.weather.delay, &self.commit, &self.planning];
        if self.first_address == 0 || last > 255 {
            Some("its addresses are not within 127.0.0.1 to 127.0.0.254")
        } else if self.twins.as_ref().is_some_and(is_missing) {
            Some("its twins are not two of its nodes")
        } else if self.clock_rates.values().any(|rate| *rate == 0) {
            Some("a clock stands still")
        } else if ranges.iter().any(|range| range.is_empty()) {
            Some("a range is empty")
        } else {
            None
        }
    }

    /// C3: how long the election may take once the network is whole and quiet.
    #[must_use]
    pub fn bound(&self) -> Duration {
        self.election.bound(&MeshTimes::default(), self.nodes)
    }
}

/// What two machines have in common that they must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Twins {
    Name(usize, usize),
    /// The second has the address of the first. What is sent to it comes to the first.
    Address(usize, usize),
}

/// A world that can't be made.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// A name that a node can't have.
    #[error("a node can't have this name")]
    Name(#[from] NameError),
    /// A car that can't be.
    #[error("there can be no such car")]
    Car(#[from] ConfigError),
    /// Some floor is served by no car, for example.
    #[error("there can be no such building")]
    Building(#[from] BuildingError),
    /// Too few or too many machines.
    #[error("a world has 1 to 200 machines, not {0}")]
    Nodes(usize),
}
