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
//!                                      Stuck Request
//!       ControllerFrame ─▶ encode ─▶ bytes ─▶ Decoder ─▶ ControllerFrame
//! ```
//!
//! Read [`ControllerFrame`] and [`PanelFrame`] first, then the session of the end you are at.
//!
//! Each end keeps sending its whole *state*, at once when it changes and again at every heartbeat,
//! so that the next frame repairs the loss of one. Only presses and requests are events: a panel
//! repeats one until the controller has acknowledged it.
//!
//! A line may also repeat what it carried before. So each frame has a number, and names the run of
//! its sender and the frame that it answers: neither end uses a frame whose number is behind, or
//! one of a run that has not answered it.
//!
//! ```
//! use elevator_driver::protocol::{BootId, Decoder, FrameId, Header, PanelFrame, Press, encode};
//! use elevator_driver::{Button, Direction, Floor};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let press = PanelFrame::Press(Press {
//!     sequence: 1,
//!     button: Ok(Button::Hall(Floor::try_from(3)?, Direction::Up)),
//! });
//! let boot = BootId::new(1).ok_or("zero is no boot id")?;
//! let header = Header { id: FrameId { boot, number: 7 }, answers: None };
//! let mut decoder = Decoder::<PanelFrame>::new();
//! let mut frames = encode(header, &press).into_iter().filter_map(|byte| decoder.push(byte));
//! let frame = frames.next().ok_or("a frame")??;
//! assert_eq!((frame.header, frame.frame), (header, press));
//! # Ok(())
//! # }
//! ```

mod codec;
mod controller;
mod endpoint;
mod frame;
mod panel;

pub use codec::{Decoder, FrameError, FrameId, Header, MAX_WIRE_LENGTH, Numbered, VERSION, encode};
pub use controller::{ControllerSession, SessionSettings};
pub use frame::{
    BootId, ButtonChunk, ControllerFrame, DISPLAY_BYTES, Drive, Frame, KioskSlot, KioskSlots,
    Named, PanelFrame, Press, PressSequence, Request, Status, cut,
};
pub use panel::PanelSession;

#[cfg(test)]
mod tests;
