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
//!                      │  │  ├ door                 │ ◀─ elevator_server  │ ◀─▶ TCP
//!                      │  │  └ climate              │                     │
//!                      │  └─────────────────────────┘                     │
//!                      └──────────────────────────────────────────────────┘
//! ```
//!
//! Inside the inner box there is no clock, no thread and no I/O: time comes in as a step. So the
//! same [`SimulatedCar`] runs in real time behind a serial line, and by the hundred in virtual
//! time, where a run repeats itself exactly.
//!
//! Read [`car`] first, then [`shaft`] and [`door`]; for the program around them [`simulator`] and
//! [`control`]; [`cli`] is its command line.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod car;
pub mod cli;
mod climate;
pub mod config;
pub mod control;
pub mod door;
mod elevator_server;
mod ending;
mod live;
mod serial;
pub mod shaft;
pub mod simulator;
pub mod state;

pub use car::SimulatedCar;
pub use config::{CarConfig, StartPosition};
pub use control::ControlClient;
pub use simulator::{Simulator, SimulatorConfig};
pub use state::CarState;
