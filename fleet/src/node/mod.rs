//! One node: a state machine that takes events as inputs and returns actions.
//!
//! ```text
//!   beacon, frame, link, panel, disk, operator, timer
//!        │ handle_*(…, now)
//!        ▼
//!       Node ──▶ Leadership, Peers, Store, Dispatching, Boarding, Commands, Access, Cabin
//!        │            each owns its state, and changes no other
//!        │ ◀───────── wishes, verdicts, effects, changes
//!        ▼ poll_action(), poll_timeout()
//!   panel; broadcast, dial, send, persist, report; plan ─▶ Dispatcher, on another thread
//! ```
//!
//! Each `handle_*` takes one input and then settles: it updates the car's stops and the lamps,
//! passes changes to the disk and the peers, and requests a plan if the node is master. Panel
//! outputs come before all other actions. The driver drains [`Node::poll_action`] after each call
//! and sleeps until [`Node::poll_timeout`].
//!
//! `handle.rs` has the inputs, `settle.rs` what follows from each of them. Each component is
//! documented on its first page. Modules beside this one:
//!
//! - `store/`: the orders, and what disk and peers have not got yet;
//! - `peers/`: membership, links, beacons;
//! - `leadership/`: the election, its result, and the oversight of the master;
//! - `plan/`: the plan, and the requests for it;
//! - `cabin/`: the car, its panel and the climate.
//!
//! And here:
//!
//! - `presses.rs`: which presses of the panel become orders, and which are refused;
//! - `boarding.rs`: passengers with a destination who have entered the car;
//! - `commands.rs`: the directives of operators, and their way to every node;
//! - `own_car.rs`: what a node sets as directives about its own car;
//! - `access.rs`: locked floors, and who may ride there;
//! - `power.rs`: whose turn it is on emergency power;
//! - `priority.rs`: which car has a priority call that is for any;
//! - `sessions.rs`: which robot has which car.
//!
//! `status.rs` and `followed.rs` say how things are. The other files route between components:
//! `elect.rs` for the election, `neighbours.rs` for peers that come and go, `messages.rs` for messages
//! between nodes, `beacons.rs` for the contents of beacons, `delta.rs` for changes of orders,
//! `assign.rs` for plans.

mod access;
mod action;
mod assign;
mod beacons;
mod boarding;
mod commands;
mod delta;
mod elect;
mod fleet_status;
mod followed;
mod handle;
mod messages;
mod neighbours;
mod own_car;
mod power;
mod presses;
mod priority;
mod sessions;
mod settings;
mod settle;
mod status;

use core::net::Ipv4Addr;
use std::collections::VecDeque;

use elevator_driver::PanelOutputs;

use self::access::AccessControl;
use self::boarding::Boarding;
use self::commands::Commands;
use self::own_car::fire_key;
use self::power::Turns;
use self::priority::Priorities;
use self::sessions::Sessions;
use crate::cabin::{Cabin, CabinTimer};
use crate::car::{Car, CarTimer, Power};
use crate::directives::Directives;
use crate::dispatch::Schedule;
use crate::election::{Detail, ElectionTimer};
use crate::leadership::Leadership;
use crate::model::{Dot, HallCall, Hello, NodeId, NodeState, Nonce, Term, Timestamp};
use crate::peers::Peers;
use crate::plan::Dispatching;
use crate::seeded::{SeededBug, is_seeded};
use crate::store::{OrderStore, Store};

pub use crate::cabin::{CarStatus, ClimateStatus, ClimateTimer, UnitStatus, health};
pub use crate::model::MeshTimes;
pub use crate::peers::{BeaconFate, ConflictKind, LossCause, PacketCounts};
pub use crate::plan::{PlanRequest, PlanVersion};
pub use crate::report::Report;
pub use access::{Access, FloorLock, LONGEST_RELEASE, ReleaseRefused};
pub use action::Action;
pub use commands::{FireRecall, PriorityRefused};
pub use fleet_status::FleetStatus;
pub use followed::FollowedCall;
pub use handle::{CallRequest, OrderRefused, Requested};
pub use presses::{Press, Pressed};
pub use sessions::{LONGEST_HOLD, SessionRefused, SessionRequest};
pub use settings::{Identity, NodeSettings};
pub use status::{
    AccessStatus, ConflictStatus, DirectiveStatus, DispatchStatus, FleetKeysStatus, HangStatus,
    LostStatus, OrderStatus, PeerStatus, ReleaseStatus, ScheduleStatus, Status,
};

