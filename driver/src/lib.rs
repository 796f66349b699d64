//! The elevator panel as the controller sees it (F15).
//!
//! ```text
//!                       ┌──────────────── PanelLine ────────────────┐
//!   controller          │  serial   ControllerSession ── frames ──▶ │ ──▶ panel
//!     PanelOutputs ───▶ │           (module protocol)               │     motor, door, lamps,
//!     PanelEvent ◀───── │  tcp      a levelling drive ── 4 bytes ─▶ │ ◀── buttons, sensors,
//!                       │  modbus   rounds of requests ─ registers  │     switches
//!                       └───────────────────────────────────────────┘
//! ```
//!
//! Read [`vocabulary`] first: it needs no feature, does no I/O, and is all that the pure brain
//! uses. Then `line`, the entry point for all back ends, and [`interlock`], which all apply. The
//! module `protocol` has the panel protocol: frames, and a session without I/O for either end of
//! the line. `docs/PANEL-PROTOCOL.md` describes its bytes, and how the TCP back end uses the
//! elevator-server protocol; `docs/MODBUS.md` describes the registers of a PLC.
//!
//! Deliberately absent: an async runtime (a line has threads of its own), and any decision about
//! where the car goes.
#![forbid(unsafe_code)]

#[cfg(feature = "protocol")]
mod boot;
mod counters;
pub mod interlock;
mod json;
#[cfg(feature = "line")]
pub mod line;
#[cfg(feature = "line")]
mod modbus;
#[cfg(feature = "protocol")]
pub mod protocol;
#[cfg(feature = "line")]
mod serial;
#[cfg(feature = "line")]
mod tcp;
#[cfg(test)]
mod testing;
mod url;
pub mod vocabulary;

#[cfg(feature = "protocol")]
pub use boot::draw_boot_id;
pub use counters::LineCounters;
#[cfg(feature = "line")]
pub use line::{LineSettings, OpenError, PanelLine};
pub use url::{ModbusUrl, PanelUrl, PanelUrlError};
pub use vocabulary::{
    Alarm, Building, BuildingError, Button, Climate, Direction, Display, DoorButtons, DoorCommand,
    DoorState, DriveFeedback, Entrance, Floor, FloorCount, HallLantern, KeySwitch, Kiosks, LampSet,
    Lamps, Landing, MOST_TRIPS, MotorCommand, PanelEvent, PanelInputs, PanelOutputs, STUCK_AFTER,
    Served, Side, Trip,
};
