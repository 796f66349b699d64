//! The status of a node.
//!
//! A serialized [`Status`] is the JSON of `GET /api/v1/status` and of `liftmesh status --json`. Fields may be added; existing ones keep their names and meanings.
//! Times are in seconds, floors count from 0 at the bottom.

mod view;

use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Alarm, Building, Floor};
use serde::{Deserialize, Serialize};

pub use self::view::FollowedCall;
use crate::cabin::{CarStatus, ClimateStatus};
use crate::car::HangEvidence;
use crate::dispatch::ProgramHealth;
use crate::election::Detail;
use crate::json::{
    self, HangForm, NodeStateForm, hexadecimal, is_zero, optional_car, optional_fine_seconds,
    seconds, text,
};
use crate::model::{Call, CarView, FleetName, Mac, Mode, NodeId, NodeState, Protocol, Role, Term};
use crate::peers::{ConflictKind, LossCause};
use crate::settings::{Key, PriorityCall, Request, Session, Setting, Words};
use crate::store::Refused;

/// The fleet keys of a node, by their ids. All empty: no key is configured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = FleetKeys))]
pub struct FleetKeysStatus {
    /// The key with which messages are sent, if there is one.
    pub sent: Option<u8>,
    /// The keys with which messages are accepted.
    pub accepted: Vec<u8>,
    /// Messages are accepted without a key, because the configuration says so.
    pub accepts_anybody: bool,
    /// Why one of the keys is missing. Without any other it serves alone.
    pub missing: Option<String>,
}

/// The status of a node, as shown to operators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeStatus))]
pub struct Status {
    /// The node's name, which is also the name of its car, if it has one.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub node: NodeId,
    /// The node's configured role.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub role: Role,
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub fleet: FleetName,
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub address: Ipv4Addr,
    /// The MAC address of the node's interface, or its substitute.
    #[serde(with = "text")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub mac: Mac,
    /// How the master is elected.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub election: Protocol,
    /// The election protocol's own state.
    pub election_state: Vec<Detail>,
    /// The floors, and the cars that do not serve all of them.
    #[serde(with = "crate::json::building")]
    #[cfg_attr(feature = "schema", schema(value_type = crate::json::BuildingForm))]
    pub building: Building,
    /// Time since the node started.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub uptime: Duration,
    #[serde(with = "NodeStateForm")]
    #[cfg_attr(feature = "schema", schema(value_type = NodeStateForm))]
    pub node_state: NodeState,
    /// How long ago it entered that state.
    #[serde(with = "seconds", default)]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub state_since: Duration,
    /// The term of its mastership; if it is not master, the highest that it knows (E3).
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub term: Term,
    /// The digest of the order store; equal stores have equal digests.
    #[serde(with = "hexadecimal")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub digest: u64,
    /// How many registers the store has: one per call and node at which it was ever pressed.
    #[serde(default)]
    pub registers: usize,
    /// How many records of peers were refused since the start.
    #[serde(default)]
    pub refused: Refused,
    /// How much the node has planned since the start.
    #[serde(default)]
    pub dispatch: DispatchStatus,
    /// The program that dispatches, if it is no built-in strategy. Filled in by the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatcher: Option<ProgramHealth>,
    /// Everything in the store is on disk.
    pub durable: bool,
    /// The disk has failed: no lamp is lit because of it (P5).
    pub disk_failed: bool,
    /// The fleet keys. Filled in by the process.
    #[serde(default)]
    pub fleet_keys: FleetKeysStatus,
    /// How many log messages were lost because they were not read in time or could not be written.
    /// Filled in by the process.
    #[serde(default)]
    pub log_lines_lost: u64,
    /// The MQTT topics on which the broker takes nothing from this node; at most 64 of a connection.
    /// Filled in by the process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mqtt_refused: Vec<String>,
    /// The counters of the mesh since the start, by name. Filled in by the process.
    #[serde(default)]
    pub mesh: BTreeMap<String, u64>,
    /// How much waits in the queues of the process, by name. Filled in by the process.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, usize>,
    /// The other nodes that are heard, by name.
    pub peers: Vec<PeerStatus>,
    /// The nodes that were peers and are no longer heard, by name; at most 64, each for a day.
    #[serde(default)]
    pub lost: Vec<LostStatus>,
    /// Why cars hung whose nodes have not run since, by name, as far as those have been able to tell.
    #[serde(default)]
    pub hangs: Vec<HangStatus>,
    /// The heard nodes whose configuration or version conflicts with this one, within the last
    /// minute.
    #[serde(default)]
    pub conflicts: Vec<ConflictStatus>,
    /// The settings: what operators have commanded until they command something else.
    #[serde(default)]
    pub settings: Vec<SettingStatus>,
    /// The settings outlive this node: a peer has all of them as well or, where none is heard, they
    /// are on disk.
    #[serde(default)]
    pub settings_held: bool,
    /// The locked floors, and who was refused because of them.
    #[serde(default)]
    pub access: AccessStatus,
    /// The schedule by which idle cars wait; `None` without one.
    #[serde(default)]
    pub schedule: Option<ScheduleStatus>,
    /// The open orders, oldest first; one entry per call.
    pub orders: Vec<OrderStatus>,
    /// The node's own car, if it has one.
    pub car: Option<CarStatus>,
    /// The climate, and what the indicator shows.
    #[serde(default)]
    pub climate: ClimateStatus,
}

