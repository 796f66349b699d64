//! Cables that are cut and mended while the nodes run.

use std::time::{Duration, Instant};

use elevator_driver::Direction;
use elevator_fleet::model::Term;
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_harness::building::Building;

use super::building;

const TWO: [&str; 2] = ["A", "B"];
const THREE: [&str; 3] = ["A", "B", "C"];

/// F7, F8, F14, O7, E1, E2, C3: two nodes and one on its own, in a LAN, under this protocol.
fn both_sides_of_a_cut_cable_serve_and_merge_when_it_is_mended(protocol: Protocol) {
    let Some(mut building) = building(&THREE, protocol) else {
        return;
    };
    let sides = [&["A"][..], &["B", "C"]];
    let common = building.hall(5, Direction::Down);
    building.press("B", common);
    building.wait_lit(&THREE, common);
    building.lan().unplug(1);
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
    // One more on each side that is open when the cable is mended.
    let open = [building.hall(1, Direction::Up), building.hall(3, Direction::Down)];
    for name in THREE {
        building.tell(name, "stop on");
    }
    for (side, button) in sides.into_iter().zip(open) {
        building.press(side[0], button);
        building.wait_lit(side, button);
    }
    building.lan().plug(1);
    let mended = building.wait_for_one_master_of(&THREE);
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
        "{protocol}, one cable cut: both sides on their own after {noticed:?}, one group {mended:?} after mending, equal stores {equal:?} after the last order; {report:?}"
    );
}

#[test]
fn both_sides_of_a_cut_cable_serve_and_merge_when_it_is_mended_by_lowest_ip() {
    both_sides_of_a_cut_cable_serve_and_merge_when_it_is_mended(Protocol::LowestIp);
}

/// Its packets have a port of their own.
#[test]
fn both_sides_of_a_cut_cable_serve_and_merge_when_it_is_mended_by_ballot() {
    both_sides_of_a_cut_cable_serve_and_merge_when_it_is_mended(Protocol::Ballot);
}

/// Where two nodes stand, in which term, and how many peers they hear.
fn node_states(building: &Building) -> [(NodeState, Term, usize); 2] {
    TWO.map(|name| {
        let status = building.status(name).expect("it answers");
        (status.node_state, status.term, status.peers.len())
    })
}

/// Both are masters on their own, stay so, and serve.
fn hold_alone(building: &Building, floor: u8) {
    for name in TWO {
        building.wait_for_master_of(&[name], name);
    }
    let alone = node_states(building);
    building.stays("alone", Duration::from_secs(2), |building| node_states(building) == alone);
    for name in TWO {
        building.serve(name, &[name], building.hall(floor, Direction::Up));
    }
    assert_eq!(node_states(building), alone);
}

/// E1: one of the two hears what it is not to believe, at running nodes and at new ones.
#[test]
fn a_link_that_is_one_way_elects_nobody_and_does_not_flap() {
    let Some(mut building) = building(&TWO, Protocol::LowestIp) else {
        return;
    };
    for talker in [1, 2] {
        building.lan().one_way(talker, 3 - talker);
        hold_alone(&building, 2);
        building.kill_all(&TWO);
        for name in TWO {
            building.start(name);
        }
        building.wait_in_service(&TWO);
        hold_alone(&building, 3);
        building.lan().mend();
        let mended = building.wait_for_master("A");
        println!("one-way link from host {talker}: one group {mended:?} after mending");
    }
    building.close_books();
    building.assert_safe();
}

/// E1, F12, F14, P4: two nodes that hear each other and can make no link stay two masters, without
/// changing to and fro, and keep their orders in step all the same.
#[test]
fn nodes_that_hear_each_other_and_can_not_connect_do_not_flap() {
    let Some(mut building) = building(&TWO, Protocol::LowestIp) else {
        return;
    };
    building.lan().refuse_links();
    building.kill("B");
    building.wait_for_master("A");
    building.start("B");
    building.wait("both answer", |building| building.status("B").is_some());
    building.wait("they hear each other", |building| {
        let node_states = node_states(building);
        let mut both = node_states.iter();
        both.all(|(node_state, _, peers)| *node_state == NodeState::Master && *peers == 1)
    });
    building.wait_in_service(&TWO);
    let apart = node_states(&building);
    building
        .stays("two masters", Duration::from_secs(3), |building| node_states(building) == apart);
    building.serve("B", &TWO, building.hall(3, Direction::Up));
    building.lan().mend();
    let mended = building.wait_for_master("A");
    building.close_books();
    building.assert_safe();
    println!("no links: no change in 3 s, one group {mended:?} after mending");
}

/// F8, E1: an interface that goes down and comes back under a running node.
#[test]
fn a_node_whose_interface_goes_down_serves_alone_and_comes_back() {
    let Some(mut building) = building(&TWO, Protocol::LowestIp) else {
        return;
    };
    let common = building.hall(5, Direction::Down);
    building.press("B", common);
    building.wait_lit(&TWO, common);
    building.lan().lower(1);
    let noticed = building.wait_for_master_of(&["B"], "B");
    building.wait_for_master_of(&["A"], "A");
    for name in TWO {
        building.wait_dark(&[name], common);
        building.serve(name, &[name], building.hall(3, Direction::Up));
    }
    building.lan().raise(1);
    let back = building.wait_for_master("A");
    building.close_books();
    building.assert_safe();
    println!("interface down: on their own after {noticed:?}, one group {back:?} after it is up");
}
