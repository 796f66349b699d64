//! Nodes that start before their network does, and one whose address changes later, as by DHCP.

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, INTERFACE, Interface};

/// F8: a node without a network at its start serves alone and joins when the network comes, with the
/// orders of both.
#[test]
fn a_node_serves_alone_until_its_network_comes() {
    let names = ["A", "B"];
    for (late, interface) in [(1, Interface::Down), (2, Interface::Bare)] {
        let Some(mut building) = Building::with_lan(6) else {
            return;
        };
        for (name, number) in names.into_iter().zip(1..) {
            let at_start = if number == late { interface } else { Interface::Ready };
            building.install_at(name, number, at_start);
            building.start(name);
        }
        for name in names {
            building.wait_for_master_of(&[name], name);
        }
        building.wait_in_service(&names);
        building.open_books();
        for name in names {
            building.serve(name, &[name], building.hall(3, Direction::Up));
        }
        // Open on both sides when they meet.
        let open = [building.hall(4, Direction::Up), building.hall(2, Direction::Down)];
        for (name, button) in names.into_iter().zip(open) {
            building.take_out(name);
            building.press(name, button);
            building.wait_lit(&[name], button);
        }
        match interface {
            Interface::Down => building.lan().raise(late).unwrap(),
            Interface::Bare | Interface::Ready => building.lan().address_host(late, late).unwrap(),
        }
        let joined = building.wait_for_master("A");
        for button in open {
            building.wait_lit(&names, button);
        }
        for name in names {
            building.put_in(name);
        }
        building.close_books();
        building.assert_safe();
        println!("host {late}, {interface:?} at its start: one group {joined:?} after it is ready");
    }
}

/// F8, C7: a node joins once its interface has an address, and follows a change, with the order that
/// its car is on its way for; nobody takes it for two nodes afterwards.
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
    building.lan().address_host(1, 1).unwrap();
    let joined = building.wait_for_master("A");
    building.wait_in_service(&["A", "B"]);
    building.take_out("B");
    let button = building.hall(4, Direction::Down);
    building.press("A", button);
    building.wait_lit(&["A", "B"], button);
    building.lan().address_host(1, 9).unwrap();
    let address = building.lan().address(9);
    let followed = building.wait_for_master("B");
    assert_eq!(building.status("A").map(|status| status.address), Some(address));
    assert_eq!(building.status("B").map(|status| status.conflicts), Some(Vec::new()));
    building.wait_dark(&["A", "B"], button);
    println!("joined after {joined:?}, followed its address after {followed:?}");
}
