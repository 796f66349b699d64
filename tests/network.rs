//! What real processes do when the network between them fails: hosts in network namespaces, joined
//! by a bridge whose ports can be cut, made deaf in one direction, or lossy.
//!
//! The tests need root, `ip` and `nft`; without them they say so and do nothing, or fail where
//! `LIFTMESH_SKIPS_FAIL` is set. They print what they measure (`--nocapture` shows it).
#![cfg(feature = "simulator")]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "all of this is test code, which prints what it has measured"
)]

mod building;
#[path = "network/cut.rs"]
mod cut;
#[path = "network/loss.rs"]
mod loss;
#[path = "network/recreate.rs"]
mod recreate;
#[path = "network/start.rs"]
mod start;

use building::Building;

/// The cars' hosts have their place in the alphabet as the last number of their address.
const FOUR: [&str; 4] = ["A", "B", "C", "D"];

/// A building with a LAN and these cars, whose nodes have merged, and open books; `None` where there
/// can be no LAN.
fn building(names: &[&'static str]) -> Option<Building> {
    let mut building = Building::with_lan(6)?;
    building.fill(names);
    building.open_books();
    Some(building)
}
