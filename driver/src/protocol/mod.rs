//! The panel's own wire protocol: frames, and a pure session for each end of the line.
//!
//! Bytes in, frames out: there is no I/O, clock or random source in here. `docs/PANEL-PROTOCOL.md`
//! describes the bytes.
//!
//! ```text
//!      controller's end                                        panel's end
//!  ┌───────────────────┐  Hello Drive Lamps Display Kiosk ┌──────────────┐
//!  │ ControllerSession │ ───────────────────────────────▶ │ PanelSession │
//!  │                   │ ◀─────────────────────────────── │              │
//!  └───────────────────┘  Hello Status Press Climate      └──────────────┘
//!                                   Stuck Request Alarm
//!       ControllerFrame ─▶ encode ─▶ bytes ─▶ Decoder ─▶ ControllerFrame
//! ```
//!
//! Read [`ControllerFrame`] and [`PanelFrame`] first, then the session of the end you are at.
//! `examples/decode_panel_frame.rs` encodes and decodes a frame.
//!
//! Each end keeps sending its whole *state*, at once when it changes and again at every heartbeat,
//! so that the next frame repairs the loss of one. Only presses, requests and alarms are events: a
//! panel repeats one until the controller has acknowledged it.
//!
//! A line may also repeat what it carried before. So each frame has a number, and names the run of
//! its sender and the frame that it answers: neither end uses a frame whose number is behind, or
//! one of a run that has not answered it.

mod codec;
mod controller;
mod endpoint;
mod frame;
mod panel;

pub use codec::{Decoder, FrameError, FrameId, Header, MAX_WIRE_LENGTH, Numbered, VERSION, encode};
pub use controller::{ControllerSession, SessionSettings};
pub use frame::{
    BootId, ButtonChunk, ControllerFrame, DISPLAY_BYTES, Drive, Frame, KioskSlot, KioskSlots,
    Named, PanelFrame, PressSequence, Status, cut,
};
pub use panel::PanelSession;

#[cfg(test)]
mod tests;
