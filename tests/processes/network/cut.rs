//! Cables that are cut and mended while the nodes run.

use std::time::{Duration, Instant};

use elevator_driver::{Button, Direction};
use elevator_fleet::model::Term;
use elevator_fleet::wire::NodeState;
use liftmesh_harness::building::Building;

use super::{FOUR, building};

/// Presses and waits until the lamp is lit on all panels of a group, which is a promise, and dark,
/// which is a kept one.
fn place_and_serve(building: &Building, group: &[&str], button: Button) -> Duration {
    building.press(group[group.len() - 1], button);
    building.wait_lit(group, button);
    building.wait_dark(group, button)
}

/// F7, F8, F14, O7, E1, E2: two nodes and one on its own.
#[test]
fn both_sides_of_a_cut_cable_serve_and_merge_when_it_is_mended() {
    let Some(mut building) = building(&["A", "B", "C"]) else {
        return;
    };
    let common = building.hall(5, Direction::Down);
    building.press("B", common);
    building.wait_lit(&["A", "B", "C"], common);
    building.lan().unplug(1);
    let cut = Instant::now();
    building.wait_for_master_of(&["B", "C"], "B");
    building.wait_for_master_of(&["A"], "A");
    let noticed = cut.elapsed();
    // What was lit before is served on both sides, at worst twice.
    building.wait_dark(&["A"], common);
    building.wait_dark(&["B", "C"], common);
    place_and_serve(&building, &["B", "C"], building.hall(2, Direction::Up));
    place_and_serve(&building, &["A"], building.hall(4, Direction::Down));
    place_and_serve(&building, &["A"], building.car_call(5));
    // One more on each side that is open when the cable is mended.
    let (left, right) = (building.hall(1, Direction::Up), building.hall(3, Direction::Down));
    for name in ["A", "B", "C"] {
        building.panel(name).send("stop on").expect("the stop switch");
    }
    building.press("A", left);
    building.press("C", right);
    building.wait_lit(&["A"], left);
    building.wait_lit(&["B", "C"], right);
    building.lan().plug(1);
    let mended = building.wait_for_master("A");
    for button in [left, right] {
        building.wait_lit(&["A", "B", "C"], button);
    }
    for name in ["A", "B", "C"] {
        building.put_in(name);
    }
    let report = building.close_books();
    let equal = building.wait_for_master("A");
    building.assert_safe();
    println!(
        "one cable cut: both sides on their own after {noticed:?}, one group {mended:?} after mending, equal stores {equal:?} after the last order; {report:?}"
    );
}

/// F8, F14, O7, E1, E2: the switch falls apart into two.
#[test]
fn two_pairs_that_are_cut_from_each_other_serve_and_merge() {
    let Some(mut building) = building(&FOUR) else {
        return;
    };
    let common = building.hall(5, Direction::Down);
    building.press("D", common);
    building.wait_lit(&FOUR, common);
    building.lan().divide(&[1, 3], &[2, 4]);
    let cut = Instant::now();
    building.wait_for_master_of(&["A", "C"], "A");
    building.wait_for_master_of(&["B", "D"], "B");
    let noticed = cut.elapsed();
    for group in [["A", "C"], ["B", "D"]] {
        building.wait_dark(&group, common);
        place_and_serve(&building, &group, building.hall(3, Direction::Up));
    }
    let (left, right) = (building.hall(1, Direction::Up), building.hall(3, Direction::Down));
    for name in FOUR {
        building.panel(name).send("stop on").expect("the stop switch");
    }
    building.press("C", left);
    building.press("D", right);
    building.wait_lit(&["A", "C"], left);
    building.wait_lit(&["B", "D"], right);
    building.lan().mend();
    let mended = building.wait_for_master("A");
    for button in [left, right] {
        building.wait_lit(&FOUR, button);
    }
    for name in FOUR {
        building.put_in(name);
    }
    let report = building.close_books();
    let equal = building.wait_for_master("A");
    building.assert_safe();
    println!(
        "two pairs: on their own after {noticed:?}, one group {mended:?} after mending, equal stores {equal:?} after the last order; {report:?}"
    );
}

