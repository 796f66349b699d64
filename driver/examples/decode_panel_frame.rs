//! Encodes a press as it goes over the serial line, and decodes it from a noisy stream.
//!
//! ```text
//! cargo run -p elevator-driver --features protocol --example decode_panel_frame
//! ```
//!
//! `docs/PANEL-PROTOCOL.md` has the bytes.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use elevator_driver::protocol::{BootId, Decoder, FrameId, Header, PanelFrame, encode};
use elevator_driver::{Button, Direction, Floor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let press = PanelFrame::Press {
        sequence: 1,
        button: Ok(Button::Hall(Floor::try_from(3)?, Direction::Up)),
    };
    let boot = BootId::new(0x1234_5678).ok_or("zero is no boot id")?;
    let bytes = encode(Header { id: FrameId { boot, number: 7 }, answers: None }, &press);
    println!("{} bytes on the line: {bytes:02x?}", bytes.len());

    let mut damaged = bytes.clone();
    damaged[4] ^= 0x10;
    let noise = [0xff, 0x13, 0x00];
    let mut decoder = Decoder::<PanelFrame>::new();
    for byte in noise.into_iter().chain(damaged).chain(bytes) {
        match decoder.push(byte) {
            Some(Ok(numbered)) => println!("{:?}: {:?}", numbered.header.id, numbered.frame),
            Some(Err(error)) => println!("dropped: {error}"),
            None => {}
        }
    }
    Ok(())
}
