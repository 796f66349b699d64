//! Sessions of robots over HTTP.

use std::net::SocketAddr;

use liftmesh_harness::building::{Building, Line};
use serde_json::{Value, json};

use super::client::{Answer, command, get, post, put, request, serving};
use super::commands::audit;
use super::token;

fn open(node: SocketAddr, token: &str, body: &Value) -> Answer {
    post(node, "/api/v1/sessions", Some(token), &body.to_string())
}

fn end(node: SocketAddr, token: &str, path: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    request(node, "DELETE", path, &[("Authorization", &bearer)], "")
}

fn wait_for(building: &Building, number: u8, path: &str, state: &str) -> Value {
    let session = || get(serving(building, number), path).json();
    building.wait(&format!("the session is {state}"), |_| session()["state"] == state);
    session()
}

/// From call to end, at whichever node: the car comes, goes on, and is back in service. The master dies
/// meanwhile.
#[test]
fn a_robot_rides_in_a_session() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B", "C"]);
    let robot = token(&building, "B", "robot", "call");
    let other = token(&building, "B", "other", "call");
    let b = serving(&building, 2);
    let body = json!({"car": "C", "floor": 2, "seconds": 60, "request_id": "one"});
    let opened = open(b, &robot, &body);
    assert_eq!(opened.status, 201, "{opened:?}");
    let id = opened.json()["id"].as_str().expect("an id").to_owned();
    let path = format!("/api/v1/sessions/{id}");
    let again = open(b, &robot, &body);
    assert_eq!((again.status, &again.json()["id"]), (200, &json!(id)), "{again:?}");
    let reused = open(b, &robot, &json!({"floor": 1, "request_id": "one"}));
    assert_eq!((reused.status, reused.problem()), (409, "request_id_reused".to_owned()));

    building.kill("A");
    let there = wait_for(&building, 3, &path, "open");
    assert_eq!((&there["car"], &there["floor"]), (&json!("C"), &json!(2)), "{there}");
    let cars = get(b, "/api/v1/cars").json();
    let car = cars.as_array().expect("cars").iter().find(|car| car["car"] == "C").expect("C");
    assert_eq!((&car["mode"], &car["unavailable"]), (&json!("priority"), &json!("priority")));
    let lift = &car["lift_state"];
    assert_eq!((&lift["session_id"], &lift["current_mode"]), (&json!(id), &json!(2)), "{lift}");
    assert_eq!((&lift["current_floor"], &lift["door_state"]), (&json!("2"), &json!(2)), "{lift}");
    let queued = open(b, &other, &json!({"car": "C", "floor": 0}));
    assert_eq!((queued.status, &queued.json()["state"]), (201, &json!("queued")), "{queued:?}");

    let c = serving(&building, 3);
    let mine = put(c, &path, &other, &json!({"floor": 3}));
    assert_eq!((mine.status, mine.problem()), (403, "other_owner".to_owned()));
    let next = put(c, &path, &robot, &json!({"floor": 3}));
    assert_eq!((next.status, &next.json()["state"]), (200, &json!("coming")), "{next:?}");
    let there = wait_for(&building, 2, &path, "open");
    assert_eq!(there["floor"], 3, "{there}");
    for _ in 0..2 {
        let done = end(c, &robot, &path);
        assert_eq!((done.status, &done.json()["reason"]), (200, &json!("done")), "{done:?}");
    }
    let second = queued.json()["id"].as_str().expect("an id").to_owned();
    let second = format!("/api/v1/sessions/{second}");
    wait_for(&building, 2, &second, "open");
    assert_eq!(end(b, &other, &second).status, 200);
    building.wait_all_dark();
    building.assert_safe();
}

