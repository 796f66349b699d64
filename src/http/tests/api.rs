//! What the API does, and what it refuses.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use elevator_driver::{Direction, Floor};
use elevator_fleet::model::{Call, HallCall, Mode};
use elevator_fleet::node::{Report, Status};
use serde_json::{Value, json};
use tokio::time::advance;

use super::bench::{ACCESS, CALL, LOOPBACK, OPERATE, Side, Told, json as answer, text};
use super::{CALLS, COMMANDS, SESSIONS};
use crate::operator::tests::full_status;

fn hall(floor: u8) -> Value {
    json!({"kind": "hall", "floor": floor.to_string(), "direction": "up"})
}

#[tokio::test]
async fn every_view_of_the_fleet_can_be_read() {
    let side = Side::with(LOOPBACK, Some(full_status()), Vec::new());
    let status = full_status();
    let fleet = side.get("/api/v1/fleet").await;
    assert_eq!((&fleet["node"], &fleet["term"]), (&json!("A"), &json!(7)), "{fleet}");
    assert_eq!(
        (&fleet["nodes"][0]["node"], &fleet["nodes"][0]["self"]),
        (&json!("A"), &json!(true))
    );
    assert_eq!(fleet["nodes"].as_array().unwrap().len(), 1 + status.peers.len());
    assert_eq!(fleet["modes"], json!(Mode::ALL.map(|mode| mode.to_string())));
    let cars = side.get("/api/v1/cars").await;
    let lift = cars[0]["lift_state"].as_object().unwrap();
    let names: Vec<_> = lift.keys().map(String::as_str).collect();
    let of_open_rmf = "available_floors available_modes current_floor current_mode \
                       destination_floor door_state lift_name lift_time motion_state session_id";
    assert_eq!(names.join(" "), of_open_rmf);
    let orders = side.get("/api/v1/orders").await;
    assert_eq!(orders.as_array().unwrap().len(), status.orders.len());
    assert_eq!(side.get("/api/v1/status").await["digest"], "0000000000000abc");
    let running = json!({
        "running": true, "node": "A", "latch": null, "text": null, "remedy": null,
        "tokens_usable": null
    });
    assert_eq!(side.get("/api/v1/latch").await, running);
}

/// A real Prometheus reads them in the tests of processes.
#[tokio::test]
async fn the_metrics_are_those_that_rules_dashboard_and_document_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let side = Side::with(LOOPBACK, Some(full_status()), Vec::new());
    let page = side.ask("GET", "/metrics", None, &Value::Null).await;
    assert!(
        page.headers()["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4")
    );
    let page = text(page).await;
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let names: BTreeSet<_> = samples.filter_map(|line| line.split(['{', ' ']).next()).collect();
    for text in [file("config/prometheus-alerts.yml"), file("config/grafana-dashboard.json")] {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let asked: BTreeSet<_> = words.filter(|word| word.starts_with("liftmesh_")).collect();
        assert!(asked.len() > 8 && asked.is_subset(&names), "{:?}", asked.difference(&names));
    }
    let described = file("docs/API.md");
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = line.split(' ').next().unwrap();
        assert!(described.contains(&format!("`{name}`")), "docs/API.md lacks {name}");
    }
    // From zero on, so that a first burst has a rate.
    for line in [
        "liftmesh_mesh_datagrams_total{kind=\"forged\"} 0",
        "liftmesh_node_state{state=\"master\"} 1",
        "liftmesh_peer_in_step{peer=\"peer-3\"} 1",
        "liftmesh_queue_length{queue=\"mqtt\"} 0",
        "liftmesh_mqtt_answers_dropped_total 0",
    ] {
        assert!(page.lines().any(|found| found == line), "no {line}: {page}");
    }
}

/// A running node whose panel or disk does not answer is live, but not ready.
#[tokio::test]
async fn a_node_without_its_panel_is_live_and_not_ready() {
    let ready = full_status();
    let mut no_panel = ready.clone();
    no_panel.car.as_mut().unwrap().connection = Err("no such device".to_owned());
    let no_disk = Status { disk_failed: true, ..ready.clone() };
    for (status, why) in [
        (ready, None),
        (no_panel, Some("its panel does not answer: no such device")),
        (no_disk, Some("its disk has failed")),
    ] {
        let side = Side::with(LOOPBACK, Some(status), Vec::new());
        let said = side.ask("GET", "/readyz", None, &Value::Null).await;
        match why {
            None => assert_eq!(text(said).await, "ok\n"),
            Some(why) => {
                let (status, said) = answer(said).await;
                assert_eq!((status, &said["code"]), (503, &json!("not_ready")));
                assert_eq!(said["detail"], why);
            }
        }
        assert_eq!(side.status("/healthz", None).await, 200);
    }
}

