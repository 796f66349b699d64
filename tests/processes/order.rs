//! `liftmesh order`: what it says of an order is so.

use elevator_driver::{Direction, DoorState};
use elevator_fleet::model::Role;
use liftmesh_harness::building::{Building, Line};

fn order(building: &Building, words: &[&str]) -> String {
    building.done("A", &[&["order"], words].concat())
}

/// Whoever waits for a car is told which one came, whether it is this node's or another's. A panel's
/// presses are shown with what became of them; an operator's order is none.
#[test]
fn an_order_that_was_served_names_the_car() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    building.take_out("A");
    let by = order(&building, &["hall", "2", "down", "--wait", "served"]);
    assert!(by.contains("served by B after "), "{by}");
    building.press("A", building.hall(3, Direction::Down));
    building.wait("the press is served", |building| {
        let page = building.done("A", &["presses"]);
        page.contains("hall 3 down") && page.contains("served by B after")
    });
    assert_eq!(building.done("A", &["presses", "--json"]).lines().count(), 1);
    for words in [&["hall", "3", "up"][..], &["destination", "3", "3"]] {
        let (exit, why) = building.refusal("A", &[&["order"], words].concat());
        assert_eq!(exit, Some(2), "{why}");
    }
    building.put_in("A");
    building.wait_in_service(&["A"]);
    let by = order(&building, &["car", "A", "3", "--wait", "served"]);
    assert!(by.contains("served by A after "), "{by}");

    order(&building, &["destination", "0", "3", "--wait", "lit"]);
    let words = ["order", "car", "A", "0", "--wait", "served", "--timeout", "10ms"];
    let (exit, why) = building.refusal("A", &words);
    assert_eq!(exit, Some(1), "{why}");
    assert!(why.contains("was placed, but not served within 10ms; it stays open"), "{why}");

    // A node without a car has nobody who could serve a car order.
    building.install_unit("U", 9, Role::ControlUnit);
    building.start("U");
    building.wait("U is heard", |building| {
        let status = building.status("A");
        status.is_some_and(|status| status.nodes().any(|node| *node == "U"))
    });
    let (exit, why) = building.refusal("A", &["order", "car", "U", "2"]);
    assert_eq!(exit, Some(2), "{why}");
    assert!(why.contains("unknown car U; use one of A, B"), "{why}");
    building.assert_safe();
}

/// F18: as a press of the button there, it keeps the door open and makes no order.
#[test]
fn an_order_at_an_open_door_is_not_called_placed() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    building.tell("A", "obstruct on");
    building.press("A", building.hall(0, Direction::Up));
    building.wait("the door is open", |building| {
        building.car("A").door == DoorState::Open
            && building.status("A").is_some_and(|status| status.orders.is_empty())
    });
    for words in [&["hall", "0", "up"][..], &["car", "A", "0", "--wait", "served"]] {
        let said = order(&building, words);
        assert!(said.contains("not placed: the car is there"), "{said}");
        let status = building.status("A").expect("a status");
        assert!(status.orders.is_empty(), "{:?}", status.orders);
    }
    // The other direction is another matter.
    assert_eq!(order(&building, &["hall", "1", "down"]), "hall 1 down placed\n");
}
