//! What a node says of itself when asked.

use core::net::Ipv4Addr;
use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, DoorState, Floor, FloorCount, KeySwitch, LampSet};

use super::peers::{ConflictKind, LossCause};
use super::{Node, PacketCounts};
use crate::climate::{Reading, Source};
use crate::election::{Carrier, Detail};
use crate::model::{Call, CarView, NodeId, Role, Term, Timestamp};
use crate::wire::{Hello, Standing};

/// A node's whole state, as an operator wants to see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Who the node is.
    pub hello: Hello,
    /// How long it has run.
    pub uptime: Duration,
    /// Where it stands.
    pub standing: Standing,
    /// The highest term it knows.
    pub term: Term,
    /// The election protocol's own state.
    pub election: Vec<Detail>,
    /// The digest of its order store.
    pub digest: u64,
    /// How many registers its order store has.
    pub registers: usize,
    /// Of how many journals they are.
    pub journals: usize,
    /// How many journals that nobody uses have been dropped since the start.
    pub collected: u64,
    /// How many records of others were refused since the start.
    pub refused: RefusedStatus,
    /// How often peers were treated as gone since the start.
    pub distrusted: DistrustedStatus,
    /// Everything in the store is on disk.
    pub durable: bool,
    /// The disk has failed (P5).
    pub disk_failed: bool,
    /// The other nodes that are heard, by name.
    pub peers: Vec<PeerStatus>,
    /// The nodes that were peers and are not heard any more, by name; at most 64, each for a day.
    pub lost: Vec<LostStatus>,
    /// The nodes that are heard and do not go together with this one: those of the last minute.
    pub conflicts: Vec<ConflictStatus>,
    /// The open orders, the oldest first; one entry a call.
    pub orders: Vec<OrderStatus>,
    /// The node's own car, where it has one.
    pub car: Option<CarStatus>,
    /// The climate.
    pub climate: ClimateStatus,
}

/// How many records of others were refused, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefusedStatus {
    /// There can be no such press.
    pub impossible: u64,
    /// They tell of a service that can't have happened.
    pub services: u64,
    /// There are more journals or calls than any fleet has.
    pub no_room: u64,
}

/// How often peers were treated as gone for a time, by what they did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DistrustedStatus {
    /// They sent what no sound node sends.
    pub rubbish: u64,
    /// They were masters that left calls without a car.
    pub neglect: u64,
}

/// What is known of the climate, and what the indicator shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClimateStatus {
    /// What the node's own sensors read.
    pub own: Reading,
    /// The average temperature that the coordinator told, in tenths of a degree.
    pub temperature: Option<i16>,
    /// The backlight that the coordinator told.
    pub brightness: Option<u8>,
    /// The indicator's text.
    pub text: String,
    /// How old that is which the coordinator told; `None` once it is unknown (K1).
    pub age: Option<Duration>,
    /// The fresh readings that this node has gathered, as coordinator.
    pub units: Vec<UnitStatus>,
}

/// What a unit's sensors have read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitStatus {
    /// Which unit.
    pub source: Source,
    /// What it read.
    pub reading: Reading,
    /// How long ago.
    pub age: Duration,
}

/// Another node, as this one sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerStatus {
    /// Its name.
    pub node: NodeId,
    /// What it is there for.
    pub role: Role,
    /// Its address.
    pub address: Ipv4Addr,
    /// Where it stands.
    pub standing: Standing,
    /// How long ago it was last heard.
    pub silent: Duration,
    /// There is a link to it, and full states have been exchanged over it.
    pub joined: bool,
    /// Its store equals this node's.
    pub in_step: bool,
    /// Its car.
    pub car: Option<CarView>,
}

/// A node that was a peer and is not heard any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostStatus {
    /// Its name.
    pub node: NodeId,
    /// What it is there for.
    pub role: Role,
    /// Its address.
    pub address: Ipv4Addr,
    /// How long ago it was last heard.
    pub silent: Duration,
    /// Why it was lost, as far as that is known.
    pub cause: LossCause,
}

/// A node that does not go together with this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictStatus {
    /// In which way.
    pub kind: ConflictKind,
    /// The same in words, with names and addresses.
    pub what: String,
    /// How long ago it first showed.
    pub since: Duration,
    /// How long ago it last showed.
    pub last: Duration,
}

