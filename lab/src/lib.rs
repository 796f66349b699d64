//! A fleet in virtual time: the real brain and simulated cars on a network that does its worst.
//!
//! ```text
//!             Fault, press                       Violation
//!                  │                                 ▲
//!   ┌──────────────▼─────────────────────────────────┴────────────┐
//!   │ World: one agenda of events, one random number generator    │
//!   │   Machine: Node ── panel ── SimulatedCar, Disk   (× n)      │
//!   │   Network: datagrams; Connections: links                    │
//!   │   History: what was promised and served ── invariants       │
//!   └─────────────────────────────────────────────────────────────┘
//! ```
//!
//! Nothing here reads a clock or a source of chance: a world that is made from the same settings
//! and told the same things does the same, so every failure replays from its seed.
//!
//! Read [`World`] first, then [`Fault`] for what can be done to it, `oracles.rs` for what has to
//! hold whatever is done, and [`Campaign`] for how the two meet.

mod agenda;
mod calm;
mod campaign;
mod connection;
mod disk;
pub mod elections;
mod fault;
mod history;
mod machine;
mod network;
mod oracles;
mod panel;
mod perform;
mod planner;
mod view;
mod world;

pub use campaign::{Campaign, Outcome};
pub use elevator_simulator::shaft::{LevellingFault, MotorFault};
pub use fault::{BadMaster, Fault};
pub use history::{Service, Violation};
pub use network::Weather;
pub use oracles::duty::Duty;
pub use world::{MeshTraffic, Traffic, Twins, World, WorldError, WorldSettings};
