//! A node whose interface gets its address from elsewhere, and another one later, as by DHCP.

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, INTERFACE, Interface};

/// F8, C7: it joins once there is an address, and follows a change, with the order that its car is on its
/// way for; nobody takes it for two nodes afterwards.
#[test]
fn a_node_follows_the_address_of_its_interface() {
    let Some(mut building) = Building::with_lan(6) else {
        return;
    };
    building.install_at("A", 1, Interface::Bare);
    building.install("B", 2);
    for name in ["A", "B"] {
        building.start_as(name, |node| INTERFACE.clone_into(&mut node.address));
    }
    building.wait_for_master_of(&["A"], "A");
    building.lan().address_host(1);
    let joined = building.wait_for_master("A");
    building.wait_in_service(&["A", "B"]);
    building.take_out("B");
    let button = building.hall(4, Direction::Down);
    building.press("A", button);
    building.wait_lit(&["A", "B"], button);
    building.lan().readdress_host(1, 9);
    let address = building.lan().address(9);
    let followed = building.wait_for_master("B");
    assert_eq!(building.status("A").map(|status| status.address), Some(address));
    assert_eq!(building.status("B").map(|status| status.conflicts), Some(Vec::new()));
    building.wait_dark(&["A", "B"], button);
    println!("joined after {joined:?}, followed its address after {followed:?}");
}
