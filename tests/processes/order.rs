//! `liftmesh order`: what it says of an order is so.

use std::process::Output;

use elevator_driver::{Direction, DoorState};
use elevator_fleet::model::Role;
use liftmesh_harness::building::{Building, Line};

fn order(building: &Building, words: &[&str]) -> Output {
    building.operator("A", &[&["order"], words].concat()).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// F18: as a press of the button there, it keeps the door open and makes no order.
#[test]
fn an_order_at_an_open_door_is_not_called_placed() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    building.panel("A").send("obstruct on").expect("an obstacle");
    building.press("A", building.hall(0, Direction::Up));
    building.wait("the door is open", |building| {
        building.car("A").door == DoorState::Open
            && building.status("A").is_some_and(|status| status.orders.is_empty())
    });
    for words in [
        &["hall", "0", "up"][..],
        &["car", "A", "0"],
        &["hall", "0", "up", "--wait", "served"],
        &["car", "A", "0", "--wait", "lit"],
    ] {
        let output = order(&building, words);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.contains("not placed: the car is there"), "{said}");
        let status = building.status("A").expect("a status");
        assert!(status.orders.is_empty(), "{:?}", status.orders);
    }
    // The other direction is another matter.
    let output = order(&building, &["hall", "1", "down"]);
    assert_eq!(text(&output.stdout), "hall 1 down placed\n");
    building.panel("A").send("obstruct off").expect("no obstacle");
    building.wait_all_dark();
    building.assert_safe();
}

/// A node without a car has nobody who could serve a car order.
#[test]
fn a_cab_order_for_a_node_without_a_car_is_refused() {
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    building.install_unit("U", 9, Role::ControlUnit);
    building.start("U");
    building.wait("U is heard", |building| {
        let status = building.status("A");
        status.is_some_and(|status| status.nodes().any(|node| *node == "U"))
    });
    let output = order(&building, &["car", "U", "2"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("unknown car U; use one of A"), "{said}");
    assert!(building.status("A").expect("a status").orders.is_empty());
}

/// Whoever waits for a car is told which one came, whether it is this node's or another's.
#[test]
fn an_order_that_was_served_names_the_car() {
    let building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let served_by = |words: &[&str]| {
        let output = order(&building, words);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let by = said.split_once("served by ").map(|(_, rest)| rest.to_owned());
        by.unwrap_or(said)
    };
    building.take_out("A");
    let by = served_by(&["hall", "2", "down", "--wait", "served"]);
    assert!(by.starts_with("B after "), "{by}");
    building.put_in("A");
    building.wait_in_service(&["A"]);
    let by = served_by(&["car", "A", "3", "--wait", "served"]);
    assert!(by.starts_with("A after "), "{by}");
    building.take_out("B");
    let by = served_by(&["hall", "1", "up", "--wait", "served"]);
    assert!(by.starts_with("A after "), "{by}");
    building.put_in("B");
    building.wait_all_dark();
    building.assert_safe();
}

/// A panel's presses and what became of them; an operator's order is none.
#[test]
fn presses_are_shown_with_what_became_of_them() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    building.take_out("A");
    building.press("A", building.hall(2, Direction::Down));
    building.wait("the press is promised", |building| {
        shown(building).iter().any(|press| press["fate"] == "open" && press["promised"] == true)
    });
    building.put_in("A");
    building.wait("the press is served", |building| {
        building.status("A").is_some_and(|status| status.orders.is_empty())
            && shown(building).iter().any(|press| press["fate"] == "served")
    });
    assert_eq!(order(&building, &["car", "A", "1", "--wait", "served"]).status.code(), Some(0));
    let presses = shown(&building);
    assert_eq!(presses.len(), 1, "{presses:?}");
    let call = serde_json::json!({"kind": "hall", "floor": 2, "direction": "down"});
    assert_eq!((&presses[0]["call"], &presses[0]["car"]), (&call, &"A".into()));
    let page = building.operator("A", &["presses"]).output().expect("it runs");
    let page = text(&page.stdout);
    assert!(page.contains("hall 2 down") && page.contains("served by A after"), "{page}");
}

fn shown(building: &Building) -> Vec<serde_json::Value> {
    let output = building.operator("A", &["presses", "--json"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