impl Status {
    /// The sessions of robots that are remembered.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.settings.iter().filter_map(|it| {
            let Setting::Request(Request::Session(session)) = &it.setting else { return None };
            Some(session)
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SettingInForce))]
pub struct SettingStatus {
    /// What it sets, and to what.
    #[serde(flatten, with = "crate::settings::json")]
    #[cfg_attr(feature = "schema", schema(value_type = crate::settings::json::Form))]
    pub setting: Setting,
    /// Who commanded it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub operator: Words,
}

/// The schedule by which idle cars wait while this node is master.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Schedule))]
pub struct ScheduleStatus {
    /// The local time of the week, such as `Tue 08:12`; `None` if the machine does not know it.
    pub local_time: Option<String>,
    /// The entry that holds, as it was configured; `None` if none does.
    pub entry: Option<String>,
}

/// The locked floors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Access))]
pub struct AccessStatus {
    /// The floors to which calls need a right of access.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub locked: Vec<Floor>,
    /// Those that are open in the node's own car for now.
    pub released: Vec<ReleaseStatus>,
    /// How many calls this node has refused because of a lock since its start.
    pub refused: u64,
}

/// A floor that is released in a car.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ReleasedFloor))]
pub struct ReleaseStatus {
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub floor: Floor,
    /// For how long still.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub left: Duration,
}

/// How much a node has planned since its start. Both grow with what happens in the building, never
/// with each other (N4). JSON omits the zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Dispatch))]
pub struct DispatchStatus {
    /// Plans that it has requested as master.
    #[serde(skip_serializing_if = "is_zero")]
    pub plans: u64,
    /// How often its car was told another stop, departures included.
    #[serde(skip_serializing_if = "is_zero")]
    pub target_changes: u64,
}

/// A peer, as this node sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Peer))]
pub struct PeerStatus {
    /// Its name.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub node: NodeId,
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub role: Role,
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub address: Ipv4Addr,
    #[serde(with = "NodeStateForm")]
    #[cfg_attr(feature = "schema", schema(value_type = NodeStateForm))]
    pub node_state: NodeState,
    /// How long ago it was last heard.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub silent: Duration,
    /// The shortest time in the last minute between a beacon of this node and its echo: the round trip,
    /// and the time until the peer's next beacon. JSON omits it if there was none.
    #[serde(with = "optional_fine_seconds", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<f64>))]
    pub round_trip: Option<Duration>,
    /// The share of its beacons that got lost in the last minute, from 0 to 1. JSON omits it if it is
    /// not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Whether the link to it is synced.
    pub synced: bool,
    /// Whether its store equals this node's.
    pub in_step: bool,
    /// Its car, as it described it.
    #[serde(with = "optional_car", default)]
    #[cfg_attr(feature = "schema", schema(value_type = Option<crate::json::CarForm>))]
    pub car: Option<CarView>,
}

/// A node that was a peer and is no longer heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Lost))]
pub struct LostStatus {
    /// Its name.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub node: NodeId,
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub role: Role,
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub address: Ipv4Addr,
    /// How long ago it was last heard.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub silent: Duration,
    /// Why it was lost, if known.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub cause: LossCause,
}

