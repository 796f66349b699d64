//! Cables that are cut and repaired while the nodes run.

use std::time::Instant;

use elevator_driver::Direction;
use elevator_fleet::wire::Protocol;

use super::building;

const THREE: [&str; 3] = ["A", "B", "C"];

/// F7, F8, F14, O7, E1, E2, C3: two nodes and one on its own, in a LAN, under this protocol.
fn both_sides_of_a_cut_cable_serve_and_merge(protocol: Protocol) {
    let Some(mut building) = building(&THREE, protocol) else {
        return;
    };
    let sides = [&["A"][..], &["B", "C"]];
    let common = building.hall(5, Direction::Down);
    building.press("B", common);
    building.wait_lit(&THREE, common);
    building.lan().unplug(1).unwrap();
    let cut = Instant::now();
    for side in sides {
        building.wait_for_one_master_of(side);
    }
    let noticed = cut.elapsed();
    // What was lit before is served on both sides, at worst twice.
    for (side, floor) in sides.into_iter().zip([4, 2]) {
        building.wait_dark(side, common);
        building.serve(side[0], side, building.hall(floor, Direction::Up));
    }
    building.serve("A", &["A"], building.car_call(5));
    // One more on each side that is open when the cable is repaired.
    let open = [building.hall(1, Direction::Up), building.hall(3, Direction::Down)];
    for name in THREE {
        building.tell(name, "stop on");
    }
    for (side, button) in sides.into_iter().zip(open) {
        building.press(side[0], button);
        building.wait_lit(side, button);
    }
    building.lan().plug(1).unwrap();
    let repaired = building.wait_for_one_master_of(&THREE);
    for button in open {
        building.wait_lit(&THREE, button);
    }
    for name in THREE {
        building.put_in(name);
    }
    let report = building.close_books();
    let equal = building.wait_for_one_master_of(&THREE);
    building.assert_safe();
    println!(
        "{protocol}, one cable cut: both sides on their own after {noticed:?}, one group {repaired:?} after the repair, equal stores {equal:?} after the last order; {report:?}"
    );
}

#[test]
fn both_sides_of_a_cut_cable_serve_and_merge_under_lowest_ip() {
    both_sides_of_a_cut_cable_serve_and_merge(Protocol::LowestIp);
}

/// Its packets have a port of their own.
#[test]
fn both_sides_of_a_cut_cable_serve_and_merge_under_ballot() {
    both_sides_of_a_cut_cable_serve_and_merge(Protocol::Ballot);
}
