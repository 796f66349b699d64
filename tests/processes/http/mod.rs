//! HTTP: what programs and the web panel read and ask for.

mod calls;
mod caretaker;
pub(crate) mod client;
mod commands;
mod every_node;
mod generated;
mod prometheus;
mod prometheus_run;
pub(crate) mod remote;
mod sessions;
mod statistics;
pub(crate) mod tls;
mod websocket;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Command;

use elevator_driver::Direction;
use elevator_fleet::model::Role;
use liftmesh_harness::building::{Building, Line, skip};
use liftmesh_harness::free_port;
use serde_json::json;

use self::client::{Answer, Events, Message, address, get, post, request, serving};

/// Makes a token at a node.
pub(crate) fn token(building: &Building, node: &str, name: &str, scope: &str) -> String {
    let words = ["token", "create", "--name", name, "--scope", scope];
    let made = building.operator(node, &words).output().expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).expect("text").trim().to_owned()
}

fn call(kind: &serde_json::Value, request_id: &str) -> String {
    json!({"call": kind, "request_id": request_id}).to_string()
}

#[test]
fn every_view_of_the_fleet_can_be_read() {
    let building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let a = serving(&building, 1);
    let fleet = get(a, "/api/v1/fleet");
    assert_eq!(fleet.status, 200, "{fleet:?}");
    let fleet = fleet.json();
    assert_eq!((&fleet["node"], &fleet["floors"]), (&json!("A"), &json!(4)), "{fleet}");
    assert_eq!(fleet["nodes"][0]["self"], true, "{fleet}");
    assert_eq!(fleet["nodes"][1]["node"], "B", "{fleet}");
    let status = building.status("A").expect("a status");
    assert_eq!(fleet["term"], status.term.0, "{fleet}");
    let cars = get(a, "/api/v1/cars").json();
    assert_eq!(cars[0]["car"], "A", "{cars}");
    assert_eq!(cars[1]["car"], "B", "{cars}");
    assert_eq!(cars[1]["position"], 0.0, "{cars}");
    assert_eq!(cars[1]["lift_state"]["current_floor"], "0", "{cars}");
    assert_eq!(get(a, "/api/v1/orders").json(), json!([]));
    assert_eq!(get(a, "/healthz").body, "ok\n");
    assert_eq!(get(a, "/readyz").status, 200);
    let page = get(a, "/");
    assert!(page.head.contains("content-security-policy: default-src 'self';"), "{page:?}");
    assert!(page.body.starts_with("<!doctype html>"), "{page:?}");
    assert_eq!(get(a, "/api/v1/nothing").problem(), "not_found");
    assert_eq!(get(a, "/assets/nothing.js").problem(), "not_found");
    assert_eq!(get(a, "/api/v1/calls").problem(), "method_not_allowed");
    let api = get(a, "/api/v1/openapi.json").json();
    assert!(api["paths"]["/fleet"].is_object(), "{api}");
    let other = request(a, "GET", "/api/v1/fleet", &[("Host", "evil.example")], "");
    assert_eq!((other.status, other.problem()), (421, "other_host".to_owned()));
}

