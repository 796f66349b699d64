//! The pure brain of an elevator fleet: no socket, no file, no clock, no random source.
//!
//! Time and seeds come in as arguments, actions go out as values; the driver of the brain performs
//! them. [`node::Node`] is the entry point; [`model`] and [`wire`] are its language.
//!
//! A node that is alone serves its own landing: its lamp is lit as soon as the order is on its
//! disk.
//!
//! ```
//! use std::net::Ipv4Addr;
//!
//! use elevator_driver::{Direction, Floor, FloorCount};
//! use elevator_fleet::climate::ClimateSettings;
//! use elevator_fleet::election::ElectionSettings;
//! use elevator_fleet::model::{Call, FleetName, HallCall, Mac, NodeId, Role, Timestamp};
//! use elevator_fleet::node::{Access, Action, Identity, MeshTimes, Node, NodeSettings, Restored};
//! use elevator_fleet::wire::{Nonce, Protocol};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let address = Ipv4Addr::LOCALHOST;
//! let mut node = Node::new(NodeSettings {
//!     identity: Identity {
//!         fleet: FleetName::new("example")?,
//!         node: NodeId::new("A")?,
//!         address,
//!         mac: Mac::of(address),
//!         role: Role::Cabin,
//!         link_port: 46_100,
//!         nonce: Nonce(1),
//!     },
//!     election: ElectionSettings::of(Protocol::LowestIp),
//!     building: std::sync::Arc::new(FloorCount::new(4).ok_or("floors")?.into()),
//!     mesh: MeshTimes::default(),
//!     car: None,
//!     climate: ClimateSettings::default(),
//!     restored: Restored::default(),
//!     seed: 1,
//! });
//! // After each call the node is asked what to do. Here every write is on the disk at once.
//! let now = Timestamp::START;
//! let perform = |node: &mut Node| {
//!     while let Some(action) = node.poll_action() {
//!         if let Action::Persist { lsn, .. } = action {
//!             node.handle_durable(lsn, now);
//!         }
//!     }
//! };
//! node.start(now);
//! perform(&mut node);
//!
//! let call = Call::Hall(HallCall::new(Floor::try_from(2)?, Direction::Up));
//! node.handle_order(&call, Access::Public, now)?;
//! let order = node.orders().of_call(&call).next().ok_or("placed")?.dot;
//! assert!(!node.has_promised(order));
//!
//! perform(&mut node);
//! assert!(node.has_promised(order));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod cabin;
pub mod car;
pub mod climate;
pub mod dispatch;
pub mod election;
pub mod json;
mod leadership;
pub mod model;
pub mod node;
mod peers;
mod plan;
mod report;
pub mod seeded;
mod services;
pub mod settings;
pub mod store;
pub mod wire;
