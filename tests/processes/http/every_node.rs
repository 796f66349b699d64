//! What holds at every node, whichever took it: tokens, and requests that are repeated.

use liftmesh_harness::building::{Building, Line};
use serde_json::{Value, json};

use super::client::{Events, get, post, serving};
use super::{call, receipt, token};

const TWO: [&str; 2] = ["A", "B"];

fn said(building: &Building, node: &str, words: &[&str]) -> String {
    let output = building.operator(node, words).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{words:?}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

fn refusal(building: &Building, node: &str, words: &[&str]) -> (Option<i32>, String) {
    let output = building.operator(node, words).output().expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Whether a node takes a token, whatever it makes of the empty request.
fn counts(building: &Building, number: u8, token: &str) -> bool {
    match post(serving(building, number), "/api/v1/calls", Some(token), "{}").status {
        400 => true,
        401 => false,
        other => panic!("{other}"),
    }
}

/// A token is made at one node, counts at the other, is kept by both through the end of all
/// processes, and is revoked at the other one.
#[test]
fn a_token_counts_at_every_node_until_any_revokes_it() {
    let mut building = Building::with_cars(4, Line::Serial, &TWO);
    let kiosk = token(&building, "A", "kiosk", "call");
    building.wait("the token counts at B", |building| counts(building, 2, &kiosk));
    assert!(counts(&building, 1, &kiosk));
    let taken = ["token", "create", "--name", "kiosk", "--scope", "view"];
    let (code, why) = refusal(&building, "B", &taken);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("token kiosk already exists"), "{why}");

    let is_on_disk = |building: &Building| building.status("B").is_some_and(|it| it.durable);
    building.wait("B has it on disk", is_on_disk);
    building.kill_all(&TWO);
    // B does not run, and has it on disk.
    let list = said(&building, "B", &["token", "list"]);
    assert!(list.lines().any(|line| line.trim_start().starts_with("kiosk  call ")), "{list}");
    let robot = token(&building, "B", "robot", "call");
    for name in TWO {
        building.start(name);
    }
    building.wait("both have both", |building| {
        [1, 2].iter().all(|node| counts(building, *node, &kiosk) && counts(building, *node, &robot))
    });

    // A is away while the token is revoked, and must not bring it back.
    building.kill("A");
    let revoke = ["token", "revoke", "--name", "kiosk", "--operator", "J. Kovac"];
    let revoked = said(&building, "B", &revoke);
    assert!(revoked.starts_with("token kiosk is revoked"), "{revoked}");
    assert!(!counts(&building, 2, &kiosk), "at once at B");
    building.start("A");
    building.wait("A has heard of it", |building| !counts(building, 1, &kiosk));
    assert!(!counts(&building, 2, &kiosk) && counts(&building, 1, &robot));
    let (code, why) = refusal(&building, "A", &["token", "revoke", "--name", "kiosk"]);
    assert_eq!(code, Some(2), "{why}");

    let audit = said(&building, "B", &["audit"]);
    let recorded = audit
        .lines()
        .any(|line| ["J. Kovac", "token/kiosk is revoked"].iter().all(|part| line.contains(part)));
    assert!(recorded, "{audit}");
    let status = said(&building, "A", &["status", "--json"]);
    for secret in [&kiosk, &robot] {
        let digits = secret.rsplit('-').next().expect("digits");
        let hash = blake3::hash(secret.as_bytes()).to_hex();
        for text in [&building.logged("A"), &building.logged("B"), &audit, &status] {
            assert!(!text.contains(digits), "a token is in {text}");
            assert!(!text.contains(hash.as_str()), "a hash is in {text}");
        }
    }
    building.assert_safe();
}

/// How often this call was placed, as a node says.
fn placed(events: &mut Events, hall: &Value) -> bool {
    let end = events.wait("event", |event| {
        (event["event"] == "placed" && event["call"] == *hall) || event["event"] == "setting"
    });
    end.data["event"] == "placed"
}

/// The same request goes to another node, to one after the death of the master, and to one that was
/// restarted, also once the call was served: nothing is placed again.
#[test]
fn a_request_is_fulfilled_once_by_the_whole_fleet() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B", "C"]);
    let token = token(&building, "A", "robot", "call");
    building.wait("the token counts", |building| (1..=3).all(|n| counts(building, n, &token)));
    let hall = json!({"kind": "hall", "floor": 3, "direction": "down"});
    let body = call(&hall, "one");
    let ask = |building: &Building, number: u8| {
        post(serving(building, number), "/api/v1/calls", Some(&token), &body)
    };
    let first = ask(&building, 1);
    let answer = first.json();
    let followed = json!(receipt(&first));
    let expected =
        json!({"id": "hall-3-down", "receipt": followed, "state": "placed", "call": hall});
    assert_eq!((first.status, &answer), (201, &expected));
    let again = |building: &Building, number: u8| {
        let again = ask(building, number);
        assert_eq!((again.status, again.json()), (200, answer.clone()), "at node {number}");
    };
    building.wait("the call is served", |building| {
        [1, 2, 3].iter().all(|n| get(serving(building, *n), "/api/v1/orders").json() == json!([]))
    });
    for number in [1, 2, 3] {
        again(&building, number);
    }
    // The master dies, and its power is back later.
    building.kill("A");
    again(&building, 2);
    let mut at_b = Events::follow(serving(&building, 2), None);
    building.kill("C");
    for name in ["A", "C"] {
        building.start(name);
    }
    for number in [3, 1, 2] {
        again(&building, number);
    }
    let other = call(&json!({"kind": "hall", "floor": 1, "direction": "up"}), "one");
    let refused = post(serving(&building, 3), "/api/v1/calls", Some(&token), &other);
    assert_eq!((refused.status, refused.problem()), (409, "request_id_reused".to_owned()));
    // A new token is a new client, whose ids are its own. It is the end of what B has to show.
    let end = super::token(&building, "B", "end", "call");
    assert!(!placed(&mut at_b, &hall), "it was placed again");
    let mine = post(serving(&building, 2), "/api/v1/calls", Some(&end), &body);
    assert_eq!(mine.status, 201, "{mine:?}");
    assert!(placed(&mut at_b, &hall));
    building.wait_all_dark();
    building.assert_safe();
}

/// The master is killed, and the next moment, as a rule before its slaves have noticed, a call comes to
/// one of them: it is taken, and served by a car that is left.
#[test]
fn a_call_to_a_slave_right_after_the_death_of_the_master_is_served() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B", "C"]);
    let token = token(&building, "A", "robot", "call");
    building.wait("the token counts", |building| (1..=3).all(|n| counts(building, n, &token)));
    let mut at_b = Events::follow(serving(&building, 2), None);
    let b = serving(&building, 2);
    let hall = json!({"kind": "hall", "floor": 3, "direction": "down"});
    building.kill("A");
    let placed = post(b, "/api/v1/calls", Some(&token), &call(&hall, "new"));
    assert_eq!((placed.status, &placed.json()["state"]), (201, &json!("placed")), "{placed:?}");
    let served = at_b.wait("event", |event| event["event"] == "served" && event["call"] == hall);
    assert_ne!(served.data["car"], "A", "{served:?}");
    building.assert_safe();
}
