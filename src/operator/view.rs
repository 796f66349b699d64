//! What a node shows of itself: the JSON of the operator's socket, of `liftmesh status --json`,
//! and of whatever else shows a node to people.
//!
//! Fields may be added; those that are here keep their names and meanings. Times are in seconds,
//! floors count from 0 at the bottom.

mod car;
mod climate;
mod event;
mod trouble;

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::{Direction, Floor};
use elevator_fleet::election::Detail;
use elevator_fleet::model::{Call, HallCall, NodeId, Role};
use elevator_fleet::node::{OrderStatus, PeerStatus, Status};
use elevator_fleet::wire::Standing;
use serde::{Deserialize, Serialize};

pub use self::car::{DoorView, GroupCarView, LampView, LineView, OwnCarView, PhaseView};
pub use self::climate::{ClimateView, UnitView};
pub use self::event::{EventKind, EventView};
pub use self::trouble::{ConflictKindView, ConflictView, LatchedView, LossView, LostView};

/// A node's whole state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusView {
    /// The node's name, which is its car's too, where it has one.
    pub node: String,
    /// What it is there for: `cabin`, `control-unit` or `indicator`.
    pub role: String,
    /// Its fleet.
    pub fleet: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The MAC address of its interface, or what stands in for it.
    pub mac: String,
    /// How the coordinator is elected, such as `lowest-ip`.
    pub election: String,
    /// The election protocol's own state.
    pub election_state: Vec<DetailView>,
    /// The number of floors.
    pub floors: u8,
    /// How long the node has run.
    pub uptime: f64,
    /// Where it stands.
    pub standing: StandingView,
    /// The highest term it knows.
    pub term: u64,
    /// The digest of its order store, 16 hexadecimal digits; equal stores have equal ones.
    pub digest: String,
    /// How many registers the store has: one for each call of a journal that was ever pressed.
    #[serde(default)]
    pub registers: usize,
    /// Of how many journals they are: one for each node that runs, and a bounded number of others.
    #[serde(default)]
    pub journals: usize,
    /// How many journals that nobody uses were dropped since the start, as there were too many.
    #[serde(default)]
    pub collected: u64,
    /// How many records of other nodes were refused since the start, by reason.
    #[serde(default)]
    pub refused: BTreeMap<String, u64>,
    /// How often peers were treated as gone for a time since the start, by reason.
    #[serde(default)]
    pub distrusted: BTreeMap<String, u64>,
    /// Everything in the store is on disk.
    pub durable: bool,
    /// The disk has failed: no lamp is lit on its strength.
    pub disk_failed: bool,
    /// How many messages of the log were lost, because nobody read them in time or they could not
    /// be written.
    #[serde(default)]
    pub log_lines_lost: u64,
    /// What the mesh has counted since the start, by name.
    #[serde(default)]
    pub mesh: BTreeMap<String, u64>,
    /// The other nodes that are heard.
    pub peers: Vec<PeerView>,
    /// The nodes that were peers and are not heard any more, by name.
    #[serde(default)]
    pub lost: Vec<LostView>,
    /// The nodes that are heard and do not go together with this one.
    #[serde(default)]
    pub conflicts: Vec<ConflictView>,
    /// The open orders, the oldest first.
    pub orders: Vec<OrderView>,
    /// The node's own car; null for a node without one.
    pub car: Option<OwnCarView>,
    /// The climate, and what the indicator shows.
    #[serde(default)]
    pub climate: ClimateView,
}

/// One line of an election protocol's own state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailView {
    /// What it is, such as `round`.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Where a node stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum StandingView {
    /// No coordinator yet: the node serves alone.
    Seeking,
    /// It follows a master.
    Slave {
        /// The master's name.
        master: String,
    },
    /// It coordinates.
    Master,
}

/// Another node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerView {
    /// Its name.
    pub node: String,
    /// What it is there for.
    pub role: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Where it stands.
    pub standing: StandingView,
    /// How long ago it was last heard.
    pub silent: f64,
    /// There is a link to it over which full states have been exchanged.
    pub joined: bool,
    /// Its order store equals this node's.
    pub in_step: bool,
    /// Its car, as it described it; null where it has not.
    pub car: Option<GroupCarView>,
}

/// An open order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderView {
    /// What was asked for.
    pub call: CallView,
    /// How long the oldest press of it has waited.
    pub waited: f64,
    /// The car that is to serve it; null where that is open.
    pub car: Option<String>,
    /// The lamp may be lit: the order survives the loss of any one node.
    pub promised: bool,
    /// How many living nodes are known to hold it, this one included.
    pub holders: usize,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CallView {
    /// From a landing.
    Hall {
        /// The landing.
        floor: u8,
        /// Where the passenger wants to go.
        direction: DirectionView,
    },
    /// From inside a car.
    Cab {
        /// The car.
        car: String,
        /// Where the passenger wants to get off.
        floor: u8,
    },
}

/// Up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DirectionView {
    /// Towards the top floor.
    Up,
    /// Towards floor 0.
    Down,
}

