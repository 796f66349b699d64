//! What the API of `/api/v1` says of a fleet, made from a [`Status`].
//!
//! These types are the contract, with a schema of their own: the status may change with the program,
//! they only grow. They are the same whether a node serves them over HTTP or a fleet in virtual time
//! shows them in a browser. Nothing here reads a clock, opens a file or a socket.

mod call;
mod car;
pub mod dispatcher;
mod estimate;
mod presses;
mod requests;
mod session;
mod statistics;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::{Duration, SystemTime};

use elevator_driver::{Floor, FloorCount, Side};
use elevator_fleet::election::Detail;
use elevator_fleet::json::{BuildingForm, NodeStateForm};
use elevator_fleet::model::{Call, CarPhase, CarView, FleetName, HallCall, Mode, NodeId, Role};
use elevator_fleet::node::{
    ConflictStatus, HangStatus, LossCause, LostStatus, OrderStatus, Status,
};
use elevator_fleet::settings::{Session, SessionState};
use elevator_fleet::wire::NodeState;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use elevator_fleet::node::Command;

pub use self::call::{CallReport, CallState, CallWish, RobotKind, RobotTrip};
pub use self::car::Car;
pub use self::estimate::Flights;
pub use self::presses::{PressFate, PressStatus, Presses};
pub use self::requests::{
    ClearHang, GiveCommand, HangCleared, NextFloor, PlaceCall, Release, Released,
};
pub use self::session::SessionView;
pub use self::statistics::{
    CarShare, FloorShare, HourShare, Period, Share, Statistics, Times, Waiting,
};

/// Everything that a panel shows.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct State {
    pub fleet: Fleet,
    pub cars: Vec<Car>,
    pub orders: Vec<Order>,
    /// The open sessions of robots.
    pub sessions: Vec<SessionView>,
}

/// The fleet, as the node that answers sees it. Times are in seconds.
#[expect(clippy::struct_excessive_bools, reason = "the form of the contract")]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Fleet {
    /// The node that answers.
    #[schema(value_type = String, example = "A")]
    pub node: NodeId,
    #[schema(value_type = String, example = "liftmesh")]
    pub fleet: FleetName,
    /// The time of this state, in UTC.
    #[schema(example = "2026-05-01T12:00:00.123Z")]
    pub at: String,
    /// Time since the node started.
    pub uptime: f64,
    /// The floors, and the cars that do not serve all of them.
    pub building: BuildingForm,
    /// The master, if the node knows one.
    #[schema(value_type = Option<String>)]
    pub master: Option<NodeId>,
    /// How long ago the node got this master; null if it has none. If the node started not long
    /// before, the master may have led for longer.
    pub master_since: Option<f64>,
    /// The highest term that the node knows.
    pub term: u64,
    /// The election protocol.
    #[schema(example = "lowest-ip")]
    pub election: String,
    /// The protocol's own state.
    pub election_state: Vec<Detail>,
    /// The node itself, then the ones it hears, by name.
    pub nodes: Vec<Node>,
    /// Former peers that are no longer heard.
    pub lost: Vec<LostStatus>,
    /// Nodes that are heard but can't be peers.
    pub conflicts: Vec<ConflictStatus>,
    /// The digest of the order store; equal stores have equal digests.
    #[schema(example = "00f3a1c29d5e7b84")]
    pub digest: String,
    /// Everything in the store is on disk.
    pub durable: bool,
    /// The disk has failed.
    pub disk_failed: bool,
    /// Why configured fleet keys can't be used; null if all can.
    pub fleet_keys_missing: Option<String>,
    /// The nodes whose car is known to have hung.
    #[schema(value_type = Vec<String>)]
    pub hung: Vec<NodeId>,
    /// Why they hung, as far as their nodes could report it.
    pub hangs: Vec<HangStatus>,
    /// The cars whose alarm no operator has acknowledged.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub alarms: Vec<NodeId>,
    /// All service modes of a car, least restrictive first.
    #[schema(value_type = Vec<String>, example = json!(["in-service", "independent"]))]
    pub modes: Vec<Mode>,
    /// All cars are recalled because of a fire, until an operator ends the recall.
    pub fire_recall: bool,
    /// The floors to which a car call or a destination call needs a right of access.
    #[schema(value_type = Vec<String>, example = json!(["5"]))]
    pub locked_floors: Vec<Floor>,
    /// How many such calls the answering node has refused since it started.
    pub locked_floor_refusals: u64,
    /// The building runs on emergency power until an operator ends it: one car moves at a time.
    pub emergency_power: bool,
    /// On emergency power, the car whose turn it is.
    #[schema(value_type = Option<String>)]
    pub turn: Option<NodeId>,
}

