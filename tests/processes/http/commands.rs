//! What an operator commands over HTTP.

use elevator_fleet::model::Mode;
use liftmesh_harness::building::{Building, Line};
use serde_json::{Value, json};

use super::client::{Events, command, get, post, serving};
use super::token;

const TWO: [&str; 2] = ["A", "B"];

fn mode(building: &Building, name: &str) -> Option<Mode> {
    building.status(name)?.car.map(|car| car.view.mode)
}

pub(super) fn audit(building: &Building, name: &str) -> Vec<Value> {
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
    let out = json!({"kind": "mode", "car": "B", "mode": "out-of-service"});
    let set = command(a, &phone, &out);
    assert_eq!((set.status, set.json()), (200, out));
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

    let refused = |token: &str, car: &str, mode: &str| {
        let answer = command(a, token, &json!({"kind": "mode", "car": car, "mode": mode}));
        (answer.status, answer.problem())
    };
    let is = |status: u16, code: &str| (status, code.to_owned());
    let kiosk = token(&building, "A", "kiosk", "call");
    let records = audit(&building, "A");
    assert_eq!(refused(&phone, "Z", "in-service"), is(422, "unknown_car"));
    assert_eq!(refused(&kiosk, "B", "in-service"), is(403, "scope_missing"));
    assert_eq!(refused(&phone, "B", "haunted"), is(400, "malformed"));
    // That is another command.
    assert_eq!(refused(&phone, "B", "priority"), is(400, "malformed"));
    assert_eq!(mode(&building, "B"), Some(Mode::OutOfService));
    assert_eq!(audit(&building, "A").len(), records.len(), "a refusal is not audited");
    building.assert_safe();
}

#[test]
fn a_fire_recall_is_commanded_and_ended() {
    let building = Building::with_cars(4, Line::Serial, &TWO);
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let phone = token(&building, "A", "phone", "operate");
    let [start, end] = [true, false].map(|on| json!({"kind": "fire_recall", "on": on}));
    let set = command(a, &phone, &start);
    assert_eq!((set.status, set.json()), (200, start));
    building.wait("both are recalled", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::FireRecall))
    });
    assert_eq!(get(b, "/api/v1/fleet").json()["fire_recall"], true);
    let call = json!({"call": {"kind": "hall", "floor": 2, "direction": "up"}}).to_string();
    let refused = post(b, "/api/v1/calls", Some(&phone), &call);
    assert_eq!((refused.status, refused.problem()), (409, "fire_recall".to_owned()));
    let set = command(b, &phone, &end);
    assert_eq!((set.status, set.json()), (200, end.clone()));
    building.wait("both are back", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::InService))
    });
    let records = audit(&building, "B");
    let last = records.last().expect("a record");
    assert_eq!(last["account"]["token"], "phone", "{last}");
    let again = command(b, &phone, &end);
    assert_eq!((again.status, again.problem()), (409, "no_fire_recall".to_owned()));
    assert!(again.body.contains("end it at a node that shows it"), "{again:?}");
    assert_eq!(audit(&building, "B").len(), records.len(), "a refusal is not audited");
    building.assert_safe();
}