/// A call is placed once, however often it is asked for, and its service is seen on the stream.
#[test]
fn a_call_is_placed_by_post_and_seen_being_served() {
    let building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let token = token(&building, "B", "kiosk", "call");
    let mut at_a = Events::follow(a, None);
    assert_eq!(at_a.next().kind, "state");
    let hall = json!({"kind": "hall", "floor": 3, "direction": "down"});
    let body = call(&hall, "one");
    let placed = post(b, "/api/v1/calls", Some(&token), &body);
    assert_eq!(placed.status, 201, "{placed:?}");
    let receipt = receipt(&placed);
    let expected =
        json!({"id": "hall-3-down", "receipt": receipt, "state": "placed", "call": hall});
    assert_eq!(placed.json(), expected);
    assert!(placed.head.contains(&format!("location: /api/v1/calls/{receipt}\r\n")), "{placed:?}");
    let again = post(b, "/api/v1/calls", Some(&token), &body);
    assert_eq!((again.status, again.json()), (200, placed.json()));
    let other = call(&json!({"kind": "hall", "floor": 1, "direction": "up"}), "one");
    let refused = post(b, "/api/v1/calls", Some(&token), &other);
    assert_eq!((refused.status, refused.problem()), (409, "request_id_reused".to_owned()));
    let state = at_a.wait("state", |state| state["orders"][0]["id"] == "hall-3-down");
    assert_eq!(state.data["orders"].as_array().expect("a list").len(), 1, "{state:?}");
    at_a.wait("state", |state| {
        state["cars"].as_array().is_some_and(|cars| {
            cars.iter().any(|car| car["position"].as_f64().is_some_and(|at| at > 0.1 && at < 2.9))
        })
    });
    let served = at_a.wait("event", |event| event["event"] == "served");
    assert_eq!(served.data["call"], hall, "{served:?}");
    // The id still stands for the call that has been served.
    let late = post(b, "/api/v1/calls", Some(&token), &body);
    assert_eq!((late.status, late.json()), (200, placed.json()));
    let orders = get(b, "/api/v1/orders").json();
    assert_eq!(orders, json!([]));
    let none = withdraw(b, "hall-3-down", Some(&token));
    assert_eq!((none.status, none.problem()), (404, "not_open".to_owned()));
    building.assert_safe();
}

/// By which a call is followed.
fn receipt(placed: &Answer) -> String {
    placed.json()["receipt"].as_str().expect("a receipt").to_owned()
}

/// How far a call is, as a node sees it.
fn followed(node: SocketAddr, receipt: &str) -> serde_json::Value {
    get(node, &format!("/api/v1/calls/{receipt}")).json()
}

fn withdraw(node: SocketAddr, id: &str, token: Option<&str>) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let header = bearer.as_deref().map(|bearer| ("Authorization", bearer));
    request(node, "DELETE", &format!("/api/v1/calls/{id}"), header.as_slice(), "")
}

/// P1: what was promised to people in the building is no client's to take back.
#[test]
fn no_call_is_withdrawn() {
    let mut building = Building::new(4, Line::Serial);
    building.install_unit("A", 1, Role::Indicator);
    building.start("A");
    building.wait("A runs", |building| building.status("A").is_some());
    let a = serving(&building, 1);
    let token = token(&building, "A", "kiosk", "call");
    let calls = [
        (json!({"kind": "hall", "floor": 1, "direction": "up"}), "hall-1-up", "hall call"),
        (json!({"kind": "destination", "from": 0, "to": 3}), "destination-0-3", "destination call"),
    ];
    for (number, (kind, id, named)) in calls.iter().enumerate() {
        let placed = post(a, "/api/v1/calls", Some(&token), &call(kind, &number.to_string()));
        assert_eq!(placed.json()["id"], *id, "{placed:?}");
        for name in [*id, &receipt(&placed)] {
            let refused = withdraw(a, name, Some(&token));
            assert_eq!((refused.status, refused.problem()), (409, "not_cancellable".to_owned()));
            assert!(refused.json()["detail"].as_str().is_some_and(|why| why.contains(named)));
            let open = followed(a, name);
            assert_eq!((&open["id"], &open["order"]), (&json!(name), &json!(id)), "{open}");
            // A node without a car assigns none.
            assert_eq!(open["state"], "being_allocated", "{open}");
            assert_eq!((&open["call"], &open["reason"]), (kind, &json!(null)), "{open}");
        }
    }
    let of_nobody = withdraw(a, "hall-1-up", None);
    assert_eq!((of_nobody.status, of_nobody.problem()), (401, "token_required".to_owned()));
    assert_eq!(building.status("A").expect("a status").orders.len(), 2);
}