/// An open order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderStatus {
    /// What was asked for.
    pub call: Call,
    /// How long the oldest press of it has waited.
    pub waited: Duration,
    /// Who serves it, where that has been decided.
    pub car: Option<NodeId>,
    /// The lamp may be lit (F12).
    pub promised: bool,
    /// How many living nodes are known to hold it, this one included.
    pub holders: usize,
}

/// The node's own car.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarStatus {
    /// As the group sees it.
    pub view: CarView,
    /// The panel answers, or why it doesn't.
    pub panel: Result<(), String>,
    /// The door.
    pub door: DoorState,
    /// The floor sensor.
    pub at: Option<Floor>,
    /// The stop switch is pulled.
    pub stopped: bool,
    /// Something stands in the door.
    pub obstructed: bool,
    /// The key switch.
    pub key: KeySwitch,
    /// The buttons that have read as pressed for too long.
    pub stuck: BTreeSet<Button>,
    /// The lamps that are lit on its panel.
    pub lamps: LampSet,
    /// The floors of the shaft.
    pub floors: FloorCount,
}

impl Node {
    /// What the node is doing, as of this moment.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> Status {
        Status {
            hello: self.hello.clone(),
            uptime: now.since_start(),
            standing: self.leadership.standing().clone(),
            term: self.leadership.term(),
            election: self.election_details(),
            digest: self.orders.digest(),
            registers: self.orders.registers(),
            journals: self.orders.journals(),
            collected: self.journals.collected(),
            refused: self.refusals.counts(),
            distrusted: self.peers.members().distrusted(),
            durable: self.ledger.all_durable(),
            disk_failed: self.ledger.failed(),
            peers: self.peer_status(now),
            lost: self.lost_status(now),
            conflicts: self.conflict_status(now),
            orders: self.order_status(now),
            car: self
                .cabin
                .car_status(self.lamps(), self.settings.floors, now),
            climate: self.cabin.climate_status(now),
        }
    }

    fn peer_status(&self, now: Timestamp) -> Vec<PeerStatus> {
        self.peers
            .members()
            .peers()
            .map(|(name, peer)| PeerStatus {
                node: name.clone(),
                role: peer.hello.role,
                address: peer.hello.address,
                standing: peer.standing.clone(),
                silent: now.since(peer.heard_at),
                joined: self.peers.links().is_joined(name),
                in_step: peer.digest == self.orders.digest(),
                car: peer.car.map(|(view, _)| view),
            })
            .collect()
    }

    fn lost_status(&self, now: Timestamp) -> Vec<LostStatus> {
        let lost = self.peers.members().lost().recent(now);
        lost.map(|(name, peer)| LostStatus {
            node: name.clone(),
            role: peer.role,
            address: peer.address,
            silent: now.since(peer.heard_at),
            cause: peer.cause,
        })
        .collect()
    }

    fn conflict_status(&self, now: Timestamp) -> Vec<ConflictStatus> {
        let conflicts = self.peers.members().conflicts().recent(now);
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
        let heard = self.peers.members().names();
        let mut orders: Vec<OrderStatus> = self
            .orders
            .calls()
            .map(|call| OrderStatus {
                call: call.clone(),
                waited: self.orders.waited(call, now).unwrap_or_default(),
                car: match call {
                    Call::Hall(hall) if self.leadership.taken_over().contains(hall) => {
                        Some(self.hello.node.clone())
                    }
                    Call::Hall(hall) => self.dispatching.car(*hall).cloned(),
                    Call::Cab { car, .. } => Some(car.clone()),
                },
                promised: self
                    .orders
                    .of_call(call)
                    .any(|order| self.promise.is_made(order.dot)),
                holders: self
                    .orders
                    .of_call(call)
                    .map(|order| self.promise.living_holders(order.dot, &heard))
                    .max()
                    .unwrap_or(0),
            })
            .collect();
        orders.sort_by_key(|order| std::cmp::Reverse(order.waited));
        orders
    }

    /// The election's own state, and what has come by packet.
    fn election_details(&self) -> Vec<Detail> {
        let mut details = self.leadership.details();
        match self.leadership.carrier() {
            Carrier::Beacon => {}
            Carrier::Packet => {
                let PacketCounts {
                    node_answers: _,
                    device_answers,
                    strange,
                    malformed,
                } = self.peers.packet_counts();
                details.extend([
                    Detail::new("answers of devices", device_answers),
                    Detail::new("packets of strangers", strange),
                    Detail::new("malformed packets", malformed),
                ]);
            }
        }
        details
    }
}