/// Why a car hung.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Hang))]
pub struct HangStatus {
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub car: NodeId,
    /// What its node knew when it ended.
    #[serde(flatten, with = "HangForm")]
    #[cfg_attr(feature = "schema", schema(value_type = HangForm))]
    pub evidence: HangEvidence,
}

/// A node that conflicts with this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Conflict))]
pub struct ConflictStatus {
    /// The kind of the conflict.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub kind: ConflictKind,
    /// A description with names and addresses.
    pub what: String,
    /// When it was first seen, as a time before now.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub since: Duration,
    /// When it was last seen, as a time before now.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub last: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = OpenOrder))]
pub struct OrderStatus {
    #[serde(with = "json::call")]
    #[cfg_attr(feature = "schema", schema(value_type = crate::json::CallForm))]
    pub call: Call,
    /// How long its oldest press has waited.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub waited: Duration,
    /// The car that is assigned to it, if any.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub car: Option<NodeId>,
    /// Whether its lamp may be lit: the order survives the loss of any one node (F12).
    pub promised: bool,
    /// How many living nodes are known to hold it, including this one.
    pub holders: usize,
    /// Which nodes these are, by name: the first eight.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub held_by: Vec<NodeId>,
    /// On whose disk it is known to be, of them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub durable_at: Vec<NodeId>,
}

/// The most nodes that are named for each order.
const MOST_NAMED: usize = 8;

impl Status {
    /// The names of this node and of all peers that it hears.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeId> {
        let peers = self.peers.iter().map(|peer| &peer.node);
        std::iter::once(&self.node).chain(peers)
    }

    /// The names of the cars of this node and of all peers that it hears.
    pub fn cars(&self) -> impl Iterator<Item = &NodeId> {
        let own = self.car.is_some().then_some(&self.node);
        let peers = self.peers.iter().filter(|peer| peer.role == Role::Cabin);
        own.into_iter().chain(peers.map(|peer| &peer.node))
    }

    fn setting(&self, key: &Key) -> Option<&Setting> {
        self.settings.iter().map(|it| &it.setting).find(|setting| setting.key() == *key)
    }

    /// The mode that an operator has set for a car.
    #[must_use]
    pub fn mode_set(&self, car: &NodeId) -> Option<Mode> {
        let Setting::Mode(_, mode) = self.setting(&Key::Mode(car.clone()))? else { return None };
        Some(*mode)
    }

    /// The priority call of a car.
    #[must_use]
    pub fn priority(&self, car: &NodeId) -> Option<PriorityCall> {
        let Setting::Priority(_, call) = self.setting(&Key::Priority(car.clone()))? else {
            return None;
        };
        *call
    }

    /// What has become of the alarm from a car.
    #[must_use]
    pub fn alarm(&self, car: &NodeId) -> Alarm {
        let Some(Setting::Alarm(_, alarm)) = self.setting(&Key::Alarm(car.clone())) else {
            return Alarm::Off;
        };
        *alarm
    }

    /// The cars whose alarm no operator has acknowledged.
    pub fn alarms(&self) -> impl Iterator<Item = &NodeId> {
        self.settings.iter().filter_map(|it| {
            let Setting::Alarm(car, Alarm::Sent) = &it.setting else { return None };
            Some(car)
        })
    }

    /// Whether the building runs on emergency power.
    #[must_use]
    pub fn is_on_emergency_power(&self) -> bool {
        matches!(self.setting(&Key::EmergencyPower), Some(Setting::EmergencyPower(Some(_))))
    }

    /// The car whose turn it is on emergency power.
    #[must_use]
    pub fn emergency_car(&self) -> Option<&NodeId> {
        let Setting::Turn(turn) = self.setting(&Key::Turn)? else { return None };
        turn.holder().map(|(car, _)| car)
    }

    /// Whether all cars are recalled because of a fire.
    #[must_use]
    pub fn is_fire_recalled(&self) -> bool {
        self.settings.iter().any(|it| it.setting.is_recall())
    }

    /// The open order for a call, if any.
    #[must_use]
    pub fn order(&self, call: &Call) -> Option<&OrderStatus> {
        self.orders.iter().find(|order| order.call == *call)
    }
}