/// A dead robot's session: an operator ends it, on record, by its name or by its car; and so does the end
/// of its token, at whichever node.
#[test]
fn a_session_is_ended_by_an_operator_or_with_its_token() {
    let building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let robot = token(&building, "A", "robot", "call");
    let other = token(&building, "A", "other", "access");
    let operator = token(&building, "A", "desk", "operate");
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let open_at_b = |request_id: &str| {
        let body = json!({"car": "B", "floor": 2, "seconds": 60, "request_id": request_id});
        let opened = open(b, &robot, &body);
        assert_eq!(opened.status, 201, "{opened:?}");
        let path = format!("/api/v1/sessions/{}", opened.json()["id"].as_str().expect("an id"));
        wait_for(&building, 1, &path, "open");
        path
    };
    let ended_by_operator = |path: &str| {
        assert_eq!(wait_for(&building, 2, path, "ended")["reason"], "operator");
    };
    let first = open_at_b("one");
    let refused = end(a, &other, &first);
    assert_eq!((refused.status, refused.problem()), (403, "other_owner".to_owned()));
    for _ in 0..2 {
        let done = end(a, &operator, &first);
        assert_eq!((done.status, &done.json()["reason"]), (200, &json!("operator")), "{done:?}");
    }
    ended_by_operator(&first);
    let second = open_at_b("two");
    let freed = building
        .operator("A", &["priority", "end", "--car", "B", "--operator", "kovac"])
        .output()
        .expect("it runs");
    assert!(freed.status.success(), "{freed:?}");
    ended_by_operator(&second);
    let of_sessions: Vec<Value> = audit(&building, "A")
        .into_iter()
        .filter(|it| it["value"].as_str().is_some_and(|value| value == "has ended: by an operator"))
        .collect();
    let who: Vec<_> = of_sessions.iter().map(|record| &record["operator"]).collect();
    assert_eq!(who, ["desk", "kovac"], "{of_sessions:?}");
    assert_eq!(of_sessions[0]["account"]["token"], "desk");
    assert!(of_sessions.iter().all(|it| it["key"].as_str().unwrap().starts_with("session/")));
    let third = open_at_b("three");
    let revoked = building
        .operator("A", &["token", "revoke", "--name", "robot", "--operator", "kovac"])
        .output()
        .expect("it runs");
    assert!(revoked.status.success(), "{revoked:?}");
    ended_by_operator(&third);
}

/// Passengers have it open, or another floor's wish had: nobody waits for the door.
#[test]
fn a_session_opens_at_a_door_that_is_open() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let robot = token(&building, "A", "robot", "call");
    let a = serving(&building, 1);
    // An attendant's car waits at each stop until a button is pressed.
    let operate = token(&building, "A", "attendant", "operate");
    let mode = json!({"kind": "mode", "car": "A", "mode": "attendant"});
    assert_eq!(command(a, &operate, &mode).status, 200);
    building.press("A", building.car_call(2));
    let door = || get(a, "/api/v1/cars").json()[0]["door"].clone();
    building.wait("the door is open", |_| door() == "open");
    let opened = open(a, &robot, &json!({"floor": 2, "seconds": 60}));
    assert_eq!((opened.status, &opened.json()["car"]), (201, &json!("A")), "{opened:?}");
    let path = format!("/api/v1/sessions/{}", opened.json()["id"].as_str().expect("an id"));
    wait_for(&building, 1, &path, "open");
    for _ in 0..2 {
        let again = put(a, &path, &robot, &json!({"floor": 2, "seconds": 60}));
        assert_eq!((again.status, &again.json()["state"]), (200, &json!("open")), "{again:?}");
    }
    assert_eq!(door(), "open");
    assert_eq!(end(a, &robot, &path).status, 200);
    building.assert_safe();
}

/// The robot has not had its answer. Meanwhile its car is gone, and the node that it asks again has not
/// heard of that since it started.
#[test]
fn a_repeated_request_is_answered_though_its_car_is_gone() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let robot = token(&building, "A", "robot", "call");
    let a = serving(&building, 1);
    let body = json!({"car": "B", "floor": 2, "request_id": "one"});
    let opened = open(a, &robot, &body);
    assert_eq!(opened.status, 201, "{opened:?}");
    building.kill("B");
    building.stop("A");
    building.start("A");
    let a = serving(&building, 1);
    let again = open(a, &robot, &body);
    assert_eq!((again.status, &again.json()["id"]), (200, &opened.json()["id"]), "{again:?}");
    let other = open(a, &robot, &json!({"car": "B", "floor": 2, "request_id": "two"}));
    assert_eq!((other.status, other.problem()), (422, "unknown_car".to_owned()));
}

#[test]
fn sessions_that_make_no_sense_are_refused() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    let robot = token(&building, "A", "robot", "call");
    let view = token(&building, "A", "reader", "view");
    let refused = |token: &str, body: Value| {
        let answer = open(a, token, &body);
        (answer.status, answer.problem())
    };
    let is = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(refused(&view, json!({"floor": 1})), is(403, "scope_missing"));
    assert_eq!(refused(&robot, json!({"floor": 1, "access": true})), is(403, "scope_missing"));
    assert_eq!(refused(&robot, json!({"floor": 4})), is(422, "no_such_button"));
    assert_eq!(refused(&robot, json!({"floor": 1, "car": "Z"})), is(422, "unknown_car"));
    assert_eq!(refused(&robot, json!({"floor": 1, "seconds": 121})), is(400, "malformed"));
    assert_eq!(refused(&robot, json!({})), is(400, "malformed"));
    for id in ["x", "000000000000000000000000"] {
        let none = get(a, &format!("/api/v1/sessions/{id}"));
        assert_eq!((none.status, none.problem()), is(404, "not_open"));
    }
}
