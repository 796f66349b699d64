//! Interfaces that are deleted and made anew under a running node, as when a device is pulled out and
//! plugged in again.

use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::Direction;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, INTERFACE};

const TWO: [&str; 2] = ["A", "B"];

/// How long a group has to last before it counts: longer than it takes to notice that nothing is
/// heard.
const STEADY: Duration = Duration::from_secs(3);

/// F8, E1: the interface of each host in turn is deleted until both nodes have noticed, and made
/// anew: the two become one group again.
fn they_meet_again(building: &mut Building) {
    building.wait_for_master("A");
    building.wait_in_service(&TWO);
    building.open_books();
    for (number, name, floor) in [(1, "A", 3), (2, "B", 1)] {
        building.lan().delete_interface(number).unwrap();
        building.wait_for_master_of(&["A"], "A");
        building.wait_for_master_of(&["B"], "B");
        building.lan().recreate_interface(number).unwrap();
        let met = building.wait_for_master("A");
        building.stays("one group", STEADY, |building| building.are_led_by(&TWO, "A"));
        building.serve(name, &TWO, building.hall(floor, Direction::Up));
        println!("one group {met:?} after the interface of {name} is back");
    }
    building.close_books();
    building.assert_safe();
}

/// F8, E1: beacons go to a multicast group.
#[test]
fn beacons_pass_again_after_an_interface_was_made_anew() {
    let Some(mut building) = Building::with_lan(6) else { return };
    for (name, number) in TWO.into_iter().zip(1..) {
        building.install(name, number);
        building.start_as(name, |node| node.broadcast.set_ip(Ipv4Addr::new(239, 192, 46, 100)));
    }
    they_meet_again(&mut building);
}

/// V8, V10, E1: the packets have a multicast group and an interface of their own.
#[test]
fn packets_of_ballot_pass_again_after_an_interface_was_made_anew() {
    let Some(mut building) = Building::with_lan(6) else { return };
    building.elect_by(Protocol::Ballot);
    for (name, number) in TWO.into_iter().zip(1..) {
        building.install(name, number);
        building.start_with(name, |command| {
            command.args(["--ballot-multicast", "239.192.46.101", "--ballot-interface", INTERFACE]);
        });
    }
    they_meet_again(&mut building);
}
