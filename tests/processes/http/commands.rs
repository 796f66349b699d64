//! What an operator commands over HTTP.

use elevator_fleet::model::Mode;
use liftmesh_harness::building::{Building, Line};
use serde_json::{Value, json};

use super::client::{Events, get, post, put, serving};
use super::token;

const TWO: [&str; 2] = ["A", "B"];

fn mode(building: &Building, name: &str) -> Option<Mode> {
    building.status(name)?.car.map(|car| car.view.mode)
}

fn audit(building: &Building, name: &str) -> Vec<Value> {
    let output = building.operator(name, &["audit", "--json"]).output().expect("it runs");
    let lines = String::from_utf8(output.stdout).expect("text");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// O1: as `liftmesh mode` does, at a node for the car of another one.
#[test]
fn the_mode_of_a_car_is_set_and_on_record() {
    let building = Building::with_cars(4, Line::Serial, &TWO);
    let a = serving(&building, 1);
    let modes = get(a, "/api/v1/fleet").json()["modes"].clone();
    let names = Mode::ALL.map(|mode| mode.to_string());
    assert_eq!(modes, json!(names));
    let phone = token(&building, "A", "phone", "operate");
    let body = json!({"mode": "out-of-service", "operator": "J. Kovac", "reason": "new carpet"});
    let set = put(a, "/api/v1/cars/B/mode", &phone, &body);
    assert_eq!((set.status, set.json()), (200, json!({"car": "B", "mode": "out-of-service"})));
    building.wait("B obeys", |building| mode(building, "B") == Some(Mode::OutOfService));
    let cars = get(a, "/api/v1/cars").json();
    assert_eq!(cars[1]["mode_set"], "out-of-service", "{cars}");
    assert_eq!(cars[0]["mode_set"], Value::Null, "{cars}");
    let records = audit(&building, "A");
    let record = records.iter().find(|record| record["operator"] == "J. Kovac").expect("a record");
    assert_eq!(record["reason"], "new carpet", "{record}");
    assert_eq!(record["account"]["token"], "phone", "{record}");
    let page = building.operator("A", &["audit"]).output().expect("it runs").stdout;
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains("token phone over HTTP"), "{page}");

    let refused = |path: &str, token: &str, body: Value| {
        let answer = put(a, path, token, &body);
        (answer.status, answer.problem())
    };
    let is = |status: u16, code: &str| (status, code.to_owned());
    let to_b = "/api/v1/cars/B/mode";
    let body = json!({"mode": "in-service", "operator": "kovac"});
    let kiosk = token(&building, "A", "kiosk", "call");
    let records = audit(&building, "A");
    assert_eq!(refused("/api/v1/cars/Z/mode", &phone, body.clone()), is(422, "unknown_car"));
    assert_eq!(refused(to_b, &kiosk, body), is(403, "scope_missing"));
    let haunted = json!({"mode": "haunted", "operator": "kovac"});
    assert_eq!(refused(to_b, &phone, haunted), is(400, "malformed"));
    let nobody = json!({"mode": "in-service", "operator": " "});
    assert_eq!(refused(to_b, &phone, nobody), is(400, "malformed"));
    assert_eq!(mode(&building, "B"), Some(Mode::OutOfService));
    assert_eq!(audit(&building, "A").len(), records.len(), "a refusal is not on record");
    building.assert_safe();
}

#[test]
fn a_fire_recall_is_commanded_and_ended() {
    let building = Building::with_cars(4, Line::Serial, &TWO);
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let phone = token(&building, "A", "phone", "operate");
    let path = "/api/v1/fire-recall";
    let on = json!({"on": true, "operator": "fire panel", "reason": "alarm on floor 3"});
    let set = put(a, path, &phone, &on);
    assert_eq!((set.status, set.json()), (200, json!({"on": true})));
    building.wait("both are recalled", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::FireRecall))
    });
    assert_eq!(get(b, "/api/v1/fleet").json()["fire_recall"], true);
    let call = json!({"call": {"kind": "hall", "floor": 2, "direction": "up"}}).to_string();
    let refused = post(b, "/api/v1/calls", Some(&phone), &call);
    assert_eq!((refused.status, refused.problem()), (409, "fire_recall".to_owned()));
    let set = put(b, path, &phone, &json!({"on": false, "operator": "kovac"}));
    assert_eq!((set.status, set.json()), (200, json!({"on": false})));
    building.wait("both are back", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::InService))
    });
    let records = audit(&building, "B");
    let last = records.last().expect("a record");
    assert_eq!((&last["operator"], &last["account"]["token"]), (&json!("kovac"), &json!("phone")));
    building.assert_safe();
}

/// A page that is opened late shows what was before it.
#[test]
fn a_new_client_gets_the_events_from_before_it() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    building.press("A", building.car_call(2));
    building.wait_dark(&["A"], building.car_call(2));
    let mut events = Events::at(a, "/api/v1/events?recent=1000", None);
    assert_eq!(events.next().kind, "state");
    events.wait("event", |event| event["event"] == "placed");
    events.wait("event", |event| event["event"] == "served");
    let mut latest = Events::at(a, "/api/v1/events?recent=1", None);
    assert_eq!((latest.next().kind, latest.next().kind), ("state".to_owned(), "event".to_owned()));
}
