//! Robots that call cars, and have them to themselves, over MQTT.

use std::time::Duration;

use serde_json::{Value, json};

use super::broker::{Broker, Ear};
use super::{PREFIX, building, hall, is_whole, text, topic};
use crate::http::client::{get, serving};

/// Where the answers for the robot go.
const ROBOT: &str = "robot/answers";

/// The answer to the request with this correlation data.
fn answer(ear: &Ear, to: &str, correlation: &str) -> Value {
    ear.wait(to, |said| said.correlation.as_deref() == Some(correlation)).json()
}

fn session(ear: &Ear, asked: &Value, correlation: &str) -> Value {
    ear.session(PREFIX, &asked.to_string(), (ROBOT, correlation));
    answer(ear, ROBOT, correlation)
}

/// Waits until a car holds its door open at a floor in this session.
fn wait_for_car(ear: &Ear, car: &str, id: &Value, floor: &str) {
    ear.wait(&topic(&format!("cars/{car}")), |said| {
        let lift = &said.json()["lift_state"];
        let is_there = lift["current_floor"] == floor && lift["door_state"] == 2;
        is_there && lift["session_id"] == *id && lift["current_mode"] == 2
    });
}

#[test]
fn a_robot_calls_a_car_over_mqtt() {
    let Some(broker) = Broker::open() else { return };
    let building = building(&["A", "B"], &broker);
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |said| is_whole(said, "A", 2));
    let trip = json!({"kind": "robot", "from": 1, "to": 3, "car": "B", "seconds": 1});
    let mut answers = Vec::new();
    for correlation in ["one", "again"] {
        ear.call(PREFIX, &text(&trip, Some("trip")), Some((ROBOT, correlation)));
        answers.push(answer(&ear, ROBOT, correlation));
    }
    let placed = &answers[0];
    let id = placed["id"].as_str().expect("an id").to_owned();
    let expected = json!({
        "request_id": "trip", "id": id, "receipt": id, "state": "placed", "call": trip
    });
    assert_eq!((placed, &answers[1]), (&expected, &expected));
    // The id stands for the trip.
    ear.call(PREFIX, &text(&hall(1, "up"), Some("trip")), Some((ROBOT, "clash")));
    assert_eq!(answer(&ear, ROBOT, "clash")["code"], "request_id_reused");
    // It is the same call over HTTP, which may only be looked at without a token.
    let call = || get(serving(&building, 2), &format!("/api/v1/calls/{id}")).json();
    building.wait("the trip is over", |_| call()["state"] == "served");
    assert_eq!(building.car("B").floor, Some(building.floor(3)));
    // One more of another robot with the same id, withdrawn on its way.
    let back = json!({"kind": "robot", "from": 0, "to": 2});
    ear.call(PREFIX, &text(&back, Some("trip")), Some(("robot/2", "")));
    let second = ear.wait("robot/2", |_| true).json();
    assert_eq!((&second["state"], second["id"] == id), (&json!("placed"), false), "{second}");
    let end = json!({"end": {"id": second["id"]}});
    assert_eq!(session(&ear, &end, "of another")["code"], "other_owner");
    ear.session(PREFIX, &end.to_string(), ("robot/2", "end"));
    let ended = answer(&ear, "robot/2", "end");
    assert_eq!((&ended["state"], &ended["reason"]), (&json!("ended"), &json!("withdrawn")));
    building.wait_all_dark();
    building.assert_safe();
}

/// The master dies within 200 ms of the request: the session is opened once, at a node that is left.
#[test]
fn a_session_over_mqtt_outlives_the_master() {
    let Some(broker) = Broker::open() else { return };
    let seed = std::env::var("LIFTMESH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("LIFTMESH_SEED={seed}");
    let mut building = building(&["A", "B", "C"], &broker);
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |said| is_whole(said, "A", 3));
    let open = json!({"open": {"floor": 2, "car": "C", "seconds": 60, "request_id": "one"}});
    ear.session(PREFIX, &open.to_string(), (ROBOT, "open"));
    std::thread::sleep(Duration::from_millis(fastrand::Rng::with_seed(seed).u64(..200)));
    building.kill("A");
    let opened = answer(&ear, ROBOT, "open");
    let id = &opened["id"];
    assert_eq!((&opened["request_id"], opened["floor"].as_u64()), (&json!("one"), Some(2)));
    wait_for_car(&ear, "C", id, "2");
    let again = session(&ear, &open, "again");
    assert_eq!((&again["id"], &again["state"]), (id, &json!("open")), "{again}");
    let next = session(&ear, &json!({"go": {"id": id, "floor": 3}}), "go");
    assert_eq!((&next["id"], next["floor"].as_u64()), (id, Some(3)), "{next}");
    wait_for_car(&ear, "C", id, "3");
    let cars = get(serving(&building, 2), "/api/v1/cars").json();
    let ids = cars.as_array().expect("cars").iter().map(|car| &car["lift_state"]["session_id"]);
    assert_eq!(ids.filter(|it| *it != "").collect::<Vec<_>>(), [id], "{cars}");
    for correlation in ["end", "end again"] {
        let ended = session(&ear, &json!({"end": {"id": id}}), correlation);
        assert_eq!((&ended["state"], &ended["reason"]), (&json!("ended"), &json!("done")));
    }
    let over = session(&ear, &json!({"go": {"id": id, "floor": 1}}), "over");
    assert_eq!((&over["code"], &over["id"]), (&json!("not_open"), id), "{over}");
    building.wait_all_dark();
    building.assert_safe();
}

#[test]
fn what_a_robot_can_not_have_is_refused_over_mqtt() {
    let Some(broker) = Broker::open() else { return };
    let building = building(&["A"], &broker);
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |_| true);
    let stranger = "0000000000000000000000aa";
    for (number, (asked, code)) in [
        (json!({"open": {"floor": 1}}), "malformed"),
        (json!({"open": {"floor": 1, "request_id": ""}}), "malformed"),
        (json!({"open": {"floor": 1, "request_id": "1", "access": true}}), "malformed"),
        (json!({"open": {"floor": 1, "request_id": "1", "seconds": 121}}), "malformed"),
        (json!({"open": {"floor": 9, "request_id": "1"}}), "no_such_button"),
        (json!({"open": {"floor": 1, "request_id": "1", "car": "Z"}}), "unknown_car"),
        (json!({"open": {"floor": 1, "request_id": "1", "more": 1}}), "malformed"),
        (json!({"open": {}, "end": {"id": stranger}}), "malformed"),
        (json!({"go": {"id": "x", "floor": 1}}), "not_open"),
        (json!({"end": {"id": stranger}}), "other_owner"),
    ]
    .into_iter()
    .enumerate()
    {
        let said = session(&ear, &asked, &number.to_string());
        assert_eq!(said["code"], code, "{asked}: {said}");
    }
    let trip = json!({"kind": "robot", "from": 0, "to": 3});
    ear.call(PREFIX, &text(&trip, None), Some((ROBOT, "no id")));
    assert_eq!(answer(&ear, ROBOT, "no id")["code"], "malformed");
    building.assert_safe();
}
