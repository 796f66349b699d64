//! Interfaces that are deleted and made anew under a running node, as when a device is pulled out and
//! plugged in again.

use std::net::Ipv4Addr;
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
    let floors = if absence == Absence::Noticed { [3, 1] } else { [4, 2] };
    for ((number, name, other), floor) in [(1, "A", "B"), (2, "B", "A")].into_iter().zip(floors) {
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
        building.serve(name, &["A", "B"], building.hall(floor, Direction::Up));
        println!("{absence:?}: one group {met:?} after the interface of {name} is back");
    }
    building.close_books();
    building.assert_safe();
}

/// Two nodes, started with these arguments more.
fn pair(prepare: impl FnOnce(&mut Building), more: &[&str]) -> Option<Building> {
    let mut building = Building::with_lan(6)?;
    prepare(&mut building);
    for (name, number) in [("A", 1), ("B", 2)] {
        building.install(name, number);
        building.start_with(name, |command| {
            command.args(more);
        });
    }
    building.wait_for_master("A");
    building.wait_in_service(&["A", "B"]);
    Some(building)
}

/// F8, E1: beacons go to a multicast group.
#[test]
fn beacons_pass_again_after_an_interface_was_made_anew() {
    if let Some(mut building) = pair(|building| building.group = Some(BEACONS), &[]) {
        for absence in [Absence::Noticed, Absence::Brief] {
            they_meet_again(&mut building, absence);
        }
    }
}

/// V8, V10, E1: the packets have a multicast group and an interface of their own.
#[test]
fn packets_of_ballot_pass_again_after_an_interface_was_made_anew() {
    let more = ["--ballot-multicast", PACKETS, "--ballot-interface", INTERFACE];
    if let Some(mut building) = pair(|building| building.elect_by(Protocol::Ballot), &more) {
        they_meet_again(&mut building, Absence::Noticed);
    }
}
