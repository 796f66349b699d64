//! One node: everything above it in one machine that is told what happened and says what to do.
//!
//! ```text
//!   beacon, frame, link, panel, disk, operator, timer
//!        │ handle_*(…, now)
//!        ▼
//!       Node ──▶ Leadership, Peers, Orders, Dispatching, Cabin
//!        │            each owns its state, and changes no other
//!        │ ◀───────── wishes, verdicts, effects, changes
//!        ▼ poll_action(), poll_timeout()
//!   panel; broadcast, dial, send, persist, report; plan ─▶ Dispatcher, on another thread
//! ```
//!
//! Every `handle_*` takes one thing in and then settles: it tells the car where to stop, brings the
//! lamps in line, hands changes to the disk and to the peers, and asks for a plan if it leads.
//! What the panel is to do comes first of all actions. The driver drains [`Node::poll_action`] after
//! each call and sleeps until [`Node::poll_timeout`].
//!
//! Read `handle.rs` for what each input does, `settle.rs` for what follows from it, and the first
//! page of each component:
//!
//! - `leadership/`: the election, what it has come to, and what is thought of the master;
//! - `peers/`: who is heard, the links, the beacons;
//! - `orders/`: what is believed of orders, what is promised, what disk and peers have yet to be told;
//! - `dispatching/`: the plan, and the requests for it;
//! - `cabin/`: the car, its panel and the climate.
//!
//! The other files route: `elect.rs` between the election and everybody, `neighbours.rs` what comes
//! and goes with a peer, `messages.rs` what nodes say to each other, `beacons.rs` what beacons tell,
//! `delta.rs` what comes and goes of orders, `assign.rs` what plans are made of.

mod action;
mod assign;
mod beacons;
mod cabin;
mod delta;
mod dispatching;
mod elect;
mod handle;
mod leadership;
mod messages;
mod neighbours;
mod orders;
mod peers;
mod report;
mod settings;
mod settle;
mod status;

use std::collections::VecDeque;

use elevator_driver::PanelOutputs;

use self::cabin::Cabin;
use self::dispatching::Dispatching;
use self::leadership::Leadership;
use self::orders::Orders;
use self::peers::Peers;
use crate::car::CarTimer;
use crate::election::ElectionTimer;
use crate::model::{Dot, NodeId, Term, Timestamp};
use crate::orders::OrderStore;
use crate::wire::{Hello, NodeState};

pub use action::{Action, Change, LinkId, Lsn};
pub use cabin::{ClimateTimer, health};
pub use dispatching::{PlanRequest, PlanVersion};
pub use handle::{OrderRefused, Renewed, Taken};
pub use peers::{ConflictKind, LossCause, PacketCounts};
pub use report::Report;
pub use settings::{Identity, MeshTimes, NodeSettings, Restored};
pub use status::{
    CarStatus, ClimateStatus, ConflictStatus, DistrustedStatus, LostStatus, OrderStatus,
    PeerStatus, RefusedStatus, Status, UnitStatus,
};

pub use crate::election::LinkSide;

/// One node of a fleet.
#[derive(Debug)]
pub struct Node {
    hello: Hello,
    started: bool,
    leadership: Leadership,
    peers: Peers,
    orders: Orders,
    dispatching: Dispatching,
    cabin: Cabin,
    random: fastrand::Rng,
    actions: VecDeque<Action>,
}

/// Why a node wants to be woken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A beacon is due.
    Beacon,
    /// A peer may have to be probed, or have been silent for too long.
    Membership,
    /// The election's.
    Election(ElectionTimer),
    /// A peer may have to be dialled.
    Pairing,
    /// Waiting calls have become older, so that the plan is reconsidered, or a plan that was asked
    /// for has not come.
    Plan,
    /// The car's.
    Car(CarTimer),
    /// The climate's.
    Climate(ClimateTimer),
}

