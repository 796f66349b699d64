//! A fleet in virtual time: the real brain and simulated cars on a network that does its worst.
//!
//! ```text
//!             Fault, press                       Violation
//!                  │                                 ▲
//!   ┌──────────────▼─────────────────────────────────┴────────────┐
//!   │ World: one agenda of events, one random number generator    │
//!   │   Machine: Node ── panel ── SimulatedCar, Disk   (× n)      │
//!   │   Network: datagrams; Connections: links                    │
//!   │   Snapshot of all that, read only ──▶ Oracles               │
//!   └─────────────────────────────────────────────────────────────┘
//! ```
//!
//! Nothing here reads a clock or a random source: two worlds that are made from the same settings
//! and get the same inputs do the same, so every failure replays from its seed. There is no file
//! and no socket either, and the crate builds for `wasm32-unknown-unknown`.
//!
//! Read [`World`] first, then [`Fault`] for what can be done to it, `oracles.rs` for what has to
//! hold whatever is done, and [`Campaign`] for how the two meet. A [`Schedule`] of faults is for
//! fleets of real processes too. [`elections`] compares the election protocols, also with those of
//! the literature that [`controls`] has, and [`trace`] draws what happens in a run. [`traffic`]
//! compares the dispatchers, on banks of cars with passengers and without a network.
//!
//! ```
//! use std::time::Duration;
//!
//! use liftmesh_lab::{Fault, World, WorldSettings};
//!
//! let mut world = World::new(WorldSettings::new(3, 1))?;
//! world.start_all();
//! world.run_for(Duration::from_secs(2));
//! assert_eq!(world.master(), Some(0));
//!
//! world.inflict(Fault::Kill(0));
//! let failover = world.run_until(Duration::from_secs(2), |world| world.master() == Some(1));
//! assert!(failover.is_some());
//! assert!(world.violations().is_empty());
//! # Ok::<(), liftmesh_lab::WorldError>(())
//! ```

mod agenda;
mod campaign;
mod connection;
pub mod controls;
mod disk;
pub mod elections;
mod fault;
mod fingerprint;
mod history;
mod machine;
mod mastership;
mod names;
mod network;
mod oracles;
mod output;
mod plot;
pub mod recording;
mod schedule;
mod settings;
mod snapshot;
mod statistics;
mod step;
pub mod trace;
pub mod traffic;
mod wire;
mod world;

pub use campaign::{
    Campaign, Ending, Failure, Outcome, Progress, Script, ScriptError, Shrunk, Size, Summary,
    Tally, Verdict, Void, fault_table, is_void, sweep,
};
pub use elevator_simulator::shaft::{LevellingFault, MotorFault};
pub use fault::{BadMaster, Boundary, Fault, Forgery};
pub use history::{Assignment, Service};
pub use machine::name as machine_name;
pub use mastership::Mastership;
pub use network::{Bursts, Weather};
pub use oracles::Violation;
pub use schedule::{FaultKind, Schedule, ScheduleSettings, ScheduledFault, Toll};
pub use settings::{Twins, WorldError, WorldSettings};
pub use step::{Act, Step};
pub use wire::{Flow, Wire};
pub use world::{Interference, MeshTraffic, Traffic, World};
