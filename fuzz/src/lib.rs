//! What must hold of any bytes that Liftmesh reads.
//!
//! ```text
//!   libFuzzer (fuzz/libfuzzer/) ──▶ ┐
//!                                   ├─▶ Target::check(bytes)   panics where something does not hold
//!   tests: corpus, mutations ─────▶ ┘
//! ```
//!
//! Each [`Target`] is one input of the program: its function takes bytes, feeds them to the parser,
//! and panics where the parser does, or where what it made of them is wrong. `docs/RELIABILITY.md`
//! says how to run them.
#![allow(
    clippy::missing_panics_doc,
    clippy::expect_used,
    reason = "a panic is how a target reports what it has found"
)]

mod datagram;
mod greeting;
mod journal;
mod link;
mod panel;
mod server;
mod split;
#[cfg(test)]
mod tests;
mod text;
mod wire;

/// One input of the program.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: that of its corpus in `fuzz/corpus/` and of its binary in
    /// `fuzz/libfuzzer/fuzz_targets/`.
    pub name: &'static str,
    /// Panics if something does not hold of these bytes.
    pub check: fn(&[u8]),
    /// Valid inputs to begin with. They are made anew each time, so that they follow the formats.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every input.
pub const TARGETS: &[Target] = &[
    Target { name: "beacon", check: datagram::beacon, seeds: datagram::beacon_seeds },
    Target {
        name: "sealed_beacon",
        check: datagram::sealed_beacon,
        seeds: datagram::sealed_beacon_seeds,
    },
    Target { name: "packet", check: datagram::packet, seeds: datagram::packet_seeds },
    Target { name: "frame", check: wire::frame, seeds: wire::frame_seeds },
    Target { name: "opening", check: wire::opening, seeds: wire::opening_seeds },
    Target { name: "panel", check: panel::panel, seeds: panel::panel_seeds },
    Target { name: "controller", check: panel::controller, seeds: panel::controller_seeds },
    Target {
        name: "elevator_server",
        check: server::elevator_server,
        seeds: server::elevator_server_seeds,
    },
    Target { name: "link", check: link::link, seeds: link::link_seeds },
    Target {
        name: "encrypted_link",
        check: link::encrypted_link,
        seeds: link::encrypted_link_seeds,
    },
    Target { name: "greeting", check: greeting::greeting, seeds: greeting::greeting_seeds },
    Target {
        name: "sealed_packets",
        check: link::sealed_packets,
        seeds: link::sealed_packets_seeds,
    },
    Target { name: "config", check: text::config, seeds: text::config_seeds },
    Target { name: "key", check: text::key, seeds: text::key_seeds },
    Target { name: "assign", check: text::assign, seeds: text::assign_seeds },
    Target { name: "passengers", check: text::passengers, seeds: text::passengers_seeds },
    Target { name: "latch", check: text::latch, seeds: text::latch_seeds },
    Target { name: "mqtt_call", check: text::mqtt_call, seeds: text::mqtt_call_seeds },
    Target { name: "journal", check: journal::journal, seeds: journal::journal_seeds },
];

/// Checks these bytes with the target of this name.
///
/// # Panics
/// Something does not hold, or there is no such target.
pub fn check(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("one of the targets");
    (target.check)(bytes);
}