/// A kiosk in the lobby, at the node of the display there, calls for a passenger in a car.
#[test]
fn a_node_without_a_car_takes_a_call_for_another_car() {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    building.install_unit("L", 2, Role::Indicator);
    building.start("A");
    building.start("L");
    building.wait_in_service(&["A"]);
    building.wait("L hears A", |building| {
        building.status("L").is_some_and(|status| status.peers.iter().any(|it| it.car.is_some()))
    });
    let lobby = serving(&building, 2);
    let token = token(&building, "L", "kiosk", "call");
    let car = json!({"kind": "car", "car": "A", "floor": 2});
    let placed = post(lobby, "/api/v1/calls", Some(&token), &call(&car, "one"));
    assert_eq!((placed.status, &placed.json()["state"]), (201, &json!("placed")), "{placed:?}");
    building.wait("A is there", |building| building.car("A").floor == Some(building.floor(2)));
    let own = json!({"kind": "car", "car": "L", "floor": 2});
    let refused = post(lobby, "/api/v1/calls", Some(&token), &call(&own, "two"));
    assert_eq!((refused.status, refused.problem()), (422, "unknown_car".to_owned()));
    building.wait("nothing is open", |building| {
        building.status("A").is_some_and(|status| status.orders.is_empty())
    });
}

#[test]
fn a_change_needs_a_token_of_enough_scope() {
    let mut building = Building::new(4, Line::Serial);
    building.install_unit("A", 1, Role::Indicator);
    building.start("A");
    building.wait("A runs", |building| building.status("A").is_some());
    let a = serving(&building, 1);
    let body = call(&json!({"kind": "hall", "floor": 1, "direction": "up"}), "x");
    let path = "/api/v1/calls";
    let outcome = |token: Option<&str>, body: &str| {
        let answer = post(a, path, token, body);
        (answer.status, answer.problem())
    };
    let is = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(outcome(None, &body), is(401, "token_required"));
    assert_eq!(outcome(Some("liftmesh-token-0"), &body), is(401, "token_unknown"));
    let view = token(&building, "A", "reader", "view");
    assert_eq!(outcome(Some(&view), &body), is(403, "scope_missing"));
    let kiosk = token(&building, "A", "kiosk", "call");
    let wrong = |body: &str| outcome(Some(&kiosk), body);
    assert_eq!(wrong("{}"), is(400, "malformed"));
    let nowhere = call(&json!({"kind": "hall", "floor": 9, "direction": "up"}), "y");
    assert_eq!(wrong(&nowhere), is(422, "no_such_button"));
    let nobody = call(&json!({"kind": "car", "car": "Z", "floor": 1}), "y");
    assert_eq!(wrong(&nobody), is(422, "unknown_car"));
    assert_eq!(wrong(&call(&json!({"kind": "hall"}), "z")), is(400, "malformed"));
    assert_eq!(wrong(&" ".repeat(17 * 1024)), is(413, "too_large"));
    let id = "i".repeat(65);
    let long = call(&json!({"kind": "hall", "floor": 1, "direction": "up"}), &id);
    assert_eq!(wrong(&long), is(400, "malformed"));
    // A revoked one is refused at once.
    let revoke = ["token", "revoke", "--name", "kiosk"];
    assert!(building.operator("A", &revoke).status().expect("it runs").success());
    assert_eq!(wrong(&body), is(401, "token_unknown"));
    let list = building.operator("A", &["token", "list"]).output().expect("it runs").stdout;
    let list = String::from_utf8(list).expect("text");
    assert!(list.contains("reader") && !list.contains("kiosk"), "{list}");
    assert_eq!(building.status("A").expect("a status").orders.len(), 0);
    let strangers = (0..40).map(|_| outcome(None, &body).0);
    assert!(strangers.into_iter().any(|status| status == 429));
}

/// A valid token has its limit as well, and uses up nobody else's.
#[test]
fn a_token_has_a_limit_of_requests() {
    let mut building = Building::new(4, Line::Serial);
    building.install_unit("A", 1, Role::Indicator);
    building.start("A");
    building.wait("A runs", |building| building.status("A").is_some());
    let a = serving(&building, 1);
    let [busy, other] = ["busy", "other"].map(|name| token(&building, "A", name, "call"));
    let ask = |token: &str| post(a, "/api/v1/calls", Some(token), "{}");
    // 20 a second are allowed, so this takes a few more than 40.
    let refused = (0..2_000).map(|_| ask(&busy)).find(|answer| answer.status != 400);
    let refused = refused.expect("it is one too many in the end");
    assert_eq!((refused.status, refused.problem()), (429, "rate_limited".to_owned()));
    assert!(refused.head.contains("retry-after: 1\r\n"), "{refused:?}");
    assert_eq!(ask(&other).status, 400);
    building.wait("it may go on", |_| ask(&busy).status == 400);
}

