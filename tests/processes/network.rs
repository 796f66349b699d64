//! What real processes do when the network between them fails: hosts in network namespaces,
//! connected by a bridge whose ports can be cut, made deaf in one direction, or lossy.
//!
//! The tests need root, `ip` and `nft`; without them they say so and do nothing, or fail where
//! `LIFTMESH_SKIPS_FAIL` is set. They print what they measure (`--nocapture` shows it).

use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::Building;

mod address;
mod cut;
mod loss;
mod recreate;

/// A building with a LAN and these cars, whose nodes have merged, and open books; `None` where there
/// can be no LAN. The hosts have their place in the alphabet as the last number of their address.
fn building(names: &[&'static str], protocol: Protocol) -> Option<Building> {
    let mut building = Building::with_lan(6)?;
    building.elect_by(protocol);
    building.fill(names);
    building.open_books();
    Some(building)
}