/// P1: what was promised to people in the building is no client's to take back.
#[tokio::test]
async fn a_call_is_placed_once_and_never_withdrawn() {
    let side = Side::new(LOOPBACK);
    let destination = json!({"kind": "destination", "from": "0", "to": "3"});
    let car = json!({"kind": "car", "car": "A", "floor": "2"});
    for (call, id, named) in [
        (hall(1), "hall-1-up", "hall call"),
        (destination, "destination-0-3", "destination call"),
        (car, "car-A-2", "car call"),
    ] {
        let body = json!({"call": call, "request_id": id});
        let response = side.ask("POST", CALLS, CALL, &body).await;
        let location = response.headers()["location"].to_str().unwrap().to_owned();
        let (status, placed) = answer(response).await;
        let receipt = placed["receipt"].as_str().unwrap();
        let expected = json!({"id": id, "receipt": receipt, "state": "placed", "call": call});
        assert_eq!((status, &placed), (201, &expected));
        assert_eq!(location, format!("{CALLS}/{receipt}"));
        assert_eq!(side.json("POST", CALLS, CALL, &body).await, (200, placed.clone()));
        let other = json!({"call": hall(2), "request_id": id});
        let (status, said) = side.json("POST", CALLS, CALL, &other).await;
        assert_eq!((status, &said["code"]), (409, &json!("request_id_reused")));
        for name in [id, receipt] {
            let path = format!("{CALLS}/{name}");
            let open = side.get(&path).await;
            assert_eq!((&open["id"], &open["order"]), (&json!(name), &json!(id)), "{open}");
            assert_eq!((&open["call"], &open["reason"]), (&call, &Value::Null), "{open}");
            let (status, said) = side.json("DELETE", &path, CALL, &Value::Null).await;
            assert_eq!((status, &said["code"]), (409, &json!("not_cancellable")));
            assert!(said["detail"].as_str().unwrap().contains(named), "{said}");
        }
        // The ids of another token are its own.
        assert_eq!(side.json("POST", CALLS, OPERATE, &body).await.0, 201);
    }
    assert_eq!(side.get("/api/v1/orders").await.as_array().unwrap().len(), 3);
}

/// Each command is carried out, shown, and recorded with its author; and keeps others from something.
#[tokio::test]
async fn the_mode_of_a_car_is_set_and_on_record() {
    let mut side = Side::new(LOOPBACK);
    let mode = |mode: &str| json!({"kind": "mode", "car": "A", "mode": mode});
    let recall = |on: bool| json!({"kind": "fire_recall", "on": on});
    let lock = |locked: bool| json!({"kind": "floor_lock", "floor": "3", "locked": locked});
    let send = |floor: Option<&str>| json!({"kind": "priority", "car": "A", "floor": floor});
    let power = |on: bool| json!({"kind": "emergency_power", "on": on, "car": "A"});
    let to_car = json!({"call": {"kind": "car", "car": "A", "floor": "3"}});
    let session = json!({"floor": "3"});
    let priority = json!({"command": send(Some("2")), "operator": "J. Kovac"});
    for (command, (path, field), shown, refused) in [
        (
            mode("out-of-service"),
            ("/cars", "/0/mode_set"),
            json!("out-of-service"),
            &[(CALLS, &to_car, "not_in_service")][..],
        ),
        (mode("in-service"), ("/cars", "/0/mode_set"), json!("in-service"), &[]),
        (
            recall(true),
            ("/fleet", "/fire_recall"),
            json!(true),
            &[(CALLS, &to_car, "fire_recall"), (SESSIONS, &session, "fire_recall")],
        ),
        (recall(false), ("/fleet", "/fire_recall"), json!(false), &[]),
        (
            lock(true),
            ("/fleet", "/locked_floors"),
            json!(["3"]),
            &[(CALLS, &to_car, "floor_locked"), (SESSIONS, &session, "floor_locked")],
        ),
        (send(Some("2")), ("/cars", "/0/priority"), json!("2"), &[]),
        (send(None), ("/cars", "/0/priority"), Value::Null, &[]),
        (
            power(true),
            ("/fleet", "/emergency_power"),
            json!(true),
            &[(COMMANDS, &priority, "emergency_power")],
        ),
        (power(false), ("/fleet", "/emergency_power"), json!(false), &[]),
    ] {
        let body = json!({"command": command, "operator": "J. Kovac", "reason": "new carpet"});
        assert_eq!(side.json("POST", COMMANDS, OPERATE, &body).await, (200, command.clone()));
        let Some(Told::By(author)) = side.told.recv().await else { panic!("{command}") };
        assert_eq!(
            (author.operator.as_str(), author.reason.as_deref()),
            ("J. Kovac", Some("new carpet"))
        );
        assert_eq!(author.account.token.as_deref(), Some("of-operate"));
        let view = side.get(&format!("/api/v1{path}")).await;
        assert_eq!(view.pointer(field), Some(&shown), "{command}: {view}");
        for (path, body, code) in refused {
            let (status, said) = side.json("POST", path, OPERATE, body).await;
            assert_eq!((status, said["code"].as_str().unwrap()), (409, *code), "{said}");
        }
        while side.told.try_recv().is_ok() {}
    }
}