#[test]
fn a_client_resumes_after_the_last_event_that_it_has() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    let mut events = Events::follow(a, None);
    building.press("A", building.hall(2, Direction::Up));
    let placed = events.wait("event", |event| event["event"] == "placed");
    let id = placed.id.expect("an id");
    drop(events);
    building.wait("the order is served", |building| {
        building.status("A").is_some_and(|status| status.orders.is_empty())
    });
    let mut events = Events::follow(a, Some(&id));
    assert_eq!(events.next().kind, "state");
    let next = events.next();
    assert_eq!(next.kind, "event", "{next:?}");
    let number = |id: &str| id.split('-').nth(1).and_then(|n| n.parse::<u64>().ok());
    let following = number(&id).expect("a number") + 1;
    assert_eq!(next.id.as_deref().and_then(number), Some(following));
    events.wait("event", |event| event["event"] == "served");
    let mut foreign = Events::follow(a, Some("x"));
    assert_eq!([foreign.next().kind, foreign.next().kind], ["state", "missed"]);
}

#[test]
fn a_client_goes_on_at_another_node_without_a_gap() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B", "C"]);
    let [a, b] = [1, 2].map(|number| serving(&building, number));
    let mut events = Events::follow(a, None);
    building.press("C", building.hall(1, Direction::Up));
    let promised = events.wait("event", |event| event["event"] == "promised");
    building.kill("A");
    building.press("C", building.hall(2, Direction::Up));
    building.wait("the orders are served", |building| {
        building.status("B").is_some_and(|status| status.orders.is_empty())
    });
    let mut events = Events::follow(b, promised.id.as_deref());
    assert_eq!(events.next().kind, "state");
    let mut awaited = vec![("served", 1), ("placed", 2), ("promised", 2), ("served", 2)];
    while !awaited.is_empty() {
        // A state comes every 2 s: by then all that was kept has come.
        let Message { kind, data, .. } = events.next();
        assert_eq!(kind, "event", "{awaited:?} did not come, but {data}");
        awaited.retain(|(kind, floor)| data["event"] != *kind || data["call"]["floor"] != *floor);
    }
}

/// P5 in spirit: whatever is wrong with HTTP, the car runs.
#[test]
fn a_port_in_use_does_not_keep_a_node_from_its_car() {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    let a = address(&building, 1);
    let taken = TcpListener::bind(a).expect("the port");
    building.start("A");
    building.wait_in_service(&["A"]);
    building.wait("the log says so", |building| {
        building.logged("A").contains("the HTTP port is in use: trying again")
    });
    drop(taken);
    // Not a connection: a process that another test has just begun may hold the port for a moment.
    building.wait("A serves", |building| building.logged("A").contains("serving HTTP"));
    assert_eq!(get(a, "/healthz").status, 200);
}

