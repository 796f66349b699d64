//! The elevator panel as the controller sees it.
//!
//! ```text
//!   controller ── PanelOutputs ──▶ ┌────────────┐ ──▶ motor, door, lamps, indicator
//!                                  │ panel line │
//!   controller ◀── PanelEvent ──── └────────────┘ ◀── buttons, sensors, switches
//! ```
//!
//! Read [`vocabulary`] first: it has no feature, no I/O, and is all that the pure brain needs.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod vocabulary;

pub use vocabulary::{
    Button, Climate, Direction, Display, DoorCommand, DoorState, DriveFeedback, Floor, FloorCount,
    HallLantern, KeySwitch, LampSet, Lamps, MotorCommand, PanelEvent, PanelInputs, PanelOutputs,
};
