//! One simulated elevator: the car in its shaft, its door and panel, and the lines by which a
//! controller drives it. It knows nothing of any controller's code.
//!
//! ```text
//!                     passengers, faults                       controllers
//!                            │                                      │
//!   control socket ──▶ ┌─────▼──────────────────────────────────────▼─────┐
//!   (control)          │ simulator: one thread that owns the car          │
//!                      │  ┌─────────────────────────┐   serial            │ ◀─▶ pseudo-terminal
//!                      │  │ car: interlocks, lamps  │ ◀─ panel protocol   │
//!                      │  │  ├ shaft: motion        │                     │
//!                      │  │  └ door                 │ ◀─ elevator_server  │ ◀─▶ TCP
//!                      │  └─────────────────────────┘                     │
//!                      └──────────────────────────────────────────────────┘
//! ```
//!
//! Inside the inner box there is no clock, no thread and no I/O: time is an argument of each step.
//! So the same [`SimulatedCar`] runs in real time behind a serial line, and by the hundred in
//! virtual time, where a run can be repeated exactly. The rest needs the feature `endpoints`, which
//! is on by default; without it the crate builds for `wasm32-unknown-unknown`.
//!
//! Read [`car`] first, then [`shaft`] and [`door`]; for the program around them `simulator` and
//! `control`; `cli` is its command line. [`building`] has banks of cars and the people who use them.
#![forbid(unsafe_code)]

pub mod building;
pub mod car;
#[cfg(feature = "endpoints")]
pub mod cli;
pub mod config;
#[cfg(feature = "endpoints")]
pub mod control;
pub mod door;
#[cfg(feature = "endpoints")]
mod elevator_server;
#[cfg(feature = "endpoints")]
mod ending;
#[cfg(feature = "endpoints")]
mod keys;
#[cfg(feature = "endpoints")]
mod live;
#[cfg(feature = "endpoints")]
mod serial;
pub mod shaft;
#[cfg(feature = "endpoints")]
pub mod simulator;
pub mod state;

pub use car::SimulatedCar;
pub use config::{CarConfig, StartPosition};
#[cfg(feature = "endpoints")]
pub use control::ControlClient;
#[cfg(feature = "endpoints")]
pub use simulator::{Simulator, SimulatorConfig};
pub use state::{CarState, Opening, ShownTrip};