#[test]
fn an_address_beyond_loopback_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_liftmesh"))
        .env("LIFTMESH_CONFIG", "")
        .args(["check-config", "--car", "A", "--address", "192.168.1.11"])
        .args(["--broadcast", "192.168.1.255:46100", "--panel", "tcp://127.0.0.1:1"])
        .args(["--floors", "4", "--data-dir", "/tmp/none", "--http-address", "0.0.0.0:7080"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(
        said.contains("flag --http-address: http.address = \"0.0.0.0:7080\" is wrong"),
        "{said}"
    );
    assert!(said.contains("unless http.certificate and http.key are set"), "{said}");
}

#[test]
fn fifty_clients_follow_a_fleet() {
    let building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let a = serving(&building, 1);
    let mut clients: Vec<_> = (0..50).map(|_| Events::follow(a, None)).collect();
    building.press("B", building.hall(3, Direction::Down));
    for client in &mut clients {
        client.wait("event", |event| event["event"] == "served");
    }
    building.wait_all_dark();
    building.assert_safe();
}

/// The threads that serve clients have a lower priority than those that serve passengers. No
/// broker is there.
#[test]
fn passengers_come_before_clients() {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    let (nobody, _taken) = free_port(&[Ipv4Addr::LOCALHOST]).expect("a port");
    building.start_with("A", |command| {
        command.args(["--mqtt-broker", &format!("mqtt://127.0.0.1:{nobody}")]);
    });
    let thread = |name: &str| building.threads("A").into_iter().find(|thread| thread.name == name);
    let niceness = |name: &str| {
        let id = thread(name)?.id;
        let path = format!("/proc/{}/task/{id}/stat", building.process_id("A"));
        let text = std::fs::read_to_string(path).expect("it runs");
        let (_, rest) = text.rsplit_once(')').expect("a name");
        Some(rest.split_whitespace().nth(16).expect("its niceness").to_owned())
    };
    for name in ["http", "mqtt"] {
        building.wait(&format!("{name} gives way"), |_| niceness(name).as_deref() == Some("10"));
    }
    for name in ["liftmesh", "journal"] {
        assert_eq!(niceness(name).as_deref(), Some("0"), "{name}");
    }
}

/// The program from which others start: it needs Python alone. The first node that it asks does not
/// run.
#[test]
fn the_example_in_python_takes_a_robot_along() {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    let directory = tempfile::tempdir().expect("a directory");
    let [certificate, key] = tls::certificate(directory.path(), address(&building, 1).ip());
    building.start("A");
    building.wait_in_service(&["A"]);
    let token = token(&building, "A", "robot", "call");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/call_a_car.py");
    let run = |words: &[&str]| {
        let mut command = Command::new("python3");
        command.arg(script).args(words).env("LIFTMESH_TOKEN", &token).output()
    };
    let said = |output: &std::process::Output| {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let node = format!("http://{}", serving(&building, 1));
    let nobody = format!("http://{}", address(&building, 2));
    let Ok(output) = run(&["--from", "2", "--to", "1", &nobody, &node]) else {
        return skip("python3 is not installed");
    };
    let open = |said: &str, from: u8, to: u8| {
        let doors: Vec<_> = said.lines().filter(|line| line.starts_with("open at")).collect();
        assert_eq!(doors, [format!("open at {from}, car A"), format!("open at {to}, car A")]);
        assert!(said.ends_with("ended: done\n"), "{said}");
    };
    open(&said(&output), 2, 1);
    let refused = run(&["--from", "9", "--to", "1", &node]).expect("it runs");
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && why.contains("(no_such_button)"), "{why}");
    building.wait_all_dark();

    building.kill("A");
    building.start_with("A", |command| {
        command.arg("--http-certificate").arg(&certificate).arg("--http-key").arg(&key);
    });
    building.wait_in_service(&["A"]);
    let node = format!("https://{}", serving(&building, 1));
    let ca = certificate.to_str().expect("text");
    let output = run(&["--from", "0", "--to", "3", "--ca", ca, &node]).expect("it runs");
    open(&said(&output), 0, 3);
    let stranger = run(&["--from", "0", "--to", "3", &node]).expect("it runs");
    let why = String::from_utf8_lossy(&stranger.stderr);
    assert!(!stranger.status.success() && why.contains("CERTIFICATE_VERIFY_FAILED"), "{why}");
    building.assert_safe();
}

/// A running node whose panel does not answer says so to who asks whether it is ready.
#[test]
fn a_node_without_its_panel_is_live_and_not_ready() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    building.wait("it is ready", |_| get(a, "/readyz").status == 200);
    building.unplug_line("A");
    building.wait("it is not ready", |_| get(a, "/readyz").status == 503);
    let ready = get(a, "/readyz");
    assert_eq!(ready.problem(), "not_ready");
    assert!(ready.body.contains("its panel does not answer"), "{ready:?}");
    assert_eq!(get(a, "/healthz").status, 200);
    building.plug_line("A");
    building.wait("it is ready again", |_| get(a, "/readyz").status == 200);
}
