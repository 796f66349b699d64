//! What must hold of any bytes that Liftmesh reads.
//!
//! ```text
//!   libFuzzer (fuzz/libfuzzer/) ──▶ ┐
//!                                   ├─▶ Target::check(bytes)   panics where something does not hold
//!   tests: corpus, mutations ─────▶ ┘
//! ```
//!
//! `docs/RELIABILITY.md` says how to run them.
#![allow(
    clippy::missing_panics_doc,
    clippy::expect_used,
    reason = "a panic is how a target reports what it has found"
)]

mod datagram;
mod panel;
mod server;
#[cfg(test)]
mod tests;
mod text;
mod wire;

/// One input of the program.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: that of its corpus in `fuzz/corpus/` and of its binary in `fuzz/libfuzzer/`.
    pub name: &'static str,
    /// Panics if something does not hold of these bytes.
    pub check: fn(&[u8]),
    /// Valid inputs besides those of the corpus. They are made anew each time, so that they follow
    /// the formats.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// How many mutations the test makes: fewer where each takes long.
    pub mutations: usize,
}

const fn target(
    name: &'static str,
    check: fn(&[u8]),
    seeds: fn() -> Vec<Vec<u8>>,
    mutations: usize,
) -> Target {
    Target { name, check, seeds, mutations }
}

/// Every input.
pub const TARGETS: &[Target] = &[
    target("beacon", datagram::beacon, datagram::beacon_seeds, 2_000),
    target("sealed_beacon", datagram::sealed_beacon, datagram::sealed_beacon_seeds, 2_000),
    target("packet", datagram::packet, datagram::packet_seeds, 2_000),
    target("frame", wire::frame, wire::frame_seeds, 2_000),
    target("opening", wire::opening, wire::opening_seeds, 2_000),
    target("panel", panel::panel, panel::panel_seeds, 2_000),
    target("elevator_server", server::elevator_server, server::elevator_server_seeds, 30),
    target("config", text::config, text::config_seeds, 200),
    target("key", text::key, Vec::new, 2_000),
    target("assign", text::assign, Vec::new, 1_000),
    target("latch", text::latch, Vec::new, 1_000),
    target("mqtt_call", text::mqtt_call, Vec::new, 2_000),
];

/// Checks these bytes with the target of this name.
///
/// # Panics
/// Something does not hold, or there is no such target.
pub fn check(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("one of the targets");
    (target.check)(bytes);
}
