//! How a node describes itself.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use elevator_driver::{Building, Floor, PanelOutputs};

use super::{
    AccessStatus, ConflictStatus, DispatchStatus, FleetKeysStatus, HangStatus, LostStatus,
    MOST_NAMED, OrderStatus, PeerStatus, ReleaseStatus, ScheduleStatus, SettingStatus, Status,
};
use crate::car::{Car, Power};
use crate::election::{Carrier, Detail};
use crate::model::{
    Call, CarView, Dot, HallCall, Hello, NodeId, NodeState, Nonce, Term, Timestamp,
};
use crate::node::Node;
use crate::peers::{LossCause, PacketCounts};
use crate::settings::{Asked, Register, Request, RequestId, Session, Settings};
use crate::store::{Fate, Holding, OrderStore};

/// What has become of a call that a program has placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowedCall {
    Call {
        call: Call,
        fate: Fate,
    },
    Trip {
        /// From where, as it was asked for.
        from: Floor,
        to: Floor,
        car: Option<NodeId>,
        session: Session,
    },
}

impl Node {
    #[must_use]
    pub fn building(&self) -> &Building {
        self.peers.membership.building()
    }

    /// The node's identity and configuration, as sent to peers.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// The address and the incarnation of each peer that counts.
    pub fn proven(&self) -> impl Iterator<Item = (Ipv4Addr, Nonce)> {
        let peers = self.peers.membership.peers();
        peers.map(|(_, peer)| (peer.hello.address, peer.hello.nonce))
    }

    /// Whether this node hears this peer, as in its [`Status`].
    #[must_use]
    pub fn hears(&self, peer: &NodeId) -> bool {
        self.peers.membership.get(peer).is_some()
    }

    /// The node's state: master, slave or seeking.
    #[must_use]
    pub fn node_state(&self) -> &NodeState {
        self.leadership.node_state()
    }

    /// See [`Election::has_mastership`](crate::election::Election::has_mastership).
    #[must_use]
    pub fn has_mastership(&self) -> bool {
        self.leadership.election().has_mastership()
    }

    /// Whether full states have been exchanged over the current link to this peer (F14).
    #[must_use]
    pub fn has_synced(&self, peer: &NodeId) -> bool {
        self.peers.links.is_synced(peer)
    }

    /// The term of the node's mastership; if it is not master, the highest that it knows (E3).
    #[must_use]
    pub fn term(&self) -> Term {
        self.leadership.term()
    }

    /// The node's fitness to lead; 0 under a protocol that does not use it.
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

