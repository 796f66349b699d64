//! Robots that call cars, and have them to themselves, over MQTT.

use std::time::Duration;

use serde_json::{Value, json};

use super::broker::{Broker, Ear};
use super::{CALLS, building, car};
use crate::http::client::{get, serving};

const SESSIONS: &str = "liftmesh/liftmesh/sessions";

/// Where the answers for the robot go.
const ROBOT: &str = "robot/answers";

/// Waits until car C holds its door open at a floor in this session.
fn wait_for_car(ear: &Ear, id: &Value, floor: &str) {
    ear.wait(&car("C"), |said| {
        let lift = &said.json()["lift_state"];
        let is_there = lift["current_floor"] == floor && lift["door_state"] == 2;
        is_there && lift["session_id"] == *id && lift["current_mode"] == 2
    });
}

/// A trip, which can be withdrawn, and a session. The master dies when that has been asked for: it is
/// opened once, at a node that is left.
#[test]
fn a_session_over_mqtt_outlives_the_master() {
    let Some(broker) = Broker::open() else { return };
    let (mut building, ear) = building(&["A", "B", "C"], &broker);
    let session = |asked: &Value, id: &str| ear.ask(SESSIONS, asked, (ROBOT, id)).json();
    let trip = json!({"kind": "robot", "from": 1, "to": 3, "car": "B", "seconds": 1});
    let asked = json!({"call": trip, "request_id": "trip"});
    let placed = ear.ask(CALLS, &asked, (ROBOT, "trip")).json();
    let id = placed["id"].as_str().expect("an id").to_owned();
    let expected = json!({
        "request_id": "trip", "id": id, "receipt": id, "state": "placed", "call": trip
    });
    assert_eq!(placed, expected);
    assert_eq!(ear.ask(CALLS, &asked, (ROBOT, "again")).json(), expected);
    // It is the same call over HTTP, which may only be looked at without a token.
    let call = || get(serving(&building, 2), &format!("/api/v1/calls/{id}")).json();
    building.wait("the trip is over", |_| call()["state"] == "served");
    assert_eq!(building.car("B").floor, Some(building.floor(3)));
    let back = json!({"call": {"kind": "robot", "from": 0, "to": 2}, "request_id": "back"});
    let end = json!({"end": {"id": ear.ask(CALLS, &back, (ROBOT, "back")).json()["id"]}});
    let ended = session(&end, "withdraw");
    assert_eq!((&ended["state"], &ended["reason"]), (&json!("ended"), &json!("withdrawn")));

    let open = json!({"open": {"floor": 2, "car": "C", "seconds": 60, "request_id": "one"}});
    ear.publish(super::QoS::AtLeastOnce, SESSIONS, open.to_string(), Some((ROBOT, "open")));
    std::thread::sleep(Duration::from_millis(fastrand::u64(..200)));
    building.kill("A");
    let opened = ear.wait(ROBOT, |said| said.correlation.as_deref() == Some("open")).json();
    let id = &opened["id"];
    assert_eq!((&opened["request_id"], opened["floor"].as_u64()), (&json!("one"), Some(2)));
    wait_for_car(&ear, id, "2");
    let again = session(&open, "open again");
    assert_eq!((&again["id"], &again["state"]), (id, &json!("open")), "{again}");
    let next = session(&json!({"go": {"id": id, "floor": 3}}), "go");
    assert_eq!((&next["id"], next["floor"].as_u64()), (id, Some(3)), "{next}");
    wait_for_car(&ear, id, "3");
    let cars = get(serving(&building, 2), "/api/v1/cars").json();
    let ids = cars.as_array().expect("cars").iter().map(|car| &car["lift_state"]["session_id"]);
    assert_eq!(ids.filter(|it| *it != "").collect::<Vec<_>>(), [id], "{cars}");
    for correlation in ["end", "end again"] {
        let ended = session(&json!({"end": {"id": id}}), correlation);
        assert_eq!((&ended["state"], &ended["reason"]), (&json!("ended"), &json!("done")));
    }
    let over = session(&json!({"go": {"id": id, "floor": 1}}), "over");
    assert_eq!((&over["code"], &over["id"]), (&json!("not_open"), id), "{over}");
    building.wait_all_dark();
    building.assert_safe();
}
