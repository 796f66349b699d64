//! What holds at every node, whichever took it, and through the deaths of nodes.

use liftmesh_harness::building::{Building, Line};
use serde_json::json;

use super::client::{Answer, Events, Message, get, post, serving};
use super::token;

const TWO: [&str; 2] = ["A", "B"];

/// Whether a node takes a token, whatever it makes of the empty request.
fn counts(building: &Building, number: u8, token: &str) -> bool {
    match post(serving(building, number), "/api/v1/calls", token, &json!({})).status {
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
    let (code, why) = building.refusal("B", &taken);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("token kiosk already exists"), "{why}");

    let is_on_disk = |building: &Building| building.status("B").is_some_and(|it| it.durable);
    building.wait("B has it on disk", is_on_disk);
    building.kill_all(&TWO);
    // B does not run, and has it on disk.
    let list = building.done("B", &["token", "list"]);
    assert!(list.lines().any(|line| line.trim_start().starts_with("kiosk  call ")), "{list}");
    let robot = token(&building, "B", "robot", "call");
    for name in TWO {
        building.start(name);
    }
    building.wait("both have both", |building| {
        [1, 2].iter().all(|node| counts(building, *node, &kiosk) && counts(building, *node, &robot))
    });

    // A is away while the token is revoked, and must not bring it back. Its session ends with it.
    building.kill("A");
    let asked = json!({"car": "B", "floor": "2", "seconds": 60});
    let b = serving(&building, 2);
    let session = post(b, "/api/v1/sessions", &kiosk, &asked).json();
    let session = format!("/api/v1/sessions/{}", session["id"].as_str().expect("an id"));
    let revoke = ["token", "revoke", "--name", "kiosk", "--operator", "J. Kovac"];
    let revoked = building.done("B", &revoke);
    assert!(revoked.starts_with("token kiosk is revoked"), "{revoked}");
    assert!(!counts(&building, 2, &kiosk), "at once at B");
    assert_eq!(get(b, &session).json()["reason"], "operator");
    building.start("A");
    building.wait("A has heard of it", |building| !counts(building, 1, &kiosk));
    assert!(!counts(&building, 2, &kiosk) && counts(&building, 1, &robot));
    let (code, why) = building.refusal("A", &["token", "revoke", "--name", "kiosk"]);
    assert_eq!(code, Some(2), "{why}");

    let audit = building.done("B", &["audit"]);
    let recorded = audit
        .lines()
        .any(|line| ["J. Kovac", "token/kiosk is revoked"].iter().all(|part| line.contains(part)));
    assert!(recorded, "{audit}");
    let status = building.done("A", &["status", "--json"]);
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

/// Calls for the bearer of a token, at a node of this number.
fn place(building: &Building, number: u8, token: &str, floor: u8, request_id: &str) -> Answer {
    let call = json!({"kind": "hall", "floor": floor.to_string(), "direction": "down"});
    let body = json!({"call": call, "request_id": request_id});
    post(serving(building, number), "/api/v1/calls", token, &body)
}

/// The master is killed, and the next moment, as a rule before its slaves have noticed, a call comes to
/// one of them. Both calls are served once and followed to their ends, also at nodes that were down; a
/// client that goes on at another node misses nothing.
#[test]
fn calls_and_their_client_survive_the_death_of_the_master() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B", "C"]);
    let robot = token(&building, "A", "robot", "call");
    building.wait("the token counts", |building| (1..=3).all(|n| counts(building, n, &robot)));
    let mut events = Events::follow(serving(&building, 1), None);
    let first = place(&building, 2, &robot, 3, "one");
    let promised = events.wait("event", |event| event["event"] == "promised");
    building.kill("A");
    let second = place(&building, 3, &robot, 1, "two");
    assert_eq!([first.status, second.status], [201, 201], "{first:?} {second:?}");
    let answers = [first, second].map(|placed| placed.json());
    let ends = |building: &Building, number: u8| {
        answers.each_ref().map(|placed| {
            let receipt = placed["receipt"].as_str().expect("a receipt");
            get(serving(building, number), &format!("/api/v1/calls/{receipt}")).json()
        })
    };
    building.wait("both are served", |building| {
        [2, 3].iter().all(|n| ends(building, *n).iter().all(|end| end["state"] == "served"))
    });
    assert!(ends(&building, 2).iter().all(|end| end["car"] != "A"), "{:?}", ends(&building, 2));

    let mut events = Events::follow(serving(&building, 2), promised.id.as_deref());
    assert_eq!(events.next().kind, "state");
    let mut awaited = vec![("served", "3"), ("placed", "1"), ("promised", "1"), ("served", "1")];
    while !awaited.is_empty() {
        // A state comes every 2 s: by then all that was kept has come.
        let Message { kind, data, .. } = events.next();
        assert_eq!(kind, "event", "{awaited:?} did not come, but {data}");
        awaited.retain(|(kind, floor)| data["event"] != *kind || data["call"]["floor"] != *floor);
    }

    building.kill("C");
    for name in ["A", "C"] {
        building.start(name);
    }
    building.wait("A has heard of it", |building| ends(building, 1)[0]["state"] == "served");
    for number in [3, 1, 2] {
        let again = place(&building, number, &robot, 3, "one");
        assert_eq!((again.status, &again.json()), (200, &answers[0]), "at node {number}");
    }
    building.wait_all_dark();
    building.assert_safe();
}
