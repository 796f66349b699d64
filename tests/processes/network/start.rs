//! Nodes that start before their network does.

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Interface};

/// F8: whichever of the two is without a network at its start, it serves alone, as its status says, and joins
/// when the network comes.
fn a_node_serves_alone_until_its_network_comes(interface: Interface) {
    for late in ["A", "B"] {
        let Some(mut building) = Building::with_lan(6) else {
            return;
        };
        for (name, number) in [("A", 1), ("B", 2)] {
            let at_start = if name == late { interface } else { Interface::Ready };
            building.install_at(name, number, at_start);
            building.start(name);
        }
        for name in ["A", "B"] {
            building.wait_for_master_of(&[name], name);
        }
        building.wait_in_service(&["A", "B"]);
        building.open_books();
        for name in ["A", "B"] {
            let button = building.hall(3, Direction::Up);
            building.press(name, button);
            building.wait_lit(&[name], button);
            building.wait_dark(&[name], button);
        }
        // Open on both sides when they meet.
        let (one, two) = (building.hall(4, Direction::Up), building.hall(2, Direction::Down));
        for name in ["A", "B"] {
            building.panel(name).send("stop on").expect("the stop switch");
        }
        building.press("A", one);
        building.press("B", two);
        building.wait_lit(&["A"], one);
        building.wait_lit(&["B"], two);
        let number = if late == "A" { 1 } else { 2 };
        match interface {
            Interface::Down => building.lan().raise(number),
            Interface::Bare => building.lan().address_host(number),
            Interface::Ready => {}
        }
        let synced = building.wait_for_master("A");
        for button in [one, two] {
            building.wait_lit(&["A", "B"], button);
        }
        for name in ["A", "B"] {
            building.put_in(name);
        }
        building.close_books();
        building.assert_safe();
        println!(
            "{late} starts with its interface {interface:?}: one group {synced:?} after it is ready"
        );
    }
}

/// F8
#[test]
fn a_node_whose_interface_is_down_at_its_start_serves_alone_and_joins_later() {
    a_node_serves_alone_until_its_network_comes(Interface::Down);
}

/// F8
#[test]
fn a_node_whose_address_is_not_there_at_its_start_serves_alone_and_joins_later() {
    a_node_serves_alone_until_its_network_comes(Interface::Bare);
}
