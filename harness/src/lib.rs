//! Fleets of real processes on one machine, for the demo, the tests and the benchmarks.
//!
//! ```text
//!   Place            a directory for the fleet, with sockets, data and logs of each node
//!   free_port        a port on loopback that no other fleet uses
//!   SimulatorCommand ┐ the command lines of `liftmesh simulate` and `liftmesh run`
//!   NodeCommand      ┘
//!   Process          a child that never outlives its owner
//!   account          what became of every order, as the panels show it
//!   lan              network namespaces: hosts, and a switch that loses packets
//!   building         all of that together, for tests (feature `building`)
//! ```
//!
//! The processes are only known by their command lines and sockets: this crate does not depend on
//! `liftmesh`.

pub mod account;
#[cfg(feature = "building")]
pub mod building;
mod command;
pub mod lan;
mod place;
mod process;

pub use command::{NodeCommand, NodeKind, PanelEnd, SimulatorCommand};
pub use place::{BROADCAST, Place, free_port};
pub use process::{Process, end, kill_all};