    /// Every setting that the node knows of.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.store.settings()
    }

    /// A number that is equal if, and in practice only if, two nodes have the same orders and
    /// settings.
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

    #[must_use]
    pub fn status(&self, now: Timestamp) -> Status {
        let hello = &self.hello;
        Status {
            node: hello.node.clone(),
            role: hello.role,
            fleet: hello.fleet.clone(),
            address: hello.address,
            mac: hello.mac,
            election: hello.protocol,
            election_state: self.election_details(),
            building: self.building().clone(),
            uptime: now.since_start(),
            node_state: self.leadership.node_state().clone(),
            state_since: now.since(self.leadership.node_state_since()),
            term: self.leadership.term(),
            digest: self.digest(),
            registers: self.store.orders().registers(),
            refused: self.store.refusals.counts,
            dispatch: self.dispatch_status(),
            durable: self.store.ledger.all_durable(),
            disk_failed: self.store.ledger.failed(),
            fleet_keys: FleetKeysStatus::default(),
            log_lines_lost: 0,
            mqtt_refused: Vec::new(),
            mesh: BTreeMap::new(),
            dispatcher: None,
            queues: BTreeMap::new(),
            peers: self.peer_status(now),
            lost: self.lost_status(now),
            hangs: self.hang_status(),
            conflicts: self.conflict_status(now),
            settings: self.setting_status(),
            settings_held: self
                .store
                .are_settings_held(self.peers.membership.peers().map(|(name, _)| name)),
            access: self.access_status(now),
            schedule: self.schedule_status(),
            orders: self.order_status(now),
            car: self.cabin.car_status(self.store.lamps(), now),
            climate: self.cabin.climate_status(now),
        }
    }

    /// How much this node has planned since its start, as in its [`Status`].
    #[must_use]
    pub fn dispatch_status(&self) -> DispatchStatus {
        DispatchStatus {
            plans: self.dispatching.planning.count(),
            target_changes: self.cabin.target_changes(),
        }
    }

    fn peer_status(&self, now: Timestamp) -> Vec<PeerStatus> {
        self.peers
            .membership
            .peers()
            .map(|(name, peer)| PeerStatus {
                node: name.clone(),
                role: peer.hello.role,
                address: peer.hello.address,
                node_state: peer.node_state.clone(),
                silent: now.since(peer.heard_at),
                round_trip: peer.round_trip(now),
                // To what can be told from a minute's beacons.
                loss: peer.loss(now).map(|loss| (loss * 10_000.0).round() / 10_000.0),
                synced: self.peers.links.is_synced(name),
                in_step: peer.digest == self.digest(),
                car: peer.car.map(|(view, _)| self.with_mode(name, view)),
            })
            .collect()
    }

    /// The car of a peer in the mode that follows from commands and its key, if it fits.
    fn with_mode(&self, car: &NodeId, view: CarView) -> CarView {
        let known = self.settings().mode_with_key(car);
        let mode = if known.on_the_wire() == view.mode { known } else { view.mode };
        CarView { mode, ..view }
    }

    fn setting_status(&self) -> Vec<SettingStatus> {
        let settings = self.settings().in_force().cloned();
        settings
            .map(|Register { setting, operator, .. }| SettingStatus { setting, operator })
            .collect()
    }

    fn schedule_status(&self) -> Option<ScheduleStatus> {
        let (local_time, entry) = self.dispatching.timetable.shown()?;
        Some(ScheduleStatus { local_time, entry })
    }

    fn access_status(&self, now: Timestamp) -> AccessStatus {
        let locked: BTreeSet<Floor> = self.settings().locked_floors().collect();
        let is_here = |floor: &Floor| self.hello.floors.contains(*floor);
        let released = self.services.access.released(now);
        AccessStatus {
            locked: locked.into_iter().filter(is_here).collect(),
            released: released.map(|(floor, left)| ReleaseStatus { floor, left }).collect(),
            refused: self.services.access.refused(),
        }
    }

    fn lost_status(&self, now: Timestamp) -> Vec<LostStatus> {
        let lost = self.peers.membership.lost().recent(now);
        lost.map(|(name, peer)| LostStatus {
            node: name.clone(),
            role: peer.role,
            address: peer.address,
            silent: now.since(peer.heard_at),
            cause: if self.settings().is_hung(name) { LossCause::Hung } else { LossCause::Silent },
        })
        .collect()
    }

    fn hang_status(&self) -> Vec<HangStatus> {
        // One that runs is about to say that its hang is over.
        let runs = |car: &NodeId| {
            if *car == self.hello.node {
                !self.cabin.car().is_some_and(Car::is_hung)
            } else {
                let peer = self.peers.membership.get(car);
                peer.is_some_and(|peer| {
                    !peer.car.is_some_and(|(car, _)| car.availability.is_hung())
                })
            }
        };
        let hangs = self.settings().hangs().filter(|(car, _)| !runs(car));
        hangs.map(|(car, evidence)| HangStatus { car: car.clone(), evidence }).collect()
    }

    fn conflict_status(&self, now: Timestamp) -> Vec<ConflictStatus> {
        let conflicts = self.peers.membership.conflicts().recent(now);
        conflicts
            .map(|(what, conflict)| ConflictStatus {
                kind: conflict.kind,
                what: what.to_owned(),
                since: now.since(conflict.first),
                last: now.since(conflict.last),
            })
            .collect()
    }

    fn order_status(&self, now: Timestamp) -> Vec<OrderStatus> {
        let heard = self.peers.membership.names();
        let mut orders: Vec<OrderStatus> = self
            .store
            .orders()
            .calls()
            .map(|call| {
                let presses = || self.store.orders().presses_of(call);
                let holdings = |press| self.store.holdings(press, &heard);
                let best = presses().max_by_key(|press| holdings(*press).count());
                let holders = || best.into_iter().flat_map(holdings);
                let name = |(node, _): (&NodeId, Holding)| node.clone();
                let durable =
                    holders().take(MOST_NAMED).filter(|(_, how)| *how == Holding::Durable);
                OrderStatus {
                    held_by: holders().take(MOST_NAMED).map(name).collect(),
                    durable_at: durable.map(name).collect(),
                    call: call.clone(),
                    waited: self.store.orders().waited(call, now).unwrap_or_default(),
                    car: match call {
                        Call::Hall(hall) => self.car_of(*hall, now).cloned(),
                        Call::Car { car, .. } => Some(car.clone()),
                    },
                    promised: presses().any(|press| self.store.is_promised(press)),
                    holders: holders().count(),
                }
            })
            .collect();
        orders.sort_by_key(|order| std::cmp::Reverse(order.waited));
        orders
    }

    /// The details of the election's state, and the counters of packets.
    fn election_details(&self) -> Vec<Detail> {
        let mut details = self.leadership.election().details();
        match self.leadership.profile().carrier {
            Carrier::Beacon => {}
            Carrier::Packet => {
                let PacketCounts { device_answers, strange, malformed } = self.peers.packets;
                details.extend([
                    Detail::new("answers of devices", device_answers),
                    Detail::new("packets of strangers", strange),
                    Detail::new("malformed packets", malformed),
                ]);
            }
        }
        details
    }

    /// What has become of a program's call, as far as known; `None` for a session that is no trip.
    #[must_use]
    pub fn followed_call(&self, id: RequestId) -> Option<FollowedCall> {
        match self.settings().request(id)?.clone() {
            Request::Call { call, press, .. } => {
                let fate = press.map_or(Fate::Absorbed, |press| self.store.fate(press, &call));
                Some(FollowedCall::Call { call, fate })
            }
            Request::Session(session) => {
                let Asked { floor: from, to, car, seconds: _ } = session.asked.clone();
                Some(FollowedCall::Trip { from, to: to?, car, session })
            }
        }
    }
}
