//! Interfaces that are deleted and made anew under a running node, as when a device is pulled out and
//! plugged in again.

use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use elevator_driver::Direction;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, INTERFACE};

/// Where beacons go.
const BEACONS: Ipv4Addr = Ipv4Addr::new(239, 192, 46, 100);

/// Where the packets of `ballot` go.
const PACKETS: &str = "239.192.46.101";

/// How long the interface is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absence {
    /// Until both nodes have noticed.
    Noticed,
    /// No longer than it takes to make it anew.
    Brief,
}

/// How long a group has to last before it counts: longer than it takes to notice that nothing is
/// heard, whatever is left of earlier links.
const STEADY: Duration = Duration::from_secs(3);

/// F8, E1: the interface of each host in turn is made anew, and the two become one group again.
fn they_meet_again(building: &mut Building, absence: Absence) {
    building.open_books();
    for (number, name, other) in [(1, "A", "B"), (2, "B", "A")] {
        building.lan().delete_interface(number);
        match absence {
            Absence::Noticed => {
                building.wait_for_master_of(&["A"], "A");
                building.wait_for_master_of(&["B"], "B");
                building.lan().recreate_interface(number);
            }
            Absence::Brief => {
                building.lan().recreate_interface(number);
                // Their link lasts. A node that was lost has nothing but beacons to be found by.
                building.kill(other);
                building.wait_for_master_of(&[name], name);
                building.start(other);
            }
        }
        let met = building.wait_for_steady_group(&["A", "B"], STEADY);
        let button = building.hall(3, Direction::Up);
        building.press(name, button);
        building.wait_lit(&["A", "B"], button);
        building.wait_dark(&["A", "B"], button);
        println!("{absence:?}: one group {met:?} after the interface of {name} is back");
    }
    building.close_books();
    building.assert_safe();
}

/// Two nodes.
fn pair(building: Option<Building>, change: impl Fn(&mut Command)) -> Option<Building> {
    let mut building = building?;
    for (name, number) in [("A", 1), ("B", 2)] {
        building.install(name, number);
        building.start_with(name, &change);
    }
    building.wait_for_master("A");
    building.wait_in_service(&["A", "B"]);
    Some(building)
}

/// F8, E1: beacons go to a multicast group.
fn beacons_pass_again(absence: Absence) {
    let mut building = Building::with_lan(6);
    if let Some(building) = &mut building {
        building.send_to(BEACONS);
    }
    if let Some(mut building) = pair(building, |_| {}) {
        they_meet_again(&mut building, absence);
    }
}

/// F8, E1
#[test]
fn beacons_pass_again_after_an_interface_was_made_anew() {
    beacons_pass_again(Absence::Noticed);
}

/// F8, E1
#[test]
fn beacons_pass_again_after_an_interface_was_away_briefly() {
    beacons_pass_again(Absence::Brief);
}

/// V8, V10, E1: the packets have a multicast group and an interface of their own.
#[test]
fn packets_of_ballot_pass_again_after_an_interface_was_made_anew() {
    let mut building = Building::with_lan(6);
    if let Some(building) = &mut building {
        building.elect_by(Protocol::Ballot);
    }
    let building = pair(building, |command| {
        command.args(["--ballot-multicast", PACKETS]);
        command.args(["--ballot-interface", INTERFACE]);
    });
    if let Some(mut building) = building {
        they_meet_again(&mut building, Absence::Noticed);
    }
}