pub use crate::election::LinkSide;
pub use crate::store::{Change, Fate, Lsn, Refused as RefusedStatus, Restored, Taken};
pub use crate::wire::LinkId;

/// One node of a fleet.
#[derive(Debug)]
pub struct Node {
    hello: Hello,
    leadership: Leadership,
    peers: Peers,
    store: Store,
    dispatching: Dispatching,
    services: Services,
    cabin: Cabin,
    random: fastrand::Rng,
    actions: VecDeque<Action>,
}

/// What the node does beside assigning and serving calls, one file each.
#[derive(Debug)]
struct Services {
    boarding: Boarding,
    commands: Commands,
    access: AccessControl,
    turns: Turns,
    priorities: Priorities,
    sessions: Sessions,
}

/// Why a node wants to wake up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A beacon is due.
    Beacon,
    /// A peer may have to be probed, or may be lost.
    Membership,
    /// A timer of the election.
    Election(ElectionTimer),
    /// A peer may have to be dialled.
    Pairing,
    /// The open calls have become older, so the plan is reconsidered; or a requested plan has not
    /// arrived.
    Plan,
    /// A timer of the car.
    Car(CarTimer),
    /// A timer of the climate.
    Climate(ClimateTimer),
    /// On emergency power it may be another car's turn.
    Turn,
    /// A session may get a car, or has lasted for too long.
    Session,
}

impl Node {
    /// Creates a node with the contents of its disk. Call [`start`](Self::start) next.
    #[must_use]
    pub fn new(settings: NodeSettings) -> Self {
        let hello = settings.hello();
        let NodeSettings { identity, election, floors: _, mesh, car, climate, restored, seed } =
            settings;
        let flight_times = &restored.flight_times;
        let climate = climate.requested_every(election.request_period());
        let mut cabin = Cabin::new(hello.node.clone(), car, flight_times, climate);
        // A car is out of service until its panel is heard.
        let (health, mut term) = (cabin.health(true), restored.term.restored());
        if is_seeded(SeededBug::TermForgotten) {
            term = Term::default();
        }
        let leadership = Leadership::new(election, &hello, health, term, mesh);
        let rule = leadership.election().profile().link_rule;
        let peers = Peers::new(hello.clone(), identity.link_port, mesh, rule);
        let rotates = leadership.election().profile().rotates;
        let store = Store::new(hello.clone(), &restored, rotates);
        let (directives, own) = (store.settings(), &hello.node);
        let commands = Commands::new(hello.node.clone(), directives);
        cabin.change_car(|car| car.restore_fire_key(fire_key(directives, own)));
        if directives.emergency_power().is_some() {
            cabin.set_power(Power::Waiting, Timestamp::START);
        }
        cabin.change_car(|car| car.set_command(directives.mode(own), Timestamp::START));
        let mut node = Self {
            leadership,
            peers,
            store,
            dispatching: Dispatching::default(),
            services: Services {
                boarding: Boarding::default(),
                commands,
                access: AccessControl::default(),
                turns: Turns::default(),
                priorities: Priorities::default(),
                sessions: Sessions::default(),
            },
            cabin,
            random: fastrand::Rng::with_seed(seed),
            actions: VecDeque::new(),
            hello,
        };
        let errand = node.errand();
        node.cabin.change_car(|car| car.set_errand(errand, Timestamp::START));
        node
    }

    /// The same, with a schedule by which idle cars wait while it is master: see
    /// [`handle_local_time`](Self::handle_local_time).
    #[must_use]
    pub fn with_schedule(mut self, schedule: Schedule) -> Self {
        self.dispatching.set_schedule(schedule);
        self
    }

    /// The node's identity and configuration, as sent to peers.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// The address and the incarnation of each peer that counts: its beacons prove that it hears this
    /// node. They change with a report that a peer is discovered or lost.
    pub fn proven(&self) -> impl Iterator<Item = (Ipv4Addr, Nonce)> {
        let peers = self.peers.members().peers();
        peers.map(|(_, peer)| (peer.hello.address, peer.hello.nonce))
    }

    /// Whether this node hears this peer, as in its [`Status`].
    #[must_use]
    pub fn hears(&self, peer: &NodeId) -> bool {
        self.peers.members().get(peer).is_some()
    }

    /// The node's state: master, slave or seeking.
    #[must_use]
    pub fn node_state(&self) -> &NodeState {
        self.leadership.node_state()
    }

    /// Whether this node has the mastership, even if another acts in its place: see
    /// [`Election::has_mastership`](crate::election::Election::has_mastership).
    #[must_use]
    pub fn has_mastership(&self) -> bool {
        self.leadership.election().has_mastership()
    }