impl Node {
    /// A node that has yet to be [started](Self::start), with what stood on its disk.
    #[must_use]
    pub fn new(settings: NodeSettings) -> Self {
        let hello = settings.hello();
        let NodeSettings { identity, election, floors: _, mesh, car, climate, restored, seed } =
            settings;
        let flight_times = &restored.flight_times;
        let cabin = Cabin::new(hello.node.clone(), car, flight_times, climate);
        // A car whose panel has not been heard of is out of service.
        let (health, term) = (cabin.health(true), restored.term.restored());
        let leadership = Leadership::new(election, &hello, health, term, mesh.redial_after);
        let rule = leadership.link_rule();
        let peers = Peers::new(hello.clone(), identity.link_port, mesh, rule);
        let orders = Orders::new(hello.clone(), &restored, leadership.rotates());
        Self {
            started: false,
            leadership,
            peers,
            orders,
            dispatching: Dispatching::default(),
            cabin,
            random: fastrand::Rng::with_seed(seed),
            actions: VecDeque::new(),
            hello,
        }
    }

    /// Who the node is.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Where the node stands.
    #[must_use]
    pub fn node_state(&self) -> &NodeState {
        self.leadership.node_state()
    }

    /// Whether the mastership is the node's, even if another acts in its place: see
    /// [`Election::has_mastership`](crate::election::Election::has_mastership).
    #[must_use]
    pub fn has_mastership(&self) -> bool {
        self.leadership.has_mastership()
    }

    /// Whether full states have been exchanged over the present link to this peer (F14).
    #[must_use]
    pub fn has_synced(&self, peer: &NodeId) -> bool {
        self.peers.links().is_synced(peer)
    }

    /// The highest term that the node knows.
    #[must_use]
    pub fn term(&self) -> Term {
        self.leadership.term()
    }

    /// How fit this node is to lead, apart from whether it does; 0 under a protocol that does not
    /// ask.
    #[must_use]
    pub fn estimate(&self) -> u32 {
        self.leadership.estimate()
    }

    /// Every order that the node knows of.
    #[must_use]
    pub fn orders(&self) -> &OrderStore {
        self.orders.store()
    }

    /// Whether this press is promised to the passenger, to this node's knowledge (P1).
    #[must_use]
    pub fn has_promised(&self, dot: Dot) -> bool {
        self.orders.is_promised(dot)
    }

    /// What the panel was last told, or `None` before the start or without a car.
    #[must_use]
    pub fn outputs(&self) -> Option<&PanelOutputs> {
        self.cabin.outputs()
    }

    /// The next thing to be done: what the panel is to do before all else, so that nothing delays
    /// the stop of a motor; the rest oldest first.
    pub fn poll_action(&mut self) -> Option<Action> {
        let panel = self.cabin.poll_panel_update().map(Action::Panel);
        panel.or_else(|| self.actions.pop_front())
    }

    /// When, and why, [`handle_timeout`](Self::handle_timeout) wants to be called if nothing else
    /// happens before; `None` before the start.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Timestamp, Timer)> {
        if !self.started {
            return None;
        }
        let mut next = (self.peers.beacon_due(self.leadership.leads()), Timer::Beacon);
        if let Some(at) = self.peers.next_check().filter(|at| *at < next.0) {
            next = (at, Timer::Membership);
        }
        let election = self.leadership.poll_timeout();
        if let Some((at, timer)) = election.filter(|(at, _)| *at < next.0) {
            next = (at, Timer::Election(timer.clone()));
        }
        if let Some(at) = self.peers.next_dial().filter(|at| *at < next.0) {
            next = (at, Timer::Pairing);
        }
        if let Some(at) = self.dispatching.poll_timeout().filter(|at| *at < next.0) {
            next = (at, Timer::Plan);
        }
        let cabin = self.cabin.poll_timeout(self.leadership.asks_for_readings());
        if let Some((at, timer)) = cabin.filter(|(at, _)| *at < next.0) {
            next = (at, timer);
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
mod tests;