/// An access-control system calls for a passenger, or releases a floor in the node's own car.
#[tokio::test]
async fn access_control_lets_people_ride_to_a_locked_floor() {
    let side = Side::new(LOOPBACK);
    let lock = json!({
        "command": {"kind": "floor_lock", "floor": "3", "locked": true}, "operator": "J. Kovac"
    });
    assert_eq!(side.json("POST", COMMANDS, OPERATE, &lock).await.0, 200);
    let call = json!({"call": {"kind": "car", "car": "A", "floor": "3"}, "access": true});
    assert_eq!(side.json("POST", CALLS, ACCESS, &call).await.0, 201);
    assert_eq!(side.json("POST", CALLS, CALL, &call).await.1["code"], "scope_missing");
    let release = json!({"floor": "3", "seconds": 60});
    let released = side.json("POST", "/api/v1/cars/A/release", ACCESS, &release).await;
    assert_eq!(released, (200, json!({"car": "A", "floor": "3", "seconds": 60})));
}

#[tokio::test]
async fn a_request_to_another_node_is_told_its_address() {
    let side = Side::with(LOOPBACK, Some(full_status()), Vec::new());
    let release = json!({"floor": "3", "seconds": 60});
    let clear = json!({"operator": "J. Kovac", "reason": "brake replaced"});
    for (path, token, body, code, address) in [
        ("peer-1/release", ACCESS, release, "other_node", "127.0.1.1"),
        ("lost-2/clear-hang", OPERATE, clear, "not_here", "127.0.2.2"),
    ] {
        let (status, other) =
            side.json("POST", &format!("/api/v1/cars/{path}"), token, &body).await;
        assert_eq!((status, &other["code"]), (409, &json!(code)), "{other}");
        assert!(other["detail"].as_str().unwrap().contains(address), "{other}");
    }
}

/// From call to end, and who may do what with it.
#[tokio::test]
async fn a_robot_has_a_session_of_its_own() {
    let mut side = Side::new(LOOPBACK);
    let body = json!({"car": "A", "floor": "2", "seconds": 60, "request_id": "one"});
    let response = side.ask("POST", SESSIONS, CALL, &body).await;
    let path = response.headers()["location"].to_str().unwrap().to_owned();
    let (status, opened) = answer(response).await;
    assert_eq!((status, &opened["state"], &opened["floor"]), (201, &json!("coming"), &json!("2")));
    assert_eq!(side.json("POST", SESSIONS, CALL, &body).await, (200, opened.clone()));
    let reused = json!({"floor": "1", "request_id": "one"});
    assert_eq!(side.json("POST", SESSIONS, CALL, &reused).await.1["code"], "request_id_reused");
    let (_, queued) = side.json("POST", SESSIONS, ACCESS, &json!({"car": "A", "floor": "0"})).await;
    assert_eq!(queued["state"], "queued", "{queued}");
    let second = format!("{SESSIONS}/{}", queued["id"].as_str().unwrap());

    let next = json!({"floor": "3"});
    for (method, body) in [("PUT", &next), ("DELETE", &Value::Null)] {
        let (status, other) = side.json(method, &path, ACCESS, body).await;
        assert_eq!((status, &other["code"]), (403, &json!("other_owner")), "{method}");
    }
    let (status, moved) = side.json("PUT", &path, CALL, &next).await;
    assert_eq!((status, &moved["floor"]), (200, &json!("3")), "{moved}");
    assert_eq!(side.get(&path).await, moved);
    for (path, token, reason) in [(&path, CALL, "done"), (&second, OPERATE, "operator")] {
        for _ in 0..2 {
            let (status, ended) = side.json("DELETE", path, token, &Value::Null).await;
            assert_eq!((status, ended["reason"].as_str()), (200, Some(reason)), "{ended}");
        }
    }
    let Some(Told::By(author)) = side.told.recv().await else { panic!("nobody has ended it") };
    assert_eq!(author.account.token.as_deref(), Some("of-operate"));
    assert_eq!(side.json("PUT", &path, CALL, &next).await.1["code"], "not_open");
}