/// A node of the fleet.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Node {
    #[schema(value_type = String, example = "A")]
    pub node: NodeId,
    /// `cabin`, `control-unit` or `indicator`.
    #[schema(value_type = String, example = "cabin")]
    pub role: Role,
    #[schema(value_type = String, example = "192.168.1.11")]
    pub address: Ipv4Addr,
    /// Whether this is the node that answers.
    #[serde(rename = "self")]
    pub is_self: bool,
    #[serde(with = "NodeStateForm")]
    #[schema(value_type = NodeStateForm)]
    pub node_state: NodeState,
    /// The time since it was last heard, in seconds.
    pub silent: f64,
    /// The shortest time in the last minute between a beacon and its echo, in seconds.
    pub round_trip: Option<f64>,
    /// The share of its beacons that were lost in the last minute, from 0 to 1.
    pub loss: Option<f64>,
    /// There is a link to it, and the state transfer over it is complete.
    pub synced: bool,
    /// Its order store equals that of the node that answers.
    pub in_step: bool,
}

/// An open order.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Order {
    /// Identifies the call: at most one order is open for each.
    #[schema(example = "hall-3-up")]
    pub id: String,
    #[serde(flatten)]
    pub what: OrderStatus,
    pub state: OrderState,
}

/// The progress of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrderState {
    /// No car is assigned.
    BeingAllocated,
    /// A car is assigned.
    BeingServed,
    /// The assigned car is on its way to the call's floor without another stop, or opening its door
    /// there.
    ServedSoon,
}

impl State {
    /// The state of the fleet at this moment of the wall clock.
    #[must_use]
    pub fn new(status: &Status, flights: &Flights, at: SystemTime) -> Self {
        let is_open = |session: &&Session| !matches!(session.state, SessionState::Ended(_));
        Self {
            fleet: Fleet::new(status, at),
            cars: Car::all(status, flights, at),
            orders: status.orders.iter().map(|order| Order::new(order, status)).collect(),
            sessions: status.sessions().filter(is_open).map(SessionView::from).collect(),
        }
    }
}

impl Fleet {
    #[must_use]
    pub fn floors(&self) -> FloorCount {
        FloorCount::nearest(self.building.floors.len())
    }

    fn new(status: &Status, at: SystemTime) -> Self {
        let has_master = status.node_state != NodeState::Seeking;
        let own = Node {
            node: status.node.clone(),
            role: status.role,
            address: status.address,
            is_self: true,
            node_state: status.node_state.clone(),
            silent: 0.0,
            round_trip: None,
            loss: None,
            synced: true,
            in_step: true,
        };
        let peers = status.peers.iter().map(|peer| Node {
            node: peer.node.clone(),
            role: peer.role,
            address: peer.address,
            is_self: false,
            node_state: peer.node_state.clone(),
            silent: seconds(peer.silent),
            round_trip: peer.round_trip.map(|time| time.as_secs_f64()),
            loss: peer.loss,
            synced: peer.synced,
            in_step: peer.in_step,
        });
        Self {
            node: status.node.clone(),
            fleet: status.fleet.clone(),
            at: humantime::format_rfc3339_millis(at).to_string(),
            uptime: seconds(status.uptime),
            building: (&status.building).into(),
            master: match &status.node_state {
                NodeState::Master => Some(status.node.clone()),
                NodeState::Slave { master } => Some(master.clone()),
                NodeState::Seeking => None,
            },
            master_since: has_master.then(|| seconds(status.state_since)),
            term: status.term.0,
            election: status.election.to_string(),
            election_state: status.election_state.clone(),
            nodes: std::iter::once(own).chain(peers).collect(),
            lost: status.lost.clone(),
            conflicts: status.conflicts.clone(),
            digest: format!("{:016x}", status.digest),
            durable: status.durable,
            disk_failed: status.disk_failed,
            fleet_keys_missing: status.fleet_keys.missing.clone(),
            hung: hung(status),
            hangs: status.hangs.clone(),
            alarms: status.alarms().cloned().collect(),
            modes: Mode::ALL.to_vec(),
            fire_recall: status.is_fire_recalled(),
            locked_floors: status.access.locked.clone(),
            locked_floor_refusals: status.access.refused,
            emergency_power: status.is_on_emergency_power(),
            turn: status.emergency_car().filter(|_| status.is_on_emergency_power()).cloned(),
        }
    }
}

