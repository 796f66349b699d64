//! Calls that are followed from being placed to their end, and withdrawn where that is possible.

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line};
use serde_json::{Value, json};

use super::client::{command, get, post, serving};
use super::{call, followed, receipt, token, withdraw};

/// Waits until a call is in this state, at one node after the other.
fn wait_for(building: &Building, nodes: &[u8], receipt: &str, state: &str) -> Value {
    let mut last = Value::Null;
    for number in nodes {
        building.wait(&format!("the call is {state}"), |building| {
            last = followed(serving(building, *number), receipt);
            last["state"] == state
        });
    }
    last
}

/// The states that are seen on the way, and the end at every node: also at one that was down meanwhile,
/// and while a passenger presses the same button later. The master dies while the car is on its way.
#[test]
fn a_call_is_followed_to_its_end_through_a_failover() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B", "C"]);
    let token = token(&building, "B", "kiosk", "call");
    let b = serving(&building, 2);
    let hall = json!({"kind": "hall", "floor": 3, "direction": "down"});
    // One without an id is followed as well.
    let placed = post(b, "/api/v1/calls", Some(&token), &json!({"call": hall}).to_string());
    assert_eq!(placed.status, 201, "{placed:?}");
    let receipt = receipt(&placed);
    building.kill("A");
    let mut seen = Vec::new();
    building.wait("it is served", |_| {
        let now = followed(b, &receipt);
        let state = now["state"].as_str().expect("a state").to_owned();
        assert_eq!((&now["id"], &now["call"]), (&json!(receipt), &hall), "{now}");
        if seen.last() != Some(&state) {
            seen.push(state);
        }
        seen.last().is_some_and(|state| state == "served")
    });
    // If the car of the dead master was on its way, another one is assigned.
    let on_the_way = seen.iter().all(|state| {
        ["being_allocated", "being_served", "served_soon", "served"].contains(&state.as_str())
    });
    assert!(on_the_way && seen.contains(&"served_soon".to_owned()), "{seen:?}");
    let served = wait_for(&building, &[2, 3], &receipt, "served");
    assert!(["B", "C"].contains(&served["car"].as_str().expect("a car")), "{served}");
    assert!(served["waited"].as_f64().is_some_and(|waited| waited > 1.0), "{served}");
    assert_eq!((&served["order"], &served["reason"]), (&json!(null), &json!(null)), "{served}");

    building.start("A");
    wait_for(&building, &[1], &receipt, "served");
    building.wait_all_dark();
    let lamp = building.hall(3, Direction::Down);
    // A car stands there with its door open: the lamp may not even be lit.
    building.press("B", lamp);
    building.wait_dark(&["A", "B", "C"], lamp);
    for node in [1, 2, 3] {
        let same = followed(serving(&building, node), &receipt);
        assert_eq!((&same["state"], &same["car"]), (&json!("served"), &served["car"]), "{same}");
    }
    building.assert_safe();
}

#[test]
fn a_call_that_a_fire_recall_drops_is_cancelled() {
    let building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let kiosk = token(&building, "A", "kiosk", "call");
    let panel = token(&building, "A", "fire-panel", "operate");
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let hall = call(&json!({"kind": "hall", "floor": 3, "direction": "down"}), "one");
    let placed = post(a, "/api/v1/calls", Some(&kiosk), &hall);
    let receipt = receipt(&placed);
    wait_for(&building, &[2], &receipt, "being_served");
    let recall = json!({"kind": "fire_recall", "on": true});
    assert_eq!(command(b, &panel, &recall).status, 200);
    let dropped = wait_for(&building, &[1, 2], &receipt, "cancelled");
    assert_eq!((&dropped["reason"], &dropped["car"]), (&json!("recalled"), &json!(null)));
    // It is the end of the request: a repetition places nothing.
    let again = post(b, "/api/v1/calls", Some(&kiosk), &hall);
    assert_eq!((again.status, again.json()), (200, placed.json()));
    building.assert_safe();
}

/// One request takes a robot along; another one is withdrawn while its car is on the way.
#[test]
fn a_robot_calls_a_car_and_withdraws_the_next_call() {
    let building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let robot = token(&building, "A", "robot", "call");
    let other = token(&building, "A", "other", "call");
    building.wait("the tokens count at B", |building| {
        post(serving(building, 2), "/api/v1/calls", Some(&other), "{}").status == 400
    });
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let trip = json!({"kind": "robot", "from": 1, "to": 3, "car": "B", "seconds": 1});
    let body = call(&trip, "one");
    let placed = post(a, "/api/v1/calls", Some(&robot), &body);
    assert_eq!((placed.status, &placed.json()["call"]), (201, &trip), "{placed:?}");
    let first = receipt(&placed);
    let session = || get(serving(&building, 2), &format!("/api/v1/sessions/{first}"));
    building.wait("B has heard of the session", |_| session().status == 200);
    assert_eq!(session().json()["to"], 3);
    let again = post(b, "/api/v1/calls", Some(&robot), &body);
    assert_eq!((again.status, again.json()), (200, placed.json()));
    wait_for(&building, &[2], &first, "served_soon");
    let served = wait_for(&building, &[1, 2], &first, "served");
    assert_eq!((&served["call"], &served["reason"]), (&trip, &json!(null)), "{served}");
    assert_eq!(building.car("B").floor, Some(building.floor(3)));

    let nowhere = call(&json!({"kind": "robot", "from": 2, "to": 2}), "nowhere");
    let refused = post(a, "/api/v1/calls", Some(&robot), &nowhere);
    assert_eq!((refused.status, refused.problem()), (422, "no_such_button".to_owned()));
    let hall = json!({"kind": "hall", "floor": 1, "direction": "up"});
    let clash = post(b, "/api/v1/calls", Some(&robot), &call(&hall, "one"));
    assert_eq!((clash.status, clash.problem()), (409, "request_id_reused".to_owned()));

    let back = call(&json!({"kind": "robot", "from": 0, "to": 2}), "two");
    let second = receipt(&post(b, "/api/v1/calls", Some(&robot), &back));
    let allocated = wait_for(&building, &[1], &second, "being_served");
    assert!(allocated["car"].is_string(), "{allocated}");
    let mine = withdraw(a, &second, Some(&other));
    assert_eq!((mine.status, mine.problem()), (403, "other_owner".to_owned()));
    for node in [a, b] {
        let gone = withdraw(node, &second, Some(&robot));
        assert_eq!((gone.status, &gone.json()["state"]), (200, &json!("cancelled")), "{gone:?}");
        assert_eq!(gone.json()["reason"], "withdrawn", "{gone:?}");
    }
    // Nothing of it is left to a car that serves passengers.
    building.press("A", building.hall(2, Direction::Up));
    building.wait_all_dark();
    // A trip that is over can't be withdrawn any more, and stays served.
    let over = withdraw(a, &first, Some(&robot));
    assert_eq!((over.status, &over.json()["state"]), (200, &json!("served")), "{over:?}");
    let strange = call(&json!({"kind": "robot", "from": 0}), "three");
    let refused = post(a, "/api/v1/calls", Some(&robot), &strange);
    assert_eq!((refused.status, refused.problem()), (400, "malformed".to_owned()));
    assert!(refused.body.contains("missing field `to`"), "{refused:?}");
    building.assert_safe();
}