/// One request takes a robot along, or is withdrawn.
#[tokio::test]
async fn a_robot_calls_a_car_and_withdraws_the_call() {
    let side = Side::new(LOOPBACK);
    let trip = json!({"kind": "robot", "from": "1", "to": "3", "car": "A", "seconds": 1});
    let body = json!({"call": trip, "request_id": "one"});
    let (status, placed) = side.json("POST", CALLS, CALL, &body).await;
    assert_eq!((status, &placed["call"], &placed["id"]), (201, &trip, &placed["receipt"]));
    assert_eq!(side.json("POST", CALLS, CALL, &body).await, (200, placed.clone()));
    let clash = json!({"call": hall(1), "request_id": "one"});
    assert_eq!(side.json("POST", CALLS, CALL, &clash).await.1["code"], "request_id_reused");
    let receipt = placed["receipt"].as_str().unwrap();
    assert_eq!(side.get(&format!("{SESSIONS}/{receipt}")).await["to"], "3");
    let path = format!("{CALLS}/{receipt}");
    let open = side.get(&path).await;
    assert_eq!((&open["state"], &open["car"]), (&json!("being_served"), &json!("A")), "{open}");
    let (status, other) = side.json("DELETE", &path, ACCESS, &Value::Null).await;
    assert_eq!((status, &other["code"]), (403, &json!("other_owner")));
    for _ in 0..2 {
        let (status, gone) = side.json("DELETE", &path, CALL, &Value::Null).await;
        assert_eq!((status, &gone["state"]), (200, &json!("cancelled")), "{gone}");
        assert_eq!(gone["reason"], "withdrawn");
    }
}

/// What is counted is written every 10 s, and counts on after a restart.
#[tokio::test(start_paused = true)]
async fn a_served_call_is_counted_and_kept() {
    let mut side = Side::new(LOOPBACK);
    let call = Call::Hall(HallCall::new(Floor::try_from(3).unwrap(), Direction::Down));
    let waited = Duration::from_secs(12);
    side.report(&Report::Served { call, waited, here: true, car: None });
    advance(Duration::from_secs(11)).await;
    let Some(Told::Keep(changes)) = side.told.recv().await else { panic!("nothing is kept") };
    let again = Side::with(LOOPBACK, None, changes.changed);
    advance(Duration::from_secs(1)).await;
    for side in [side, again] {
        let day = side.get("/api/v1/statistics?utc_offset=-210").await;
        assert_eq!((&day["window"], &day["floors"]), (&json!("day"), &json!(4)), "{day}");
        assert_eq!(day["waiting"]["hall"]["calls"], 1, "{day}");
        assert_eq!(
            (&day["waiting"]["hall"]["longest"], &day["by_floor"][3]["down"]),
            (&json!(12.0), &json!(1))
        );
        let path = "/api/v1/statistics.csv?window=week";
        let csv = side.ask("GET", path, None, &Value::Null).await;
        let [kind, file] =
            ["content-type", "content-disposition"].map(|it| csv.headers()[it].clone());
        assert_eq!(kind, "text/csv; charset=utf-8");
        assert_eq!(file, "attachment; filename=\"liftmesh-A-week.csv\"");
        assert!(text(csv).await.contains("hall_calls"));
    }
}