/// The nodes whose car hung, by name: those that say so, those that were lost because of it, and those
/// that have not run since.
#[must_use]
pub fn hung(status: &Status) -> Vec<NodeId> {
    let living =
        views(status).filter(|(_, view)| view.availability.is_hung()).map(|(node, _)| node);
    let lost = status.lost.iter().filter(|lost| lost.cause == LossCause::Hung);
    let others = lost.map(|lost| &lost.node).chain(status.hangs.iter().map(|hang| &hang.car));
    let all: BTreeSet<&NodeId> = living.chain(others).collect();
    all.into_iter().cloned().collect()
}

/// The cars that are known, the node's own first.
pub fn views(status: &Status) -> impl Iterator<Item = (&NodeId, &CarView)> {
    let own = status.car.iter().map(|car| (&status.node, &car.view));
    let others = status.peers.iter().filter_map(|peer| Some((&peer.node, peer.car.as_ref()?)));
    own.chain(others)
}

impl Order {
    fn new(order: &OrderStatus, status: &Status) -> Self {
        let state = match &order.car {
            None => OrderState::BeingAllocated,
            Some(car) if is_about_to_serve(status, car, &order.call) => OrderState::ServedSoon,
            Some(_) => OrderState::BeingServed,
        };
        Self { id: id_of(&order.call), what: order.clone(), state }
    }
}

fn is_about_to_serve(status: &Status, car: &NodeId, call: &Call) -> bool {
    views(status).any(|(node, view)| node == car && serves_next(view, call))
}

fn serves_next(view: &CarView, call: &Call) -> bool {
    let floor = call.floor();
    match view.phase {
        CarPhase::Moving { stop_at, .. } => stop_at == floor,
        CarPhase::Opening | CarPhase::Open => view.floor == Some(floor),
        CarPhase::Idle | CarPhase::Homing | CarPhase::Closing => false,
    }
}

/// The name of a call, such as `hall-3-up`, `destination-0-3` or `car-A-5`; of one at a rear entrance
/// `rear-hall-3-up` or `rear-car-A-5`.
#[must_use]
pub fn id_of(call: &Call) -> String {
    match call {
        Call::Hall(HallCall { floor, to: Some(to), .. }) => format!("destination-{floor}-{to}"),
        Call::Hall(HallCall { floor, direction, side, .. }) => {
            format!("{}hall-{floor}-{direction}", prefix(*side))
        }
        Call::Car { car, floor, side } => format!("{}car-{car}-{floor}", prefix(*side)),
    }
}

fn prefix(side: Side) -> &'static str {
    match side {
        Side::Front => "",
        Side::Rear => "rear-",
    }
}

/// Seconds, to the millisecond.
fn seconds(time: Duration) -> f64 {
    rounded(time.as_secs_f64())
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use elevator_driver::Direction;
    use elevator_fleet::model::{Availability, FloorSet, Shut};

    use super::*;

    pub(crate) fn view(phase: CarPhase, at: u8) -> CarView {
        CarView {
            availability: Availability::InService,
            floor: Some(floor(at)),
            phase,
            elapsed: Duration::ZERO,
            direction: None,
            load: None,
            locked_out: FloorSet::default(),
            mode: Mode::InService,
            shut: Shut::default(),
        }
    }

    pub(crate) fn floor(index: u8) -> Floor {
        Floor::try_from(index).unwrap()
    }

    /// A call is served soon if its floor is the car's next stop, or if the door opens there.
    #[test]
    fn a_call_is_served_soon_when_its_floor_is_the_next_stop() {
        let moving = |stop_at| CarPhase::Moving {
            direction: Direction::Up,
            stop_at: floor(stop_at),
            next_stop: floor(2),
        };
        let calls = [
            Call::Hall(HallCall::new(floor(3), Direction::Down)),
            Call::Hall(HallCall::to(floor(3), floor(0)).unwrap()),
            Call::ride(&NodeId::new("A").unwrap(), floor(3)),
        ];
        for call in &calls {
            for (phase, at, soon) in [
                (moving(3), 1, true),
                (moving(2), 1, false),
                (CarPhase::Opening, 3, true),
                (CarPhase::Open, 3, true),
                (CarPhase::Opening, 2, false),
                (CarPhase::Open, 2, false),
                (CarPhase::Closing, 3, false),
            ] {
                assert_eq!(serves_next(&view(phase, at), call), soon, "{phase:?} at {at}");
            }
        }
    }
}