/// Where two nodes stand, in which term, and how many peers they hear.
fn node_states(building: &Building) -> [(NodeState, Term, usize); 2] {
    ["A", "B"].map(|name| {
        let status = building.status(name).expect("it answers");
        (status.node_state, status.term, status.peers.len())
    })
}

/// E1: one of the two hears what it is not to believe, at running nodes and at new ones.
fn nobody_is_elected_over_a_link_that_is_one_way_from(talker: u8) {
    let Some(mut building) = building(&["A", "B"]) else {
        return;
    };
    building.lan().one_way(talker, 3 - talker);
    let lead_alone = |building: &Building| {
        for name in ["A", "B"] {
            building.wait_for_master_of(&[name], name);
        }
    };
    let cut = Instant::now();
    lead_alone(&building);
    let noticed = cut.elapsed();
    hold_alone(&building, 2);
    building.kill_all(&["A", "B"]);
    for name in ["A", "B"] {
        building.start(name);
    }
    building.wait_in_service(&["A", "B"]);
    lead_alone(&building);
    hold_alone(&building, 3);
    building.lan().mend();
    let mended = building.wait_for_master("A");
    building.close_books();
    building.assert_safe();
    println!(
        "one-way link from host {talker}: noticed after {noticed:?}, no change in 2 s, one group {mended:?} after mending"
    );
}

/// E1
#[test]
fn a_link_one_way_from_the_lowest_address_elects_nobody_and_does_not_flap() {
    nobody_is_elected_over_a_link_that_is_one_way_from(1);
}

/// E1
#[test]
fn a_link_one_way_to_the_lowest_address_elects_nobody_and_does_not_flap() {
    nobody_is_elected_over_a_link_that_is_one_way_from(2);
}

/// Both are masters on their own, stay so, and serve.
fn hold_alone(building: &Building, floor: u8) {
    let alone = node_states(building);
    for (node_state, _, peers) in &alone {
        assert_eq!((node_state, *peers), (&NodeState::Master, 0));
    }
    building.stays("alone", Duration::from_secs(2), |building| node_states(building) == alone);
    for name in ["A", "B"] {
        place_and_serve(building, &[name], building.hall(floor, Direction::Up));
    }
    assert_eq!(node_states(building), alone);
}

/// E1, F12, F14, P4: two nodes that hear each other and can make no link stay two masters, without
/// changing to and fro, and keep their orders in step all the same.
#[test]
fn nodes_that_hear_each_other_and_can_not_connect_do_not_flap() {
    let Some(mut building) = building(&["A", "B"]) else {
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
    building.wait_in_service(&["A", "B"]);
    let apart = node_states(&building);
    building
        .stays("two masters", Duration::from_secs(3), |building| node_states(building) == apart);
    let button = building.hall(3, Direction::Up);
    place_and_serve(&building, &["A", "B"], button);
    building.lan().mend();
    let mended = building.wait_for_master("A");
    building.close_books();
    building.assert_safe();
    println!("no links: no change in 3 s, one group {mended:?} after mending");
}

/// F8, E1: an interface that goes down and comes back under a running node.
#[test]
fn a_node_whose_interface_goes_down_serves_alone_and_comes_back() {
    let Some(mut building) = building(&["A", "B"]) else {
        return;
    };
    let common = building.hall(5, Direction::Down);
    building.press("B", common);
    building.wait_lit(&["A", "B"], common);
    building.lan().lower(1);
    let noticed = building.wait_for_master_of(&["B"], "B");
    building.wait_for_master_of(&["A"], "A");
    for name in ["A", "B"] {
        building.wait_dark(&[name], common);
        place_and_serve(&building, &[name], building.hall(3, Direction::Up));
    }
    building.lan().raise(1);
    let back = building.wait_for_master("A");
    building.close_books();
    building.assert_safe();
    println!("interface down: on their own after {noticed:?}, one group {back:?} after it is up");
}