/// Status and code of what is refused: method, path, token and body.
const REFUSED: &str = r#"
404 not_found GET /nothing -
404 not_found GET /assets/nothing -
400 malformed GET /assets/%ff -
404 not_found GET /api/v1/nothing -
405 method_not_allowed POST /api/v1/fleet -
405 method_not_allowed POST /healthz -
400 malformed GET /api/v1/events?recent=x -
400 malformed GET /api/v1/events?recent=1&recent=2 -
400 malformed GET /api/v1/statistics?window=year -
400 malformed GET /api/v1/statistics?utc_offset=841 -
400 malformed GET /api/v1/statistics.csv?utc_offset=x -
401 token_required POST /api/v1/calls -
401 token_unknown POST /api/v1/calls stolen
403 scope_missing POST /api/v1/calls view
400 malformed POST /api/v1/calls call
422 no_such_button POST /api/v1/calls call {"call": {"kind": "hall", "floor": "3", "direction": "up"}}
400 malformed POST /api/v1/calls call {"call": {"kind": "hall"}}
422 unknown_car POST /api/v1/calls call {"call": {"kind": "car", "car": "Z", "floor": "1"}}
422 no_such_button POST /api/v1/calls call {"call": {"kind": "robot", "from": "2", "to": "2"}}
404 not_open GET /api/v1/calls/hall-77-up -
404 not_open GET /api/v1/calls/000000000000000000000000 -
404 not_open DELETE /api/v1/calls/hall-77-up call
400 malformed DELETE /api/v1/calls/%ff call
422 no_such_button POST /api/v1/sessions call {"floor": "4"}
422 unknown_car POST /api/v1/sessions call {"floor": "1", "car": "Z"}
400 malformed POST /api/v1/sessions call {"floor": "1", "seconds": 121}
403 scope_missing POST /api/v1/sessions call {"floor": "1", "access": true}
400 malformed POST /api/v1/sessions call {}
404 not_open GET /api/v1/sessions/x -
404 not_open DELETE /api/v1/sessions/x call
400 malformed POST /api/v1/commands operate {}
400 malformed POST /api/v1/commands operate {"operator": "K", "command": {"kind": "stop"}}
400 malformed POST /api/v1/commands operate {"operator": " ", "command": {"kind": "fire_recall", "on": true}}
409 no_fire_recall POST /api/v1/commands operate {"operator": "K", "command": {"kind": "fire_recall", "on": false}}
422 unknown_car POST /api/v1/commands operate {"operator": "K", "command": {"kind": "mode", "car": "Z", "mode": "in-service"}}
400 malformed POST /api/v1/commands operate {"operator": "K", "command": {"kind": "mode", "car": "A", "mode": "priority"}}
422 no_such_button POST /api/v1/commands operate {"operator": "K", "command": {"kind": "floor_lock", "floor": "4", "locked": true}}
400 malformed POST /api/v1/commands operate {"operator": "K", "command": {"kind": "priority"}}
503 no_journal GET /api/v1/audit operate
400 malformed POST /api/v1/cars/A/release access {"floor": "1", "seconds": 61}
422 unknown_car POST /api/v1/cars/Z/release access {"floor": "1", "seconds": 60}
409 nothing_to_clear POST /api/v1/cars/A/clear-hang operate {"operator": "K", "reason": "brake replaced"}
422 unknown_car POST /api/v1/cars/Z/clear-hang operate {"operator": "K", "reason": "brake replaced"}
"#;

/// Nothing is placed, set or opened by what is refused, and each refusal says why.
#[tokio::test]
async fn every_error_is_a_problem() {
    let side = Side::new(LOOPBACK);
    let long = format!("413 too_large POST /api/v1/calls call {}", " ".repeat(17 * 1024));
    let id = "i".repeat(65);
    let call = hall(1);
    let id = format!(
        r#"400 malformed POST /api/v1/calls call {{"call": {call}, "request_id": "{id}"}}"#
    );
    for row in REFUSED.lines().skip(1).chain([&*long, &id]) {
        let cells: Vec<_> = row.splitn(6, ' ').collect();
        let [status, code, method, path, token] = cells[..5] else { panic!("{row}") };
        let token = (token != "-").then(|| format!("liftmesh-token-{token}"));
        let body = Value::from(cells.get(5).copied().unwrap_or_default());
        let response = side.ask(method, path, token.as_deref(), &body).await;
        let [challenge, allowed] =
            ["www-authenticate", "allow"].map(|name| response.headers().contains_key(name));
        let (found, said) = answer(response).await;
        assert_eq!(
            (found.to_string().as_str(), said["code"].as_str()),
            (status, Some(code)),
            "{row}: {said}"
        );
        assert_eq!(challenge, ["401", "403"].contains(&status), "{row}");
        assert_eq!(allowed, status == "405", "{row}");
    }
    assert_eq!(side.get("/api/v1/orders").await, json!([]));
}