/// An access-control system calls for a passenger, or releases a floor in one car for a while.
#[test]
fn access_control_lets_people_ride_to_a_locked_floor() {
    let building = Building::with_cars(4, Line::Serial, &TWO);
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let [phone, reader, kiosk] = [("phone", "operate"), ("reader", "access"), ("kiosk", "call")]
        .map(|(name, scope)| token(&building, "A", name, scope));
    let lock = |floor, locked| json!({"kind": "floor_lock", "floor": floor, "locked": locked});
    let set = command(a, &phone, &lock(3, true));
    assert_eq!((set.status, set.json()), (200, lock(3, true)));
    let refused = |answer: super::client::Answer| (answer.status, answer.problem());
    let is = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(refused(command(a, &phone, &lock(4, true))), is(422, "no_such_button"));
    assert_eq!(refused(command(a, &reader, &lock(3, false))), is(403, "scope_missing"));
    building.wait("B knows", |building| {
        building.status("B").is_some_and(|it| it.access.locked == [building.floor(3)])
    });
    assert_eq!(get(b, "/api/v1/fleet").json()["locked_floors"], json!([3]));
    // The tokens of the other two have to get there as well.
    building.wait("B knows the tokens", |_| {
        let body = json!({"call": {"kind": "hall", "floor": 0, "direction": "up"}}).to_string();
        [&reader, &kiosk]
            .iter()
            .all(|token| post(b, "/api/v1/calls", Some(token), &body).status < 400)
    });

    let call = |access: bool| {
        json!({"call": {"kind": "car", "car": "B", "floor": 3}, "access": access}).to_string()
    };
    let place = |token: &str, access| post(b, "/api/v1/calls", Some(token), &call(access));
    assert_eq!(refused(place(&reader, false)), is(409, "floor_locked"));
    assert_eq!(refused(place(&kiosk, true)), is(403, "scope_missing"));
    assert_eq!(place(&reader, true).status, 201);
    building.wait("B is there", |building| building.car("B").floor == Some(building.floor(3)));

    let release = |at, car: &str, token: &str, seconds: u8| {
        let body = json!({"floor": 3, "seconds": seconds}).to_string();
        post(at, &format!("/api/v1/cars/{car}/release"), Some(token), &body)
    };
    building.press("A", building.car_call(3));
    building.wait("it is counted", |building| {
        building.status("A").is_some_and(|status| status.access.refused == 1)
    });
    assert_eq!(refused(release(b, "A", &reader, 10)), is(409, "other_node"));
    assert_eq!(refused(release(a, "A", &kiosk, 10)), is(403, "scope_missing"));
    assert_eq!(refused(release(a, "A", &reader, 61)), is(400, "malformed"));
    assert_eq!(refused(release(a, "Z", &reader, 10)), is(422, "unknown_car"));
    let released = release(a, "A", &reader, 60);
    let expected = json!({"car": "A", "floor": 3, "seconds": 60});
    assert_eq!((released.status, released.json()), (200, expected));
    let records = audit(&building, "A");
    let last = records.last().expect("a record");
    assert_eq!(
        (&last["kind"], &last["floor"], &last["seconds"]),
        (&json!("release"), &json!(3), &json!(60))
    );
    assert_eq!(last["account"]["token"], "reader");
    building.press("A", building.car_call(3));
    building.wait("A is there", |building| building.car("A").floor == Some(building.floor(3)));
}

#[test]
fn priority_calls_and_emergency_power_are_commanded_and_ended() {
    let building = Building::with_cars(4, Line::Serial, &TWO);
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let phone = token(&building, "A", "phone", "operate");
    let send = |car: Option<&str>, floor: Option<u8>| json!({"kind": "priority", "car": car, "floor": floor});
    let set = command(a, &phone, &send(Some("B"), Some(2)));
    assert_eq!((set.status, set.json()), (200, send(Some("B"), Some(2))));
    building.wait("B obeys", |building| mode(building, "B") == Some(Mode::Priority));
    assert_eq!(get(b, "/api/v1/cars").json()[1]["priority"], Value::Null, "A is the second one");
    assert_eq!(get(b, "/api/v1/cars").json()[0]["priority"], 2);
    // What is left out is null.
    let set = command(b, &phone, &json!({"kind": "priority", "car": "B"}));
    assert_eq!((set.status, set.json()), (200, send(Some("B"), None)));
    building.wait("B is back", |building| mode(building, "B") == Some(Mode::InService));
    let nowhere = command(a, &phone, &send(None, Some(9)));
    assert_eq!((nowhere.status, nowhere.problem()), (422, "no_such_button".to_owned()));
    let nobody = command(a, &phone, &send(None, None));
    assert_eq!((nobody.status, nobody.problem()), (400, "malformed".to_owned()));

    let power =
        |on: bool, car: Option<&str>| json!({"kind": "emergency_power", "on": on, "car": car});
    let set = command(a, &phone, &power(true, Some("A")));
    assert_eq!((set.status, set.json()), (200, power(true, Some("A"))));
    building.wait("A serves in the end", |_| {
        let fleet = get(b, "/api/v1/fleet").json();
        let a_serves = get(b, "/api/v1/cars").json()[1]["mode"] == "in-service";
        fleet["emergency_power"] == true && fleet["turn"] == "A" && a_serves
    });
    let refused = command(a, &phone, &send(None, Some(2)));
    assert_eq!((refused.status, refused.problem()), (409, "emergency_power".to_owned()));
    let set = command(b, &phone, &power(false, None));
    assert_eq!((set.status, set.json()), (200, power(false, None)));
    building.wait("both are back", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::InService))
    });
    building.assert_safe();
}

/// A page that is opened late shows what was before it.
#[test]
fn a_new_client_gets_the_events_from_before_it() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    building.serve("A", &["A"], building.car_call(2));
    let mut events = Events::at(a, "/api/v1/events?recent=1000", None);
    assert_eq!(events.next().kind, "state");
    events.wait("event", |event| event["event"] == "placed");
    events.wait("event", |event| event["event"] == "served");
    let mut latest = Events::at(a, "/api/v1/events?recent=1", None);
    assert_eq!((latest.next().kind, latest.next().kind), ("state".to_owned(), "event".to_owned()));
}