    /// Whether full states have been exchanged over the current link to this peer (F14).
    #[must_use]
    pub fn has_synced(&self, peer: &NodeId) -> bool {
        self.peers.links().is_synced(peer)
    }

    /// The term of the node's mastership; if it is not master, the highest that it knows (E3).
    #[must_use]
    pub fn term(&self) -> Term {
        self.leadership.term()
    }

    /// The node's fitness to lead, whether or not it leads; 0 under a protocol that does not use
    /// it.
    #[must_use]
    pub fn estimate(&self) -> u32 {
        self.leadership.estimate()
    }

    /// The election protocol's own state, as in its [`Status`].
    #[must_use]
    pub fn election_state(&self) -> Vec<Detail> {
        self.leadership.election().details()
    }

    /// Every order that the node knows of.
    #[must_use]
    pub fn orders(&self) -> &OrderStore {
        self.store.orders()
    }

    /// Every directive that the node knows of.
    #[must_use]
    pub fn directives(&self) -> &Directives {
        self.store.settings()
    }

    /// A number that is equal if, and in practice only if, two nodes have the same orders and directives.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.store.digest()
    }

    /// Whether this press is promised to the passenger, as far as this node knows (P1).
    #[must_use]
    pub fn has_promised(&self, dot: Dot) -> bool {
        self.store.is_promised(dot)
    }

    /// The car to which each hall call is assigned, as far as this node knows.
    pub fn assignments(&self) -> impl Iterator<Item = (HallCall, &NodeId)> {
        self.dispatching.plan.assignments()
    }

    /// The panel's latest outputs, or `None` before the start or without a car.
    #[must_use]
    pub fn outputs(&self) -> Option<&PanelOutputs> {
        self.cabin.outputs()
    }

    /// What emergency power leaves to the motor of this node's car; `None` without a car.
    #[must_use]
    pub fn power(&self) -> Option<Power> {
        self.cabin.car().map(Car::power)
    }

    /// Returns the next action: panel outputs first, so that nothing delays the stop of a motor,
    /// then the others, oldest first.
    pub fn poll_action(&mut self) -> Option<Action> {
        let hangs = |action: &Action| matches!(action, Action::Report(Report::Hung(_)));
        if is_seeded(SeededBug::HangReportedBeforeStop) && self.actions.iter().any(hangs) {
            return self.actions.pop_front();
        }
        let panel = self.cabin.poll_panel_update().map(Action::Panel);
        panel.or_else(|| self.actions.pop_front())
    }

    /// When, and why, to call [`handle_timeout`](Self::handle_timeout) if nothing else happens
    /// before; `None` before the start.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Timestamp, Timer)> {
        if !self.leadership.has_started() {
            return None;
        }
        let mut next = (self.peers.beacon_due(self.leadership.leads()), Timer::Beacon);
        if let Some(at) = self.peers.membership.next_check().filter(|at| *at < next.0) {
            next = (at, Timer::Membership);
        }
        let election = self.leadership.poll_timeout();
        if let Some((at, timer)) = election.filter(|(at, _)| *at < next.0) {
            next = (at, Timer::Election(timer.clone()));
        }
        if let Some(at) = self.peers.next_dial().filter(|at| *at < next.0) {
            next = (at, Timer::Pairing);
        }
        if let Some(at) = self.dispatching.planning.next().filter(|at| *at < next.0) {
            next = (at, Timer::Plan);
        }
        if let Some(at) = self.services.turns.poll_timeout().filter(|at| *at < next.0) {
            next = (at, Timer::Turn);
        }
        if let Some(at) = self.services.sessions.poll_timeout().filter(|at| *at < next.0) {
            next = (at, Timer::Session);
        }
        let cabin = self.cabin.poll_timeout(self.leadership.asks_for_readings());
        if let Some((at, timer)) = cabin.filter(|(at, _)| *at < next.0) {
            next = match timer {
                CabinTimer::Car(timer) => (at, Timer::Car(timer)),
                CabinTimer::Climate(timer) => (at, Timer::Climate(timer)),
            };
        }
        Some(next)
    }
}

impl NodeSettings {
    fn hello(&self) -> Hello {
        let Identity { fleet, node, address, mac, role, nonce, link_port: _ } =
            self.identity.clone();
        Hello {
            fleet,
            node,
            address,
            nonce,
            floors: self.floors,
            protocol: self.election.protocol(),
            mac,
            role,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