impl StatusView {
    /// The names of the node and of all peers that it hears.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        let peers = self.peers.iter().map(|peer| peer.node.as_str());
        std::iter::once(self.node.as_str()).chain(peers)
    }

    /// The names of the cars: that of the node, where it has one, and those of the peers that it
    /// hears.
    pub fn cars(&self) -> impl Iterator<Item = &str> {
        let own = self.car.is_some().then_some(self.node.as_str());
        let cabin = Role::Cabin.to_string();
        let peers = self.peers.iter().filter(move |peer| peer.role == cabin);
        own.into_iter().chain(peers.map(|peer| peer.node.as_str()))
    }

    /// The open order for a call, if any.
    #[must_use]
    pub fn order(&self, call: &CallView) -> Option<&OrderView> {
        self.orders.iter().find(|order| order.call == *call)
    }
}

impl From<&Status> for StatusView {
    fn from(status: &Status) -> Self {
        Self {
            node: status.hello.node.to_string(),
            role: status.hello.role.to_string(),
            fleet: status.hello.fleet.to_string(),
            address: status.hello.address,
            mac: status.hello.mac.to_string(),
            election: status.hello.protocol.to_string(),
            election_state: status.election.iter().map(DetailView::from).collect(),
            floors: status.hello.floors.get(),
            uptime: seconds(status.uptime),
            standing: (&status.standing).into(),
            term: status.term.0,
            digest: format!("{:016x}", status.digest),
            registers: status.registers,
            journals: status.journals,
            collected: status.collected,
            refused: counted([
                ("impossible", status.refused.impossible),
                ("services", status.refused.services),
                ("no_room", status.refused.no_room),
            ]),
            distrusted: counted([
                ("rubbish", status.distrusted.rubbish),
                ("neglect", status.distrusted.neglect),
            ]),
            durable: status.durable,
            disk_failed: status.disk_failed,
            log_lines_lost: 0,
            mesh: BTreeMap::new(),
            peers: status.peers.iter().map(PeerView::from).collect(),
            lost: status.lost.iter().map(LostView::from).collect(),
            conflicts: status.conflicts.iter().map(ConflictView::from).collect(),
            orders: status.orders.iter().map(OrderView::from).collect(),
            car: status.car.as_ref().map(OwnCarView::from),
            climate: (&status.climate).into(),
        }
    }
}

/// What happened at least once.
fn counted<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    counts
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

impl From<&Detail> for DetailView {
    fn from(detail: &Detail) -> Self {
        Self {
            name: detail.name.to_owned(),
            value: detail.value.clone(),
        }
    }
}

impl fmt::Display for DetailView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.name, self.value))
    }
}

impl From<&Standing> for StandingView {
    fn from(standing: &Standing) -> Self {
        match standing {
            Standing::Seeking => Self::Seeking,
            Standing::Slave { master } => Self::Slave {
                master: master.to_string(),
            },
            Standing::Master => Self::Master,
        }
    }
}

impl fmt::Display for StandingView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seeking => f.pad("seeking"),
            Self::Slave { master } => f.pad(&format!("slave of {master}")),
            Self::Master => f.pad("master"),
        }
    }
}

impl From<&PeerStatus> for PeerView {
    fn from(peer: &PeerStatus) -> Self {
        Self {
            node: peer.node.to_string(),
            role: peer.role.to_string(),
            address: peer.address,
            standing: (&peer.standing).into(),
            silent: seconds(peer.silent),
            joined: peer.joined,
            in_step: peer.in_step,
            car: peer.car.as_ref().map(GroupCarView::from),
        }
    }
}

impl From<&OrderStatus> for OrderView {
    fn from(order: &OrderStatus) -> Self {
        Self {
            call: (&order.call).into(),
            waited: seconds(order.waited),
            car: order.car.as_ref().map(NodeId::to_string),
            promised: order.promised,
            holders: order.holders,
        }
    }
}

impl From<&Call> for CallView {
    fn from(call: &Call) -> Self {
        match call {
            Call::Hall(call) => Self::Hall {
                floor: call.floor.index(),
                direction: call.direction.into(),
            },
            Call::Cab { car, floor } => Self::Cab {
                car: car.to_string(),
                floor: floor.index(),
            },
        }
    }
}

/// A call that names no floor of any shaft, or no possible car.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No shaft has this floor.
    #[error(transparent)]
    Floor(#[from] elevator_driver::vocabulary::FloorError),
    /// No node can have this name.
    #[error(transparent)]
    Name(#[from] elevator_fleet::model::NameError),
}

impl TryFrom<&CallView> for Call {
    type Error = CallError;

    fn try_from(call: &CallView) -> Result<Self, CallError> {
        Ok(match call {
            CallView::Hall { floor, direction } => Self::Hall(HallCall {
                floor: Floor::try_from(*floor)?,
                direction: (*direction).into(),
            }),
            CallView::Cab { car, floor } => Self::Cab {
                car: NodeId::new(car)?,
                floor: Floor::try_from(*floor)?,
            },
        })
    }
}

impl fmt::Display for CallView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hall { floor, direction } => f.pad(&format!("hall {floor} {direction}")),
            Self::Cab { car, floor } => f.pad(&format!("cab {car} {floor}")),
        }
    }
}

impl From<Direction> for DirectionView {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Up => Self::Up,
            Direction::Down => Self::Down,
        }
    }
}

impl From<DirectionView> for Direction {
    fn from(direction: DirectionView) -> Self {
        match direction {
            DirectionView::Up => Self::Up,
            DirectionView::Down => Self::Down,
        }
    }
}

impl fmt::Display for DirectionView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Direction::from(*self).fmt(f)
    }
}

/// To the millisecond: more would be noise on a screen.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000.0).round() / 1_000.0
}
